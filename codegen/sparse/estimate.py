"""What a product costs in each form and order, without running it: rows by their length, bytes, and lines of x that no
cache holds, each with what `costs.py` says of this machine.

Lines are counted in windows of consecutive rows: once the different ones that were touched and the matrix that streams
past them fill half of a cache, the new ones from there on are its misses (footprint theory, Xiang et al. 2013).
`ir/reuse_distance.py` gives the same for every size at once, but follows each touch; a choice has to cost less than a
product or two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tracecut.support.arrays import Floats, Longs

from .costs import LENGTHS, LINE, Costs, FormCosts, cache_lines, known_costs
from .csr import Csr
from .forms import FORMATS, NARROW
from .native_code import addresses, native
from .orders import NATURAL, MatrixOrder
from .sliced import SlicedShape, lanes_of
from .tiled import ROWS, block_entries, tile_shift

WINDOWS = (32, 3, 1)  # of each level: small caches fill in a few rows, which may not be like the others
CAP = 512  # entries from which on a row's cost grows by the entry
STEP = 16  # rows of which one is looked at
FEW = 1 << 18  # entries of a matrix of which all rows are looked at
LONG_ROW = 10.0  # nanoseconds beside the entries of a long row of a tile: two mispredictions
LEARNT = 1 << 15  # ends of rows: branch predictors know more and more of fewer ones by heart
CELL = 500.0  # nanoseconds: where a cell begins, and with each width of its slices, branches are mispredicted
# Nanoseconds an entry of making a form, and an order.
MAKING = {"csr": 0.0, "csr-vector": 0.0, "sliced": 9.0, "tiled": 20.0}
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


def x_misses(matrix: Csr, order: MatrixOrder = NATURAL) -> XMisses:
    """The misses of x in repeated products. O(entries in the windows), a few at most for each entry of the matrix."""
    rows, cols = matrix.shape
    size = matrix.values.itemsize
    shift = (LINE // size).bit_length() - 1
    total, read = -(-cols * size // LINE), size + 4
    mark, found = np.zeros(total, np.uint8), np.zeros(2, np.uint64)
    touched = np.empty(min(total, matrix.entries), np.uint32)
    call = native("touched_lines", "nnnnnnppppppp", None, matrix.columns.dtype)
    given = addresses(matrix.offsets, matrix.columns, order.rows, order.numbers, mark, touched, found)
    most = max(1 << 16, matrix.entries // 16)
    ratios = []
    for held, windows in zip(cache_lines(), WINDOWS, strict=True):
        entries = new = 0
        for window in range(windows if total + read * matrix.entries // LINE > held else 0):
            call(rows, rows * window // windows, read, held, most, shift, *given)
            entries, new = entries + int(found[0]), new + int(found[1])
        ratios.append(min(1.0, new / entries) if entries else 0.0)
    second = min(ratios[0], ratios[1])
    return XMisses((ratios[0], second, min(second, ratios[2])))


def making_seconds(matrix: Csr, name: str, order: str) -> float:
    """What making a form in an order takes."""
    each = MAKING[name] + ORDERING[order] + (0.0 if order == "natural" else MOVING)
    return (matrix.entries + matrix.shape[0]) * each * 1e-9


def misses_seconds(matrix: Csr) -> float:
    """What of a product in slices x takes that is in no near cache: all that another order could save."""
    costs = known_costs().of("sliced", matrix.values.dtype)
    return matrix.entries * _missed(costs, x_misses(matrix).per_entry) * 1e-9


def least_seconds(matrix: Csr) -> float:
    """A product in slices in an order in which x is always near, vectors moved in each call."""
    costs = known_costs()
    own, moved = costs.of("sliced", matrix.values.dtype), sum(matrix.shape)
    held = matrix.bytes + moved * matrix.values.itemsize
    usual = own.rows[LENGTHS.index(16)] / 16
    return (matrix.entries * usual + _streamed(own, held, held) + moved * _move(costs, matrix)) * 1e-9


def estimates(matrix: Csr, order: MatrixOrder, misses: XMisses, shape: SlicedShape | None) -> list[Estimate]:
    """Each form of a matrix in an order, vectors permuted in each call included. O(rows + entries / 16).

    Args:
        shape: how slices would be; None for a matrix too large for them.
    """
    costs = known_costs()
    lengths = np.diff(matrix.offsets)
    if order.rows is not None:
        lengths = lengths[order.rows]
    ends = int(np.count_nonzero(lengths[1:] != lengths[:-1]))
    own = np.bincount(np.minimum(lengths, CAP), minlength=CAP + 1)
    over = int(np.maximum(lengths - CAP, 0).sum(dtype=np.int64))
    moved = 0 if order.columns is None else sum(matrix.shape)
    vectors = sum(matrix.shape) * matrix.values.itemsize
    found = []
    for name in FORMATS:
        if name in NARROW and shape is None:
            continue
        one = costs.of(name, matrix.values.dtype)
        if name == "sliced":
            assert shape is not None
            held, slots, nanoseconds = _sliced(matrix, misses, shape, one, costs.of("csr-vector", matrix.values.dtype))
        elif name == "tiled":
            held, slots, nanoseconds = _tiled(matrix, order, misses, one)
        else:
            held, slots = matrix.bytes, matrix.entries
            counts = _rounded(own, lanes_of(matrix.values.dtype)) if name == "csr-vector" else own
            nanoseconds = _rows(one, counts, over) + ends * min(1.0, ends / LEARNT) * one.end
        if name != "tiled":
            nanoseconds += matrix.entries * _missed(one, misses.per_entry)
        nanoseconds += _streamed(one, held, held + vectors) + costs.call * 1e3 * (1 + bool(moved))
        nanoseconds += moved * _move(costs, matrix)
        padding, seconds = slots / max(1, matrix.entries), making_seconds(matrix, name, order.name)
        found.append(Estimate(name, order.name, held + order.bytes, padding, nanoseconds / 1e3, seconds))
    return found


def _rows(costs: FormCosts, counts: Longs | Floats, over: int) -> float:
    """Nanoseconds of rows of each length up to CAP, and of what longer ones have beyond that."""
    each = np.interp(np.arange(counts.size), LENGTHS, costs.rows)
    slope = (costs.rows[-1] - costs.rows[-2]) / (LENGTHS[-1] - LENGTHS[-2])
    each[LENGTHS[-1] :] = costs.rows[-1] + slope * np.arange(max(0, counts.size - LENGTHS[-1]))
    return float(each @ counts) + over * slope


def _rounded(counts: Longs, lanes: int) -> Longs:
    """Rows by their length, which is rounded up to what a core takes at a time. Lengths are at most CAP."""
    found = np.zeros_like(counts)
    np.add.at(found, np.minimum(-(-np.arange(counts.size) // lanes) * lanes, CAP), counts)
    return found


def _missed(costs: FormCosts, shares: tuple[float, ...]) -> float:
    """Nanoseconds an entry of x that is not in the nearest cache; shares as of `XMisses`."""
    first, second, third = shares
    near, far, memory = costs.misses
    return (first - second) * near + (second - third) * far + third * memory


def _streamed(costs: FormCosts, held: int, working: int) -> float:
    """Nanoseconds of reading so many bytes, by where the working set lies: a third level that others use, too, holds
    less and less of it from half of its size to twice that size."""
    _, second, third = (lines * LINE for lines in cache_lines())
    if working <= second * 3 // 4:
        return 0.0
    beyond = min(1.0, max(0.0, working / third - 0.5) / 1.5)
    return held * (costs.bytes[0] * (1 - beyond) + costs.bytes[1] * beyond)


def _move(costs: Costs, matrix: Csr) -> float:
    """Nanoseconds of an element of a vector that is moved."""
    size = max(matrix.shape) * matrix.values.itemsize
    _, second, third = (lines * LINE for lines in cache_lines())
    return costs.moves[0 if size <= second // 2 else 1 if size <= third // 2 else 2]


def _sliced(
    matrix: Csr, misses: XMisses, shape: SlicedShape, costs: FormCosts, far: FormCosts
) -> tuple[int, int, float]:
    """Bytes, slots and nanoseconds of slices of that shape and the long rows beside them.

    Whether 16 bits hold a slice's columns is only known then: where x is near, they do.
    """
    size, index = matrix.values.itemsize, matrix.columns.itemsize
    lanes = lanes_of(matrix.values.dtype)
    widths = shape.lengths.reshape(-1, lanes).max(axis=1, initial=0)
    slots, kept = int(widths.sum(dtype=np.int64)) * lanes, int(shape.lengths.sum(dtype=np.int64))
    narrow = 2 if misses.per_entry[1] < 0.1 or matrix.shape[1] <= 1 << 16 else 4
    beyond = matrix.entries - kept
    long = np.zeros(CAP + 1, np.int64)
    rows = matrix.shape[0] - shape.count
    usual = min(CAP, beyond // max(1, rows))
    long[usual] = rows
    nanoseconds = _rows(costs, np.bincount(widths, minlength=CAP + 1) * lanes, 0)
    nanoseconds += _rows(far, long, beyond - usual * rows)
    return slots * (size + narrow) + shape.lengths.size * 8 + beyond * (size + index), slots + beyond, nanoseconds


def _tiled(matrix: Csr, order: MatrixOrder, misses: XMisses, costs: FormCosts) -> tuple[int, int, float]:
    """Bytes, slots and nanoseconds of tiles, by the rows of some of the matrix's rows in them."""
    rows, cols = matrix.shape
    shift, value = tile_shift(matrix.values.dtype), matrix.values.dtype
    tiles, most = -(-cols >> shift), 64
    counts, listed, found = np.zeros(tiles, np.uint32), np.empty(tiles, np.uint32), np.zeros(most + 2, np.uint64)
    step = 1 if matrix.entries <= FEW else STEP
    call = native("tile_lengths", "nnnnppppppp", None, matrix.columns.dtype)
    places = (matrix.offsets, matrix.columns, order.rows, order.numbers, counts, listed, found)
    seen = call(rows, step, shift, most, *addresses(*places))
    lengths = np.zeros(CAP + 1)
    lengths[:most] = found[:most]
    lengths[CAP] = found[most + 1] / CAP  # long ones cost by the entry, and two mispredictions
    share = matrix.entries / max(1, seen)
    size = 0 if matrix.one_value else value.itemsize
    held = int(matrix.entries * (size + 2) + 2 * share * float(lengths[:most].sum()))
    blocks = max(1, matrix.entries // block_entries(matrix.entries), rows // ROWS)
    lines = cols * value.itemsize // LINE
    # Each block loads the lines of x that it touches once more, at most those that would be missed without tiles;
    # within a tile they then are in the second level.
    first, second, third = misses.per_entry
    loaded = min(blocks * lines, int(matrix.entries * second))
    beyond = costs.misses[1] + (costs.misses[2] - costs.misses[1]) * (third / second if second else 0.0)
    nanoseconds = share * (_rows(costs, lengths, 0) + LONG_ROW * float(found[most]))
    nanoseconds += matrix.entries * first * costs.misses[0] + loaded * beyond
    return held, matrix.entries, nanoseconds + min(blocks * tiles, matrix.entries) * CELL
