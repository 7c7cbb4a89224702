"""Detects scopes whose behaviour depends on the addresses of arrays, which differ between runs.

A guard checks offsets of pointers within their arrays, not the addresses of arrays, so no computed value may depend on
these. This analysis determines how each value changes if arrays are shifted: by a sum of integer multiples of the
shifts. An address is shifted with one array; a difference of two pointers into the same array does not change. Values
derived from shifted values by other operations than sums (a hash or a bit of an address) are valid for one run only.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.path_conditions import Condition, literals
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.loops.pointer_rotation import in_each_state

from .make_guard import place_pointers, pointer_values, pointers_of

Shift = Mapping[Any, int]  # array, or a pointer that lies in none → how often a value moves along with it
STILL: Shift = {}
SUMS = {"add": 1, "sub": -1}


MOVES = "on addresses: where an array lies in memory is another place in each run"
STORED = "on pointers that are stored in memory, and no guard asks for these"


class _Moving(Exception):
    """A number that moves is used for something else than a sum; why that cannot be allowed."""

    def __init__(self, why: str = MOVES) -> None:
        super().__init__(why)
        self.why = why


def check_address_dependence(accesses: Accesses) -> None:
    """Refuse a scope in which an index, a branch or a number of iterations depends on where something lies.

    Raises UnsupportedError with the line. O(expressions of the scope).
    """
    nest, relied = accesses.nest, accesses.evaluation.relied
    arrays = _arrays(accesses)
    shifts: dict[Expr, Shift] = {}
    sites = [access.site for access in accesses.all() if access.runs]
    roots = [expr for site in sites for expr in (site.address, site.length) if expr is not None]
    seen: set[int] = set()
    for root in dict.fromkeys([*roots, *relied.values()]):
        for one in in_each_state(root, nest.pool):
            try:
                for node in one.walk(seen):
                    shifts[node] = _shift(node, shifts, arrays)
            except _Moving as error:
                raise _refusal(_place(nest, root), error.why) from None
            if not _is_place(shifts[one]):
                raise _refusal(_place(nest, root))
    for info in nest.loops.values():
        if info.trip is not None and all(id(part) in relied for part in info.trip.args):
            for parts in itertools.product(*(in_each_state(part, nest.pool) for part in info.trip.args)):
                first, step, bound = (shifts[part] for part in parts)
                if step or bool(first) != bool(bound):
                    raise _refusal(info.place.told)


def _refusal(place: str, why: str = MOVES) -> UnsupportedError:
    return UnsupportedError(f"what is done at {place} depends {why}")


def _arrays(accesses: Accesses) -> dict[Expr, Object | Expr]:
    """The array of each pointer of a scope; of one that lies in none, the array that ends there, or the pointer."""
    nest, memory = accesses.nest, accesses.memory
    found: dict[Expr, Object | Expr] = {}
    values = pointer_values(nest, memory, accesses.lives)
    for expr, value, placed in zip(pointers_of(nest), values, place_pointers(memory, values), strict=True):
        item = placed[0] if placed is not None else None
        if item is None and value is not None:
            item = memory.find(value - 1)
        found[expr] = expr if item is None else item
    return found


def _is_place(shift: Shift) -> bool:
    """Whether a value stays as it is, or moves along with one array as its addresses do."""
    return not shift or list(shift.values()) == [1]


def _shift(node: Expr, shifts: Mapping[Expr, Shift], arrays: Mapping[Expr, Object | Expr]) -> Shift:
    """How a value moves, once it is known how its parts do. Raises _Moving where it does not by a sum of shifts."""
    if node.kind in ("live", "load"):
        if node.data[1] == "ptr" and node not in arrays:
            raise _Moving(STORED)  # one of many
        return {arrays[node]: 1} if node.data[1] == "ptr" else STILL
    parts = [shifts[part] for part in node.args]
    if not any(parts):
        return STILL
    if node.kind in ("choice", "any", "state"):
        ways = parts[node.kind == "choice" :]
        if node.kind == "choice" and parts[0]:
            raise _Moving
        return ways[0] if all(way == ways[0] for way in ways) else {node: 1}
    if node.kind == "cmp" and all(_is_place(part) for part in parts):
        first, second = parts
        null = any(part.kind == "const" and part.data[0] == 0 for part in node.args)
        apart = node.data[0] in ("icmp eq", "icmp ne") and all(isinstance(item, Object) for item in {*first, *second})
        if first == second or null or (apart and first and second):  # of one array, or the same in each run
            return STILL
    if node.kind == "op":
        opcode, (first, second) = node.data[0], parts
        if opcode in SUMS:
            moved = {item: first.get(item, 0) + SUMS[opcode] * second.get(item, 0) for item in {*first, *second}}
            return {item: times for item, times in moved.items() if times}
        if opcode in ("mul", "shl") and (scaled := _scaled(opcode, node.args, parts)) is not None:
            return scaled
    raise _Moving


def _scaled(opcode: str, args: tuple[Expr, ...], parts: list[Shift]) -> Shift | None:
    for place in (1, 0) if opcode == "mul" else (1,):
        by = args[place]
        if by.kind == "const" and isinstance(by.data[0], int) and (opcode == "mul" or 0 <= by.data[0] < 64):
            factor = by.data[0] if opcode == "mul" else 1 << by.data[0]
            return {item: factor * times for item, times in parts[1 - place].items()}
    return None


def _place(nest: Nest, root: Expr) -> str:
    """The line of an access, or of a loop, that an expression decides on."""
    found = []
    for site in nest.sites:
        found.append((site.place, [site.address, *_conditions(site.reach), *filter(None, [site.length])]))
    for info in nest.loops.values():
        parts = [expr for taken in (info.reach, *(taken for _, taken in info.early)) for expr in _conditions(taken)]
        found.append((info.place, [*parts, *(() if info.trip is None else info.trip.args)]))
    places = (place for place, parts in found if any(node is root for part in parts for node in part.walk()))
    return next((place for place in places if place.line), nest.loops[nest.root].place).told


def _conditions(reach: Condition) -> list[Expr]:
    return [expr for term in literals(reach) for expr, _ in term]
