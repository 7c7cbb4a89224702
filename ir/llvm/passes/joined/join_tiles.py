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

from tracecut.ir.llvm import Function, Instruction, Module, int_bits
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import drop_unreached, sources

from ..leave_loops import COPIED
from .counted_loops import MOST_COPIED, NEGATED, SWAPPED, Counted, Matcher
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
    for number in range(len(function.blocks)):
        flow = ControlFlow(function)
        loops = [loop for loop in flow.loops if len(loop.children) == 1 and not loop.header.startswith(COPIED)]
        found = (_TileMatcher(own, flow, loop).tiles() for loop in loops)
        tiles = next((item for item in found if item is not None), None)
        if tiles is None:
            return
        _join(flow, tiles, f"{ASIDE}.tiles{number}")
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


def _join(flow: ControlFlow, found: _Tiles, prefix: str) -> None:
    """Put a loop that computes all tiles, and one over all elements, in front of the loops, and keep these aside."""
    outer, test, piece, counters = found.outer, found.test, found.piece, found.counters
    inner, blocks = outer.children[0], flow.blocks
    between = [name for name in flow.order if name in outer and name not in inner]
    line = at_place_of(blocks[outer.header])
    look, start, type = f"{prefix}.look", outer.preheader, piece.phi.type
    cut = f"trunc {type} {{}} to {piece.type}" if piece.type != type else ""

    # Whether each tile begins where the one before ended. What is computed for one that is not entered may be poison.
    at = {str(item.phi.result): f"%{prefix}.p.{str(item.phi.result)[1:]}" for item in counters}
    below = piece.below or "slt"
    asked = () if found.enters is None else (found.enters[0],)
    wanted = (*(item.following for item in counters), test.value, piece.first, piece.end, *asked)
    lines = made_again(blocks, between, wanted, at, f"{prefix}.l")
    first, end = (_taken(at, value) for value in (piece.first, piece.end))
    here, length = first, end
    if cut:  # what an element is compared with is narrower
        here, length = f"%{prefix}.here", f"%{prefix}.beyond.it"
        lines += [
            line(f"{here} = {cut.format(first)}"),
            line(f"%{prefix}.length = sub {piece.type} {end}, {here}"),
            line(f"%{prefix}.wide = zext {piece.type} %{prefix}.length to {type}"),
            line(f"{length} = add {type} {first}, %{prefix}.wide"),
        ]
    entered, to = "true", length
    if found.enters is not None:
        entered, to = f"%{prefix}.entered", f"%{prefix}.to"
        value, way = found.enters
        lines.append(line(f"{entered} = xor i1 {_taken(at, value)}, {str(not way).lower()}"))
        lines.append(line(f"{to} = select i1 {entered}, {type} {length}, {type} 0"))
    looks = [
        line(
            f"{at[str(item.phi.result)]} = phi {item.phi.type} [ {item.first}, %{start} ], "
            f"[ {at[item.following]}, %{look} ]"
        )
        for item in counters
    ]
    ways = [f"label %{look}", f"label %{prefix}.seen"]
    if blocks[outer.latches[0]].terminator.labels[0] != outer.header:
        ways.reverse()
    looks += [
        line(f"%{prefix}.bad = phi i1 [ false, %{start} ], [ %{prefix}.any, %{look} ]"),
        line(f"%{prefix}.further = phi i1 [ false, %{start} ], [ true, %{look} ]"),
        line(f"%{prefix}.reached = phi {type} [ 0, %{start} ], [ {to}, %{look} ]"),
        *lines,
        line(f"%{prefix}.some.here = icmp {below} {piece.type} {here}, {end}"),
        line(f"%{prefix}.as.left = icmp eq {type} {first}, %{prefix}.reached"),
        line(f"%{prefix}.follows = select i1 %{prefix}.further, i1 %{prefix}.as.left, i1 true"),
        line(f"%{prefix}.goes.on = select i1 {entered}, i1 %{prefix}.some.here, i1 false"),
        line(f"%{prefix}.well = select i1 %{prefix}.goes.on, i1 %{prefix}.follows, i1 false"),
        line(f"%{prefix}.odd = xor i1 %{prefix}.well, true"),
        line(f"%{prefix}.any = or i1 %{prefix}.bad, %{prefix}.odd"),
        line(f"br i1 {_taken(at, test.value)}, {', '.join(ways)}"),
    ]

    # Where all elements begin and end. The latter from the number of the last tile, which is computed, not counted:
    # what reads this code knows it then. That it is right is asked.
    firsts = {str(item.phi.result): item.first for item in counters}
    lasts = {str(item.phi.result): f"%{prefix}.at{place}" for place, item in enumerate(counters)}
    doubts = [line(f"%{prefix}.left.at = phi {type} [ {to}, %{look} ]")]
    doubts += [line(text) for text in (*_how_many(test, prefix), *_last_tile(test, counters, prefix))]
    for value, numbers, name in ((piece.first, firsts, "f"), (piece.end, lasts, "b")):
        for item in made_again(blocks, between, (value,), numbers, f"{prefix}.{name}"):
            doubts += _without_promises(item)
    ends = _taken(firsts, piece.first), _taken(lasts, piece.end)
    begin, left = ends[0], f"%{prefix}.left.at"
    if cut:
        begin, left = f"%{prefix}.start", f"%{prefix}.there"
        doubts += [line(f"{begin} = {cut.format(ends[0])}"), line(f"{left} = {cut.format(f'%{prefix}.left.at')}")]
    doubts.append(line(f"%{prefix}.missed = icmp ne {piece.type} {ends[1]}, {left}"))
    doubts.append(line(f"%{prefix}.doubt = or i1 %{prefix}.never, %{prefix}.missed"))
    own = [line(f"%{prefix}.some = icmp {below} {piece.type} {begin}, {ends[1]}")]
    join_to(flow, outer, piece, looks, own, ends, prefix, doubts)


def _how_many(test: _Test, prefix: str) -> list[str]:
    """Computes how many tiles come before the last one, `prefix.count`; any number where they do not follow."""
    type, own, first, step, plus = test.type, test.number.phi.type, test.number.first, test.number.step, test.plus
    lines = [f"%{prefix}.asked = add {own} {first}, {plus}"]
    asked, further = f"%{prefix}.asked", f"%{prefix}.after"
    if own != type:
        lines.append(f"%{prefix}.asked.here = trunc {own} {asked} to {type}")
        lines.append(f"%{prefix}.by = trunc {own} {step} to {type}")
        asked, step = f"%{prefix}.asked.here", f"%{prefix}.by"
    lines.append(f"{further} = sub {type} {test.bound}, {asked}")
    if test.below in ("slt", "ult"):
        lines.append(f"%{prefix}.beyond = add {type} {further}, -1")
        further = f"%{prefix}.beyond"
    if not step.isdigit():  # a step of 0 is that of one tile
        lines.append(f"%{prefix}.stays = icmp eq {type} {step}, 0")
        lines.append(f"%{prefix}.step = select i1 %{prefix}.stays, {type} 1, {type} {step}")
        step = f"%{prefix}.step"
    if test.below == "ne":
        return [*lines, f"%{prefix}.count = udiv {type} {further}, {step}"]
    return [
        *lines,
        f"%{prefix}.many = udiv {type} {further}, {step}",
        f"%{prefix}.before = add {type} %{prefix}.many, 1",
        f"%{prefix}.goes = icmp {test.below} {type} {asked}, {test.bound}",
        f"%{prefix}.count = select i1 %{prefix}.goes, {type} %{prefix}.before, {type} 0",
    ]


def _last_tile(test: _Test, counters: Iterable[_Affine], prefix: str) -> list[str]:
    """Computes what the phis are in the last tile, `prefix.atN`."""
    lines = []
    for place, item in enumerate(counters):
        type, count = item.phi.type, f"%{prefix}.count"
        if type != test.type:
            cast = "zext" if int(type[1:]) > int(test.type[1:]) else "trunc"
            lines.append(f"{count}{place} = {cast} {test.type} {count} to {type}")
            count += str(place)
        lines.append(f"%{prefix}.by{place} = mul {type} {count}, {item.step}")
        lines.append(f"%{prefix}.at{place} = add {type} {item.first}, %{prefix}.by{place}")
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
