"""A copy of a loop, kept aside: with the same exits, through blocks of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tracecut.ir.llvm import Block, Instruction, int_bits
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import renamed, sources, with_sources
from tracecut.ir.llvm.operands import BINARY, CASTS

from .counted_loops import MOST_COPIED
from .side_by_side import at_place_of

_COMPUTES = frozenset(BINARY | CASTS | {"phi", "br", "load", "store", "getelementptr", "icmp", "fcmp", "select"})
COMPUTES = _COMPUTES | {"fneg", "freeze", "call"}  # what loops consist of that are copied


def used_at_exits(flow: ControlFlow, loop: Loop) -> bool:
    """Whether what a loop makes is used behind it by phis of its exits alone. O(instructions of the function)."""
    made = {str(item.result) for name in loop.blocks for item in flow.blocks[name].instructions if item.result}
    for name, block in flow.blocks.items():
        for item in block.instructions if name not in loop else ():
            if not made.isdisjoint(item.uses):
                at = [label for value, label in sources(item) if value in made] if item.op == "phi" else [""]
                if any((label, name) not in loop.exits for label in at):
                    return False
    return True


def can_be_copied(flow: ControlFlow, loop: Loop) -> bool:
    """Whether a loop is small, and consists of what may be there twice. O(instructions of the function)."""
    lines = [item for name in loop.blocks for item in flow.blocks[name].instructions]
    plain = all('"' not in str(item.result) and item.op not in ("alloca", "indirectbr") for item in lines)
    names = not any('"' in name for name in loop.blocks)
    inside = [name for name, _ in loop.exits]
    ends = len(set(inside)) == len(inside) and all(
        len(flow.blocks[name].terminator.labels) == len(set(flow.blocks[name].terminator.labels)) for name in inside
    )
    copied = plain and names and ends and len(lines) <= MOST_COPIED and loop.preheader is not None
    return copied and not any(item.word == "asm" for item in lines) and used_at_exits(flow, loop)


def is_indirect(made: Mapping[str, Instruction], items: Iterable[Instruction]) -> bool:
    """Whether one of some loads has an address that is computed of whole numbers which are loaded.

    `made`: what a loop makes, by name.
    """
    return any(picked_by(made, load.operands[0].text) for load in items if load.op == "load")


def picked_by(made: Mapping[str, Instruction], address: str) -> bool:
    """Whether an address is computed of whole numbers which a loop loads."""
    stack, seen = [address], set[str]()
    while stack:
        name = stack.pop()
        item = made.get(name)
        if item is None or name in seen:
            continue
        seen.add(name)
        if item.op == "load" and int_bits(item.type) is not None:
            return True
        stack += item.uses
    return False


class CopiedLoop:
    """A copy of a loop.

    Args:
        prefix: of the names of its blocks and values; the block with this name enters it.
    """

    def __init__(self, flow: ControlFlow, loop: Loop, prefix: str) -> None:
        self.flow, self.loop, self.prefix = flow, loop, prefix
        self.line = at_place_of(flow.blocks[loop.header])
        blocks = [f"%{name}" for name in loop.blocks]
        made = [str(item.result) for name in loop.blocks for item in flow.blocks[name].instructions if item.result]
        self.names = {name: f"%{prefix}.{name[1:]}" for name in (*blocks, *made)}

    def put(self, name_of: Callable[[int, tuple[str, str]], str]) -> list[Block]:
        """The blocks of the copy. What comes from it is put into the phis behind the loop.

        `name_of`: the name of the block behind an exit, by its place among the exits.
        """
        loop, names = self.loop, self.names
        behind = left_by(self.flow, loop, names, name_of)
        entered = names | {f"%{loop.preheader}": f"%{self.prefix}"}
        kept = [Block(self.prefix, [self.line(f"br label {names['%' + loop.header]}")])]
        for name in (name for name in self.flow.order if name in loop):
            lines = [renamed(item, entered) for item in self.flow.blocks[name].instructions]
            for (inside, target), block in behind.items():
                if inside == name:
                    lines[-1] = renamed(lines[-1], {f"%{target}": f"%{block.name}"})
            kept.append(Block(names["%" + name][1:], lines))
        return [*kept, *behind.values()]


def left_by(
    flow: ControlFlow, loop: Loop, names: Mapping[str, str], name_of: Callable[[int, tuple[str, str]], str]
) -> dict[tuple[str, str], Block]:
    """A block behind each exit of a loop, and what comes from there in the phis of where it goes.

    Exceptions go on to where they are caught: nothing may stand between.

    `names`: of the copy that is left; none where the loop itself is, whose branches the caller changes.
    """
    line = at_place_of(flow.blocks[loop.header])
    found: dict[tuple[str, str], Block] = {}
    for number, (name, target) in enumerate(loop.exits):
        at = name_of(number, (name, target))
        inside = names.get(f"%{name}", f"%{name}")[1:]
        lines = []
        goal = flow.blocks[target]
        if any(item.op == "landingpad" for item in goal.instructions):
            for place, phi in enumerate(goal.phis if names else ()):
                own = {label: value for value, label in sources(phi)}[name]
                arms = [*sources(phi), (names.get(own, own), inside)]
                goal.instructions[place] = Instruction(with_sources(phi, arms), dict(phi.meta))
            continue
        for place, phi in enumerate(goal.phis):
            own = {label: value for value, label in sources(phi)}[name]
            held = f"%{at}.{place}"
            lines.append(line(f"{held} = phi {phi.type} [ {names.get(own, own)}, %{inside} ]"))
            arms = [pair for pair in sources(phi) if names or pair[1] != name]
            goal.instructions[place] = Instruction(with_sources(phi, [*arms, (held, at)]), dict(phi.meta))
        found[name, target] = Block(at, [*lines, line(f"br label %{target}")])
    return found


def enter_by(block: Block, old: str, new: str) -> None:
    """In the phis of a header, what came from one block comes from another."""
    for place, phi in enumerate(block.phis):
        found = [(value, new if at == old else at) for value, at in sources(phi)]
        block.instructions[place] = Instruction(with_sources(phi, found), dict(phi.meta))
