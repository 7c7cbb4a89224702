"""Where in an iteration of a loop the memory that it allocates is there, and where it is not, or is no more."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tracecut.ir.llvm import Block, Instruction
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import sources

Edge = tuple[str, str]


def exit_states(
    flow: ControlFlow, loop: Loop, home: Block, call: Instruction, names: set[str], freed: Collection[str]
) -> dict[Edge, bool | str] | None:
    """Exit of a loop → whether the memory is there when the loop is left so; a name: it is where that is not null.

    None when it is not known, or where an iteration may go on without having freed the memory. O(blocks).

    Args:
        home: the block that allocates. call: the allocation in it.
        names: what is the address of the memory, or null. freed: blocks that free the memory.
    """
    if home.name in freed:
        return None
    paths = _Paths(flow, loop)
    normal = flow.successors[home.name] if call.op == "call" else call.labels[:1]
    failed = [(home.name, label) for label in flow.successors[home.name] if label not in normal]
    first = [(loop.header, label) for label in flow.successors[loop.header] if loop.header != home.name]
    after = [(name, label) for name in freed for label in flow.successors[name]]

    def sets(told: set[str]) -> tuple[set[Edge], set[Edge]]:
        begun = paths.steps(home.name, told, is_null=False) if call.op == "call" else normal
        live = paths.passed([(home.name, label) for label in begun], set(freed), told, is_null=False)
        return live, paths.passed([*first, *failed], {home.name}, told, is_null=True)

    told = {str(call.result)}
    told |= _telling(flow, loop, names, told, *sets(told))
    live, none = sets(told)
    gone = paths.passed(after, {home.name}, set(), is_null=False)
    if any(label in (loop.header, home.name) for _, label in live):
        return None
    states: dict[Edge, bool | str] = {}
    for edge in loop.exits:
        states[edge] = edge in live
        if edge in live and (edge in none or edge in gone):
            where = (name for name in told if name != call.result and _dominates(flow, name, edge[0]))
            name = next(where, None)
            if name is not None and edge not in gone:
                states[edge] = name
            elif not gives_up(flow, loop, edge[1]):
                return None  # what is left behind now could be left behind again and again
    return states


class _Paths:
    """Paths through one iteration of a loop."""

    def __init__(self, flow: ControlFlow, loop: Loop) -> None:
        self.flow, self.loop = flow, loop
        self.tests = {
            str(item.result): item
            for name in loop.blocks
            for item in flow.blocks[name].instructions
            if item.op == "icmp" and item.word in ("eq", "ne") and any(o.text == "null" for o in item.operands)
        }

    def passed(self, starts: Iterable[Edge], ends: set[str], told: set[str], *, is_null: bool) -> set[Edge]:
        """Edges that may be passed behind others, up to some blocks, where the names in `told` are null or not."""
        seen = set(starts)
        stack = list(seen)
        while stack:
            _, name = stack.pop()
            if name in ends or name not in self.loop or name == self.loop.header:
                continue
            for label in self.steps(name, told, is_null=is_null):
                if (name, label) not in seen:
                    seen.add((name, label))
                    stack.append((name, label))
        return seen

    def steps(self, name: str, told: set[str], *, is_null: bool) -> tuple[str, ...]:
        """Where a block may go on to."""
        end = self.flow.blocks[name].terminator
        test = self.tests.get(end.operands[0].text) if end.op == "br" and end.operands else None
        if test is None or not any(operand.text in told for operand in test.operands):
            return self.flow.successors[name]
        return (end.labels[0 if (test.word == "eq") == is_null else 1],)


def _telling(
    flow: ControlFlow, loop: Loop, names: set[str], told: set[str], live: set[Edge], none: set[Edge]
) -> set[str]:
    """Phis that are null exactly where nothing has been allocated."""
    found = set(told)
    phis = [(name, phi) for name in loop.blocks for phi in flow.blocks[name].phis if phi.result in names]
    grown = True
    while grown:
        grown = False
        for block, phi in phis:
            if phi.result in found or not all(
                (label, block) not in live if value == "null" else value in found and (label, block) not in none
                for value, label in sources(phi)
            ):
                continue
            found.add(str(phi.result))
            grown = True
    return found - told


def _dominates(flow: ControlFlow, name: str, block: str) -> bool:
    home = next((each for each, at in flow.blocks.items() if any(phi.result == name for phi in at.phis)), None)
    return home is not None and flow.dominates(home, block)


def gives_up(flow: ControlFlow, loop: Loop, name: str) -> bool:
    """Whether no path from a block returns, or comes back to the loop: the program ends, or an exception leaves."""
    seen, stack = {name}, [name]
    while stack:
        here = stack.pop()
        if flow.blocks[here].terminator.op == "ret" or here == loop.header:
            return False
        fresh = set(flow.successors[here]) - seen
        seen |= fresh
        stack += fresh
    return True
