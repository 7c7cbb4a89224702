"""What a product costs in each form and order, without running it: bytes, ends of rows, lines of x that no cache holds.

Lines are counted in windows of consecutive rows: once as many different ones were touched as a cache holds beside the
matrix that streams through it, the new ones from there on are its misses (footprint theory, Xiang et al. 2013).
`ir/reuse_distance.py` gives the same for every size at once, but follows each touch; a choice has to cost less than a
product or two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from tracecut.ir.machine.machine import Machine

from .csr import Csr
from .forms import FORMATS
from .native_code import addresses, native
from .orders import NATURAL, MatrixOrder
from .sliced import SlicedShape, lanes_of

LINE = 64
WINDOWS = (32, 3, 1)  # of each level: small caches fill in a few rows, which may not be like the others


@dataclass(frozen=True)
class Costs:
    """Nanoseconds of one core, measured on an AMD Zen 4 at 3.7 GHz; only their proportions matter for a choice.

    Attributes:
        byte: of the matrix and the vectors, streamed from memory. row: a row or lane; end: a row whose length differs
        from the one before, a misprediction. misses: a line from the second and third level and from memory.
    """

    row: float
    end: float
    misses: tuple[float, float, float]
    byte: float = 0.043


COSTS = {
    "csr": Costs(1.0, 5.0, (0.45, 1.3, 6.0)),
    "csr-vector": Costs(4.0, 3.0, (0.2, 0.5, 5.0)),
    "sliced": Costs(0.5, 0.0, (0.4, 1.4, 5.0)),
}
# Nanoseconds an entry of making a form, and an order.
MAKING = {"csr": 0.0, "csr-vector": 0.0, "sliced": 9.0}
ORDERING = {"natural": 0.0, "rcm": 16.0, "degree": 2.0, "spac": 3000.0}
MOVING = 12.0  # to take entries from anywhere


@dataclass(frozen=True)
class Estimate:
    """What a form in an order is expected to take.

    Attributes:
        format, order: their names.
        bytes: read in a product, the vectors apart. padding: slots for each entry.
        us: microseconds of a product on one core; making: seconds that making it takes.
    """

    format: str
    order: str
    bytes: int
    padding: float
    us: float
    making: float


@dataclass(frozen=True)
class XMisses:
    """Lines of x that come from beyond each of three levels, for each entry."""

    per_entry: tuple[float, float, float]


@cache
def cache_lines() -> tuple[int, int, int]:
    """Lines of the three levels of this machine, as far as it says; else those of usual ones."""
    usual = (512, 16384, 524_288)
    found = {cache.level: cache.size // LINE for cache in Machine.detect().caches}
    first, second, third = (found.get(level, usual[level - 1]) for level in (1, 2, 3))
    return first, max(first, second), max(first, second, third)


def x_misses(matrix: Csr, order: MatrixOrder = NATURAL) -> XMisses:
    """The misses of x in repeated products. O(entries in the windows), a few at most for each entry of the matrix."""
    rows, cols = matrix.shape
    size = matrix.values.itemsize
    shift = (LINE // size).bit_length() - 1
    total = -(-cols * size // LINE)
    mark, found = np.zeros(total, np.uint8), np.zeros(2, np.uint64)
    touched = np.empty(min(total, matrix.entries), np.uint32)
    call = native("touched_lines", "nnnnnnppppppp", None, matrix.columns.dtype)
    given = addresses(matrix.offsets, matrix.columns, order.rows, order.numbers, mark, touched, found)
    most = max(1 << 16, matrix.entries // 16)
    ratios = []
    for held, windows in zip(cache_lines(), WINDOWS, strict=True):
        lines = max(2, held // 2)
        entries = new = 0
        for window in range(windows if total > lines and matrix.entries else 0):
            call(rows, rows * window // windows, lines // 2, lines, most, shift, *given)
            entries, new = entries + int(found[0]), new + int(found[1])
        ratios.append(min(1.0, new / entries) if entries else 0.0)
    second = min(ratios[0], ratios[1])
    return XMisses((ratios[0], second, min(second, ratios[2])))


def estimates(matrix: Csr, order: MatrixOrder, misses: XMisses, shape: SlicedShape | None) -> list[Estimate]:
    """Each form of a matrix in an order, vectors permuted in each call included. O(rows).

    Args:
        shape: how slices would be; None for a matrix too large for them.
    """
    entries, rows = matrix.entries, matrix.shape[0]
    lengths = np.diff(matrix.offsets)
    if order.rows is not None:
        lengths = lengths[order.rows]
    ends = int(np.count_nonzero(lengths[1:] != lengths[:-1]))
    size, moved = matrix.values.itemsize, 0 if order.columns is None else sum(matrix.shape)
    vectors = sum(matrix.shape) * size
    found = []
    for name in FORMATS:
        if name == "sliced" and shape is None:
            continue
        held, slots = _bytes(matrix, misses, shape if name == "sliced" else None)
        costs = COSTS[name]
        nanoseconds = (held + vectors + 3 * moved * size) * costs.byte + rows * costs.row + ends * costs.end
        nanoseconds += entries * sum(cost * share for cost, share in zip(costs.misses, misses.per_entry, strict=True))
        nanoseconds += moved * (1.0 if moved * size < cache_lines()[1] * LINE else 2.5)
        making = MAKING[name] + ORDERING[order.name] + (MOVING if moved else 0)
        seconds = (entries + rows) * making * 1e-9
        padding = slots / max(1, entries)
        found.append(Estimate(name, order.name, held + order.bytes, padding, nanoseconds / 1e3, seconds))
    return found


def _bytes(matrix: Csr, misses: XMisses, shape: SlicedShape | None) -> tuple[int, int]:
    """Bytes and slots of compressed rows, or of slices of that shape.

    Whether 16 bits hold a slice's columns is only known then: where x is near, they do.
    """
    if shape is None:
        return matrix.bytes, matrix.entries
    size, index = matrix.values.itemsize, matrix.columns.itemsize
    slots, kept = shape.slots(lanes_of(matrix.values.dtype)), int(shape.lengths.sum(dtype=np.int64))
    narrow = 2 if misses.per_entry[1] < 0.1 or matrix.shape[1] <= 1 << 16 else 4
    far = matrix.entries - kept
    held = slots * (size + narrow) + shape.lengths.size * 8 + far * (size + index)
    return held, slots + far
