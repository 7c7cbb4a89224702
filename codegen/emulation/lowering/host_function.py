"""A kernel as a function of the host: one address space, registers and mathematics of the host, hooks at accesses.

Points stay as they are: `step.py` cuts the function there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tracecut.ir.gpu.sites import SHARED
from tracecut.ir.llvm import Block, Instruction
from tracecut.ir.llvm.lexer import matching, split_commas, split_type
from tracecut.ir.llvm.substitute import replaced
from tracecut.support.errors import UnsupportedError

from .device_calls import call_lines
from .kernel_text import KernelText
from .memory_copies import is_copy
from .memory_sites import Access, Accesses, shared_variables
from .points import point_of

SHARED_CAPACITY = 227 * 1024  # of a block, on the largest card that is known
_SPACES = re.compile(r" addrspace\(\d+\)")
_SCOPE = re.compile(r' syncscope\("[^"]*"\)')
_CAST = re.compile(r"addrspacecast ptr (\S+) to ptr")
_MANGLED = re.compile(r"\.p[1-9]\d*(?=\.)")


@dataclass(frozen=True)
class Variable:
    """A variable in shared memory: its offset and size in bytes; size 0 is the part that the launch sizes."""

    name: str
    offset: int
    bytes: int


@dataclass(eq=False)
class HostFunction:
    """Blocks in the host's IR, but for points. `entry`: lines that come before everything else, and hold anywhere.

    `variables`: those in shared memory; `static_bytes`: of those whose size the text states.
    """

    blocks: list[Block]
    entry: list[str]
    variables: tuple[Variable, ...]
    static_bytes: int
    declarations: set[str] = field(default_factory=set)


def lower(kernel: KernelText, accesses: Accesses, *, trace: bool, races: bool) -> HostFunction:
    """The host's form of a kernel. O(text). Raises UnsupportedError for what has no counterpart here, with its text."""
    variables, static = _place_variables(kernel)
    made = HostFunction([], [], variables, static)
    lowering = _Lowering(kernel, accesses, made, trace=trace, races=races)
    for block in kernel.function.blocks:
        lowered = Block(block.name)
        for instruction in block.instructions:
            lowered.instructions += [Instruction(line, instruction.meta) for line in lowering.lines(instruction)]
        made.blocks.append(lowered)
    return made


def _place_variables(kernel: KernelText) -> tuple[tuple[Variable, ...], int]:
    """Static variables one behind the other, then the part that the launch sizes, which all such names share."""
    placed, offset, dynamic = [], 0, []
    for name, type in shared_variables(kernel).items():
        line = next(item for item in kernel.module.items if isinstance(item, str) and item.startswith(f"{name} ="))
        stated = re.search(r"align (\d+)", line)
        align = int(stated[1]) if stated else kernel.types.align(type)
        size = kernel.types.size(type)
        if size == 0 or not kernel.module.globals[name].defined:
            dynamic.append(name)
            continue
        offset = (offset + align - 1) // align * align
        placed.append(Variable(name, offset, size))
        offset += size
    if dynamic:
        offset = (offset + 15) // 16 * 16
    if offset > SHARED_CAPACITY:
        raise UnsupportedError(f"{kernel.name} has {offset} bytes of shared variables, a block has {SHARED_CAPACITY}")
    return (*placed, *(Variable(name, offset, 0) for name in dynamic)), offset


class _Lowering:
    def __init__(self, kernel: KernelText, accesses: Accesses, made: HostFunction, *, trace: bool, races: bool) -> None:
        self.kernel, self.accesses, self.made = kernel, accesses, made
        self.trace, self.races = trace, races
        self.variables = {variable.name: variable for variable in made.variables}
        self.expanded: dict[str, str] = {}
        self.count = 0

    def lines(self, instruction: Instruction) -> list[str]:
        text = _SCOPE.sub("", _SPACES.sub("", instruction.text))
        text = _MANGLED.sub(".p0", text) if "@llvm.mem" in text else text
        text = _CAST.sub(r"bitcast ptr \1 to ptr", text)
        plain = Instruction(text)
        if any(name in text for name in self.variables):
            plain = self._without_variables(plain)
        if "addrspacecast (" in plain.text:
            plain = Instruction(plain.text.replace("addrspacecast (", "bitcast ("))
        access = self.accesses.of.get(instruction)
        if access is not None:
            return self._with_hooks(plain, access)
        if plain.op == "call":
            if is_copy(plain) and (self.trace or self.races):
                raise UnsupportedError(
                    f"a copy or fill of unknown or great size is no single access: {instruction.text}"
                )
            return [plain.text] if point_of(plain) else call_lines(plain, self.made.declarations)
        if plain.op == "fence":
            return []
        if plain.op in ("sdiv", "udiv", "srem", "urem"):
            return self._division(plain)
        if plain.op in ("invoke", "callbr", "indirectbr", "va_arg", "landingpad", "resume"):
            raise UnsupportedError(f"{self.kernel.name} cannot run here: {instruction.text}")
        return [plain.text]

    def _division(self, plain: Instruction) -> list[str]:
        """One that does not trap: on a GPU, none does, and what comes of it does not matter."""
        left, right = plain.operands
        if (re.fullmatch(r"-?\d+", right.text) and right.text not in ("0", "-1")) or not right.type.startswith("i"):
            return [plain.text]
        self.count += 1
        type, name = right.type, f"%emu.divisor{self.count}"
        lines = [f"{name}.none = icmp eq {type} {right.text}, 0"]
        bad = f"{name}.none"
        if plain.op[0] == "s":
            lines += [
                f"{name}.minus = icmp eq {type} {right.text}, -1",
                f"{name}.least = icmp eq {type} {left.text}, {-(1 << int(type[1:]) - 1)}",
                f"{name}.wraps = and i1 {name}.minus, {name}.least",
                f"{name}.bad = or i1 {name}.none, {name}.wraps",
            ]
            bad = f"{name}.bad"
        lines.append(f"{name} = select i1 {bad}, {type} 1, {type} {right.text}")
        head = plain.text[: plain.text.index(type, plain.text.index(plain.op))]
        return [*lines, f"{head}{type} {left.text}, {name}"]

    def _with_hooks(self, plain: Instruction, access: Access) -> list[str]:
        at = access.pointer.text if access.pointer.is_local else self._address_of(plain)
        lines = []
        self.count += 1
        if self.trace:
            number = f"%emu.at{self.count}"
            lines.append(f"{number} = ptrtoint ptr {at} to i64")
            if access.space == SHARED:
                lines += [
                    f"{number}.from = ptrtoint ptr %emu.shared to i64",
                    f"{number}.in = sub i64 {number}, {number}.from",
                ]
                number = f"{number}.in"
            lines.append(f"call void @emu_event(ptr %emu.m, i32 {access.number}, i64 {number})")
        if not self.races or access.may_be_constant:
            return [*lines, plain.text]
        kind = 2 if access.is_atomic else access.kind
        checked = f"%emu.checked{self.count}"
        region = f"i32 {self._region(access)}"
        size = f"i64 {access.bytes}, i64 {access.align}"
        lines.append(
            f"{checked} = call ptr @emu_check(ptr %emu.m, i64 %emu.t, ptr {at}, {size}, i32 {access.number}, "
            f"i32 {kind}, {region})"
        )
        return [*lines, _with_pointer(plain, checked)]

    def _address_of(self, plain: Instruction) -> str:
        return plain.operands[1 if plain.op == "store" else 0].text

    def _region(self, access: Access) -> int:
        """Number of the array: pointer parameters first, then the shared variables. −1: not known."""
        pointers = [place for place, one in enumerate(self.kernel.parameters) if one.type.startswith("ptr")]
        if access.base is None:
            return -1
        if access.base.kind == "parameter":
            return pointers.index(access.base.place) if access.base.place in pointers else -1
        names = [variable.name for variable in self.made.variables]
        return len(pointers) + names.index(access.base.name) if access.base.name in names else -1

    def _without_variables(self, plain: Instruction) -> Instruction:
        """Shared variables are places relative to the block's memory; constants made of them are computed first."""
        mapping = {}
        for operand in plain.operands:
            if any(name in operand.text for name in self.variables):
                mapping[operand.text] = self._expand(operand.text)
        text = replaced(plain, mapping)
        if any(re.search(rf"{re.escape(name)}(?![-\w.$])", text) for name in self.variables):
            raise UnsupportedError(f"a constant made of a shared variable is not understood: {plain.text}")
        return Instruction(text)

    def _expand(self, text: str) -> str:
        if text in self.expanded:
            return self.expanded[text]
        name = f"%emu.const{len(self.expanded)}"
        self.expanded[text] = name
        if text in self.variables:
            line = f"getelementptr i8, ptr %emu.shared, i64 {self.variables[text].offset}"
        elif not any(one in text for one in self.variables):
            self.expanded[text] = text
            return text
        else:
            line = self._expression(text)
        self.made.entry.append(f"{name} = {line}")
        return name

    def _expression(self, text: str) -> str:
        head, inside = text[: text.index("(")].split(), text[text.index("(") + 1 : matching(text, text.index("("))]
        if head[0] in ("addrspacecast", "bitcast", "ptrtoint", "inttoptr"):
            value, to = inside.rsplit(" to ", 1)
            kind, operand = split_type(value)
            op = "bitcast" if head[0] == "addrspacecast" else head[0]
            return f"{op} {kind} {self._expand(operand)} to {to}"
        parts = split_commas(inside)
        if head[0] == "getelementptr":
            kind, operand = split_type(parts[1])
            rest = ", ".join(parts[2:])
            return f"{' '.join(head)} {parts[0]}, {kind} {self._expand(operand)}, {rest}"
        if head[0] in ("add", "sub", "xor"):
            (kind, first), (_, second) = split_type(parts[0]), split_type(parts[1])
            return f"{head[0]} {kind} {self._expand(first)}, {self._expand(second)}"
        raise UnsupportedError(f"a constant made of a shared variable is not understood: {text}")


def _with_pointer(plain: Instruction, pointer: str) -> str:
    """An access with another address."""
    place = 1 if plain.op == "store" else 0
    old = plain.operands[place].text
    if old.startswith("%"):
        if plain.op in ("store", "atomicrmw", "cmpxchg") and any(
            one.text == old for index, one in enumerate(plain.operands) if index != place
        ):  # the address itself is stored: only the one behind the value's comma is the place
            head, _, tail = plain.text.rpartition(f"ptr {old}")
            return f"{head}ptr {pointer}{tail}"
        return replaced(plain, {old: pointer})
    head, _, tail = plain.text.rpartition(old)
    return f"{head}{pointer}{tail}"
