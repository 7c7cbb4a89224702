"""Loops unrolled by hand: an iteration does the same for several records that follow each other.

```
for (i = 0; i + 3 < n; i += 4) {
    y[i]     += a * x[i];          part 0
    y[i + 1] += a * x[i + 1];      part 1
    …
}
```

To whoever moves records this is a loop over one record at a time, as long as the parts do the same: each store of a
part has its like in the others, made by the same instructions from what lies in the same part or does not change in
the loop; each reduction combines the like of all parts, in whatever order and nesting; and the addresses of two parts
are apart by as many records as the parts. Whether the parts may meet in memory is not asked here: that takes the
arrays of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import gcd

from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.associative import combined
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.operands import BINARY, CASTS
from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import Carried, ValueKind

from .linear_forms import Linear, linear_form
from .scalar_evolution import ScalarView

MOST_PARTS = 32
MAX_DEPTH = 40  # of what a value is made from
_COMPUTES = BINARY | CASTS | {"getelementptr", "icmp", "fcmp", "select", "fneg", "freeze"}
_KNOWN = _COMPUTES | {"phi", "br", "load", "store", "call"}
_SWAPPING = frozenset("add mul and or xor fadd fmul".split())


@dataclass(frozen=True)
class _Walk:
    """A load or store. `terms`: of its address, without the constant; `step`: bytes from one iteration to the next."""

    key: str
    place: int
    made: Instruction
    terms: frozenset[tuple[Expr, int]]
    const: int
    step: int


@dataclass(frozen=True)
class _Leaf:
    """What a reduction combines: a value, or the product of two. `negative`: it is taken away."""

    values: tuple[str, ...]
    negative: bool


def parts_of(scalars: ScalarView, loop: Loop, carried: Iterable[Carried]) -> dict[str, int]:
    """Access (as `Site.key`) → its part, of all that change with the counter; empty for a loop that is not unrolled.

    O(instructions × parts).
    """
    sums = {info.name: info.operator for info in carried if info.kind is ValueKind.REDUCTION}
    if len(loop.blocks) != 1 or any(i.kind not in (ValueKind.COUNTER, ValueKind.REDUCTION) for i in carried):
        return {}
    lines = scalars.view.flow.blocks[loop.header].instructions
    if sum(item.op in ("load", "store") for item in lines) < 2 or not all(_is_known(item) for item in lines):
        return {}
    walks = list(_walks(scalars, loop, lines))
    moving = [walk for walk in walks if walk.step]
    if len(moving) < 2 or any(walk.made.op == "store" and not walk.step for walk in walks):
        return {}
    groups = list(_groups(moving))
    fewest = min(len({walk.const for walk in group}) for group in groups)
    pace = gcd(*(walk.step for walk in moving))
    for count in range(min(MOST_PARTS, fewest), 1, -1):
        parts = _numbered(groups, count) if pace % count == 0 else None
        if parts is not None and _Matcher(scalars, loop, walks, parts, count).all_alike(sums):
            return parts
    return {}


def _is_known(item: Instruction) -> bool:
    if item.op in ("load", "store"):
        return item.is_simple_access
    return item.op in _KNOWN and (item.op != "call" or effect_of(item).movable)


def _walks(scalars: ScalarView, loop: Loop, lines: list[Instruction]) -> Iterator[_Walk]:
    """Loads and stores; nothing where the address of one of them changes in another way than with the counter."""
    counter = scalars.pool.counter(scalars.view.loop_ids[loop])
    found = []
    for place, item in enumerate(lines):
        if item.op not in ("load", "store"):
            continue
        form = linear_form(scalars.operand(item.operands[-1]), {})
        if any(atom is not counter and scalars.varies_in(atom, loop) for atom in form.terms):
            return
        key = str(item.result) if item.op == "load" else f"store:{loop.header}:{place}"
        terms, const = _from_bases(scalars, form)
        found.append(_Walk(key, place, item, terms, const, form.terms.get(counter, 0)))
    yield from found


def _from_bases(scalars: ScalarView, form: Linear) -> tuple[frozenset[tuple[Expr, int]], int]:
    """Terms and constant of an address; of `x - 1`, made ahead of the loop (arrays that are counted from 1), by x."""
    terms: dict[Expr, int] = {}
    const = form.const
    for atom, factor in form.terms.items():
        base = atom
        while (ahead := _ahead(scalars, base)) is not None:
            base, distance = ahead
            const += factor * distance
        terms[base] = terms.get(base, 0) + factor
    return frozenset(terms.items()), const


def _ahead(scalars: ScalarView, pointer: Expr) -> tuple[Expr, int] | None:
    """The pointer that one from in front of the loop is made of, and how many bytes it lies behind that."""
    found = scalars.view.definitions.get(str(pointer.data[0])) if pointer.kind == "live" else None
    if found is None or found.instruction.op != "getelementptr" or found.instruction.type != "ptr":
        return None
    offset, base = scalars.offset(found.instruction), scalars.operand(found.instruction.operands[0])
    return (base, int(offset.data[0])) if offset.kind == "const" and base.kind == "live" else None


def _groups(walks: list[_Walk]) -> Iterator[list[_Walk]]:
    """Accesses that lie in one iteration's piece of the same array."""
    by_terms: dict[frozenset[tuple[Expr, int]], list[_Walk]] = {}
    for walk in walks:
        by_terms.setdefault(walk.terms, []).append(walk)
    for members in by_terms.values():
        group: list[_Walk] = []
        for walk in sorted(members, key=lambda walk: walk.const):
            if group and walk.const - group[0].const >= abs(walk.step):
                yield group
                group = []
            group.append(walk)
        yield group


def _numbered(groups: list[list[_Walk]], count: int) -> dict[str, int] | None:
    """The part that each access would be in, None unless each has as many of every group."""
    parts = {}
    for group in groups:
        size = abs(group[0].step) // count
        first = group[0].const if group[0].step > 0 else group[-1].const
        many = [0] * count
        for walk in group:
            part = abs(walk.const - first) // size
            if part >= count:
                return None
            parts[walk.key] = part
            many[part] += 1
        if len(set(many)) > 1:
            return None
    return parts


class _Matcher:
    """Compares the parts of one loop with its first."""

    def __init__(self, scalars: ScalarView, loop: Loop, walks: list[_Walk], parts: dict[str, int], count: int) -> None:
        self.definitions = scalars.view.definitions
        self.header = loop.header
        self.lines = scalars.view.flow.blocks[loop.header].instructions
        self.walks = {walk.key: walk for walk in walks}
        self.parts = parts
        self.count = count
        self.matched: set[str] = set()
        self._known: dict[tuple[str, str], bool] = {}
        self._depth = 0
        self._within = self._origins()

    def all_alike(self, sums: dict[str, str]) -> bool:
        """Whether all parts do the same, and everything that changes with the counter belongs to it."""
        stores = [walk for walk in self.walks.values() if walk.made.op == "store"]
        if not all(self._stores_alike([w for w in stores if self.parts[w.key] == c] for c in range(self.count))):
            return False
        return all(self._sum_alike(*item) for item in sums.items()) and self.matched >= self.parts.keys()

    def _stores_alike(self, by_part: Iterable[list[_Walk]]) -> Iterator[bool]:
        first: list[_Walk] | None = None
        for part, found in enumerate(by_part):
            first = found if first is None else first
            yield len(found) == len(first)
            for one, other in zip(first, found, strict=False):
                values = one.made.operands[0], other.made.operands[0]
                yield values[0].type == values[1].type and self._apart(one, other, part)
                yield part == 0 or self._alike(values[0].text, values[1].text, part)

    def _apart(self, one: _Walk, other: _Walk, part: int) -> bool:
        """Whether an access of a part lies as many records behind one of the first as it should; notes both."""
        if self.parts.get(one.key) != 0 or self.parts.get(other.key) != part or one.terms != other.terms:
            return False
        if other.const - one.const != part * (one.step // self.count):
            return False
        self.matched |= {one.key, other.key}
        return True

    def _alike(self, one: str, other: str, part: int) -> bool:
        """Whether a value of a part is made as one of the first is."""
        if one == other:
            return self._parts_of(one) == frozenset()
        if (one, other) not in self._known:
            self._known[one, other] = False  # too deep to look at
            self._depth += 1
            if self._depth < MAX_DEPTH:
                self._known[one, other] = self._made_alike(one, other, part)
            self._depth -= 1
        return self._known[one, other]

    def _made_alike(self, one: str, other: str, part: int) -> bool:
        first, second = self._made(one), self._made(other)
        if first is None or second is None or first.op != second.op or first.op == "phi":
            return False
        if first.op == "load":
            walks = self.walks[one], self.walks[other]
            if first.type != second.type:
                return False
            if not walks[0].step and not walks[1].step:
                return (walks[0].terms, walks[0].const) == (walks[1].terms, walks[1].const)
            return self._apart(*walks, part) and self._stored_ahead(walks[0]) == self._stored_ahead(walks[1])
        if (first.type, first.word, first.flags) != (second.type, second.word, second.flags):
            return False
        ours, theirs = first.operands, second.operands
        if [operand.type for operand in ours] != [operand.type for operand in theirs]:
            return False
        ways = [theirs, theirs[::-1]] if first.op in _SWAPPING else [theirs]
        return any(all(self._alike(a.text, b.text, part) for a, b in zip(ours, way, strict=True)) for way in ways)

    def _made(self, name: str) -> Instruction | None:
        """What makes a value in the loop, None for what comes from outside."""
        found = self.definitions.get(name)
        return None if found is None or found.block != self.header else found.instruction

    def _stored_ahead(self, load: _Walk) -> int:
        """Stores of a load's part in front of it."""
        ahead = [walk for walk in self.walks.values() if walk.made.op == "store" and walk.place < load.place]
        return sum(self.parts[walk.key] == self.parts[load.key] for walk in ahead)

    def _parts_of(self, name: str) -> frozenset[int]:
        """The parts that a value is made from; −1 among them for what else changes in the loop."""
        return self._within.get(name, frozenset())

    def _origins(self) -> dict[str, frozenset[int]]:
        """The same of everything that is made in the loop."""
        found: dict[str, frozenset[int]] = {}
        for item in self.lines:
            if item.op == "load":
                found[str(item.result)] = frozenset({self.parts[str(item.result)]} if self._moves(item) else ())
            elif item.result is not None:
                carried = {-1} if item.op == "phi" else ()
                found[item.result] = frozenset(carried).union(*(found.get(o.text, ()) for o in item.operands))
        return found

    def _moves(self, load: Instruction) -> bool:
        return bool(self.walks[str(load.result)].step)

    def _sum_alike(self, phi: str, operator: str) -> bool:
        """Whether a reduction combines the same of each part."""
        start = next(item for item in self.lines if item.result == phi)
        ends = [value for value, label in zip(start.operands, start.labels, strict=True) if label == self.header]
        leaves = list(self._leaves(ends[0].text, start.type, phi, operator))
        by_part: list[list[_Leaf]] = [[] for _ in range(self.count)]
        itself = _Leaf((phi,), negative=False)
        if leaves.count(itself) != 1:
            return False
        for leaf in leaves:
            within = frozenset[int]().union(*map(self._parts_of, leaf.values))
            if leaf != itself and (len(within) != 1 or -1 in within):
                return False
            if leaf != itself:
                by_part[min(within)].append(leaf)
        return all(self._leaves_alike(by_part[0], found, part) for part, found in enumerate(by_part) if part)

    def _leaves(self, end: str, type: str, phi: str, operator: str) -> Iterator[_Leaf]:
        """What is combined to a value by an operator, however it is nested."""
        stack = [(end, False)]
        while stack:
            name, negative = stack.pop()
            made = None if name == phi else self._made(name)
            link = None if made is None or made.type != type else combined(made)
            if made is None or link is None or link[0] != operator:
                factors = made is not None and (made.op, operator) == ("fmul", "fadd")
                yield _Leaf(tuple(o.text for o in made.operands) if made and factors else (name,), negative)
            elif len(made.operands) > 2 and operator == "fadd":  # a fused product and sum
                yield _Leaf((made.operands[0].text, made.operands[1].text), negative)
                stack.append((made.operands[2].text, negative))
            else:
                first, second = made.operands[:2]
                stack += [(first.text, negative), (second.text, negative ^ (made.op in ("sub", "fsub")))]

    def _leaves_alike(self, first: list[_Leaf], found: list[_Leaf], part: int) -> bool:
        left = list(found)
        for one in first:
            like = next((other for other in left if self._leaf_alike(one, other, part)), None)
            if like is None:
                return False
            left.remove(like)
        return not left

    def _leaf_alike(self, one: _Leaf, other: _Leaf, part: int) -> bool:
        if one.negative != other.negative or len(one.values) != len(other.values):
            return False
        ways = {other.values, other.values[::-1]}
        return any(all(self._alike(a, b, part) for a, b in zip(one.values, way, strict=True)) for way in ways)
