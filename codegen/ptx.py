"""A loop of the program as a GPU kernel: the host's own job function, one thread a job.

```
kernel(n, live-ins …, base of each group …):
    k = block · blockDim + thread;  if k < n:  body of iteration k
```

Two variants. `reordered`: the executor's copies are in the new order and its indices are renumbered, so thread k
reads place k, and neighbouring threads read neighbouring memory. `swap-indirect`: the seed's job swapping alone,
thread t runs old job order[t] on the program's own arrays; it needs no copies and is the baseline to beat.

Not handled: shared memory (so reductions meet in global memory), loops whose iterations depend on each other (the
caller guarantees that any order will do), calls that do more than arithmetic.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ir.errors import ArgumentError, UnsupportedError
from ..tracer.nest import Nest, Site
from ..tracer.scalar import FunctionView
from ..tracer.text.cfg import Loop
from ..tracer.text.lexer import LOCAL
from .grouping import NEW, Group
from .outline import Outlined, Slot, outline
from .ptx_assemble import check_architecture
from .ptx_backend import LAYOUT, TRIPLE, compile_ptx
from .ptx_check import check_body, check_loop, private_arrays
from .ptx_job import DONE, JOB, START, THREAD, Job, job_of
from .ptx_math import declarations, drop_markers, lower_calls
from .ptx_reduce import lower_memory_reductions
from .ptx_warp import EXIT, SHUFFLE, Cell, lower_register_reductions, shuffle_functions, shuffle_name

VARIANTS = ("reordered", "swap-indirect")
# With 256 threads a block fits even when each needs all the 255 registers that it can have (of 65536).
BLOCK_SIZE = 256
_PASSED = ("i8", "i16", "i32", "i64", "float", "double", "ptr")
_SREG = "llvm.nvvm.read.ptx.sreg"


@dataclass(frozen=True)
class Parameter:
    """One argument of a kernel.

    Attributes:
        kind: `jobs` (their number), `live` (a value from outside of the loop), `base` (device address that takes the
            place of a group's base pointer), `data-base` (the same for the old values of an index), `order` (int32
            array: old number of each job) or `reduction` (device address of a cell, see `operator`).
        name: the program's value that it stands for; of a reduction, its phi.
        type: of what is passed: an integer, `float`, `double` or `ptr`; of a reduction, the type of the cell.
        group: of a base. With `swap-indirect` the first of the groups that share it.
        operator: of a reduction. The cell holds the start value, or the operator's identity, and then the result.
        read_only: nothing writes to it while the kernel runs.
    """

    kind: str
    name: str
    type: str
    group: int = -1
    operator: str = ""
    read_only: bool = False


@dataclass(frozen=True)
class PtxKernel:
    """An emitted kernel.

    Attributes:
        llvm: the module that was given to LLVM's NVPTX backend. ptx: what came out.
        parameters: what to pass, in order. block_size: threads of a block, a hint.
        remarks: what a reader of a report should know, one sentence each.
    """

    name: str
    arch: str
    variant: str
    llvm: str
    ptx: str
    parameters: tuple[Parameter, ...]
    block_size: int
    remarks: tuple[str, ...]

    def blocks(self, jobs: int) -> int:
        """Blocks of the grid for a number of jobs; a grid has at least one."""
        return max(1, -(-jobs // self.block_size))


def emit_kernel(
    view: FunctionView,
    nest: Nest,
    loop: Loop,
    name: str,
    groups: Sequence[Group],
    *,
    arch: str = "sm_90",
    variant: str = "reordered",
    disjoint: frozenset[int] = frozenset(),
    exclusive: frozenset[int] = frozenset(),
) -> PtxKernel:
    """Emit the kernel of a loop whose iterations may run in any order, up to the order of its reductions.

    Args:
        view, nest, loop: the loop, described by `nest` (which may be rooted at a loop around it).
        name: of the kernel; letters, digits and `_`.
        groups: of `group_sites` with the views of the schedule. `swap-indirect` takes no notice of the views.
        arch: as of `ptx_backend.ARCHITECTURES`.
        variant: `reordered` or `swap-indirect`.
        disjoint: groups of which no byte is written while the kernel runs, through whatever pointer. They are read
            through the read-only cache.
        exclusive: groups of which no byte is touched by two jobs. Their reductions need no atomic operation.

    Returns the kernel; the same arguments give the same bytes. About 0.5 s, most of it the child process.
    Raises UnsupportedError with the reason when the loop can not become a kernel, ArgumentError for a bad argument.
    """
    _check_arguments(name, groups, nest, arch, variant, disjoint, exclusive)
    return _Emitter(view, nest, loop, name, groups, arch, variant, disjoint, exclusive).run()


class _Emitter:
    def __init__(
        self,
        view: FunctionView,
        nest: Nest,
        loop: Loop,
        name: str,
        groups: Sequence[Group],
        arch: str,
        variant: str,
        disjoint: frozenset[int],
        exclusive: frozenset[int],
    ) -> None:
        self.view = view
        self.nest = nest
        self.loop = loop
        self.name = name
        self.arch = arch
        self.swap = variant == "swap-indirect"
        self.variant = variant
        self.groups = [replace(group, view=NEW) for group in groups] if self.swap else list(groups)
        self.disjoint = disjoint
        self.exclusive = exclusive
        self.sites = nest.sites_in(view.loop_ids[loop])
        self.parameters: list[Parameter] = []
        self.header: list[str] = []
        self.entry: list[str] = []
        self.remarks: list[str] = []

    def run(self) -> PtxKernel:
        check_loop(self.view, self.nest, self.loop, self.groups)
        self.private = private_arrays(self.view, self.nest, self.loop)
        outlined = outline(self.view, self.nest, self.loop, self.name, self.groups)
        job = job_of(outlined, number_is_old=self.swap)
        job.substitute(self._shared_bases(outlined))
        drop_markers(job.blocks)
        job.sweep()
        check_body(job)
        atomics = lower_memory_reductions(job, self.view, self._atomic_sites())
        functions = lower_calls(job.blocks)
        cells = lower_register_reductions(job, outlined)
        job.sweep()
        self._bind(outlined, cells, job)
        self._remark(atomics, cells, functions)
        text = self._module(job, cells, bool(functions))
        ptx = compile_ptx(text, self.name, self.arch, libdevice=bool(functions))
        return PtxKernel(
            self.name, self.arch, self.variant, text, ptx, tuple(self.parameters), BLOCK_SIZE, tuple(self.remarks)
        )

    def _shared_bases(self, outlined: Outlined) -> dict[str, str]:
        """Bases that are one and the same: private arrays, and everything with one root where nothing is copied."""
        found: dict[str, str] = {}
        first: dict[str, str] = {}
        for slot in outlined.slots:
            if slot.kind in ("base", "data-base"):
                if slot.name in self.private:
                    found[slot.value] = slot.name
                elif self.swap:
                    found[slot.value] = first.setdefault(slot.name, slot.value)
        return {name: other for name, other in found.items() if name != other}

    def _atomic_sites(self) -> list[Site]:
        plain = {key for group in self.groups for key in group.sites if group.id in self.exclusive}
        inside = self.nest.inside(self.view.loop_ids[self.loop])
        return [site for site in self.sites if site.key not in plain and site.private not in inside]

    def _bind(self, outlined: Outlined, cells: list[Cell], job: Job) -> None:
        """Parameters for everything that the body mentions and does not make."""
        used = job.mentioned()
        self._parameter(Parameter("jobs", "", "i64"), "%tc.n")
        read_only = {group.root for group in self.groups} - {
            group.root for group in self.groups if group.id not in self.disjoint
        }
        self.entry += [f"{root} = {made}" for root, made in self.private.items() if root in used]
        for slot in outlined.slots:
            if slot.kind == "order" and (self.swap or slot.value in used):
                self._parameter(Parameter("order", "", "ptr", read_only=True), slot.value)
            elif slot.kind != "start" and slot.value in used and slot.name not in self.private:
                self._slot(slot, read_only)
        for cell in cells:
            reduction = cell.reduction
            self._parameter(
                Parameter("reduction", reduction.phi, cell.type, operator=reduction.operator), cell.pointer, "ptr"
            )

    def _slot(self, slot: Slot, read_only: set[str]) -> None:
        if slot.type == "i1":
            self._parameter(Parameter("live", slot.name, "i8"), f"{slot.name}.tc.byte")
            self.entry.append(f"{slot.name} = trunc i8 {slot.name}.tc.byte to i1")
            return
        if slot.type not in _PASSED:
            raise UnsupportedError(f"it needs the value {slot.name} of type {slot.type}, which a kernel is not passed")
        kept = False
        if slot.kind in ("base", "data-base"):
            kept = slot.name in read_only if self.swap else slot.group in self.disjoint
        self._parameter(Parameter(slot.kind, slot.name, slot.type, slot.group, read_only=kept), slot.value)

    def _parameter(self, parameter: Parameter, value: str, type: str = "") -> None:
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

    def _module(self, job: Job, cells: list[Cell], libdevice: bool) -> str:
        lines = [f'target datalayout = "{LAYOUT}"', f'target triple = "{TRIPLE}"', ""]
        body = [made.text for _, made in job.instructions()]
        lines += self._types([*body, *self.entry])
        calls = [f"declare i32 @{_SREG}.{which}.x()" for which in ("ctaid", "ntid", "tid")]
        if cells:
            calls.append(f"declare i32 @{SHUFFLE}(i32, i32, i32, i32)")
        own = {shuffle_name(cell.reduction.operator, cell.type) for cell in cells}
        lines += [*declarations(job.blocks, own), *calls, ""]
        lines += [f"{function}\n" for function in shuffle_functions(cells)]
        lines.append(f"define ptx_kernel void @{self.name}({', '.join(self.header)}) {{")
        lines += ["entry:", *(f"  {line}" for line in [*self.entry, *self._number(DONE if cells else EXIT)])]
        for block in job.blocks:
            lines += [f"{block.name}:", *(f"  {made.text}" for made in block.instructions)]
        lines += [f"{EXIT}:", "  ret void", "}"]
        if libdevice:  # keep denormal numbers, as the host does
            lines += ["", "!llvm.module.flags = !{!0}", '!0 = !{i32 4, !"nvvm-reflect-ftz", i32 0}']
        return "\n".join(lines) + "\n"

    def _number(self, elsewhere: str) -> list[str]:
        """Which job the thread runs; threads past the last one go elsewhere."""
        thread = THREAD if self.swap else JOB
        lines = [f"%tc.{which} = call i32 @{_SREG}.{which}.x()" for which in ("ctaid", "ntid", "tid")]
        lines += [f"%tc.{which}.w = zext i32 %tc.{which} to i64" for which in ("ctaid", "ntid", "tid")]
        lines += [
            "%tc.first = mul nuw nsw i64 %tc.ctaid.w, %tc.ntid.w",
            f"{thread} = add nuw nsw i64 %tc.first, %tc.tid.w",
        ]
        lines.append(f"%tc.any = icmp ult i64 {thread}, %tc.n")
        if not self.swap:
            return [*lines, f"br i1 %tc.any, label %{START}, label %{elsewhere}"]
        return [
            *lines,
            f"br i1 %tc.any, label %tc.swap, label %{elsewhere}\ntc.swap:",
            f"%tc.order.at = getelementptr i32, ptr %tc.order, i64 {THREAD}",
            "%tc.order.k = load i32, ptr %tc.order.at, align 4",
            f"{JOB} = zext i32 %tc.order.k to i64",
            f"br label %{START}",
        ]

    def _types(self, lines: list[str]) -> list[str]:
        """Definitions of the named types that lines mention, directly or not."""
        named = self.view.types.named
        found: set[str] = set()
        stack = [name for line in lines for name in LOCAL.findall(line)]
        while stack:
            name = stack.pop()
            if name in named and name not in found:
                found.add(name)
                stack.extend(LOCAL.findall(named[name]))
        return [f"{name} = type {named[name]}" for name in sorted(found)] + ([""] if found else [])

    def _remark(self, atomics: list[tuple[Site, str]], cells: list[Cell], functions: list[str]) -> None:
        how = Counter(f"{found} on {site.type}" for site, found in atomics if found != "swap")
        if how:
            listed = ", ".join(f"{count} × {what}" for what, count in sorted(how.items()))
            self.remarks.append(f"Reductions in memory are atomic operations: {listed}.")
        swaps = [f"{site.operator} on {site.type} at {site.place}" for site, found in atomics if found == "swap"]
        if swaps:
            self.remarks.append(f"Compare-and-swap loops stand in for missing atomic operations: {', '.join(swaps)}.")
        if cells:
            listed = ", ".join(f"{cell.reduction.operator} of {cell.reduction.phi}" for cell in cells)
            self.remarks.append(f"Every warp adds to one cell, which limits the rate: {listed}.")
        floating = [site.operator for site, _ in atomics] + [cell.reduction.operator for cell in cells]
        if any(operator in ("fadd", "fmul") for operator in floating):
            self.remarks.append("Floating-point sums are made in any order: results differ by rounding between runs.")
        if functions:
            listed = ", ".join(name.removeprefix("__nv_") for name in functions)
            self.remarks.append(f"{listed} come from NVIDIA's libdevice: the last digits differ from the host's.")
        bases = [parameter for parameter in self.parameters if parameter.kind in ("base", "data-base")]
        kept = sum(parameter.read_only for parameter in bases)
        self.remarks.append(f"{kept} of {len(bases)} arrays are read through the read-only cache.")


def _check_arguments(
    name: str,
    groups: Sequence[Group],
    nest: Nest,
    arch: str,
    variant: str,
    disjoint: frozenset[int],
    exclusive: frozenset[int],
) -> None:
    check_architecture(arch)
    if variant not in VARIANTS:
        raise ArgumentError(f"variant is {variant!r}, one of {', '.join(VARIANTS)} was expected")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ArgumentError(f"name is {name!r}, letters, digits and _ were expected")
    known = {group.id for group in groups}
    for what, given in (("disjoint", disjoint), ("exclusive", exclusive)):
        if given - known:
            raise ArgumentError(f"{what} names group {min(given - known)}, groups are numbered 0 to {len(known) - 1}")
    writing = {site.key for site in nest.sites if site.writes}
    for group in groups:
        if group.id in disjoint and writing & set(group.sites):
            raise ArgumentError(f"disjoint names group {group.id}, which the loop writes to")
