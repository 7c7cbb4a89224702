"""Which form in which order on a card: by the table of its workloads where there is one."""

from __future__ import annotations

from tracecut.codegen.devices.device import Device
from tracecut.codegen.sparse.choose import GAIN, Wish
from tracecut.codegen.sparse.csr import Csr

from .card_tiles import card_of, predicted, tuning_command

PREDICTING = 500e-9  # seconds an entry that reckoning with tiles takes


def choose_on_card(device: Device, matrix: Csr, wish: Wish) -> tuple[str, str, str]:
    """Form, order and reason. Tiles come with columns by falling length, in which a tile's part of x lies together."""
    if wish.method != "auto":
        return wish.method, _order(wish, wish.method), "asked for"
    if not wish.fits(PREDICTING * matrix.entries):
        return "csr-vector", _order(wish, "csr-vector"), "reckoning with tiles would take longer than the budget"
    times, card = predicted(device, matrix), card_of(device)
    if not times:
        reason = f"there is no table of {card.name}: `{tuning_command(device, matrix)}` makes it"
        return "csr-vector", _order(wish, "csr-vector"), reason
    tiles, rows = times["tile-composite"], times["csr-vector"]
    name = "tile-composite" if tiles < GAIN * rows else "csr-vector"
    reason = f"predicted on {card.name}: tiles {1e6 * tiles:.4g} µs a product, a team a row {1e6 * rows:.4g} µs"
    return name, _order(wish, name), reason


def _order(wish: Wish, name: str) -> str:
    usual = "degree" if name == "tile-composite" else "natural"
    return usual if wish.order == "auto" else wish.order
