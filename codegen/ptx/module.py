"""The module around a job: parameters for what it uses, the number of the thread, types and declarations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tracecut.codegen.schedule.plan.range_function import Outlined, Slot
from tracecut.ir.llvm import Block, TypeTable
from tracecut.ir.llvm.lexer import LOCAL
from tracecut.support.errors import UnsupportedError

from .job_body import DONE, JOB, START, THREAD, Job
from .math_calls import declarations
from .nvptx import LAYOUT, TRIPLE
from .register_reductions import EXIT, SHUFFLE, Cell, shuffle_functions, shuffle_name

_PASSED = ("i8", "i16", "i32", "i64", "float", "double", "ptr")
_SREG = "llvm.nvvm.read.ptx.sreg"
_AXES = ("ctaid", "ntid", "tid")


@dataclass(frozen=True)
class Parameter:
    """One argument of a kernel.

    Attributes:
        kind: `jobs` (their number), `live` (a value from outside of the loop), `base` (device address that takes the
            place of a group's base pointer), `data-base` (the same for the old values of an index), `order` (int32
            array: old number of each job) or `reduction` (device address of a cell, see `operator`). Of kernels with
            data in shared memory: `bounds`, `offsets`, `data` and `owned` (arrays of the GPU schedule), `begins` (of
            each block, where the first of its pieces does), `array` (device address of the first datum's record of an
            array that is kept there).
            Of ordered reductions: `contributions` (8 bytes each), `planned` (which of them goes where), `starts` (of
            each job, in inner loops), `flag` (4 bytes, set when one goes elsewhere), `target` (device address of an
            array that is reduced into); of the kernel behind it: `count` (of data), `firsts`, `slots`, `places`.
        name: the program's value that it replaces; of a reduction, its phi.
        type: of what is passed: an integer, `float`, `double` or `ptr`; of a reduction, the type of the cell. A truth
            value is passed as `i8`. A `live` pointer is passed as the device address of what it points to; as `i64`,
            its address on the host, where only that number is used.
        group: of a base; with `swap-indirect` the first of the groups that share it. Of `offsets`, `data` and `owned`,
            the place of the index space in the schedule; of an `array`, its place among those in shared memory; of a
            `target`, number of the kernel's array; in the kernel that adds up, the place among its classes.
        operator: of a reduction. The cell holds the start value, or the operator's identity, and then the result.
        read_only: nothing writes to it while the kernel runs.
    """

    kind: str
    name: str
    type: str
    group: int = -1
    operator: str = ""
    read_only: bool = False


class KernelModule:
    """Puts a kernel together.

    Args:
        name: of the kernel. types: named types of the program.
        private: stack arrays that each thread has for itself: name → its `alloca`.
        numbers: pointers that are passed as addresses of the host (`pointer_numbers.py`).
        swap: whether the thread's number is looked up in `order` first.

    `parameters` grows with every `bind…`.
    """

    def __init__(
        self, name: str, types: TypeTable, private: Mapping[str, str], numbers: Collection[str], *, swap: bool
    ) -> None:
        self.name = name
        self.types = types
        self.private = private
        self.numbers = numbers
        self.swap = swap
        self.parameters: list[Parameter] = []
        self.header: list[str] = []
        self.entry: list[str] = []

    def bind(self, outlined: Outlined, used: Collection[str], read_only: Collection[int]) -> None:
        """Parameters for the slots of the range function that are used. `read_only` names groups."""
        self.add(Parameter("jobs", "", "i64"), "%tc.n")
        self.bind_slots(outlined, used, read_only)

    def bind_slots(self, outlined: Outlined, used: Collection[str], read_only: Collection[int]) -> None:
        """Parameters for the slots alone."""
        self.entry += [f"{root} = {made}" for root, made in self.private.items() if root in used]
        for slot in outlined.slots:
            if slot.kind == "order" and (self.swap or slot.value in used):
                self.add(Parameter("order", "", "ptr", read_only=True), slot.value)
            elif slot.kind != "start" and slot.value in used and slot.name not in self.private:
                self._bind_slot(slot, slot.group in read_only)

    def bind_cells(self, cells: Collection[Cell]) -> None:
        """Parameters for the cells of register reductions."""
        for cell in cells:
            parameter = Parameter("reduction", cell.reduction.phi, cell.type, operator=cell.reduction.operator)
            self.add(parameter, cell.pointer, "ptr")

    def text(self, job: Job, cells: list[Cell], *, libdevice: bool) -> str:
        """The module. `libdevice`: it is going to be linked with NVIDIA's mathematical functions."""
        lines = self.top_lines(job, cells)
        lines.append(f"define ptx_kernel void @{self.name}({', '.join(self.header)}) {{")
        lines += ["entry:", *(f"  {line}" for line in self.entry)]
        lines += self._thread_lines(elsewhere=DONE if cells else EXIT)
        return self.end_lines(lines, job.blocks, EXIT, libdevice=libdevice)

    def top_lines(self, job: Job, cells: list[Cell]) -> list[str]:
        """What stands above the kernel: types, declarations, functions that it calls."""
        own = {shuffle_name(cell.reduction.operator, cell.type) for cell in cells}
        body = [made.text for _, made in job.instructions()]
        lines = [f'target datalayout = "{LAYOUT}"', f'target triple = "{TRIPLE}"', ""]
        lines += self._type_lines([*body, *self.entry])
        lines += [*declarations(job.blocks, own), *(f"declare i32 @{_SREG}.{axis}.x()" for axis in _AXES)]
        if cells:
            lines.append(f"declare i32 @{SHUFFLE}(i32, i32, i32, i32)")
        lines += ["", *(f"{function}\n" for function in shuffle_functions(cells))]
        return lines

    @staticmethod
    def end_lines(lines: list[str], blocks: Sequence[Block], last: str, *, libdevice: bool) -> str:
        """The text of a module from what stands above the blocks of its kernel; `last`: the block that returns."""
        for block in blocks:
            lines += [f"{block.name}:", *(f"  {made.text}" for made in block.instructions)]
        lines += [f"{last}:", "  ret void", "}"]
        if libdevice:  # keep denormal numbers, as the host does
            lines += ["", "!llvm.module.flags = !{!0}", '!0 = !{i32 4, !"nvvm-reflect-ftz", i32 0}']
        return "\n".join(lines) + "\n"

    def _bind_slot(self, slot: Slot, read_only: bool) -> None:
        if slot.type == "i1":
            self.add(Parameter("live", slot.name, "i8"), f"{slot.name}.tc.byte")
            self.entry.append(f"{slot.name} = trunc i8 {slot.name}.tc.byte to i1")
            return
        if slot.value in self.numbers:
            self.add(Parameter("live", slot.name, "i64"), f"{slot.value}.tc.number")
            self.entry.append(f"{slot.value} = inttoptr i64 {slot.value}.tc.number to ptr")
            return
        if slot.type not in _PASSED:
            raise UnsupportedError(
                f"it needs the value {slot.name} of type {slot.type}, which cannot be a kernel parameter"
            )
        self.add(Parameter(slot.kind, slot.name, slot.type, slot.group, read_only=read_only), slot.value)

    def add(self, parameter: Parameter, value: str, type: str = "") -> None:
        """Declare a parameter. Addresses come in as addresses of global memory, which makes for shorter code."""
        type = type or parameter.type
        self.parameters.append(parameter)
        if type == "ptr":
            place = f"%tc.p{len(self.parameters) - 1}"
            # Never written at all, so it does not matter to noalias that two of them may be one array.
            promise = "noalias readonly " if parameter.read_only else ""
            self.header.append(f"ptr addrspace(1) {promise}{place}")
            self.entry.append(f"{value} = addrspacecast ptr addrspace(1) {place} to ptr")
        else:
            self.header.append(f"{type} {value}")

    def _thread_lines(self, *, elsewhere: str) -> list[str]:
        """Which job the thread runs; threads past the last one go elsewhere."""
        thread = THREAD if self.swap else JOB
        lines = [f"  %tc.{axis} = call i32 @{_SREG}.{axis}.x()" for axis in _AXES]
        lines += [f"  %tc.{axis}.wide = zext i32 %tc.{axis} to i64" for axis in _AXES]
        lines += [
            "  %tc.first = mul nuw nsw i64 %tc.ctaid.wide, %tc.ntid.wide",
            f"  {thread} = add nuw nsw i64 %tc.first, %tc.tid.wide",
            f"  %tc.any = icmp ult i64 {thread}, %tc.n",
            f"  br i1 %tc.any, label %{'tc.swap' if self.swap else START}, label %{elsewhere}",
        ]
        if self.swap:
            lines += [
                "tc.swap:",
                f"  %tc.order.at = getelementptr i32, ptr %tc.order, i64 {THREAD}",
                "  %tc.order.k = load i32, ptr %tc.order.at, align 4",
                f"  {JOB} = zext i32 %tc.order.k to i64",
                f"  br label %{START}",
            ]
        return lines

    def _type_lines(self, lines: list[str]) -> list[str]:
        """Definitions of the named types that lines mention, directly or not."""
        named = self.types.named
        found: set[str] = set()
        stack = [name for line in lines for name in LOCAL.findall(line)]
        while stack:
            name = stack.pop()
            if name in named and name not in found:
                found.add(name)
                stack.extend(LOCAL.findall(named[name]))
        return [f"{name} = type {named[name]}" for name in sorted(found)] + ([""] if found else [])
