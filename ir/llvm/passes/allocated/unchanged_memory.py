"""Whether memory holds what was stored there, or loaded from there, until somewhere else.

Allocation changes nothing that lies anywhere, nor does `free`, which may be of what is asked about for all that LLVM
knows: then nothing could be loaded from there. Nor does output of the C library, where programs have no streams of
their own making: what a buffer of `setvbuf` holds is not for the program to read (C, 7.21.5.6).
"""

from __future__ import annotations

from collections.abc import Mapping

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.strict_aliasing import may_be_same

from ..distinct_objects import apart
from ..known_sizes import SIZES
from .allocation_uses import FREE, NEW, Users, users_in

# By which output may do anything, or change memory that the program reads.
_OWN_STREAMS = frozenset(
    "@fopencookie @fmemopen @open_memstream @open_wmemstream @open_obstack_stream @register_printf_function "
    "@register_printf_specifier @register_printf_modifier @register_printf_type".split()
)
_STREAMS = ("@stdout", "@stderr")


def constant_texts(module: Module) -> set[str]:
    """Constants that output may be given; none where a program has streams of its own making."""
    plain = not _OWN_STREAMS & {*module.functions, *module.declarations}
    return {name for name, variable in module.globals.items() if variable.constant and plain}


class Unchanged:
    """What may change memory of a function.

    Args:
        nodes: metadata, by name. own: functions of the module. texts: of `constant_texts`.
    """

    def __init__(self, function: Function, nodes: Mapping[str, str], own: set[str], texts: set[str]) -> None:
        self.function, self.nodes, self.own, self.texts = function, nodes, own, texts
        self.flow = ControlFlow(function)
        self.made = {str(item.result): item for _, item in function.instructions() if item.result is not None}
        self.homes = {str(item.result): block.name for block, item in function.instructions()}
        self.users: Users = users_in(function)

    def is_unchanged(self, start: Instruction, block: Block, load: Instruction, *, until: bool = False) -> bool:
        """Whether nothing changes what a load or store finds or leaves, on any way from it to the end of a block.

        `load`: how it is loaded. `until`: up to that load, in the block, instead of to its end.
        """
        home = next(one for one in self.flow.blocks.values() if start in one.instructions)
        last = block.instructions.index(load) if until else len(block.instructions)
        if home is block and home.instructions.index(start) < last:
            first = home.instructions.index(start)
            return not any(self.changes(item, load) for item in home.instructions[first + 1 : last])
        if home is block or not self.flow.dominates(home.name, block.name):
            return False
        between = block.instructions[:last] + home.instructions[home.instructions.index(start) + 1 :]
        seen, stack = {home.name}, [block.name]
        while stack:
            for before in self.flow.predecessors[stack.pop()]:
                if before not in seen:
                    seen.add(before)
                    stack.append(before)
                    between += self.flow.blocks[before].instructions
        return not any(self.changes(item, load) for item in between)

    def changes(self, item: Instruction, load: Instruction) -> bool:
        """Whether an instruction may change what lies where a load finds it."""
        address = load.operands[0].text
        if item.op == "store":
            if not item.is_simple_access:
                return True
            target = item.operands[1].text
            other = not may_be_same(self.nodes, item, load) or self._are_beside(item, load)
            return not other and not apart(self.made, target, address)
        if item.op in ("call", "invoke"):
            effect = effect_of(item)
            if item.word in self.own:
                return True
            if effect.kind in ("fill", "copy"):
                return may_be_same(self.nodes, item, load) and not apart(self.made, item.operands[0].text, address)
            output = effect.kind == "io" and not effect.writes and self._only_says(item)
            return not output and not effect.movable and item.word not in (*NEW, *FREE)
        return item.op in ("atomicrmw", "cmpxchg", "fence", "va_arg")

    def _only_says(self, call: Instruction) -> bool:
        """Whether output is given nothing but constants, numbers, and a stream of the library: nothing for `%n`."""
        pointers = [operand.text for operand in call.operands if operand.type == "ptr"]
        found = [self.made.get(text) for text in pointers if text not in self.texts]
        return bool(self.texts) and all(
            item is not None and item.op == "load" and item.operands[0].text in _STREAMS for item in found
        )

    def _are_beside(self, store: Instruction, load: Instruction) -> bool:
        """Whether what is stored and what is loaded are members of one structure that do not meet."""
        (one, first), (other, second) = (self.member(item.operands[-1].text) for item in (store, load))
        sizes = SIZES.get(store.operands[0].type), SIZES.get(load.type)
        if one != other or sizes[0] is None or sizes[1] is None:
            return False
        return first + sizes[0] <= second or second + sizes[1] <= first

    def member(self, pointer: str) -> tuple[str, int]:
        """(structure, bytes behind its beginning)."""
        item, distance = self.made.get(pointer), 0
        while item is not None and item.op == "getelementptr" and item.word == "i8":
            step = item.operands[1].text
            if not step.lstrip("-").isdigit():
                break
            pointer, distance = item.operands[0].text, distance + int(step)
            item = self.made.get(pointer)
        return pointer, distance
