"""Loops that computed numbers may end early are looked through first, so that their iterations can have any order.

```
for (i = 0; i < n; i++) {                  some = 0;
    a = f(x, i);                           for (i = 0; i < n; i++)               // stores nothing
    if (a < 0) fail(i);                        some |= f(x, i) < 0;
    y[i] = a;                         →    if (!some)
}                                              for (i = 0; i < n; i++) …         // the loop as it was
                                           else
                                               for (i = 0; i < n; i++) …         // a copy of it, kept aside
```

The loop stays as it is, with all of its exits: where its iterations run in their own order, nothing depends on what was
found. Where they are independent, each computes in front of the loop what it computes in it, so that none of them ends
it, and they may have any order. What an iteration itself has stored before it decides cannot be looked at in front of
the loop; such loops are left alone, and so are those that are ended by whole numbers alone, which inspection knows
(`tracer/legality/evaluation/early_exits.py`). One that picks nothing by loaded numbers, `assert(u[i] == u[i])`, may run
beside loops that do, on what these have moved; where such a loop stores nothing, it is a search, which ends early.

The loop that looks runs in an order of its own only, where it is known which addresses it reads (`settle`). In the
program's order it is passed by: it would read what iterations before have not written yet, and where they would have
ended the loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracecut.ir.llvm import Block, Function, Instruction, Module, int_bits
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import drop_unreached, renamed, sources

from ..leave_loops import COPIED
from .copied_loop import COMPUTES, CopiedLoop, enter_by, is_indirect, left_by, picked_by, used_at_exits
from .counted_loops import MOST_COPIED
from .side_by_side import ASIDE, at_place_of

AHEAD = f"{COPIED}.ahead"  # how the names of blocks begin that are made in front of such loops
LEFT = ".left"  # of blocks behind an exit of which it is known that it is not taken, where the order matters
_LOOK = re.compile(f"({re.escape(AHEAD)}\\d+)[.](?:done|end)")
LOOK = ".look"  # of the block in front of a loop that looks
_FLOATS = frozenset({"float", "double", "fcmp", "fadd", "fsub", "fmul", "fdiv", "fneg"})
_DIVIDES = frozenset({"sdiv", "udiv", "srem", "urem"})


@dataclass(frozen=True)
class _Found:
    """A loop that is ended early.

    Attributes:
        end: its last block, which counts. early: blocks that may end it otherwise → where they go.
        wanted: what has to be computed to know that. stepped: what the last block computes to count.
    """

    loop: Loop
    end: tuple[str, str]
    early: dict[str, str]
    wanted: frozenset[str]
    stepped: tuple[Instruction, ...]


def look_ahead(module: Module) -> Module:
    """Put such loops in front of those that they look through, in place. O(instructions)."""
    for function in module.functions.values():
        if any(item.op == "phi" for _, item in function.instructions()):
            _look_ahead(module, function)
    return module


def is_look(label: str) -> bool:
    """Whether a block enters a loop that looks."""
    return label.startswith(AHEAD) and label.endswith(LOOK)


def look_of(behind: str) -> str:
    """What a loop has in common with the one that looks through it alone; empty where it is neither.

    `behind`: where the exit goes that its trip count is of.
    """
    found = _LOOK.fullmatch(behind)
    return found[1] if found else ""


def never_left(label: str) -> bool:
    """Whether an exit to this block is not taken where the iterations have another order."""
    return label.startswith(AHEAD) and label.endswith(LEFT)


@dataclass(frozen=True)
class Look:
    """A loop that is looked through: its header, and that of the loop that looks.

    `start`: the block in front of both. `look`: the one that enters the loop that looks. `aside`: the one that enters
    the copy that is kept aside.
    """

    header: str
    looking: str
    start: str
    look: str
    aside: str


def looks_in(function: Function) -> list[Look]:
    """The loops of a function that are looked through."""
    blocks, found = function.by_name(), []
    for block in function.blocks:
        look = next((label for label in block.terminator.labels if is_look(label)), None)
        if look is not None:
            prefix = look.removesuffix(LOOK)
            looking, header = (blocks[name].terminator.labels[0] for name in (look, f"{prefix}.all"))
            aside = blocks[f"{prefix}.seen"].terminator.labels[1]
            found.append(Look(header, looking, block.name, look, aside))
    return found


def settle(function: Function, looks: Iterable[Look], rescheduled: Mapping[str, str]) -> None:
    """Let those loops look that are rescheduled together with the loops behind them, in place.

    A loop that is rescheduled without one that looks is never entered: its copy runs.

    Args:
        looks: of `looks_in`, before the function was changed. rescheduled: the header of each loop that has another
            order → the block that enters it where that order is not in force.
    """
    blocks = function.by_name()
    looked = [look for look in looks if look.header in rescheduled]
    for look in looked:
        start = blocks[look.start].instructions
        goes = look.look if look.looking in rescheduled else look.aside
        start[-1] = Instruction(f"br label %{goes}", dict(start[-1].meta))
        if look.looking in rescheduled:
            end = blocks[rescheduled[look.looking]].instructions
            end[-1] = renamed(end[-1], {f"%{look.looking}": f"%{look.aside}"})
    if looked:
        drop_unreached(function)


def _look_ahead(module: Module, function: Function) -> None:
    flow, number = ControlFlow(function), 0
    matcher = _Matcher(module.functions.keys(), flow)
    found = [one for loop in flow.loops if (one := matcher.match(loop)) is not None]
    taken: set[str] = set()
    for one in found:
        if not one.loop.blocks & taken:
            taken |= one.loop.blocks
            _Maker(flow, one, f"{number}").put()
            number += 1


class _Matcher:
    """Finds the loops of a function that can be looked through."""

    def __init__(self, own: Iterable[str], flow: ControlFlow) -> None:
        self.own, self.flow = set(own), flow
        self.made = {
            str(item.result): (block.name, item) for block, item in flow.function.instructions() if item.result
        }
        self.plain_names = not any('"' in name for name in (*self.made, *flow.blocks))

    def match(self, loop: Loop) -> _Found | None:
        early = self._early(loop)
        if not early or loop.header.startswith(COPIED) or not self._is_plain(loop):
            return None
        wanted = self._behind(loop, [self._test(name) for name in self._deciding(loop) if name != loop.latches[0]])
        stepped = self._stepped(loop, wanted)
        if wanted is None or stepped is None:
            return None
        lines = [self.made[name][1] for name in wanted]
        own = self._behind(loop, [self._test(name) for name in early]) or frozenset()
        decided = [self.made[name][1] for name in own]
        if not any({item.op, item.type} & _FLOATS for item in decided):
            return None
        if not (is_indirect(self._made_in(loop), lines) or self._only_walks(loop)):
            return None
        if any(item.op in _DIVIDES and not item.operands[1].text.isdigit() for item in lines):
            return None
        if any(item.op in ("load", "call") for item in stepped) or self._stored_before(loop, lines):
            return None
        return _Found(loop, (loop.latches[0], dict(loop.exits)[loop.latches[0]]), early, wanted, stepped)

    def _early(self, loop: Loop) -> dict[str, str]:
        """Blocks that may end a loop early, also of inner loops; empty where another one than its last block counts."""
        blocks, ends = self.flow.blocks, dict(loop.exits)
        if len(loop.latches) != 1 or loop.preheader is None or len(ends) != len(loop.exits) or len(ends) < 2:
            return {}
        if loop.latches[0] not in ends:
            return {}
        if any(blocks[name].terminator.op != "br" or len(blocks[name].terminator.labels) != 2 for name in ends):
            return {}
        return {name: target for name, target in ends.items() if name != loop.latches[0]}

    def _is_plain(self, loop: Loop) -> bool:
        """Whether a loop can be copied, and what it makes is used behind it by phis of its exits alone."""
        lines = [item for name in loop.blocks for item in self.flow.blocks[name].instructions]
        if len(lines) > MOST_COPIED or not self.plain_names:
            return False
        for item in lines:
            if item.op == "call" and (item.word in self.own or not effect_of(item).movable):
                return False
            if item.op not in COMPUTES or item.flags & {"volatile", "atomic"}:
                return False
        return used_at_exits(self.flow, loop)

    def _deciding(self, loop: Loop) -> list[str]:
        """Blocks of a loop that decide where to go on."""
        return [name for name in loop.blocks if len(self.flow.blocks[name].terminator.labels) > 1]

    def _test(self, name: str) -> str:
        return self.flow.blocks[name].terminator.operands[0].text

    def _behind(self, loop: Loop, values: Iterable[str]) -> frozenset[str] | None:
        """What of a loop goes into values; None where that is a number that its iterations hand on, but a counter."""
        found: set[str] = set()
        stack = [value for value in values if value in self.made]
        header = self.flow.blocks[loop.header]
        while stack:
            name = stack.pop()
            block, item = self.made[name]
            if name in found or block not in loop:
                continue
            if block == header.name and item.op == "phi" and self._step(loop, item) is None:
                return None
            found.add(name)
            if not (block == header.name and item.op == "phi"):
                stack += [value for value in item.uses if value in self.made]
        return frozenset(found)

    def _step(self, loop: Loop, phi: Instruction) -> str | None:
        """What a counter is in the next iteration; None for what is none."""
        after = {label: value for value, label in sources(phi)}[loop.latches[0]]
        item = self.made.get(after, ("", None))[1]
        steps = ("add", "sub") if int_bits(phi.type) is not None else ("getelementptr",)
        return after if item is not None and item.op in steps and phi.result in item.uses else None

    def _stepped(self, loop: Loop, wanted: frozenset[str] | None) -> tuple[Instruction, ...] | None:
        """What the next number of each counter, and whether there is one, is computed with, in order."""
        if wanted is None:
            return None
        phis = list(self.flow.blocks[loop.header].phis)
        known = {str(phi.result): after for phi in phis if (after := self._step(loop, phi)) is not None}
        roots, used = [self._test(loop.latches[0])], {name for name in known if name in wanted}
        while True:
            found = self._behind(loop, [*roots, *(known[name] for name in used)])
            if found is None:
                return None
            more = {name for name in known if name in found} - used
            if not more:
                break
            used |= more
        counters = {str(phi.result) for phi in phis}
        lines = [name for name in self.made if name in found and name not in counters]
        if any(self.made[name][1].op == "phi" for name in lines):
            return None
        place = {name: rank for rank, name in enumerate(self.flow.order)}
        lines.sort(key=lambda name: (place[self.made[name][0]], self._place(name)))
        return tuple(self.made[name][1] for name in lines)

    def _place(self, name: str) -> int:
        block, item = self.made[name]
        return self.flow.blocks[block].instructions.index(item)

    def _made_in(self, loop: Loop) -> dict[str, Instruction]:
        return {name: item for name, (block, item) in self.made.items() if block in loop}

    def _stored_before(self, loop: Loop, lines: list[Instruction]) -> bool:
        """Whether an iteration may store something before it loads what decides whether the loop is left."""
        loads = {str(item.result) for item in lines if item.op == "load"}
        for name in loop.blocks:
            stored = False
            for item in self.flow.blocks[name].instructions:
                stored = stored or item.op == "store"
                if stored and item.result in loads:
                    return True
            if stored and any(self.made[one][0] in self._after(loop, name) for one in loads):
                return True
        return False

    def _only_walks(self, loop: Loop) -> bool:
        """Whether a loop stores something, and picks nothing by loaded numbers."""
        made = self._made_in(loop)
        items = [item for name in loop.blocks for item in self.flow.blocks[name].instructions]
        reaches = [item.operands[item.op == "store"].text for item in items if item.op in ("load", "store")]
        return any(item.op == "store" for item in items) and not any(picked_by(made, address) for address in reaches)

    def _after(self, loop: Loop, name: str) -> set[str]:
        """Blocks that an iteration may come to behind one."""
        found: set[str] = set()
        stack = [name]
        while stack:
            for label in self.flow.blocks[stack.pop()].terminator.labels:
                if label in loop and label != loop.header and label not in found:
                    found.add(label)
                    stack.append(label)
        return found


class _Maker:
    """Puts the loop that looks in front of another one, and a copy of that aside."""

    def __init__(self, flow: ControlFlow, found: _Found, number: str) -> None:
        self.flow, self.found, self.loop = flow, found, found.loop
        self.ahead, self.aside = f"{AHEAD}{number}", f"{ASIDE}.ahead{number}"
        self.line = at_place_of(flow.blocks[found.loop.header])

    def put(self) -> None:
        loop, function, blocks = self.loop, self.flow.function, self.flow.blocks
        start = blocks[str(loop.preheader)]
        looking = self._looking()
        kept = CopiedLoop(self.flow, loop, self.aside).put(lambda place, edge: f"{self.aside}.{place}.behind")
        behind = left_by(self.flow, loop, {}, self._behind)
        start.instructions[-1] = self.line(f"br i1 true, label %{self.ahead}.all, label %{self.ahead}{LOOK}")
        for (name, target), block in behind.items():
            blocks[name].instructions[-1] = renamed(blocks[name].terminator, {f"%{target}": f"%{block.name}"})
        enter_by(blocks[loop.header], start.name, f"{self.ahead}.all")
        place = function.blocks.index(blocks[loop.header])
        made = [Block(f"{self.ahead}.all", [self.line(f"br label %{loop.header}")]), *behind.values()]
        function.blocks[place:place] = [*looking, *made, *kept]

    def _behind(self, place: int, edge: tuple[str, str]) -> str:
        return f"{self.ahead}.done" if edge == self.found.end else f"{self.ahead}.{place}{LEFT}"

    def _looking(self) -> list[Block]:
        """The loop that looks, up to the block that knows."""
        loop, blocks, prefix, found = self.loop, self.flow.blocks, self.ahead, self.found
        names = CopiedLoop(self.flow, loop, prefix).names
        last, (end, _) = f"{prefix}.next", found.end
        counted = names | {str(item.result): f"%{last}.{str(item.result)[1:]}" for item in found.stepped}
        flag, made, hits = f"%{prefix}.some", [], []
        for name in (name for name in self.flow.order if name in loop):
            own, lines = blocks[name], []
            for item in own.instructions[:-1]:
                if item.result in found.wanted and not (name == loop.header and item.op == "phi"):
                    lines.append(renamed(item, names))
            if name == loop.header:
                lines[:0] = self._counters(names, counted, last, flag)
            if name == end:
                lines.append(self.line(f"br label %{last}"))
            elif name in found.early:
                hit = f"{prefix}.{name}.hit{LEFT}"
                lines.append(renamed(own.terminator, names | {f"%{found.early[name]}": f"%{hit}"}))
                hits.append(hit)
            else:
                lines.append(renamed(own.terminator, names))
            made.append(Block(names["%" + name][1:], lines))
        merged = [f"[ {flag}, {names['%' + end]} ]", *(f"[ %{hit}.set, %{hit} ]" for hit in hits)]
        steps = [self.line(f"{flag}.then = phi i32 {', '.join(merged)}")]
        steps += [renamed(item, counted) for item in found.stepped]
        steps.append(self._goes_on(counted, last))
        for hit in hits:
            lines = [self.line(f"%{hit}.set = or i32 {flag}, 1")]
            made.append(Block(hit, [*lines, self.line(f"br i1 true, label %{hit}{LEFT}, label %{last}")]))
        made.append(Block(last, steps))
        known = [f"[ {flag}.all, %{prefix}.end ]", *(f"[ 1, %{hit}{LEFT} ]" for hit in hits)]
        made += [Block(f"{hit}{LEFT}", [self.line(f"br label %{prefix}.seen")]) for hit in hits]
        all_of_them = self.line(f"{flag}.all = phi i32 [ {flag}.then, %{last} ]")
        made.append(Block(f"{prefix}.end", [all_of_them, self.line(f"br label %{prefix}.seen")]))
        seen = [
            self.line(f"%{prefix}.found = phi i32 {', '.join(known)}"),
            self.line(f"%{prefix}.none = icmp eq i32 %{prefix}.found, 0"),
            self.line(f"br i1 %{prefix}.none, label %{prefix}.all, label %{self.aside}"),
        ]
        enter = self.line(f"br label {names['%' + loop.header]}")
        return [Block(f"{prefix}{LOOK}", [enter]), *made, Block(f"{prefix}.seen", seen)]

    def _counters(self, names: dict[str, str], counted: dict[str, str], last: str, flag: str) -> list[Instruction]:
        """The phis of the loop that looks: the counters that it needs, and whether something was found."""
        loop, stepped = self.loop, {str(item.result) for item in self.found.stepped}
        lines = []
        for phi in self.flow.blocks[loop.header].phis:
            values = {label: value for value, label in sources(phi)}
            following = values.pop(loop.latches[0])
            if following in stepped:
                start = next(iter(values.values()))
                arms = f"[ {start}, %{self.ahead}{LOOK} ], [ {counted[following]}, %{last} ]"
                lines.append(Instruction(f"{names[str(phi.result)]} = phi {phi.type} {arms}", dict(phi.meta)))
        return [*lines, self.line(f"{flag} = phi i32 [ 0, %{self.ahead}{LOOK} ], [ {flag}.then, %{last} ]")]

    def _goes_on(self, counted: dict[str, str], last: str) -> Instruction:
        """The branch of the last block."""
        end, target = self.found.end
        own = self.flow.blocks[end].terminator
        return renamed(own, counted | {f"%{target}": f"%{self.ahead}.end"})
