"""How far what a region has written to an array is from the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.tracer.legality.accesses import Access
from tracecut.tracer.legality.evaluation.memory import DTYPES

CHUNK = 1 << 18  # numbers that are compared together


def array_error(reference: npt.NDArray[np.uint8], found: npt.NDArray[np.uint8], access: Any) -> float:
    """max |difference| / max |reference| over the elements of one access; infinite for integers that differ."""
    dtype = DTYPES[access.site.type]
    low = access.low if access.site.length is None else 0
    step = access.site.size
    if access.form is not None and access.form.terms:
        step = int(np.gcd.reduce([abs(factor) for factor in access.form.terms.values()]))
    count = (access.high - low - access.site.size) // step + 1 if step else 1
    if count <= 0:
        return 0.0
    a, b = (np.ndarray((count,), dtype, data, low, (step,)) for data in (reference, found))
    if dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else float("inf")
    scale = most = 0.0
    for at in range(0, count, CHUNK):
        part = _difference(a[at : at + CHUNK], b[at : at + CHUNK])
        if part is None:
            return float("inf")
        scale, most = max(scale, part[0]), max(most, part[1])
    return most / max(scale, 1e-300)


def _difference(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> tuple[float, float] | None:
    """(max |a|, max |difference|) of the finite numbers; None where others differ."""
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return None
    scale = float(np.abs(a[finite]).max(initial=0.0))
    return scale, float(np.abs(a[finite].astype(np.float64) - b[finite]).max(initial=0.0))


def block_error(
    reference: npt.NDArray[np.uint8], found: npt.NDArray[np.uint8], access: Access, written: Sequence[Access]
) -> float:
    """Infinite when bytes differ that are only written in blocks; numbers among them are compared as such."""
    differ = np.flatnonzero(reference[access.low : access.high] != found[access.low : access.high]) + access.low
    for other in written:
        if other.object is access.object and other.site.type in DTYPES:
            differ = differ[(differ < other.low) | (differ >= other.high)]
    return float("inf") if differ.size else 0.0
