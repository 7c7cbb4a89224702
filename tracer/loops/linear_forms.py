"""Addresses as linear forms, once the live values are numbers.

`address = const + Σ coefficient · atom`, where an atom is a counter, a loaded value, or something that is not
linear. Integer widths are ignored while the form is built; every place where the machine would wrap is kept as an
interval that has to hold, and `holds` checks them against the ranges of the atoms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from tracecut.ir.llvm import int_bits
from tracecut.ir.loops.expressions import Expr

Range = tuple[int, int]
Fits = tuple[tuple["Linear", int, int], ...]
Block = tuple[int, int, int, int]
"""Bytes of an object: they lie in [low, high), the third number from one part to the next, the fourth of each part."""


@dataclass(frozen=True)
class Linear:
    """const + Σ coefficient · atom. `fits`: (inner form, low, high) that must hold for it to be true."""

    const: int
    terms: Mapping[Expr, int]
    fits: Fits = ()

    def range(self, ranges: Mapping[Expr, Range]) -> Range:
        """Smallest and largest value over the box of the atoms' ranges."""
        low = high = self.const
        for atom, factor in self.terms.items():
            first, last = ranges[atom]
            low += min(factor * first, factor * last)
            high += max(factor * first, factor * last)
        return low, high

    def holds(self, ranges: Mapping[Expr, Range]) -> bool:
        """Whether it is the machine's value while the atoms stay in their ranges: nothing on the way wraps.

        64-bit operations may, as long as the result comes back into range: it is then the same number.
        """
        for inner, low, high in (*self.fits, (self, -(1 << 63), (1 << 63) - 1)):
            first, last = inner.range(ranges)
            if first < low or last > high:
                return False
        return True

    def atoms(self) -> set[Expr]:
        """Every atom, those of the intervals included."""
        found = set(self.terms)
        for inner, _, _ in self.fits:
            found |= inner.atoms()
        return found


def linear_form(
    expr: Expr, lives: Mapping[str, int | float], chosen: Mapping[Expr, Expr] | None = None, *, masks: bool = True
) -> Linear:
    """Linear form of an address. `chosen` picks one value for `choice` and `any` nodes. O(nodes × terms).

    `masks`: take them to leave their numbers as they are, which the form then has to hold for; else they are atoms.
    """
    memo: dict[int, Linear] = {}
    for node in expr.walk():
        memo[id(node)] = _form(node, lives, chosen or {}, memo, masks)
    return memo[id(expr)]


class Forms:
    """Linear forms of expressions that share parts, each of which is looked at once.

    Args:
        lives, masks: as of `linear_form`.
    """

    def __init__(self, lives: Mapping[str, int | float], *, masks: bool = True) -> None:
        self._lives, self._masks = lives, masks
        self._known: dict[int, Linear] = {}
        self._seen: set[int] = set()
        self._kept: list[Expr] = []  # or another node could get the identity of one that is gone

    def of(self, expr: Expr) -> Linear:
        """The linear form of an expression. O(nodes that were not seen before × terms)."""
        if id(expr) not in self._known:
            self._kept.append(expr)
            for node in expr.walk(self._seen):
                self._known[id(node)] = _form(node, self._lives, {}, self._known, self._masks)
        return self._known[id(expr)]


def _form(
    node: Expr, lives: Mapping[str, int | float], chosen: Mapping[Expr, Expr], memo: dict[int, Linear], masks: bool
) -> Linear:
    if node.kind == "const" and isinstance(node.data[0], int):
        return Linear(node.data[0], {})
    if node.kind == "live":
        number = lives.get(node.data[0])
        if isinstance(number, int):
            return Linear(number, {})
    if node in chosen:
        return memo[id(chosen[node])]
    if node.kind == "cast":
        return _cast(node, memo)
    if node.kind == "op" and (masks or node.data[0] != "mask"):
        found = _combine(node, memo[id(node.args[0])], memo[id(node.args[1])])
        if found is not None:
            return found
    return Linear(0, {node: 1})


def _cast(node: Expr, memo: dict[int, Linear]) -> Linear:
    opcode, source, target = node.data
    inner = memo[id(node.args[0])]
    if opcode == "sext":
        return inner if not inner.terms else _requiring(inner, inner, str(source), signed=True)
    if opcode == "zext":
        return _requiring(inner, inner, str(source), signed=False)
    if opcode == "trunc":
        return _requiring(inner, inner, str(target), signed=True)
    return Linear(0, {node: 1})


def _combine(node: Expr, a: Linear, b: Linear) -> Linear | None:
    opcode, type = node.data
    if opcode in ("add", "sub"):
        sign = 1 if opcode == "add" else -1
        terms = dict(a.terms)
        for atom, factor in b.terms.items():
            terms[atom] = terms.get(atom, 0) + sign * factor
        total = Linear(a.const + sign * b.const, {k: v for k, v in terms.items() if v}, _union(a.fits, b.fits))
    elif opcode == "mul" and not (a.terms and b.terms):
        one, factor = (a, b.const) if a.terms else (b, a.const)
        total = _scaled(one, factor, _union(a.fits, b.fits))
    elif opcode == "shl" and not b.terms and 0 <= b.const < 64:
        total = _scaled(a, 1 << b.const, _union(a.fits, b.fits))
    elif opcode == "exact" and not b.terms:
        return _divided(a, b.const, str(type))
    elif opcode == "mask" and not b.terms:
        return _masked(a, b.const)
    else:
        return None
    if int_bits(str(type)) in (None, 64):
        return total
    return _requiring(total, total, str(type), signed=True)


def _masked(form: Linear, mask: int) -> Linear | None:
    """A number of which a mask takes away only bits that are zero.

    Of a mask whose bits follow each other from `low`: multiples of 2^low stay as they are, below the first bit that
    it lacks above these. A negative one lacks none.
    """
    if not form.terms or not mask:
        return None
    step = mask & -mask
    limit = mask + step  # a power of two, if all bits in between are set; 0 of a negative mask
    if limit & (limit - 1) or any(number % step for number in (form.const, *form.terms.values())):
        return None
    if not limit:
        return form
    bare = Linear(form.const, form.terms)
    return Linear(form.const, form.terms, (*form.fits, (bare, 0, limit - 1)))


def _divided(a: Linear, divisor: int, type: str) -> Linear | None:
    """A quotient without a remainder, such as the distance between two pointers in elements."""
    if divisor < 1 or a.const % divisor or any(factor % divisor for factor in a.terms.values()):
        return None
    bits = int_bits(type) or 64
    whole = (Linear(a.const, a.terms), -(1 << (bits - 1)), (1 << (bits - 1)) - 1)  # what is divided must not wrap
    terms = {atom: factor // divisor for atom, factor in a.terms.items()}
    return Linear(a.const // divisor, terms, (*a.fits, whole))


def _union(first: Fits, second: Fits) -> Fits:
    """Both, each condition once: shared parts of an expression would double it at every step."""
    return tuple({id(item): item for item in first + second}.values())


def _scaled(form: Linear, factor: int, fits: Fits) -> Linear:
    return Linear(form.const * factor, {atom: f * factor for atom, f in form.terms.items() if f * factor}, fits)


def _requiring(form: Linear, inner: Linear, type: str, *, signed: bool) -> Linear:
    bits = int_bits(type) or 64
    if bits >= 64:
        return form
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    bare = Linear(inner.const, inner.terms)
    return Linear(form.const, form.terms, (*form.fits, (bare, low, high)))


def part_of_records(
    terms: Mapping[Expr, int], ranges: Mapping[Expr, Range], const: int, read: Block, size: int
) -> Block:
    """The part of each record that is read where an inner loop walks a few fields of it: `a[i].near[k]`.

    Args:
        terms: atom → bytes from one of its numbers to the next. ranges: counter → smallest and largest number, of
            those that are known. const: where the first byte lies if all atoms are 0.
        read: what is known without looking at parts. size: bytes of the object.

    Returns `read` where records have no such parts. O(atoms²).
    """
    low, high, _, width = read
    rest = sorted(terms.items(), key=lambda item: abs(item[1]))
    start, part = const, width
    while len(rest) > 1:
        step = gcd(*(factor for _, factor in rest[1:]))
        factor, found = rest[0][1], ranges.get(rest[0][0])
        if found is None or part + abs(factor) * (found[1] - found[0]) > step:
            break
        start += min(factor * found[0], factor * found[1])
        part += abs(factor) * (found[1] - found[0])
        rest = rest[1:]
    step = gcd(*(factor for _, factor in rest))
    first = low - (low - start) % max(1, step)
    last = first + (high - width - first) // max(1, step) * step + part
    return read if part >= step or first < 0 or last > size else (first, last, step, part)
