"""Loops over pieces that follow each other become one loop over all of them.

Elements that are sorted by colour, block or row lie in pieces, of which an array tells the ends:

```
for (c = 0; c < colours; c++)                                   if (every begin[c] <= begin[c + 1])
    for (e = begin[c]; e < begin[c + 1]; e++)          →            for (e = begin[0]; e < begin[colours]; e++)
        flux(e);                                                        flux(e);
                                                                else the loops as they were
```

The end of a piece is read from where the start of the next one is, so the pieces follow each other; where none ends
before it starts, their elements are those from the first start to the last end, in the same order. Nothing else may be
done between the pieces, the body may not know which one it is in, and no store in it may change an end: by the types
that C tells apart (`!tbaa`), or because the ends were allocated apart from all that it stores to. The loop over all
elements can then be rescheduled over a time loop, which one that begins and ends elsewhere each time cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import drop_unreached
from tracecut.ir.llvm.lexer import LOCAL
from tracecut.ir.llvm.operands import NEGATED, SWAPPED
from tracecut.ir.llvm.strict_aliasing import may_be_same

from ..distinct_objects import apart
from ..leave_loops import COPIED
from .counted_loops import MOST_COPIED, Counted, Matcher
from .side_by_side import ASIDE, at_place_of, join_to, made_again

_PURE = frozenset("getelementptr add sub mul shl sext zext trunc icmp load br phi".split())
CALLS = ("call", "invoke")
_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class _Pieces:
    """A loop over pieces, and the loop over a piece.

    Attributes:
        pieces, piece: how they count. start, bound: the loads of where a piece starts and ends, of which the inner loop
            counts, or of casts of them. larger: the predicate by which a start lies behind its end.
    """

    outer: Loop
    inner: Loop
    pieces: Counted
    piece: Counted
    start: str
    bound: str
    larger: str


def join_pieces(module: Module) -> Module:
    """Join the pieces of such loops, in place. O(instructions)."""
    nodes: dict[str, str] = {}
    for function in module.functions.values():
        if any(item.op == "phi" for _, item in function.instructions()):
            nodes = nodes or module.metadata()
            _join_all(module, nodes, function)
    return module


def _join_all(module: Module, nodes: Mapping[str, str], function: Function) -> None:
    own = module.functions.keys()
    done: list[str] = []
    while True:
        flow = ControlFlow(function)
        loops = [loop for loop in flow.loops if len(loop.children) == 1 and not loop.header.startswith(COPIED)]
        found = (_PieceMatcher(nodes, own, flow, loop).match() for loop in loops)
        pieces = next((item for item in found if item is not None), None)
        if pieces is None:
            return
        _join(flow, pieces, f"{ASIDE}{len(done)}")
        drop_unreached(function)
        done.append(pieces.outer.header)


class _PieceMatcher(Matcher):
    """Looks whether a loop is one over pieces."""

    def __init__(self, nodes: Mapping[str, str], own: Collection[str], flow: ControlFlow, outer: Loop) -> None:
        super().__init__(own, flow, outer)
        self.nodes = nodes

    def match(self) -> _Pieces | None:
        outer, inner = self.outer, self.inner
        if not self.left_at_the_end:
            return None
        pieces, piece = self._counted(outer), self._counted(inner)
        if pieces is None or piece is None or pieces.below or piece.below or piece.type != piece.phi.type:
            return None
        if not self.plain_names or not self._only_pieces():
            return None
        start, bound = self._loaded(piece.first), self._loaded(piece.end)
        if start is None or bound is None or start[1] != bound[1]:
            return None
        larger = self._larger(start[0], bound[0], start[1])
        names = {str(pieces.phi.result): 0, pieces.following: 1}
        here, there = self._shape(start[0], names, 1), self._shape(bound[0], names, 0)
        if larger is None or here is None or here != there or not self._knows_no_piece(piece):
            return None
        return _Pieces(outer, inner, pieces, piece, start[0], bound[0], larger)

    def _only_pieces(self) -> bool:
        """Whether nothing is done but to walk the pieces, and nothing of it is known behind the loops."""
        inside = [item for name in self.inner.blocks for item in self._lines(name)]
        loads = [item for item in self._between() if item.op == "load"]
        phis = sum(1 for item in self._between() if item.op == "phi")
        if phis != 1 or not all(item.op in _PURE and "volatile" not in item.flags for item in self._between()):
            return False
        if any(item.op not in _PURE and not self._plain(item) for item in inside):
            return False
        stores = [item for item in inside if item.op == "store"]
        if any(self._may_meet(store, load) for store in stores for load in loads):
            return False
        return self.unknown_behind and self.size <= MOST_COPIED

    def _may_meet(self, store: Instruction, load: Instruction) -> bool:
        """Whether a store may change what is loaded: by their types, and by the allocations that they lead into."""
        return may_be_same(self.nodes, store, load) and not apart(
            self.everywhere, store.operands[1].text, load.operands[0].text
        )

    @cached_property
    def everywhere(self) -> dict[str, Instruction]:
        """The instructions of the function by result, but for calls of the program's own functions."""
        found = (item for _, item in self.flow.function.instructions() if item.result)
        return {str(item.result): item for item in found if item.op not in CALLS or item.word not in self.own}

    def _loaded(self, value: str) -> tuple[str, tuple[str, ...]] | None:
        """(load, casts) of what is loaded between the pieces, or a cast of it."""
        casts: list[str] = []
        while (made := self.made.get(value)) is not None and made[0] not in self.inner:
            if made[1].op == "load":
                return value, tuple(casts)
            if made[1].op not in ("sext", "zext"):
                return None
            casts.append(f"{made[1].op} {made[1].type}{' nneg' if 'nneg' in made[1].flags else ''}")
            value = made[1].operands[0].text
        return None

    def _larger(self, start: str, bound: str, casts: tuple[str, ...]) -> str | None:
        """The predicate by which the start of a piece lies behind its end; None unless just others are entered."""
        assert self.inner.preheader is not None
        before = self.flow.predecessors[self.inner.preheader]
        end = self.flow.blocks[before[0]].terminator
        test = self.made.get(end.operands[0].text, ("", None))[1] if end.op == "br" and end.operands else None
        if len(before) != 1 or before[0] not in self.outer or test is None or test.op != "icmp":
            return None
        if not self.flow.dominates(before[0], self.outer.latches[0]):
            return None
        sides, word = [one.text for one in test.operands], test.word
        if sides == [bound, start]:
            word = SWAPPED.get(word, "")
        elif sides != [start, bound]:
            return None
        if end.labels[0] != self.inner.preheader:
            word = NEGATED.get(word, "")
        signed = all(cast.startswith("sext") or cast.endswith("nneg") for cast in casts)
        unsigned = all(cast.startswith("zext") for cast in casts)
        return {"slt": "sgt" if signed else None, "ult": "ugt" if unsigned else None}.get(word)

    def _shape(self, value: str, counted: Mapping[str, int], further: int) -> object:
        """What a value is made of, `further` pieces on; None where anything but the number of the piece varies in it.

        `counted`: values that are the number of the piece and some more.
        """
        if value in counted:
            return counted[value] + further
        made = self.made.get(value)
        if made is None:
            return value
        if made[0] in self.inner or made[1].op == "phi":
            return None
        parts = [self._shape(one.text, counted, further) for one in made[1].operands]
        if made[1].op == "add" and isinstance(parts[0], int) and _NUMBER.fullmatch(str(parts[1])):
            return parts[0] + int(str(parts[1]))
        head = made[1].text[made[1].text.index("=") :]
        return None if None in parts else (LOCAL.sub("%", head), *parts)


def _join(flow: ControlFlow, found: _Pieces, prefix: str) -> None:
    """Put a loop that looks at all pieces, and one over all elements, in front of the loops, and keep these aside."""
    outer, inner, counted = found.outer, found.inner, found.pieces
    blocks = flow.blocks
    between = [name for name in flow.order if name in outer and name not in inner]
    line = at_place_of(blocks[outer.header])

    # Whether one ends before it starts.
    at = {str(counted.phi.result): f"%{prefix}.k", counted.following: f"%{prefix}.next"}
    look = f"{prefix}.look"
    phi = f"%{prefix}.k = phi {counted.phi.type} [ {counted.first}, %{outer.preheader} ], [ %{prefix}.next, %{look} ]"
    bad = f"%{prefix}.bad = phi i1 [ false, %{outer.preheader} ], [ %{prefix}.any, %{look} ]"
    type = _of(blocks, found.start).type
    looks = [
        line(phi),
        line(bad),
        line(f"%{prefix}.next = add {counted.phi.type} %{prefix}.k, 1"),
        *made_again(blocks, between, (found.start, found.bound), at, f"{prefix}.l"),
        line(f"%{prefix}.lies = icmp {found.larger} {type} {at[found.start]}, {at[found.bound]}"),
        line(f"%{prefix}.any = or i1 %{prefix}.bad, %{prefix}.lies"),
        line(f"%{prefix}.last = icmp eq {counted.phi.type} %{prefix}.next, {counted.end}"),
        line(f"br i1 %{prefix}.last, label %{prefix}.seen, label %{look}"),
    ]

    # All elements, from the first start to the last end.
    first = {str(counted.phi.result): counted.first}
    last = {counted.following: counted.end, str(counted.phi.result): f"%{prefix}.final"}
    own = [line(f"%{prefix}.final = add {counted.phi.type} {counted.end}, -1")]
    own += made_again(blocks, between, (found.start, found.piece.first), first, f"{prefix}.f")
    own += made_again(blocks, between, (found.bound, found.piece.end), last, f"{prefix}.b")
    smaller = {"sgt": "slt", "ugt": "ult"}[found.larger]
    own.append(line(f"%{prefix}.some = icmp {smaller} {type} {first[found.start]}, {last[found.bound]}"))
    join_to(flow, outer, found.piece, looks, own, (first[found.piece.first], last[found.piece.end]), prefix)


def _of(blocks: Mapping[str, Block], value: str) -> Instruction:
    return next(item for block in blocks.values() for item in block.instructions if item.result == value)
