"""A loop as a GPU kernel whose blocks keep data in shared memory.

```
kernel(live-ins …, base of each group …, what each block runs and keeps, where the kept arrays lie):
    preload: records of the block's data → shared memory    |  run: its jobs, a turn of threads after the other
    flush: what was written or reduced → global memory
```

The job's instructions are the host's: in shared memory, too, they find a record by base pointer and index, where the
base is the block's own and the index a local number (`codegen/gpu/cached_arrays.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tracecut.codegen.schedule.plan.private_data import private_arrays
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.nest import Nest

from .block_phases import (
    END,
    FLUSH,
    MEMORY,
    RUN,
    SharedArray,
    flush,
    preload,
    run_head,
    space_lines,
    turn,
)
from .job_body import DONE, job_of
from .math_calls import declarations, drop_markers, lower_calls
from .memory_reductions import lower_memory_reductions
from .module import KernelModule, Parameter
from .ordered_reductions import OrderedReductions
from .packed_indices import pack_index_loads
from .pointer_numbers import pointer_numbers
from .refusals import check_body, check_loop
from .register_reductions import EXIT, lower_register_reductions

AXES = ("ctaid", "ntid", "tid")
BASES = ("base", "data-base")  # what is kept has the same values under both


@dataclass(frozen=True)
class GroupFacts:
    """What a kernel may rely on, by group of accesses.

    Attributes:
        packed: group of index loads → how many times narrower its local numbers are. starts: those of them that are
            starts of pieces.
        exclusive: groups of which no byte is touched by two jobs. read_only: groups that nothing writes to.
    """

    packed: Mapping[int, int]
    starts: frozenset[int] = frozenset()
    exclusive: frozenset[int] = frozenset()
    read_only: frozenset[int] = frozenset()


@dataclass(frozen=True)
class BlockKernel:
    """A kernel whose blocks keep data in shared memory, before it is compiled.

    Attributes:
        text: the module for LLVM's NVPTX backend. parameters: what to pass, in order.
        shared_bytes: of each block. libdevice: whether NVIDIA's mathematical functions are needed.
        atomics: number of reductions of the job that are atomic operations.
    """

    name: str
    text: str
    parameters: tuple[Parameter, ...]
    shared_bytes: int
    libdevice: bool
    atomics: int


def block_kernel(
    view: FunctionView,
    nest: Nest,
    loop: Loop,
    outlined: Outlined,
    shared: Sequence[SharedArray],
    spaces: Sequence[int],
    facts: GroupFacts,
    *,
    name: str,
    shared_bytes: int,
    ordered: OrderedReductions | None = None,
) -> BlockKernel:
    """Make the kernel.

    Args:
        view, nest, loop: the loop, described by `nest`. outlined: its range function.
        shared: arrays in shared memory. spaces: their index spaces, in the order of the schedule.
        facts: of the groups of `outlined`.
        name: of the kernel. shared_bytes: that the arrays take.
        ordered: what is done instead of atomic operations.

    Returns the kernel; the same arguments give the same text. Raises UnsupportedError with the reason when the loop
    cannot become one.
    """
    groups = list(outlined.groups)
    check_loop(view, nest, loop, groups)
    private = private_arrays(view, nest, view.loop_ids[loop])
    job = job_of(outlined, number_is_old=False)
    drop_markers(job.blocks)
    job.sweep()
    numbers = pointer_numbers(job, outlined)
    check_body(job, numbers)
    number = view.loop_ids[loop]
    inside = nest.inside(number)
    alone = {key for group in groups for key in group.sites if group.id in facts.exclusive}
    sites = [site for site in nest.sites_in(number) if site.key not in alone and site.private not in inside]
    if ordered is not None:
        ordered.lower(job, view, sites, number, outlined)
    atomics = [] if ordered is not None else lower_memory_reductions(job, view, sites)
    pack_index_loads(job, groups, facts.packed, facts.starts)
    functions = lower_calls(job.blocks)
    cells = [] if ordered is not None else lower_register_reductions(job, outlined, idle=RUN)
    job.sweep()
    private = {**private, **(ordered.private if ordered is not None else {})}
    module = _BlockModule(name, view, private, numbers)
    kept = {group: (place, array) for place, array in enumerate(shared) for group in array.item.groups}
    module.bind_slots(_without(outlined, kept), job.mentioned(), facts.read_only)
    module.bind_schedule(spaces, shared, begins=bool(facts.starts))
    module.bind_cells(cells)
    if ordered is not None:
        ordered.bind(module)
    module.place_bases(outlined, kept, job.mentioned())
    ending = flush(shared, spaces)
    before = "tc.ready" if spaces else "entry"
    blocks = [
        *preload(shared, spaces),
        run_head(before, DONE if cells else EXIT),
        *job.blocks,
        turn(FLUSH if ending else END),
        *ending,
    ]
    lines = module.top_lines(job, cells)
    extra = declarations([block for block in blocks if block not in job.blocks], set())
    lines += [line for line in extra if line not in lines]
    lines += [f"{MEMORY} = external addrspace(3) global [0 x i8], align 16", ""] if spaces else []
    lines.append(f"define ptx_kernel void @{name}({', '.join(module.header)}) {{")
    lines += ["entry:", *(f"  {line}" for line in module.entry)]
    lines += [f"  {line}" for line in _thread_lines()]
    lines += [f"  {line}" for line in space_lines(spaces, begins=bool(facts.starts))]
    lines.append(f"  br label %{'tc.pre0' if spaces else RUN}")
    text = module.end_lines(lines, blocks, END, libdevice=bool(functions))
    return BlockKernel(name, text, tuple(module.parameters), shared_bytes, bool(functions), len(atomics))


class _BlockModule(KernelModule):
    """The module around a job of a block."""

    def __init__(self, name: str, view: FunctionView, private: Mapping[str, str], numbers: Collection[str]) -> None:
        super().__init__(name, view.types, private, numbers, swap=False)

    def bind_schedule(self, spaces: Sequence[int], shared: Sequence[SharedArray], *, begins: bool) -> None:
        """Parameters for the GPU schedule, and for the arrays in global memory that blocks keep a part of.

        `begins`: whether the first start of each block is needed.
        """
        self.add(Parameter("bounds", "", "ptr", read_only=True), "%tc.bounds")
        if begins:
            self.add(Parameter("begins", "", "ptr", read_only=True), "%tc.begins")
        for place in range(len(spaces)):
            self.add(Parameter("offsets", "", "ptr", place, read_only=True), f"%tc.offsets{place}")
            self.add(Parameter("data", "", "ptr", place, read_only=True), f"%tc.data{place}")
            self.add(Parameter("owned", "", "ptr", place, read_only=True), f"%tc.owner{place}")
        for place, array in enumerate(shared):
            self.add(Parameter("array", "", "ptr", place, read_only=not array.written), f"%tc.array{place}")

    def place_bases(self, outlined: Outlined, kept: Mapping[int, tuple[int, SharedArray]], used: set[str]) -> None:
        """Base pointers into shared memory."""
        if not kept:
            return
        self.entry.append(f"%tc.shared.all = addrspacecast ptr addrspace(3) {MEMORY} to ptr")
        for place, array in dict(kept.values()).items():
            self.entry.append(f"%tc.kept{place} = getelementptr i8, ptr %tc.shared.all, i64 {array.place}")
        for slot in outlined.slots:
            if slot.kind in BASES and slot.group in kept and slot.value in used:
                place, array = kept[slot.group]
                by = array.deltas[slot.group]
                self.entry.append(f"{slot.value} = getelementptr i8, ptr %tc.kept{place}, i64 {by}")


def _without(outlined: Outlined, kept: Mapping[int, object]) -> Outlined:
    """The range function without the slots of bases that lie in shared memory."""
    slots = tuple(slot for slot in outlined.slots if not (slot.kind in BASES and slot.group in kept))
    return replace(outlined, slots=slots)


def _thread_lines() -> list[str]:
    sreg = "llvm.nvvm.read.ptx.sreg"
    lines = [f"%tc.{axis} = call i32 @{sreg}.{axis}.x()" for axis in AXES]
    return lines + [f"%tc.{axis}.wide = zext i32 %tc.{axis} to i64" for axis in AXES]
