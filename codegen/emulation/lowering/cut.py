"""A function cut at its points: blocks that end there, and what each thread keeps from one point to the next."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Block, Function, Instruction, TypeTable
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.lexer import split_commas, split_type
from tracecut.support.errors import UnsupportedError

from .points import YIELD, Point, point_of

_ROUND = "emu.round"
# What may be computed at any time from the same operands, for nothing can go wrong.
_PURE = frozenset(
    "add sub mul and or xor shl lshr ashr icmp fcmp fadd fsub fmul fneg select getelementptr trunc zext sext fptrunc "
    "fpext uitofp sitofp bitcast ptrtoint inttoptr extractvalue insertvalue".split()
)


@dataclass(frozen=True)
class Stop:
    """A point in its place: `block` ends with it, threads go on in `after`."""

    number: int
    point: Point
    made: Instruction
    block: str
    after: str


@dataclass(eq=False)
class Cut:
    """The pieces of a function.

    Attributes:
        blocks: all pieces; those in front of a point have no terminator.
        stops: by number, from 1 on.
        kept: of each stop: values that threads need behind it, in the order of their definitions.
        types: of everything that is kept.
        hoisted: instructions on arguments alone, which are computed whenever a thread goes on.
        rounds: of each loop whose turns are counted, its first instruction; by number.
    """

    blocks: list[Block]
    stops: list[Stop]
    kept: dict[int, list[str]]
    types: dict[str, str]
    hoisted: list[Instruction]
    rounds: list[Instruction]


def count_rounds(blocks: list[Block], *, strict: bool) -> tuple[list[Block], list[Instruction]]:
    """Blocks in which loops that may wait for other threads are counted, and in strict runs all loops.

    A loop that looks at memory by atomic or volatile accesses also lets the others go first, in strict runs. In the
    place of each of its jumps back there is a block of its own; `step.py` prints what is in it.
    """
    flow = ControlFlow(Function("@k", "define void @k() {", blocks))
    if not flow.is_reducible:
        raise UnsupportedError("a kernel has a loop with several entries, which the emulation does not count")
    heads: list[Instruction] = []
    added: list[Block] = []
    for loop in flow.loops:
        waits = any(_looks_at_others(made) for name in loop.blocks for made in flow.blocks[name].instructions)
        if not waits and not strict:
            continue
        number = len(heads)
        heads.append(flow.blocks[loop.header].instructions[0])
        for latch in loop.latches:
            name = f"{_ROUND}{number}.{len(added)}"
            made = flow.blocks[latch].terminator
            flow.blocks[latch].instructions[-1] = Instruction(_relabelled(made.text, {loop.header: name}), made.meta)
            _rename_incoming(flow.blocks[loop.header], {latch: name}, joined=True)
            lines = [YIELD] if waits and strict else []
            added.append(Block.of(name, [*lines, f"br label %{loop.header}"]))
    return [*blocks, *added], heads


def round_of(block: str) -> int | None:
    """The number of the loop whose turns a block counts."""
    found = re.match(rf"{re.escape(_ROUND)}(\d+)\.", block)
    return None if found is None else int(found[1])


def _looks_at_others(made: Instruction) -> bool:
    return made.op in ("cmpxchg", "atomicrmw") or bool(made.flags & {"atomic", "volatile"})


def cut(blocks: list[Block], arguments: Mapping[str, str], types: TypeTable) -> Cut:
    """Cut at the points. O(instructions + points × values)."""
    pieces, stops = _split(blocks)
    known = dict(arguments)
    for made in _in_order(pieces, stops):
        if made.result is not None:
            known[made.result] = type_of(made, types)
    hoisted = _hoist(pieces, set(arguments), needed=_crossing(pieces, stops, known))
    order = {made.result: place for place, made in enumerate(_in_order(pieces, stops)) if made.result}
    live = _live_in(pieces, stops, set(order))
    kept = {stop.number: sorted(live[stop.after] - {stop.made.result}, key=lambda name: order[name]) for stop in stops}
    return Cut(pieces, stops, kept, {name: known[name] for names in kept.values() for name in names}, hoisted, [])


def _in_order(pieces: Sequence[Block], stops: Sequence[Stop]) -> list[Instruction]:
    """All instructions, points among them."""
    resumed = {stop.after: [stop.made] for stop in stops}
    return [made for block in pieces for made in (*resumed.get(block.name, ()), *block.instructions)]


def _split(blocks: list[Block]) -> tuple[list[Block], list[Stop]]:
    pieces: list[Block] = []
    stops: list[Stop] = []
    last: dict[str, str] = {}
    for block in blocks:
        piece = Block(block.name)
        pieces.append(piece)
        for made in block.instructions:
            point = point_of(made)
            if point is None:
                piece.instructions.append(made)
                continue
            number = len(stops) + 1
            after = Block(f"emu.after{number}")
            stops.append(Stop(number, point, made, piece.name, after.name))
            piece = after
            pieces.append(piece)
        if piece.name != block.name:
            last[block.name] = piece.name
    for block in pieces:
        _rename_incoming(block, last)
    return pieces, stops


def _rename_incoming(block: Block, names: Mapping[str, str], *, joined: bool = False) -> None:
    """Phis that come from a block under its new name. `joined`: all its jumps have become one."""
    for place, made in enumerate(block.instructions):
        if made.op == "phi" and any(label in names for label in made.labels):
            pairs = [
                f"[ {operand.text}, %{names.get(label, label)} ]"
                for operand, label in zip(made.operands, made.labels, strict=True)
            ]
            listed = ", ".join(dict.fromkeys(pairs) if joined else pairs)
            block.instructions[place] = Instruction(f"{made.result} = phi {made.type} {listed}", made.meta)


def _relabelled(text: str, names: Mapping[str, str]) -> str:
    for old, new in names.items():
        text = re.sub(rf"label %{re.escape(old)}(?![-\w.$])", f"label %{new}", text)
    return text


def _successors(pieces: Sequence[Block], stops: Sequence[Stop]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {stop.block: (stop.after,) for stop in stops}
    for block in pieces:
        if block.name not in found:
            found[block.name] = tuple(dict.fromkeys(block.terminator.labels))
    return found


def _live_in(pieces: Sequence[Block], stops: Sequence[Stop], values: set[str]) -> dict[str, set[str]]:
    """Values that a block needs and does not make, by block."""
    made_in: dict[str, set[str]] = {}
    used_in: dict[str, set[str]] = {}
    from_phis: dict[str, set[str]] = {block.name: set() for block in pieces}  # needed at the end of a block
    at_stop = {stop.block: stop for stop in stops}
    result_of = {stop.after: stop.made.result for stop in stops}
    for block in pieces:
        made: set[str] = {name for name in [result_of.get(block.name)] if name}
        used: set[str] = set()
        for item in block.instructions:
            if item.op == "phi":
                for operand, label in zip(item.operands, item.labels, strict=True):
                    if operand.text in values:
                        from_phis[label].add(operand.text)
            else:
                used |= {name for name in item.uses if name in values} - made
            if item.result is not None:
                made.add(item.result)
        if block.name in at_stop:
            used |= {name for name in at_stop[block.name].made.uses if name in values} - made
        made_in[block.name], used_in[block.name] = made, used
    following = _successors(pieces, stops)
    live: dict[str, set[str]] = {block.name: set() for block in pieces}
    changed = True
    while changed:
        changed = False
        for block in reversed(pieces):
            out = from_phis[block.name].union(*(live[name] for name in following[block.name]))
            found = used_in[block.name] | (out - made_in[block.name])
            if found != live[block.name]:
                live[block.name], changed = found, True
    return live


def _crossing(pieces: Sequence[Block], stops: Sequence[Stop], known: Mapping[str, str]) -> set[str]:
    values = {made.result for block in pieces for made in block.instructions if made.result}
    values |= {stop.made.result for stop in stops if stop.made.result}
    live = _live_in(pieces, stops, values)
    return {name for stop in stops for name in live[stop.after] - {stop.made.result} if name in known}


def _hoist(pieces: Sequence[Block], arguments: set[str], needed: set[str]) -> list[Instruction]:
    """Take out what depends on arguments alone, as far as it is kept over a point."""
    definitions = {made.result: made for block in pieces for made in block.instructions if made.result}
    movable: dict[str, bool] = dict.fromkeys(arguments, True)

    def can(name: str) -> bool:
        if name not in movable:
            movable[name] = False  # of a circle
            made = definitions.get(name)
            movable[name] = made is not None and made.op in _PURE and all(map(can, made.uses))
        return movable[name]

    chosen: dict[str, Instruction] = {}

    def take(name: str) -> None:
        if name in arguments or name in chosen:
            return
        for used in definitions[name].uses:
            take(used)
        chosen[name] = definitions[name]

    for name in sorted(needed):
        if can(name):
            take(name)
    for block in pieces:
        block.instructions = [made for made in block.instructions if made.result not in chosen or made.result is None]
    return list(chosen.values())


def type_of(made: Instruction, types: TypeTable) -> str:
    """Type of a value, also of those instructions that `Instruction` has none for."""
    if made.type != "?":
        return made.type
    if made.op in ("extractelement", "insertelement", "shufflevector", "extractvalue", "insertvalue"):
        parts = split_commas(made.body)
        first, _ = split_type(parts[0])
        if made.op in ("insertelement", "insertvalue"):
            return first
        if made.op == "extractelement":
            return types.field(first, 0)[1]
        if made.op == "shufflevector":
            mask, _ = split_type(parts[2])
            return f"<{mask[1:].split(' x ')[0]} x {types.field(first, 0)[1]}>"
        for index in parts[1:]:
            first = types.field(first, int(index))[1]
        return first
    raise UnsupportedError(f"the emulation does not know the type of: {made.text}")
