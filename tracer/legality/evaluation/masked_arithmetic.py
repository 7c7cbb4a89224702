"""LLVM's integer and floating-point operations on vectors of numbers, with a mask of where they are known.

Integers are held sign-extended in int64, whatever their width; what C leaves undefined becomes unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.llvm import int_bits
from tracecut.support.lazy_kernels import compiled

from .memory import DTYPES

Bools = npt.NDArray[np.bool_]
Few = slice | npt.NDArray[np.int64]  # of the entries of a vector
MASKS = "Array(boolean, 1, 'A', True)"  # Numba's word for those that are one number, or cannot be written


@dataclass(frozen=True)
class Values:
    """A vector (or one number for all) and where it is known."""

    data: npt.NDArray[Any]
    known: Bools | np.bool_

    @property
    def all_known(self) -> bool:
        return bool(np.all(self.known))

    def taken(self, index: Few) -> Values:
        """The entries of these places, of a slice without copying them; what is one for all stays so."""
        known = self.known[index] if isinstance(self.known, np.ndarray) and self.known.ndim else self.known
        return Values(self.data[index] if self.data.ndim else self.data, known)


UNKNOWN = Values(np.zeros((), np.int64), np.bool_(False))


def widened(values: npt.NDArray[Any], type: str) -> npt.NDArray[Any]:
    if type in ("double", "float"):
        return values
    if type == "i1":
        return (values & 1).astype(np.int64) * -1
    return values.astype(np.int64)


def _wrap(data: npt.NDArray[Any], type: str) -> npt.NDArray[Any]:
    bits = int_bits(type)
    if bits is None or bits >= 64:
        return data
    low = np.asarray(data << (64 - bits))
    low >>= 64 - bits  # in place: long vectors are not made twice
    return low


def _unsigned(data: npt.NDArray[Any], type: str) -> npt.NDArray[Any]:
    bits = int_bits(type) or 64
    if bits >= 64 and np.ndim(data):
        return data.astype(np.int64, copy=False).view(np.uint64)
    if bits >= 64:
        return np.asarray(int(data) & (2**64 - 1), np.uint64)
    return data & ((1 << bits) - 1)


def combined(kind: str, data: tuple[Any, ...], parts: Sequence[Values]) -> Values:
    """What an expression is whose arguments are `parts`, as long as each other or one number: a `choice`, a `cast`, a
    `cmp` or an `op`, with its `data`."""
    if kind == "choice":
        condition, yes, no = parts
        chosen = condition.data != 0
        values = np.where(chosen, yes.data, no.data)
        return Values(values, condition.known & np.where(chosen, yes.known, no.known))
    known = parts[0].known if len(parts) == 1 else parts[0].known & parts[1].known
    with np.errstate(all="ignore"):
        if kind == "cast":
            return cast(data, parts[0].data, known)
        if kind == "cmp":
            return Values(compare(str(data[0]), str(data[1]), parts[0].data, parts[1].data), known)
        return arithmetic(str(data[0]), str(data[1]), parts[0].data, parts[1].data, known)


def cast(data: tuple[Any, ...], values: npt.NDArray[Any], known: Any) -> Values:
    opcode, source, target = (str(word) for word in data)
    if opcode == "zext":
        return Values(np.asarray(_unsigned(values, source), np.int64), known)
    if opcode == "sext":
        return Values(values, known)
    if opcode == "trunc":
        return Values(_wrap(values, target), known)
    if opcode in ("sitofp", "fpext", "fptrunc"):
        return Values(values.astype(DTYPES[target]), known)
    if opcode == "uitofp":
        return Values(_unsigned(values, source).astype(DTYPES[target]), known)
    if opcode not in ("fptosi", "fptoui"):
        return UNKNOWN
    whole, bits = np.trunc(values), int_bits(target) or 64
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if opcode == "fptosi" else (0.0, 2.0**bits)
    fits = (whole >= low) & (whole < high)
    whole = np.where(fits, whole, 0.0)
    upper = np.where(whole >= 2.0**63, whole - 2.0**64, whole)  # of 64 unsigned bits
    return Values(_wrap(upper.astype(np.int64), target), known & fits)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def compare(predicate: str, type: str, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    op, word = predicate.split()
    if op == "icmp":
        if word[0] == "u":
            a, b = _unsigned(a, type), _unsigned(b, type)
        return np.asarray(_COMPARE[word if word in ("eq", "ne") else word[1:]](a, b), np.int64) * -1
    unordered = np.isnan(a) | np.isnan(b)
    if word in ("ord", "uno"):
        result = unordered if word == "uno" else ~unordered
    elif word in ("true", "false"):
        result = np.full(np.broadcast(a, b).shape, word == "true")
    else:
        result = _COMPARE[word[1:]](a, b)
        result = result | unordered if word[0] == "u" else result & ~unordered
    return np.asarray(result, np.int64) * -1


def arithmetic(opcode: str, type: str, a: Any, b: Any, known: Any) -> Values:
    if type in ("double", "float"):
        functions = {"fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide}
        if opcode == "fabs":
            return Values(np.abs(a), known)
        if opcode not in functions:
            return UNKNOWN
        return Values(functions[opcode](a, b).astype(DTYPES[type]), known)
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    bits = int_bits(type) or 64
    simple: dict[str, Callable[[Any, Any], Any]] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "and": np.bitwise_and,
        "mask": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "smin": np.minimum,
        "smax": np.maximum,
    }
    if opcode in simple:
        return Values(_wrap(np.asarray(simple[opcode](a, b)), type), known)
    if opcode == "abs":
        return Values(_wrap(np.abs(a), type), known)
    if opcode in ("shl", "lshr", "ashr"):
        known = known & (b >= 0) & (b < bits)
        shift = np.clip(b, 0, 63)
        if opcode == "shl":
            return Values(_wrap(a << shift, type), known)
        if opcode == "ashr":
            return Values(a >> shift, known)
        logical = np.asarray(_unsigned(a, type)).astype(np.uint64) >> shift.astype(np.uint64)
        return Values(_wrap(logical.astype(np.int64), type), known)
    if opcode in ("umin", "umax"):
        first, second = _unsigned(a, type), _unsigned(b, type)
        return Values(np.where((first < second) == (opcode == "umin"), a, b), known)
    known = known & (b != 0)
    safe = np.where(b == 0, 1, b)
    if opcode in ("udiv", "urem"):
        first, second = (np.asarray(_unsigned(part, type)).astype(np.uint64) for part in (a, safe))
        result = (first // second if opcode == "udiv" else first % second).astype(np.int64)
        return Values(_wrap(result, type), known)
    if opcode in ("sdiv", "srem", "exact"):
        known = known & ~((a == -(1 << (bits - 1))) & (b == -1))  # the quotient does not fit
        floor, rest = np.divmod(a, np.where(safe == -1, 1, safe))
        up = (rest != 0) & ((a < 0) != (safe < 0))
        quotient = np.where(safe == -1, -a, floor + up)
        return Values(_wrap(a - quotient * safe if opcode == "srem" else quotient, type), known)
    return UNKNOWN


@compiled(f"boolean(Array(int64, 1, 'A', True), {MASKS}, {MASKS}, int64, int64, boolean[::1])", cache=True, nogil=True)
def runs_inside(data: Any, known: Any, mask: Any, low: int, high: int, runs: Any) -> bool:
    """Set where a number is known, may be asked for (`mask`), and lies in [low, high]. Returns whether each that may be
    asked for is known. One pass."""
    told = True
    for i in range(data.size):
        runs[i] = mask[i] and known[i] and low <= data[i] <= high
        told = told and (known[i] or not mask[i])
    return told
