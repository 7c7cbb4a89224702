"""Where in each element an access falls whose element is not known.

`node[at].x` is `node + 16 at + 8`, whatever `at` is: the bytes from 8 on of some record. So a loop may read fields of
records that only the iteration itself finds, and change other fields of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
import numpy.typing as npt
from tracecut.ir.llvm import int_bits
from tracecut.ir.loops.expressions import Expr

from .evaluation.evaluate import Evaluation

NARROW = 32  # bits of an integer whose product with the size of an element cannot wrap at 64


@dataclass(frozen=True)
class Lattice:
    """The numbers start + step · n for all integers n. A step of 0: the one number."""

    start: int
    step: int
    bits: int = 0  # of the widest unknown integer in it, signed


ANY = Lattice(0, 1, 64)


def lattice_of(evaluation: Evaluation, address: Expr) -> Lattice:
    """A lattice that holds every value of an expression, as the machine computes it. O(nodes)."""
    memo: dict[int, Lattice] = {}
    for node in address.walk():
        memo[id(node)] = _lattice(evaluation, node, memo)
    return memo[id(address)]


def _lattice(evaluation: Evaluation, node: Expr, memo: dict[int, Lattice]) -> Lattice:
    known = evaluation.alone(node)
    if known is not None:
        return Lattice(known, 0)
    if node.kind == "cast" and node.data[0] in ("sext", "zext"):
        width = int_bits(node.data[1]) or 64
        return Lattice(0, 1, width) if width <= NARROW else ANY
    if node.kind != "op" or node.data[1] not in ("ptr", "i64"):
        return ANY
    first, second = (memo[id(arg)] for arg in node.args)
    if node.data[0] in ("add", "sub"):
        sign = 1 if node.data[0] == "add" else -1
        return _checked(first.start + sign * second.start, gcd(first.step, second.step), max(first.bits, second.bits))
    if node.data[0] == "shl" and second.step == 0 and 0 <= second.start < 64:
        second = Lattice(1 << second.start, 0)
    elif node.data[0] != "mul":
        return ANY
    if first.step == 0:
        first, second = second, first
    if second.step:
        return ANY
    return _checked(first.start * second.start, first.step * abs(second.start), first.bits)


def _checked(start: int, step: int, bits: int) -> Lattice:
    """Of a sum or product that may wrap at 64 bits only the power of two in the step is certain."""
    if bits > NARROW or step >= 1 << 24:
        step &= -step
    return Lattice(start, step, bits)


def meets(found: Lattice, width: int, places: npt.NDArray[np.int64], other: int) -> bool:
    """Whether an access of `width` bytes somewhere on a lattice may touch one of `other` bytes at known places.

    O(places).
    """
    if not len(places):
        return False
    if found.step == 0:
        gaps = places - found.start
        return bool(np.any((gaps < width) & (gaps > -other)))
    if width + other > found.step:
        return True
    gaps = (places - found.start) % found.step
    return bool(np.any((gaps < width) | (gaps > found.step - other)))
