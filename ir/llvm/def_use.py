"""A function with its control flow, the definitions of its values, and its numbered loops."""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.ir.llvm import Function, Instruction, Operand, TypeTable

from .control_flow import ControlFlow, Loop


@dataclass(frozen=True)
class Definition:
    """Where a local value is made."""

    block: str
    instruction: Instruction


class FunctionView:
    """Control flow, definitions and numbered loops of one function, shared by all analyses."""

    def __init__(self, function: Function, types: TypeTable, first_loop: int = 0) -> None:
        self.function = function
        self.types = types
        self.flow = ControlFlow(function)
        self.loop_ids = {loop: first_loop + place for place, loop in enumerate(self.flow.loops)}
        self.loops = {number: loop for loop, number in self.loop_ids.items()}
        self.definitions = {
            instruction.result: Definition(block.name, instruction)
            for block, instruction in function.instructions()
            if instruction.result is not None
        }
        self.parameter_types = {parameter.name: parameter.type for parameter in function.parameters}
        self._innermost: dict[str, Loop | None] = {}
        self._own: dict[Loop, list[str]] | None = None

    def innermost(self, block: str) -> Loop | None:
        if block not in self._innermost:
            self._innermost[block] = self.flow.innermost(block)
        return self._innermost[block]

    def own_blocks(self, loop: Loop) -> list[str]:
        """Blocks of a loop that lie in no loop inside of it, in reverse postorder. O(1), O(blocks) the first time."""
        if self._own is None:
            self._own = {one: [] for one in self.loop_ids}
            for name in self.flow.order:
                around = self.innermost(name)
                if around is not None:
                    self._own[around].append(name)
        return self._own[loop]

    def origin(self, name: str) -> str:
        """The base pointer of a pointer, through all getelementptr instructions."""
        while (found := self.definitions.get(name)) is not None and found.instruction.op == "getelementptr":
            name = found.instruction.operands[0].text
        return name

    def address_in(self, name: str) -> Operand | None:
        """The operand of a `ptrtoint`, None for any other value."""
        found = self.definitions.get(name)
        if found is None or found.instruction.op != "ptrtoint" or found.instruction.type != "i64":
            return None
        return found.instruction.operands[0]

    def type_of(self, name: str) -> str:
        """Type of a local value."""
        if name in self.definitions:
            return self.definitions[name].instruction.type
        return self.parameter_types[name]
