"""A loop of the program as a GPU kernel: the host's own job function, one thread a job.

```
kernel(n, live-ins …, base of each group …):
    k = block · blockDim + thread;  if k < n:  body of iteration k
```

Three variants. `swap`: the executor's copies are in the new order and its indices are renumbered, so thread k reads
place k, and neighbouring threads read neighbouring memory. `swap-indirect`: SPAC's job swapping alone, thread t runs
old job order[t] on the program's own arrays; it needs no copies. `original`: thread k runs job k on these arrays.

Not handled: shared memory (so reductions meet in global memory), loops whose iterations depend on each other (the
caller guarantees that any order will do), calls that do more than arithmetic.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracecut.codegen.host.outline_loop import outline
from tracecut.codegen.schedule.plan.private_data import private_arrays
from tracecut.codegen.schedule.plan.range_function import NEW, Group, Outlined
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.nest import Nest, Site
from tracecut.support.errors import ArgumentError
from tracecut.tracer.loops.row_numbers import is_number

from .job_body import job_of
from .math_calls import drop_markers, lower_calls
from .memory_reductions import lower_memory_reductions
from .module import KernelModule, Parameter
from .nvptx import compile_ptx
from .ordered_reductions import OrderedReductions
from .pointer_numbers import pointer_numbers
from .ptxas import check_architecture
from .refusals import check_body, check_loop
from .register_reductions import Cell, lower_register_reductions

__all__ = ["BLOCK_SIZE", "VARIANTS", "Parameter", "PtxKernel", "emit_kernel"]

VARIANTS = ("original", "swap-indirect", "swap")
# With 256 threads a block fits even when each needs all the 255 registers that it can have (of 65536).
BLOCK_SIZE = 256


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
    outlined: Outlined | None = None,
    arch: str = "sm_90",
    variant: str = "swap",
    disjoint: frozenset[int] = frozenset(),
    exclusive: frozenset[int] = frozenset(),
) -> PtxKernel:
    """Emit the kernel of a loop whose iterations may run in any order, up to the order of its reductions.

    Args:
        view, nest, loop: the loop, described by `nest` (which may be rooted at a loop around it).
        name: of the kernel; letters, digits and `_`.
        groups: of `group_sites` with the views of the schedule, of which only `swap` takes notice.
        outlined: the range function of the loop with these groups, where there is one already.
        arch: as of `nvptx.ARCHITECTURES`.
        variant: one of VARIANTS.
        disjoint: groups of which no byte is written while the kernel runs, through whatever pointer. They are read
            through the read-only cache.
        exclusive: groups of which no byte is touched by two jobs. Their reductions need no atomic operation.

    Returns the kernel; the same arguments give the same bytes. About 0.3 s, most of it the child process.
    Raises UnsupportedError with the reason when the loop cannot become a kernel, ArgumentError for a bad argument.
    """
    _check_arguments(name, groups, nest, arch, variant, disjoint, exclusive)
    made = plain_kernel(
        view, nest, loop, name, groups, outlined=outlined, variant=variant, disjoint=disjoint, exclusive=exclusive
    )
    ptx = compile_ptx(made.text, name, arch, libdevice=made.libdevice)
    return PtxKernel(name, arch, variant, made.text, ptx, made.parameters, BLOCK_SIZE, made.remarks)


@dataclass(frozen=True)
class PlainKernel:
    """The module of a kernel with one job a thread, before it is compiled. Fields as of `PtxKernel`."""

    text: str
    parameters: tuple[Parameter, ...]
    remarks: tuple[str, ...]
    libdevice: bool


def plain_kernel(
    view: FunctionView,
    nest: Nest,
    loop: Loop,
    name: str,
    groups: Sequence[Group],
    *,
    outlined: Outlined | None = None,
    variant: str = "swap",
    disjoint: frozenset[int] = frozenset(),
    exclusive: frozenset[int] = frozenset(),
    ordered: OrderedReductions | None = None,
) -> PlainKernel:
    """The module that `emit_kernel` compiles; arguments as there, and not checked.

    `ordered`: what is done instead of atomic operations.
    """
    plain = variant != "swap"
    used = [replace(group, view=NEW) for group in groups] if plain else list(groups)
    check_loop(view, nest, loop, used)
    private = private_arrays(view, nest, view.loop_ids[loop])
    if outlined is None or used != list(outlined.groups):
        outlined = outline(view, nest, loop, name, used)
    job = job_of(outlined, number_is_old=plain)
    if plain:
        job.substitute(_shared_bases(outlined))
    drop_markers(job.blocks)
    job.sweep()
    numbers = pointer_numbers(job, outlined)
    check_body(job, numbers)
    sites = _shared_sites(view, nest, loop, used, exclusive)
    if ordered is not None:
        ordered.lower(job, view, sites, view.loop_ids[loop], outlined)
    atomics = [] if ordered is not None else lower_memory_reductions(job, view, sites)
    functions = lower_calls(job.blocks)
    cells = [] if ordered is not None else lower_register_reductions(job, outlined)
    job.sweep()
    private = {**private, **(ordered.private if ordered is not None else {})}
    module = KernelModule(name, view.types, private, numbers, swap=variant == "swap-indirect")
    module.bind(outlined, job.mentioned(), _read_only(used, disjoint, plain))
    module.bind_cells(cells)
    if ordered is not None:
        ordered.bind(module)
    text = module.text(job, cells, libdevice=bool(functions))
    remarks = _remarks(atomics, cells, functions, module.parameters)
    return PlainKernel(text, tuple(module.parameters), remarks, bool(functions))


def _shared_bases(outlined: Outlined) -> dict[str, str]:
    """Bases that are one and the same, because nothing is copied: everything with one root.

    But for numbers in the places of row pointers, which stand in a copy of what the root leads to.
    """
    first: dict[tuple[str, bool], str] = {}
    bases = [slot for slot in outlined.slots if slot.kind in ("base", "data-base")]
    numbers = {group.id for group in outlined.groups if is_number(group.sites[0])}
    found = {slot.value: first.setdefault((slot.name, slot.group in numbers), slot.value) for slot in bases}
    return {name: other for name, other in found.items() if name != other}


def _shared_sites(
    view: FunctionView, nest: Nest, loop: Loop, groups: Sequence[Group], exclusive: frozenset[int]
) -> list[Site]:
    """Accesses to memory that several jobs may touch."""
    number = view.loop_ids[loop]
    plain = {key for group in groups for key in group.sites if group.id in exclusive}
    inside = nest.inside(number)
    return [site for site in nest.sites_in(number) if site.key not in plain and site.private not in inside]


def _read_only(groups: Sequence[Group], disjoint: frozenset[int], plain: bool) -> set[int]:
    """Groups whose base can be declared read-only: where groups share it, all of them must be."""
    written = {group.root for group in groups if group.id not in disjoint} if plain else set()
    return {group.id for group in groups if group.id in disjoint and group.root not in written}


def _remarks(
    atomics: list[tuple[Site, str]], cells: list[Cell], functions: list[str], parameters: list[Parameter]
) -> tuple[str, ...]:
    remarks = []
    how = Counter(f"{found} on {site.type}" for site, found in atomics if found != "swap")
    if how:
        listed = ", ".join(f"{count} × {what}" for what, count in sorted(how.items()))
        remarks.append(f"Reductions in memory are atomic operations: {listed}.")
    swapped = [site for site, found in atomics if found == "swap"]
    swaps = [f"{site.operator or 'the same update'} on {site.type} at {site.place}" for site in swapped]
    if swaps:
        remarks.append(f"Compare-and-swap loops stand in for missing atomic operations: {', '.join(swaps)}.")
    if cells:
        listed = ", ".join(f"{cell.reduction.operator} of {cell.reduction.phi}" for cell in cells)
        remarks.append(f"Every warp adds to one cell, which limits the rate: {listed}.")
    floating = [site.operator for site, _ in atomics] + [cell.reduction.operator for cell in cells]
    if any(operator in ("fadd", "fmul") for operator in floating):
        remarks.append("Floating-point sums are made in any order: results differ by rounding between runs.")
    if functions:
        listed = ", ".join(name.removeprefix("__nv_") for name in functions)
        remarks.append(f"{listed} come from NVIDIA's libdevice: the last digits differ from the host's.")
    bases = [parameter for parameter in parameters if parameter.kind in ("base", "data-base")]
    kept = sum(parameter.read_only for parameter in bases)
    remarks.append(f"{kept} of {len(bases)} arrays are read through the read-only cache.")
    return tuple(remarks)


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
