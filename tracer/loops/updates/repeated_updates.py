"""Updates that do the same wherever they run: `y[j] = f(y[j])`, where nothing but the old value decides the new one.

However often, and in whatever order, iterations come to one element: what is left is f applied as many times. No
operator has to be associative for that, and nothing is rounded in another way. What else goes into f is constant, or
made outside of the loop whose iterations change places.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.ir.llvm import Block, Instruction
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.lexer import LOCAL
from tracecut.ir.llvm.operands import BINARY, CASTS

from .reductions import Uses, last_load, may_write

LONGEST, DEEPEST = 300, 20  # letters of an update, where what is used several times is written out as often; steps
_PLAIN = BINARY | CASTS | {"fneg", "icmp", "fcmp", "select"}


def computes(made: Instruction) -> bool:
    """Whether an instruction makes its value of nothing but its operands; calls that only compute, too."""
    return made.op in _PLAIN or (made.op == "call" and effect_of(made).kind == "pure")


@dataclass(frozen=True)
class RepeatedUpdate:
    """A load, a function of what it reads, and a store of the outcome to the same address.

    Attributes:
        load: which. function: what is stored, in words; `_` stands for what was read.
        loop: the outermost one of a nest in which nothing else that goes into the function changes.
        between: other stores between the two, which have to go elsewhere.
    """

    load: Instruction
    function: str
    loop: Loop
    between: tuple[Instruction, ...]


def repeated_update(uses: Uses, block: Block, store: Instruction, root: Loop) -> RepeatedUpdate | None:
    """The update that `store` in `block` closes, None when it closes none. `root`: the loop of the whole nest.

    O(instructions of the block + what the value is made of).
    """
    view = uses.view
    inner = view.innermost(block.name)
    load = last_load(block, store)
    if inner is None or load is None:
        return None
    place = block.instructions.index(store)
    behind = block.instructions[block.instructions.index(load) + 1 : place]
    if any(may_write(instruction) for instruction in behind):
        return None
    made = _Function(uses, str(load.result), inner)
    function = made.text(store.operands[0].text)
    if function is None or store.operands[0].text not in made.depends or not made.is_hidden(store):
        return None
    loop = inner
    while loop is not root and loop.parent is not None and made.inputs.isdisjoint(loop.parent.blocks):
        loop = loop.parent
    return RepeatedUpdate(load, function, loop, tuple(other for other in behind if other.op == "store"))


class _Function:
    """What a value is made of, written out.

    Attributes:
        depends: values that depend on what was read. inputs: blocks where the others are made.
    """

    def __init__(self, uses: Uses, read: str, loop: Loop) -> None:
        self.uses = uses
        self.read = read
        self.loop = loop
        self.depends: set[str] = {read}
        self.inputs: set[str] = set()
        self._known: dict[str, str | None] = {}

    def text(self, name: str, depth: int = 0) -> str | None:
        """None where something decides that is another one in each iteration, or that cannot be told."""
        if name not in self._known:
            found = self._text(name, depth)
            self._known[name] = None if found is None or len(found) > LONGEST else found
        return self._known[name]

    def _text(self, name: str, depth: int) -> str | None:
        if name == self.read:
            return "_"
        if not name.startswith("%"):
            return None if "undef" in name or "poison" in name else name
        found = self.uses.view.definitions.get(name)
        if found is None:
            return name if name in self.uses.view.parameter_types else None
        if found.block not in self.loop.blocks:
            self.inputs.add(found.block)
            return name
        made = found.instruction
        if depth > DEEPEST or not computes(made):
            return None
        parts: dict[str, str] = {}
        for operand in dict.fromkeys(item.text for item in made.operands):
            part = self.text(operand, depth + 1)
            if part is None:
                return None
            if operand.startswith("%"):
                parts[operand] = part
        if not self.depends.isdisjoint(parts):
            self.depends.add(name)
        right = made.text.split("=", 1)[1].strip()
        return f"({LOCAL.sub(lambda match: parts.get(match[0], match[0]), right)})"

    def is_hidden(self, store: Instruction) -> bool:
        """Whether nobody but `store` sees what was read, and what becomes of it."""
        users = (user for name in self.depends for _, user in self.uses.of(name))
        return all(user is store or user.result in self.depends for user in users)
