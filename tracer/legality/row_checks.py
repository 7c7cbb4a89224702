"""What is read and written of rows behind pointers, and that nothing else is done with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr, walk_all
from tracecut.support.errors import UnsupportedError
from tracecut.support.lazy_kernels import compiled
from tracecut.tracer.loops.row_numbers import is_number

from .accesses import Access, Accesses
from .evaluation.loaded_values import may_load
from .evaluation.memory import Object
from .probe_addresses import ends_of_walks
from .row_columns import Vector, places_of

CHUNK = 1 << 12  # rows
GRAIN = 16  # bytes; every row of an arena begins at a multiple of them
NUMBERS = "Array(int64, 1, 'A', True)"  # Numba's word for those that may be one number, or cannot be written


def used_parts(accesses: Accesses) -> dict[str, Vector]:
    """Bytes of each row of each arena, up to the last one that is touched; what lies behind is set to 0.

    There a program may have anything, in each run something else. O(accesses).
    """
    found: dict[str, Vector] = {}
    for item, starts in accesses.memory.rows.arenas.items():
        used, sizes = np.zeros(starts.size - 1, np.int64), np.diff(starts)
        owner = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes // GRAIN)
        reached = [access for access in accesses.all() if access.object == item and access.runs]
        for access in sorted(reached, key=lambda access: accesses.size(access.site.loop) or 0):  # all by few, often
            if not np.array_equal(used, sizes):
                _reach(accesses, access, starts, owner, used)
        data = accesses.memory.bytes_of(item)
        assert data is not None
        data[: int(starts[0])], data[int(starts[-1]) :] = 0, 0
        for first in range(0, used.size, CHUNK):
            some = slice(first, first + CHUNK)
            rest = np.maximum(sizes[some] - used[some], 0)
            ends = np.cumsum(rest)
            data[np.arange(int(ends[-1])) + np.repeat(starts[1:][some] - ends, rest)] = 0
        found[item.name] = used
    return found


def _reach(accesses: Accesses, access: Access, starts: Vector, owner: npt.NDArray[np.int32], used: Vector) -> None:
    """Raise `used` to the bytes of each row up to the last one that an access touches; to all where none is known.

    `owner`: the row of every grain behind the first row's start.
    """
    found = _last_of_walks(accesses, access, starts, owner) or accesses.addresses(access)
    if found is None or access.object is None:
        used[:] = np.diff(starts)
        return
    _raise_used(*found, access.object.base + int(starts[0]), access.width, starts, owner, used)


def _last_of_walks(
    accesses: Accesses, access: Access, starts: Vector, owner: npt.NDArray[np.int32]
) -> tuple[Vector, npt.NDArray[np.bool_]] | None:
    """(the highest address of each walk along a row, that it is reached); None where others have to be looked at."""
    mask, item = accesses.mask(access.site), access.object
    if access.form is None or item is None or access.chosen or np.ndim(mask) or not mask:
        return None
    ends = ends_of_walks(accesses.evaluation, access.site.loop, access.form)
    if ends is None:
        return None
    base = item.base + int(starts[0])
    low, high = np.minimum(*ends), np.maximum(*ends)
    inside = base <= int(low.min()) and int(high.max()) + access.width <= item.base + int(starts[-1])
    if not inside or np.any(owner[(low - base) // GRAIN] != owner[(high - base) // GRAIN]):
        return None
    return high, np.ones(high.size, np.bool_)


@compiled(f"void({NUMBERS}, boolean[::1], int64, int64, {NUMBERS}, int32[::1], int64[::1])", cache=True, nogil=True)
def _raise_used(addresses: Any, runs: Any, base: int, width: int, starts: Any, owner: Any, used: Any) -> None:
    """`base`: address of the first row. An address before it is one of no row (`_check_inside`)."""
    for i in range(addresses.size):
        place = addresses[i] - base
        if runs[i] and place >= 0:
            row = owner[place // GRAIN]
            used[row] = max(used[row], place + width + starts[0] - starts[row])


def check_rows(accesses: Accesses) -> None:
    """Refuse a scope that writes pointers of a table of rows, or reads them as something else.

    Numbers in a copy stand for them while a schedule is in force, which nobody would bring up to date. What reads them
    only as data, to see how far they are apart, reads the program's own. Raises UnsupportedError.
    """
    rows = accesses.memory.rows
    nodes = walk_all(accesses.nest.expressions()) if rows.tables else ()
    deciding = {str(node.data[0]) for node in nodes if node.kind == "load"}
    for access in accesses.all():
        item, site = access.object, access.site
        if not access.runs or item is None:
            continue
        if item in rows.arenas:
            _check_inside(accesses, access, int(rows.arenas[item][0]))
        for low, high, step in rows.tables.get(item, ()):
            if not site.writes and site.type == "ptr" and site.key not in deciding:
                continue
            if is_number(site.key) and item in rows.arenas:  # a pointer in a row, in whose place its number stands
                continue
            if access.overlaps(low, high) and not accesses.stays_beside(access, low, step, 8):
                verb = "written" if site.writes else "read as something else"
                raise UnsupportedError(f"pointers to rows are {verb} at {site.place.told}")


def check_written_rows(accesses: Accesses, regions: Iterable[int]) -> None:
    """Refuse rows that are written, and reached by a loop that runs as it is: its pointers lead to the program's own.

    Those get the new values when the layout is left. `regions`: loops whose code finds the copy. Raises
    UnsupportedError.
    """
    rows = accesses.memory.rows
    inside = {loop for region in regions for loop in accesses.nest.inside(region)}
    reached = [access for access in accesses.all() if access.runs and access.object in rows.arenas]
    written = {access.object for access in reached if access.site.writes}
    for access in sorted(reached, key=lambda access: not access.site.place.line):  # what has a line first
        if access.object in written and access.site.loop not in inside:
            where = f"a loop that runs as it is reaches them at {access.site.place.told}"
            raise UnsupportedError(f"rows behind pointers are written, and {where}")


def number_places(accesses: Accesses, node: Expr) -> tuple[Object, Vector] | None:
    """(copy of a table, offsets) that the load of a number may read; None where that is not known.

    Where its address is not known in some iteration, all of the table that it may be (`places_of`).
    """
    evaluation = accesses.evaluation
    level, found = evaluation.evaluated(node.args[0])
    runs = may_load(evaluation, str(node.data[0]), level)
    addresses = np.ravel(found.data).astype(np.int64, copy=False)
    if not np.all(found.known | ~runs):
        try:
            addresses = places_of(evaluation, node.args[0])
        except UnsupportedError:
            return None
    elif not np.all(runs):
        addresses = addresses[np.broadcast_to(runs, addresses.shape)]
    item = accesses.memory.find(int(addresses[0])) if addresses.size else None
    if item is None or addresses.min() < item.base or addresses.max() + 8 > item.end:
        return None
    return item, addresses - item.base


def guarded_places(accesses: Accesses, node: Expr) -> tuple[Object, int, int, int, int] | None:
    """As `Accesses.touched`; of a number whose place is not known in some iteration, all places that it may have."""
    if node.data[0] not in accesses.memory.rows.loads:
        return accesses.touched(node)
    level, found = accesses.evaluation.evaluated(node.args[0])
    if np.all(found.known | ~may_load(accesses.evaluation, str(node.data[0]), level)):
        return accesses.touched(node)
    places = number_places(accesses, node)
    if places is None:
        return accesses.touched(node)
    offsets = np.sort(places[1])
    low, high = int(offsets[0]), int(offsets[-1])
    return places[0], low, high + 8, int(np.gcd.reduce(offsets - low)), 8


def _lead_to_rows(accesses: Accesses, access: Access) -> bool:
    """Whether all numbers that an access may read to find its row are there, and each leads to some row."""
    rows = accesses.memory.rows
    assert access.object is not None
    filled: dict[Object, npt.NDArray[np.bool_]] = {}
    for _, item, offsets in rows.columns[access.object.name]:
        filled.setdefault(rows.numbers[item], np.zeros(item.size, np.bool_))[offsets] = True
    numbers = [node for node in access.site.address.loads() if node.data[0] in rows.loads]
    for node in numbers:
        places = number_places(accesses, node)
        if places is None or places[0] not in filled or not filled[places[0]][places[1]].all():
            return False
        found, readable = accesses.memory.gather(places[0].base + places[1], "i64")
        if not np.all(readable & (found != 0)):
            return False
    return bool(numbers)


def _check_inside(accesses: Accesses, access: Access, first: int) -> None:
    """Refuse an access that a pointer to no object leads to. `first`: byte at which the first row begins."""
    found = accesses.addresses(access) if access.low < first else None
    assert access.object is not None
    lowest = (
        access.low if found is None else int(found[0][found[1]].min(initial=access.object.end)) - access.object.base
    )
    if found is None and lowest < first and not _lead_to_rows(accesses, access):
        raise UnsupportedError(f"it is not known which rows behind pointers are reached at {access.site.place.told}")
    if found is not None and lowest < first:
        raise UnsupportedError(f"rows in memory that is not known are reached at {access.site.place.told}")
