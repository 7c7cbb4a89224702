"""Values of a loop that grow by the same amount in every iteration, as polynomials over loop invariants.

Narrower values are extended to 64 bits, with or without sign. All results hold modulo 2⁶⁴ and as long as no operation
results in poison, which is no valid address. The value need not be computed in the first iteration.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tracecut.ir.llvm import Block, Instruction, Operand, TypeTable, int_bits

Monomial = tuple[tuple[str, str, bool], ...]  # factors: type, name, and whether they are signed
Form = dict[Monomial, int]  # monomial → factor; the monomial () is the constant
MOST_TERMS, MOST_FACTORS = 12, 4
DEEPEST = 60  # operations in a chain; each takes several calls


@dataclass(frozen=True)
class Linear:
    """`begin` + k · `step` in iteration k = 0, 1, …"""

    begin: Form
    step: Form


class Affine:
    """Finds linear values of a loop.

    Args:
        blocks: all blocks of the loop. header: the name of the one that is entered. types: of the module.
    """

    def __init__(self, blocks: Collection[Block], header: str, types: TypeTable) -> None:
        self._types = types
        self._inside = {block.name for block in blocks}
        self._made: dict[str, Instruction] = {
            str(item.result): item for block in blocks for item in block.instructions if item.result is not None
        }
        self._phis = {str(phi.result) for block in blocks if block.name == header for phi in block.phis}
        self._known: dict[tuple[str, bool], Linear | None] = {}
        self._open: set[tuple[str, bool]] = set()

    def of(self, value: Operand, *, signed: bool = True) -> Linear | None:
        """A pointer or an integer of at most 64 bits as a linear value, None when it is none."""
        if value.text not in self._made:
            begin = _leaf(value, signed)
            return None if begin is None else Linear(begin, {})
        key = (value.text, signed)
        if key not in self._known:
            if key in self._open or len(self._open) > DEEPEST:  # a cycle that is no phi of the loop
                return None
            self._open.add(key)
            self._known[key] = self._linear(self._made[value.text], signed)
            self._open.discard(key)
        return self._known[key]

    def _linear(self, made: Instruction, signed: bool) -> Linear | None:
        bits = 64 if made.type == "ptr" else int_bits(made.type)
        if bits is None or bits > 64:
            return None
        exact = bits == 64 or ("nsw" if signed else "nuw") in made.flags
        if made.op == "phi":
            return self._phi(made, signed) if made.result in self._phis else None
        if made.op == "getelementptr":
            parts = self.parts(made)
            return None if parts is None else self.sum_of(made.operands[0], parts)
        if made.op in ("add", "sub") and exact:
            first, second = (self.of(operand, signed=signed) for operand in made.operands)
            return _sum([first, _times(second, {(): 1 if made.op == "add" else -1})])
        if made.op == "or" and "disjoint" in made.flags:
            return _sum([self.of(operand, signed=signed) for operand in made.operands])
        if made.op == "mul" and exact:
            first, second = (self.of(operand, signed=signed) for operand in made.operands)
            if first is None or second is None or (first.step and second.step):
                return None
            return _times(first, second.begin) if first.step else _times(second, first.begin)
        if made.op == "shl" and exact and made.operands[1].text.isdigit():
            return _times(self.of(made.operands[0], signed=signed), {(): 1 << int(made.operands[1].text)})
        if made.op in ("sext", "zext", "trunc"):
            return self._cast(made, signed)
        return None

    def _cast(self, made: Instruction, signed: bool) -> Linear | None:
        value = made.operands[0]
        if made.op == "trunc":
            return self.of(value, signed=signed) if ("nsw" if signed else "nuw") in made.flags else None
        if made.op == "sext":
            return self.of(value) if signed or made.type == "i64" else None
        found = self.of(value, signed=False)
        return self.of(value) if found is None and "nneg" in made.flags else found

    def _phi(self, phi: Instruction, signed: bool) -> Linear | None:
        """A value to which a loop invariant is added in every iteration."""
        edges = list(zip(phi.operands, phi.labels, strict=True))
        ahead = {value.text for value, label in edges if label in self._inside}
        before = [value for value, label in edges if label not in self._inside]
        following = self._made.get(ahead.pop()) if len(ahead) == 1 and len(before) == 1 else None
        if following is None or following.type != phi.type:
            return None
        begin, step = _leaf(before[0], signed), self._growth(phi, following, signed)
        return None if begin is None or step is None or step.step else Linear(begin, step.begin)

    def _growth(self, phi: Instruction, following: Instruction, signed: bool) -> Linear | None:
        """The value that an instruction adds to a phi."""
        if following.op == "getelementptr":
            parts = self.parts(following) if following.operands[0].text == phi.result else None
            return None if parts is None else _sum(self._scaled(parts))
        exact = phi.type == "i64" or ("nsw" if signed else "nuw") in following.flags
        if following.op not in ("add", "sub") or not exact:
            return None
        first, second = following.operands
        if following.op == "add" and second.text == phi.result:
            first, second = second, first
        if first.text != phi.result or second.text == phi.result:
            return None
        return _times(self.of(second, signed=signed), {(): 1 if following.op == "add" else -1})

    def sum_of(self, base: Operand, parts: list[tuple[Operand, int]]) -> Linear | None:
        """The linear value of a base and some indices, see `parts`."""
        return _sum([self.of(base), *self._scaled(parts)])

    def _scaled(self, parts: list[tuple[Operand, int]]) -> list[Linear | None]:
        return [_times(self.of(index), {(): size}) for index, size in parts]

    def parts(self, made: Instruction) -> list[tuple[Operand, int]] | None:
        """(index, bytes) of each index of a getelementptr; a member of a struct is its offset, once."""
        kind, found = made.word, []
        for place, index in enumerate(made.operands[1:]):
            if int_bits(index.type) is None:
                return None
            inner = self._types.element(kind) if place else kind
            if inner is None:
                offset, kind = self._types.field(kind, int(index.text))
                found.append((Operand("i64", "1"), offset))
            else:
                kind = inner
                found.append((index, self._types.size(kind)))
        return found


def _leaf(value: Operand, signed: bool) -> Form | None:
    """A loop invariant."""
    bits = 64 if value.type == "ptr" else int_bits(value.type)
    if bits is None or bits > 64:
        return None
    if re.fullmatch(r"-?\d+", value.text):
        number = int(value.text)
        return {(): number if signed or number >= 0 else number + (1 << bits)} if number else {}
    if value.type != "ptr" and not value.text.startswith("%"):
        return None
    return {((value.type, value.text, signed or bits == 64),): 1}


def _sum(parts: Iterable[Linear | None]) -> Linear | None:
    begin: Form = {}
    step: Form = {}
    for part in parts:
        if part is None:
            return None
        for total, form in ((begin, part.begin), (step, part.step)):
            for monomial, factor in form.items():
                total[monomial] = total.get(monomial, 0) + factor
    begin, step = _tidy(begin), _tidy(step)
    return None if max(len(begin), len(step)) > MOST_TERMS else Linear(begin, step)


def _times(value: Linear | None, factor: Form) -> Linear | None:
    """A linear value times a loop invariant."""
    if value is None:
        return None
    made = []
    for form in (value.begin, value.step):
        product: Form = {}
        for first, one in form.items():
            for second, two in factor.items():
                both = tuple(sorted(first + second))
                product[both] = product.get(both, 0) + one * two
        made.append(_tidy(product))
    if any(len(form) > MOST_TERMS or any(len(factors) > MOST_FACTORS for factors in form) for form in made):
        return None
    return Linear(*made)


def _tidy(form: Form) -> Form:
    return {monomial: wrapped(factor) for monomial, factor in form.items() if wrapped(factor)}


def wrapped(value: int) -> int:
    """The signed number of 64 bits that is the same modulo 2⁶⁴."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


class Arithmetic:
    """Writes instructions that compute polynomials; the names of their results begin with `prefix`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._serial = 0

    def polynomial(self, out: list[Instruction], form: Mapping[Monomial, int]) -> str:
        """The value of a form, i64. None of its operations can result in poison."""
        total = str(form.get((), 0))
        for monomial, factor in form.items():
            if not monomial:
                continue
            term = "" if factor == 1 else str(factor)
            for kind, text, signed in monomial:
                value = self._extended(out, kind, text, signed)
                term = self.do(out, f"mul i64 {term}, {value}") if term else value
            total = self.do(out, f"add i64 {total}, {term}") if total != "0" else term
        return total

    def _extended(self, out: list[Instruction], kind: str, text: str, signed: bool) -> str:
        if kind == "i64":
            return text
        word = "ptrtoint" if kind == "ptr" else "sext" if signed else "zext"
        return self.do(out, f"{word} {kind} {text} to i64")

    def do(self, out: list[Instruction], text: str) -> str:
        """Append an instruction; the name of its result."""
        self._serial += 1
        name = f"{self._prefix}.{self._serial}"
        out.append(Instruction(f"{name} = {text}"))
        return name
