"""How often a loop runs: the exit test as an expression, and its closed form on numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .expr import Expr, Pool
from .scalar import ScalarView
from .text import int_bits
from .text.cfg import Loop

Vector = npt.NDArray[np.int64]
_SWAPPED = {"eq": "eq", "ne": "ne", "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle", "ult": "ugt", "ugt": "ult"}
_SWAPPED |= {"ule": "uge", "uge": "ule"}
_NEGATED = {"eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt", "ult": "uge", "uge": "ult"}
_NEGATED |= {"ugt": "ule", "ule": "ugt"}


def trip_expression(scalars: ScalarView, loop: Loop) -> tuple[Expr | None, str]:
    """(trip count, "") or (None, why there is none)."""
    view, pool = scalars.view, scalars.pool
    if len(loop.exits) != 1:
        return None, "is left in several places" if loop.exits else "never ends"
    if len(loop.latches) != 1 or loop.preheader is None:
        return None, "is entered or repeated in several places"
    inside, _ = loop.exits[0]
    if inside not in (loop.header, loop.latches[0]):
        return None, "is left from the middle of its body"
    end = view.flow.blocks[inside].terminator
    if end.op != "br" or not end.operands:
        return None, "is left by something that is not a plain branch"
    test = scalars.operand(end.operands[0])
    continues = end.labels[0] in loop.blocks
    if test.kind != "cmp" or not str(test.data[0]).startswith("icmp"):
        return None, "ends on a condition that is not a comparison of integers"
    predicate, type = str(test.data[0]).split()[1], str(test.data[1])
    counter = pool.counter(view.loop_ids[loop])
    for (tested, bound), word in ((test.args, predicate), (test.args[::-1], _SWAPPED[predicate])):
        if scalars.varies_in(bound, loop):
            continue
        found = affine(pool, tested, counter)
        if found is None or (found[1].kind == "const" and found[1].data[0] == 0):
            continue
        start, step, width = found
        if scalars.varies_in(start, loop) or scalars.varies_in(step, loop):
            continue
        bits = min(width, int_bits(type) or 64)
        after = inside == loop.latches[0]
        word = word if continues else _NEGATED[word]
        return pool.make("trip", (bits, word, after), (start, step, bound)), ""
    return None, "ends on a condition that depends on what it computes"


def affine(pool: Pool, expr: Expr, counter: Expr) -> tuple[Expr, Expr, int] | None:
    """(value at counter 0, step, narrowest width on the way) of an expression that is linear in `counter`."""
    if expr is counter:
        return pool.const(0), pool.const(1), 64
    if not any(node is counter for node in expr.walk()):
        return expr, pool.const(0), 64
    if expr.kind == "cast" and expr.data[0] in ("sext", "zext"):
        found = affine(pool, expr.args[0], counter)
        if found is None:
            return None
        start, step, width = found
        opcode, source, target = expr.data
        return (
            _cast(pool, opcode, source, target, start),
            _cast(pool, "sext", source, target, step),
            min(width, int_bits(source) or 64),
        )
    if expr.kind != "op":
        return None
    opcode, type = expr.data
    a, b = (affine(pool, arg, counter) for arg in expr.args)
    if a is None or b is None:
        return None
    width = min(a[2], b[2], int_bits(type) or 64)
    step_type = "i64" if type == "ptr" else type
    if opcode in ("add", "sub"):
        return pool.op(opcode, type, a[0], b[0]), pool.op(opcode, step_type, a[1], b[1]), width
    if opcode == "mul":
        for one, other in ((a, b), (b, a)):
            if other[1].kind == "const" and other[1].data[0] == 0:
                return pool.op("mul", type, one[0], other[0]), pool.op("mul", type, one[1], other[0]), width
    if opcode == "shl" and b[1].kind == "const" and b[1].data[0] == 0:
        return pool.op("shl", type, a[0], b[0]), pool.op("shl", type, a[1], b[0]), width
    return None


def count(data: tuple[Any, ...], start: Vector, step: Vector, bound: Vector) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Closed form of a trip count on vectors: (iterations, known).

    `known` is False where the counter would wrap, or would never meet its bound. A loop that is tested after its
    body runs at least once. O(n).
    """
    bits, predicate, after = int(data[0]), str(data[1]), bool(data[2])
    start, step, bound = np.broadcast_arrays(np.asarray(start), np.asarray(step), np.asarray(bound))
    signed = predicate[0] == "s" or predicate in ("eq", "ne")
    first, limit = _read(start, bits, signed), _read(bound, bits, signed)
    known = np.ones(first.shape, bool)
    stride = step.astype(np.int64)
    with np.errstate(all="ignore"):
        if predicate in ("slt", "ult", "sle", "ule"):
            gap = limit - first + (1 if predicate[1:] == "le" else 0)
            passes = np.where(gap > 0, -(-gap // np.maximum(stride, 1)), 0)
            known &= (gap <= 0) | (stride > 0)
        elif predicate in ("sgt", "ugt", "sge", "uge"):
            gap = first - limit + (1 if predicate[1:] == "ge" else 0)
            passes = np.where(gap > 0, -(-gap // np.maximum(-stride, 1)), 0)
            known &= (gap <= 0) | (stride < 0)
        elif predicate == "ne":
            gap = limit - first
            safe = np.where(stride == 0, 1, stride)
            passes = np.where(gap == 0, 0, gap // safe)
            known &= (gap == 0) | ((stride != 0) & (gap % safe == 0) & (passes > 0))
        else:
            passes = np.where(first == limit, 1, 0)
            known &= (first != limit) | (stride != 0)
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        reach = float(np.abs(first).max(initial=0)) + float(np.abs(stride).max(initial=0)) * float(
            passes.max(initial=0)
        )
        if reach < 2.0**62:
            last = first + stride * passes
        else:
            last = first.astype(object) + stride.astype(object) * passes
        known &= np.asarray((last >= low) & (last <= high), bool)
    passes = np.where(known, passes, 0).astype(np.int64)
    return passes + (1 if after else 0), known


def _read(values: Vector, bits: int, signed: bool) -> Vector:
    """Values of a `bits` wide integer as signed or unsigned numbers (64-bit unsigned stays as int64 below 2**63)."""
    values = values.astype(np.int64)
    if bits >= 64:
        return values
    mask = np.int64((1 << bits) - 1)
    low = values & mask
    if not signed:
        return low
    sign = np.int64(1 << (bits - 1))
    return (low ^ sign) - sign


def _cast(pool: Pool, opcode: str, source: str, target: str, value: Expr) -> Expr:
    if value.kind == "const":
        return value
    return pool.make("cast", (opcode, source, target), (value,))
