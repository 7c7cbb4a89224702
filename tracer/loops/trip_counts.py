"""Trip counts: the exit test as an expression, and its closed form on numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.llvm import Instruction, int_bits
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.operands import NEGATED, SWAPPED
from tracecut.ir.llvm.passes.aside.look_ahead import never_left
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.nest import Edge
from tracecut.ir.loops.path_conditions import Literal

from .scalar_evolution import ScalarView

Vector = npt.NDArray[np.int64]
MAX_NUMBER = 1 << 61
MAX_BLOCKS = 32  # that are looked at behind an exit


@dataclass(frozen=True)
class Ending:
    """How a loop ends.

    Attributes:
        trip: iterations if no early exit is taken; `why` says why there is no trip count, or that it may be left early.
        edge: the exit that counts.
        early: what else ends it: an exit, and what holds, given that its block runs, when it is taken. Without a trip
            count, all of its exits, where each tests something.
        through: inner loops that it may be left through: by exits that are among their early ones.
    """

    trip: Expr | None
    why: str = ""
    edge: Edge = ("", "")
    early: tuple[tuple[Edge, tuple[Literal, ...]], ...] = ()
    through: tuple[Loop, ...] = ()


def ending(scalars: ScalarView, loop: Loop) -> Ending:
    """The exit that determines the trip count of a loop, and its other exits."""
    if not loop.exits:
        return Ending(None, "never ends")
    if len(loop.latches) != 1 or loop.preheader is None:
        return Ending(None, "has several entries or latches")
    exits = _exits(loop)
    why = "is left in several places" if len(exits) > 1 else ""
    for edge in sorted(exits, key=lambda edge: _never_returns(scalars, edge[1])):
        found = _counted(scalars, loop, edge)
        if found.trip is not None:
            own, through = _other_exits(scalars, loop, edge)
            if None not in own.values() and None not in through:
                early = (*found.early, *((other, (test,)) for other, test in own.items() if test is not None))
                why = "may be left early" if early or through else ""
                return Ending(found.trip, why, edge, early, tuple(filter(None, through)))
        why = why or found.why
    # Where no exit counts, the first that is taken ends the loop: how often it runs follows from what its tests load.
    tested = all(_is_branch(scalars, loop, inside) for inside, _ in exits)
    early = tuple((edge, (_test(scalars, edge),)) for edge in exits) if tested else ()
    return Ending(None, why, exits[0] if len(exits) == 1 else ("", ""), early)


def _exits(loop: Loop) -> list[Edge]:
    """The exits of a loop, but those of which a loop in front of it finds out that they are not taken."""
    return [edge for edge in loop.exits if not never_left(edge[1])]


def _never_returns(scalars: ScalarView, block: str) -> bool:
    """Whether the program ends, or throws an exception, wherever control goes from a block: a check that failed.

    Such an exit may count the iterations, too (`v.at(i)`), but another one is taken in the end.
    """
    blocks, seen, stack = scalars.view.flow.blocks, {block}, [block]
    while stack:
        end = blocks[stack.pop()].terminator
        if end.op not in ("br", "switch", "invoke", "unreachable") or len(seen) > MAX_BLOCKS:
            return False
        fresh = {*(end.labels[:1] if end.op == "invoke" else end.labels)} - seen
        seen |= fresh
        stack += fresh
    return True


def _other_exits(
    scalars: ScalarView, loop: Loop, counted: Edge
) -> tuple[dict[Edge, Literal | None], list[Loop | None]]:
    """Exits of a loop but the counted one, with what holds when they are taken: None where that is not understood; and
    the inner loops that others start from: None for one that has no trip count, or that counts by one of them.

    An inner loop of this one's body that ends is left by one of its exits.
    """
    own: dict[Edge, Literal | None] = {}
    inner: dict[Loop, list[Edge]] = {}
    for edge in _exits(loop):
        start = scalars.view.innermost(edge[0])
        if start is not None and start is not loop:
            inner.setdefault(start, []).append(edge)
        elif edge != counted:
            own[edge] = _test(scalars, edge) if _is_branch(scalars, loop, edge[0]) else None
    through: list[Loop | None] = []
    for start, edges in inner.items():
        end = ending(scalars, start)
        early = {edge for edge, _ in end.early}
        if end.trip is not None and {*edges} <= early:
            through.append(start)
            continue
        for edge in edges:
            by = scalars.left.by(start, edge) if start.parent is loop and edge in {end.edge, *early} else None
            own[edge] = None if by is None else (by, True)
    return own, through


def _is_branch(scalars: ScalarView, loop: Loop, inside: str) -> bool:
    """Whether a block of the loop's own body, of no inner loop, ends in a branch on a condition."""
    end = scalars.view.flow.blocks[inside].terminator
    return end.op == "br" and len(set(end.labels)) == 2 and scalars.view.innermost(inside) is loop


def _test(scalars: ScalarView, edge: Edge) -> Literal:
    """What holds when a branch takes an edge."""
    end = scalars.view.flow.blocks[edge[0]].terminator
    return scalars.operand(end.operands[0]), end.labels[0] == edge[1]


def _counted(scalars: ScalarView, loop: Loop, edge: Edge) -> Ending:
    """Trip count for one exit of a loop: a comparison, or a conjunction that contains one."""
    view, inside = scalars.view, edge[0]
    if inside not in (loop.header, loop.latches[0]):
        return Ending(None, "is left in the middle of its body")
    if inside != loop.latches[0] and any(_acts(instruction) for instruction in view.flow.blocks[inside].instructions):
        return Ending(None, "executes a part of its body once more than the rest")
    end = view.flow.blocks[inside].terminator
    if end.op != "br" or not end.operands:
        return Ending(None, "is left by something else than a conditional branch")
    test, leaves = _test(scalars, edge)
    parts = _conjuncts(test, not leaves)
    if not any(part.kind == "cmp" and str(part.data[0]).startswith("icmp") for part, _ in parts):
        return Ending(None, "has an exit test that is not an integer comparison")
    for part, holds in parts:
        trip = _trip(scalars, loop, part, holds, after=inside == loop.latches[0])
        if trip is not None:
            others = [other for other in parts if other[0] is not part]
            return Ending(trip, early=tuple((edge, ((part, holds), (other, not wanted))) for other, wanted in others))
    return Ending(None, "has an exit test that depends on what it computes")


def _conjuncts(test: Expr, wanted: bool) -> list[Literal]:
    """Conditions that hold together exactly when `test` is `wanted`."""
    first: Expr | None = None
    if test.kind == "op" and test.data == ("and" if wanted else "or", "i1"):
        first, second = test.args
    elif test.kind == "choice":
        # c ? t : false as `and`, c ? true : t as `or`
        condition, yes, no = test.args
        if wanted and _is_const(no, 0):
            first, second = condition, yes
        elif not wanted and _is_const(yes, -1):
            first, second = condition, no
    return [(test, wanted)] if first is None else [*_conjuncts(first, wanted), *_conjuncts(second, wanted)]


def _is_const(expr: Expr, number: int) -> bool:
    return expr.kind == "const" and expr.data[0] == number


def _trip(scalars: ScalarView, loop: Loop, test: Expr, holds: bool, *, after: bool) -> Expr | None:
    """Trip count of a loop that continues while an integer comparison holds (or does not); None when not known."""
    pool = scalars.pool
    if test.kind != "cmp" or not str(test.data[0]).startswith("icmp"):
        return None
    predicate, type = str(test.data[0]).split()[1], str(test.data[1])
    counter = pool.counter(scalars.view.loop_ids[loop])
    for (tested, bound), word in ((test.args, predicate), (test.args[::-1], SWAPPED[predicate])):
        if scalars.varies_in(bound, loop, written=False):  # whether a store changes it the run has to show
            continue
        found = extended(pool, tested, counter)
        if found is None or (found[1].kind == "const" and found[1].data[0] == 0):
            continue
        start, step, narrow = found
        if scalars.varies_in(start, loop) or scalars.varies_in(step, loop):
            continue
        word = word if holds else NEGATED[word]
        way = apart(pool, start, bound) if type == "ptr" else None
        if way is not None:  # pointers into one object compare as what was added to where it lies
            (start, bound), word = way, word.replace("u", "s")
        if word == "slt" or (word == "ne" and type == "i64"):
            bound = behind(pool, start, step, bound)
        return pool.make("trip", (int_bits(type) or 64, word, after, narrow), (start, step, bound))
    return None


def behind(pool: Pool, start: Expr, step: Expr, bound: Expr) -> Expr:
    """The larger of two numbers, as a bound, is the second one where the loop starts one step behind the first.

    `for (e = row[v]; e < row[v + 1]; e++)` with its test at the end goes up to the larger of both: if that is `row[v]`,
    the next number is behind it, and so it is behind `row[v + 1]`. Tested by `<`, it ends at once with either; by `!=`,
    it would not end with either before the numbers begin again, which no loop that counts in 64 bits comes to.
    """
    largest = bound.args[0] if bound.kind == "cast" and bound.data[0] == "sext" else bound
    if largest.kind != "op" or largest.data[0] != "smax" or step.kind != "const" or step.data[0] != 1:
        return bound
    one, other = (part if largest is bound else pool.make("cast", bound.data, (part,)) for part in largest.args)
    for first, second in ((one, other), (other, one)):
        if start is pool.op("add", str(start.data[1]) if start.kind == "op" else "i64", first, pool.const(1)):
            return second
    return bound


def apart(pool: Pool, start: Expr, bound: Expr) -> tuple[Expr, Expr] | None:
    """What is added to a place that two pointers are reached from, where a loaded number says which place that is.

    `end = begin + node[i].count` with `begin = links + node[i].first`: how far they are apart is not up to `first`.
    None where both have no such number in common, or that is needed for the rest, too. O(nodes).
    """
    first: list[Expr] = []
    common: list[Expr] = []
    last = _added(bound)
    for part in _added(start):
        if part in last:  # as often as it is in both
            last.remove(part)
            common.append(part)
        else:
            first.append(part)
    told = {node for part in common for node in part.walk() if node.kind == "load" and node.data[1] != "ptr"}
    if not told or any(node in told for part in (*first, *last) for node in part.walk()):
        return None
    return _sum(pool, first), _sum(pool, last)


def _added(expr: Expr) -> list[Expr]:
    """What an address, or another number of 64 bits, is the sum of."""
    if expr.kind == "op" and expr.data[0] == "add" and expr.data[1] in ("ptr", "i64"):
        return [part for arg in expr.args for part in _added(arg)]
    return [expr]


def _sum(pool: Pool, parts: list[Expr]) -> Expr:
    found = pool.const(0)
    for part in parts:
        found = pool.op("add", "i64", found, part)
    return found


def _acts(instruction: Instruction) -> bool:
    """Whether an instruction has side effects."""
    if instruction.op == "call":
        return not effect_of(instruction).movable
    return instruction.op in ("store", "atomicrmw", "cmpxchg", "fence", "invoke", "callbr")


def extended(pool: Pool, expr: Expr, counter: Expr) -> tuple[Expr, Expr, int] | None:
    """(value at counter 0, step, narrow) of an expression that is linear in `counter` until it wraps.

    `narrow` as in a trip node: the expression may be the sign or zero extension of a linear one.
    """
    if expr.kind == "cast" and expr.data[0] in ("sext", "zext"):
        found = affine(pool, expr.args[0], counter)
        if found is None:
            return None
        opcode, source, target = expr.data
        bits = int_bits(source) or 64
        start, step = _cast(pool, opcode, source, target, found[0]), _cast(pool, "sext", source, target, found[1])
        return start, step, bits if opcode == "zext" else -bits
    linear = affine(pool, expr, counter)
    return None if linear is None else (*linear, 0)


def affine(pool: Pool, expr: Expr, counter: Expr) -> tuple[Expr, Expr] | None:
    """(value at counter 0, step) of an expression that is linear in `counter`, modulo 2 to the width of its type.

    O(nodes).
    """
    known: dict[int, tuple[Expr, Expr] | None] = {}
    still = pool.const(0)
    for node in expr.walk():
        parts = [known[id(arg)] for arg in node.args]
        if node is counter:
            known[id(node)] = still, pool.const(1)
        elif all(part is not None and part[1] is still for part in parts):
            known[id(node)] = node, still
        else:
            known[id(node)] = _combined(pool, node, parts)
    return known[id(expr)]


def _combined(pool: Pool, node: Expr, parts: list[tuple[Expr, Expr] | None]) -> tuple[Expr, Expr] | None:
    if node.kind == "cast" and node.data[0] == "trunc" and parts[0] is not None:
        opcode, source, target = node.data
        return _cast(pool, opcode, source, target, parts[0][0]), _cast(pool, opcode, source, target, parts[0][1])
    if node.kind != "op" or None in parts:
        return None
    opcode, type = node.data
    a, b = (part for part in parts if part is not None)
    still = pool.const(0)
    step_type = "i64" if type == "ptr" else type
    if opcode in ("add", "sub"):
        return pool.op(opcode, type, a[0], b[0]), pool.op(opcode, step_type, a[1], b[1])
    if opcode == "mul" and a[1] is still:
        a, b = b, a
    if opcode in ("mul", "shl") and b[1] is still:
        return pool.op(opcode, type, a[0], b[0]), pool.op(opcode, type, a[1], b[0])
    return None


def count(data: tuple[Any, ...], start: Vector, step: Vector, bound: Vector) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Closed form of a trip count on vectors: (iterations, known).

    `known` is False where the tested value would wrap before it meets its bound, where it never would, and for
    numbers beyond 2**62. A loop that is tested after its body runs at least once. O(n).
    """
    bits, predicate, after, narrow = int(data[0]), str(data[1]), bool(data[2]), int(data[3])
    equality = predicate in ("eq", "ne")
    signed = equality or predicate[0] == "s"
    # What is one number for all stays one: most of what follows is then a vector once or twice.
    first, limit = _read(np.asarray(start), bits, signed), _read(np.asarray(bound), bits, signed)
    stride = _read(np.asarray(step), bits, signed=True)
    known = np.ones(np.broadcast_shapes(first.shape, limit.shape, stride.shape), bool)
    if bits > 62:  # 64 bits: stay where nothing below can overflow
        for part in (first, limit, stride):
            known &= (part > -MAX_NUMBER) & (part < MAX_NUMBER)
            if not signed and part is not stride:
                known &= part >= 0
        if not known.all():
            first, limit, stride = (np.where(known, part, 0) for part in (first, limit, stride))
    pace = np.maximum(np.abs(stride), 1)
    if predicate == "eq":
        passes = np.where(first == limit, 1, 0)
        known &= (first != limit) | (stride != 0)
    elif predicate == "ne":
        gap = np.where(stride < 0, first - limit, limit - first)
        if bits <= 62:
            gap &= (1 << bits) - 1  # the tested value may pass the end of its range on the way
        passes = np.where(gap > 0, _divided(gap, pace), 0)
        known &= (gap == 0) | ((stride != 0) & (gap > 0) & (passes * pace == gap))
    else:
        gap = limit - first if predicate[1] == "l" else first - limit
        gap += 1 if predicate[2] == "e" else 0
        passes = np.where(gap > 0, -_divided(-gap, pace), 0)
        known &= (gap <= 0) | (stride > 0 if predicate[1] == "l" else stride < 0)
    # Where the first value that ends the loop lies: it has to be a value of the type, and of what it is extended from
    # (as the first one: read as unsigned, the extension of a negative number is none).
    if narrow or not (equality or (signed and bits > 62)):
        last = first + stride * passes
        if not equality:
            known &= _fits(last, bits, signed)
        if narrow:
            known &= _fits(first, abs(narrow), narrow < 0) & _fits(last, abs(narrow), narrow < 0)
    return np.where(known, passes, 0) + (1 if after else 0), known


def _divided(gap: Vector, pace: Vector) -> Vector:
    """The quotient, rounded down; steps of one are most loops', and dividing takes longer than all else."""
    return gap if pace.ndim == 0 and int(pace) == 1 else gap // pace


def _fits(values: Vector, bits: int, signed: bool) -> npt.NDArray[np.bool_]:
    if bits > 62:
        return np.asarray(signed | (values >= 0), np.bool_)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return (values >= low) & (values <= high)


def _read(values: Vector, bits: int, signed: bool) -> Vector:
    """Values of a `bits` wide integer as signed or unsigned numbers (64-bit ones stay as they are)."""
    values = values.astype(np.int64, copy=False)
    if bits >= 64:
        return values
    if not signed:
        return np.asarray(values & np.int64((1 << bits) - 1))
    low = np.asarray(values << (64 - bits))
    low >>= 64 - bits
    return low


def _cast(pool: Pool, opcode: str, source: str, target: str, value: Expr) -> Expr:
    if value.kind == "const":
        bits = int_bits(target if opcode == "trunc" else source) or 64
        low, sign = value.data[0] & ((1 << bits) - 1), 1 << (bits - 1)
        return pool.const(low if opcode == "zext" else (low ^ sign) - sign)
    return pool.make("cast", (opcode, source, target), (value,))
