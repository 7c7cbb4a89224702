"""Loops over tiles that follow each other become one loop over all of their elements.

```
for (b = 0; b < n / 8; b++)                                     if (each tile begins where the last one ended)
    for (i = 8 * b; i < min(8 * (b + 1), n); i++)      →            for (i = 0; i < end of the last tile; i++)
        flux(i);                                                        flux(i);
                                                                else the loops as they were
```

As with pieces (`join_pieces.py`), but where a tile begins and ends is computed, not loaded; it is computed once more,
for all tiles, in front of the loop. Nothing else may be done between the tiles, and the body may not know which one it
is in. An iteration of the joined loop is one element, as one of the loops around it is, and what these walk can move.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from tracecut.ir.llvm import Function, Instruction, Module, int_bits
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import drop_unreached, sources
from tracecut.ir.llvm.operands import NEGATED, SWAPPED

from ..leave_loops import COPIED
from .counted_loops import MOST_COPIED, Counted, Matcher
from .side_by_side import ASIDE, at_place_of, join_to, made_again

_PURE = frozenset("getelementptr add sub mul shl ashr lshr and or xor sext zext trunc icmp select br phi".split())
_BY = frozenset("udiv sdiv urem srem shl lshr ashr".split())  # not by any number
_NUMBER = re.compile(r"-?\d+")
_EXTREMES = re.compile(r"@llvm\.[su](min|max)\.i\d+")
_PROMISES = re.compile(r" (?:nuw|nsw|exact|disjoint|samesign|nneg|inbounds|noundef|range\([^)]*\))(?= )")
MOST_ADDED = 4  # sums of a counter and numbers that are looked through


@dataclass(frozen=True)
class _Affine:
    """A header phi of the loop over tiles: its first value, what it is next, and its step."""

    phi: Instruction
    first: str
    following: str
    step: str


@dataclass(frozen=True)
class _Test:
    """When there is another tile: where a phi and a value, as a number of a type, are `below` (or `ne`) a bound."""

    value: str
    number: _Affine
    plus: str
    type: str
    below: str
    bound: str


@dataclass(frozen=True)
class _Tiles:
    """A loop over tiles and the loop over one: how they count, and when one is entered.

    `enters`: the value that decides, and whether it is true then; none where all are.
    """

    outer: Loop
    test: _Test
    piece: Counted
    counters: tuple[_Affine, ...]
    enters: tuple[str, bool] | None


def join_tiles(module: Module) -> Module:
    """Join the tiles of such loops, in place. O(instructions)."""
    for function in module.functions.values():
        if any(item.op == "phi" for _, item in function.instructions()):
            _join_all(module, function)
    return module


def _join_all(module: Module, function: Function) -> None:
    own = module.functions.keys()
    for number in count():
        flow = ControlFlow(function)
        loops = [loop for loop in flow.loops if len(loop.children) == 1 and not loop.header.startswith(COPIED)]
        found = (_TileMatcher(own, flow, loop).tiles() for loop in loops)
        tiles = next((item for item in found if item is not None), None)
        if tiles is None:
            return
        _Joiner(flow, tiles, f"{ASIDE}.tiles{number}").join()
        drop_unreached(function)


class _TileMatcher(Matcher):
    """Looks whether a loop is one over tiles."""

    def tiles(self) -> _Tiles | None:
        outer, inner = self.outer, self.inner
        if not self.left_at_the_end:
            return None
        counters = [self._affine(phi) for phi in self.flow.blocks[outer.header].phis]
        known = tuple(item for item in counters if item is not None)
        piece, test, enters = self._counted(inner), self._test(known), self._enters()
        if len(known) < len(counters) or piece is None or test is None or enters is None or not self.plain_names:
            return None
        varies = piece.first in self.made and piece.end in self.made
        if not varies or not self._only_tiles(len(known)) or not self._knows_no_piece(piece):
            return None
        return _Tiles(outer, test, piece, known, enters[0])

    def _test(self, counters: Collection[_Affine]) -> _Test | None:
        """What is asked at the end of a tile."""
        end = self.flow.blocks[self.outer.latches[0]].terminator
        value = end.operands[0].text if end.op == "br" and end.operands else ""
        made = self.made.get(value, ("", None))[1]
        if made is None or made.op != "icmp" or self.outer.preheader is None:
            return None
        number, bound = (one.text for one in made.operands)
        word = made.word
        if bound in self.made:
            number, bound, word = bound, number, SWAPPED.get(word, word)
        if end.labels[0] != self.outer.header:
            word = NEGATED.get(word, "")
        cast = self.made.get(number, ("", None))[1]
        whole = cast.operands[0].text if cast is not None and cast.op == "trunc" else number
        found = self._sum(counters, whole)
        if found is None or bound in self.made or word not in ("ne", "slt", "ult", "sle", "ule"):
            return None
        return _Test(value, *found, made.operands[0].type, word, bound)

    def _sum(self, counters: Collection[_Affine], value: str) -> tuple[_Affine, str] | None:
        """The phi, and what is added to it, that a value is: what it is next, or a number apart from it."""
        by = 0
        for _ in range(MOST_ADDED):
            for item in counters:
                if item.phi.result == value:
                    return item, str(by)
                if item.following == value and not by:
                    return item, item.step
            made = self.made.get(value, ("", None))[1]
            if made is None or made.op != "add" or not _NUMBER.fullmatch(made.operands[1].text):
                return None
            value, by = made.operands[0].text, by + int(made.operands[1].text)
        return None

    def _only_tiles(self, phis: int) -> bool:
        """Whether nothing is done but to walk the tiles, and nothing of it is known behind the loops."""
        inside = [item for name in self.inner.blocks for item in self._lines(name)]
        between = list(self._between())
        if sum(item.op == "phi" for item in between) != phis or not all(map(self._is_pure, between)):
            return False
        if any(item.op not in (*_PURE, "load") and not self._plain(item) for item in inside):
            return False
        return self.unknown_behind and self.size <= MOST_COPIED

    def _is_pure(self, item: Instruction) -> bool:
        """Whether it could be computed once more for all tiles, even where a tile is not entered."""
        if item.op in _BY:
            by = item.operands[1].text
            if by in self.made or ("div" not in item.op and "rem" not in item.op):
                return by not in self.made
            block = self.made[str(item.result)][0]
            return (by.isdigit() and int(by) > 0) or self.flow.dominates(block, self.outer.latches[0])
        extreme = item.op == "call" and _EXTREMES.fullmatch(item.word) is not None
        return extreme or item.op in _PURE

    def _affine(self, phi: Instruction) -> _Affine | None:
        values = {label: value for value, label in sources(phi)}
        following, first = values[self.outer.latches[0]], values[str(self.outer.preheader)]
        made = self.made.get(following, ("", None))[1]
        operands = [] if made is None or made.op != "add" else [one.text for one in made.operands]
        if phi.result not in operands or int_bits(phi.type) is None:
            return None
        step = operands[1 - operands.index(str(phi.result))]
        return None if step in self.made else _Affine(phi, first, following, step)

    def _enters(self) -> tuple[tuple[str, bool] | None] | None:
        """What decides whether a tile is entered, in a tuple; None where more than that is decided between tiles."""
        assert self.inner.preheader is not None
        ends = {
            name: self.flow.blocks[name].terminator
            for name in self.outer.blocks - self.inner.blocks - set(self.outer.latches)
        }
        asking = {name: end for name, end in ends.items() if end.op == "br" and end.operands}
        if any(end.op != "br" for end in ends.values()):
            return None
        if not asking:
            return (None,)
        before = self.flow.predecessors[self.inner.preheader]
        test = asking.get(before[0])
        if (
            len(before) != 1
            or len(asking) > 1
            or test is None
            or not self.flow.dominates(before[0], self.outer.latches[0])
        ):
            return None
        return ((test.operands[0].text, test.labels[0] == self.inner.preheader),)


class _Joiner:
    """Puts a loop that computes all tiles, and one over all elements, in front of the loops, and keeps these aside."""

    def __init__(self, flow: ControlFlow, found: _Tiles, prefix: str) -> None:
        self.flow, self.found, self.prefix = flow, found, prefix
        self.between = [name for name in flow.order if name in found.outer and name not in found.outer.children[0]]
        self.line = at_place_of(flow.blocks[found.outer.header])
        self.below = found.piece.below or "slt"

    def join(self) -> None:
        looks, reached = self._looks()
        doubts, begin, ends = self._ends(reached)
        some = f"%{self.prefix}.some = icmp {self.below} {self.found.piece.type} {begin}, {ends[1]}"
        join_to(self.flow, self.found.outer, self.found.piece, looks, [self.line(some)], ends, self.prefix, doubts)

    def _lines(self, *texts: str) -> list[Instruction]:
        """Instructions, in which `§` stands for what the names of this loop begin with: it is in no name of LLVM's."""
        return [self.line(text.replace("§", f"%{self.prefix}.")) for text in texts]

    def _cut(self, value: str) -> str:
        """A number of an element as what its end is compared with, which may be narrower."""
        return f"trunc {self.found.piece.phi.type} {value} to {self.found.piece.type}"

    @property
    def _is_cut(self) -> bool:
        return self.found.piece.type != self.found.piece.phi.type

    def _looks(self) -> tuple[list[Instruction], str]:
        """The loop that looks whether each tile begins where the one before ended; the value of where a tile does.

        What is computed for a tile that is not entered may be poison: it is not asked then.
        """
        found, piece, prefix = self.found, self.found.piece, self.prefix
        blocks, outer, type = self.flow.blocks, found.outer, piece.phi.type
        at = {str(item.phi.result): f"%{prefix}.p.{str(item.phi.result)[1:]}" for item in found.counters}
        asked = () if found.enters is None else (found.enters[0],)
        wanted = (*(item.following for item in found.counters), found.test.value, piece.first, piece.end, *asked)
        lines = made_again(blocks, self.between, wanted, at, f"{prefix}.l")
        first, end = (_taken(at, value) for value in (piece.first, piece.end))
        here, reached, entered = first, end, "true"
        if self._is_cut:
            here, reached = f"%{prefix}.here", f"%{prefix}.beyond.it"
            lines += self._lines(
                f"{here} = {self._cut(first)}",
                f"§length = sub {piece.type} {end}, {here}",
                f"§wide = zext {piece.type} §length to {type}",
                f"{reached} = add {type} {first}, §wide",
            )
        if found.enters is not None:
            value, way = found.enters
            lines += self._lines(
                f"§entered = xor i1 {_taken(at, value)}, {str(not way).lower()}",
                f"§to = select i1 §entered, {type} {reached}, {type} 0",
            )
            entered, reached = f"%{prefix}.entered", f"%{prefix}.to"
        look = f"%{prefix}.look"
        ways = [f"label {look}", f"label %{prefix}.seen"]
        if blocks[outer.latches[0]].terminator.labels[0] != outer.header:
            ways.reverse()
        phis = [
            f"{at[str(item.phi.result)]} = phi {item.phi.type} [ {item.first}, %{outer.preheader} ], "
            f"[ {at[item.following]}, {look} ]"
            for item in found.counters
        ]
        phis += [
            f"§bad = phi i1 [ false, %{outer.preheader} ], [ §any, {look} ]",
            f"§further = phi i1 [ false, %{outer.preheader} ], [ true, {look} ]",
            f"§reached = phi {type} [ 0, %{outer.preheader} ], [ {reached}, {look} ]",
        ]
        tests = [
            f"§some.here = icmp {self.below} {piece.type} {here}, {end}",
            f"§as.left = icmp eq {type} {first}, §reached",
            "§follows = select i1 §further, i1 §as.left, i1 true",
            f"§goes.on = select i1 {entered}, i1 §some.here, i1 false",
            "§well = select i1 §goes.on, i1 §follows, i1 false",
            "§odd = xor i1 §well, true",
            "§any = or i1 §bad, §odd",
            f"br i1 {_taken(at, found.test.value)}, {', '.join(ways)}",
        ]
        return [*self._lines(*phis), *lines, *self._lines(*tests)], reached

    def _ends(self, reached: str) -> tuple[list[Instruction], str, tuple[str, str]]:
        """What computes where all elements begin and end; where they begin as that is compared; and both.

        The end comes from the number of the last tile, which is computed, not counted: what reads this code knows it
        then. That it is right is asked. `reached`: where a tile ends, in the loop that looks.
        """
        found, piece, prefix = self.found, self.found.piece, self.prefix
        firsts = {str(item.phi.result): item.first for item in found.counters}
        lasts = {str(item.phi.result): f"%{prefix}.at{place}" for place, item in enumerate(found.counters)}
        lines = self._lines(f"§left.at = phi {piece.phi.type} [ {reached}, %{prefix}.look ]")
        lines += self._lines(*_how_many(found.test), *_last_tile(found.test, found.counters))
        for value, numbers, name in ((piece.first, firsts, "f"), (piece.end, lasts, "b")):
            for item in made_again(self.flow.blocks, self.between, (value,), numbers, f"{prefix}.{name}"):
                lines += _without_promises(item)
        ends = _taken(firsts, piece.first), _taken(lasts, piece.end)
        begin, left = ends[0], f"%{prefix}.left.at"
        if self._is_cut:
            begin, left = f"%{prefix}.start", f"%{prefix}.there"
            lines += self._lines(f"{begin} = {self._cut(ends[0])}", f"{left} = {self._cut(f'%{prefix}.left.at')}")
        lines += self._lines(
            f"§missed = icmp ne {piece.type} {ends[1]}, {left}",
            "§doubt = or i1 §never, §missed",
        )
        return lines, begin, ends


def _how_many(test: _Test) -> list[str]:
    """Computes how many tiles come before the last one, `§count`; any number where they do not follow."""
    type, own, first, step, plus = test.type, test.number.phi.type, test.number.first, test.number.step, test.plus
    lines = [f"§asked = add {own} {first}, {plus}"]
    asked, further = "§asked", "§after"
    if own != type:
        lines.append(f"§asked.here = trunc {own} {asked} to {type}")
        lines.append(f"§by = trunc {own} {step} to {type}")
        asked, step = "§asked.here", "§by"
    lines.append(f"{further} = sub {type} {test.bound}, {asked}")
    if test.below in ("slt", "ult"):
        lines.append(f"§beyond = add {type} {further}, -1")
        further = "§beyond"
    if not step.isdigit():  # a step of 0 is that of one tile
        lines.append(f"§stays = icmp eq {type} {step}, 0")
        lines.append(f"§step = select i1 §stays, {type} 1, {type} {step}")
        step = "§step"
    if test.below == "ne":
        return [*lines, f"§count = udiv {type} {further}, {step}"]
    return [
        *lines,
        f"§many = udiv {type} {further}, {step}",
        f"§before = add {type} §many, 1",
        f"§goes = icmp {test.below} {type} {asked}, {test.bound}",
        f"§count = select i1 §goes, {type} §before, {type} 0",
    ]


def _last_tile(test: _Test, counters: Iterable[_Affine]) -> list[str]:
    """Computes what the phis are in the last tile, `§atN`."""
    lines = []
    for place, item in enumerate(counters):
        type, many = item.phi.type, "§count"
        if type != test.type:
            cast = "zext" if int(type[1:]) > int(test.type[1:]) else "trunc"
            lines.append(f"{many}{place} = {cast} {test.type} {many} to {type}")
            many += str(place)
        lines.append(f"§by{place} = mul {type} {many}, {item.step}")
        lines.append(f"§at{place} = add {type} {item.first}, §by{place}")
    return lines


def _without_promises(item: Instruction) -> list[Instruction]:
    """An instruction that makes a number, whatever it computes with. What it divides by is not 0."""
    plain = Instruction(_PROMISES.sub("", item.text), dict(item.meta))
    if item.op not in ("sdiv", "srem") or item.operands[1].text.isdigit():
        return [plain]
    type, by, name = item.type, item.operands[1].text, item.result
    lines = [f"{name}.odd = icmp eq {type} {by}, -1", f"{name}.by = select i1 {name}.odd, {type} 1, {type} {by}"]
    divided = f"{name} = {item.op} {type} {item.operands[0].text}, {name}.by"
    return [Instruction(text, dict(item.meta)) for text in (*lines, divided)]


def _taken(names: Mapping[str, str], value: str) -> str:
    return names.get(value, value)
