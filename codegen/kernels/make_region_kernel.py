"""From an inspected region and an order to a kernel in one of its variants, with its arrays.

| variant | jobs | data |
|---|---|---|
| `original` | the program's order | as in the program |
| `swap-indirect` | the new order, through an array of job numbers | as in the program |
| `swap` | the new order | in the new order, indices renumbered |
| `smem` | the new order, by blocks | as `swap`; what a block reaches through indices is kept in shared memory |
| `readonly` | the new order, by blocks | as `smem`, but what is only read stays in global memory |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tracecut.codegen.gpu.cached_arrays import Cacheable, CachedArray, cacheable_arrays, with_groups
from tracecut.codegen.gpu.check_blocks import LocalIndex, check_blocks
from tracecut.codegen.gpu.cut_blocks import JobPins, Shorts, check_local, cut_jobs, data_of_blocks
from tracecut.codegen.gpu.gpu_schedule import THREADS, GpuSchedule
from tracecut.codegen.gpu.index_copies import IndexField, copied, index_fields
from tracecut.codegen.gpu.job_pins import first_numbers, first_records, job_pins, local_copies
from tracecut.codegen.host.outline_loop import outline
from tracecut.codegen.ptx.alias_facts import gpu_facts
from tracecut.codegen.ptx.block_phases import SharedArray, layout_shared
from tracecut.codegen.ptx.emit import PlainKernel, plain_kernel
from tracecut.codegen.ptx.emit_blocks import BlockKernel, GroupFacts, block_kernel
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.ptx.ordered_reductions import OrderedReductions
from tracecut.codegen.ptx.ptxas import check_architecture, check_shared
from tracecut.codegen.runtime.replay import CapturedRegion
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph
from tracecut.codegen.schedule.inspector.build_schedule import build_schedule, views_of
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites
from tracecut.codegen.schedule.plan.range_function import OLD, Group, Outlined
from tracecut.codegen.schedule.reduce_modes import FAST, ORDERED
from tracecut.codegen.schedule.schedule import Blocks, Guard, RegionSchedule, Schedule
from tracecut.ir.ordering import Ordering
from tracecut.support.argument_checks import one_of
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.loops.program import Analysis

from .device_memory import DeviceMemory, LocalCopies
from .kernel import Address, Kernel, second_kernel
from .ordered_kernel import Launch, Module, module_and_arguments
from .pack_copies import half_starts, packed_indices, with_packed_starts

VARIANTS = ("original", "swap-indirect", "swap", "smem", "readonly")
BLOCK_VARIANTS = ("smem", "readonly")


@dataclass(frozen=True, eq=False)
class Source:
    """An inspected region that kernels are made of.

    Attributes:
        analysis: of the program. inspection, graph: of the layout scope. region: loop id.
        guard, objects: from `make_guard`. captured: the region's memory, given its range function.
    """

    analysis: Analysis
    inspection: Inspection
    graph: ScopeGraph
    region: int
    guard: Guard
    objects: Sequence[Object]
    captured: Callable[[Outlined], CapturedRegion]

    def cut_out(self, region: int, views: dict[str, str]) -> tuple[list[Group], Outlined]:
        """Groups and range function of a region of the scope."""
        view = self.analysis.view_of(region)
        loop = view.loops[region]
        nest = self.inspection.accesses.nest
        groups = group_sites(view, nest, loop, views)
        return groups, outline(view, nest, loop, f"tc.loop.{region}", groups)


def make_region_kernel(
    source: Source,
    ordering: Ordering,
    variant: str,
    *,
    arch: str = "sm_90",
    threads: int = 256,
    jobs: int = 1024,
    shared: int = 48 << 10,
    reduce: str = FAST,
) -> Kernel:
    """Make a kernel.

    Args:
        source: the region. ordering: of its jobs and data; its blocks end blocks of the kernel (`smem`, `readonly`).
        variant: one of VARIANTS. arch: as of `nvptx.ARCHITECTURES`.
        threads: of a block. jobs: most jobs of a block that keeps data. shared: bytes that it may keep.
        reduce: FAST (atomic operations), or ORDERED: the same bits every time, by a second kernel (`combine`).

    Raises UnsupportedError with the reason when there can be none, ArgumentError for bad arguments. O(pins + bytes).
    """
    if variant not in VARIANTS:
        raise ArgumentError(f"variant is {variant!r}, one of {', '.join(VARIANTS)} was expected")
    if not THREADS[0] <= threads <= THREADS[1]:
        raise ArgumentError(f"a block of {threads} threads was asked for, {THREADS[0]} to {THREADS[1]} can be had")
    check_architecture(arch)
    if jobs < 1:
        raise ArgumentError(f"jobs is {jobs}, at least one was expected")
    check_shared(shared, arch)
    one_of("reduce", reduce, (FAST, ORDERED))
    return _Maker(source, ordering, variant, arch, threads, jobs, shared, reduce).make()


class _Maker:
    def __init__(
        self,
        source: Source,
        ordering: Ordering,
        variant: str,
        arch: str,
        threads: int,
        jobs: int,
        shared: int,
        reduce: str,
        without: frozenset[int] = frozenset(),
    ) -> None:
        self.source, self.variant, self.arch, self.without = source, variant, arch, without
        self.threads, self.jobs, self.shared, self.reduce = threads, jobs, shared, reduce
        self.plan = source.inspection.plan
        self.region = source.region
        self.name = f"tc_kernel_{source.region}"
        views = {region: views_of(self.plan, region) for region in self.plan.uses}
        self.cut = {region: source.cut_out(region, views[region]) for region in self.plan.uses}
        self.cache = Cacheable((), (), frozenset(), {})
        if variant in BLOCK_VARIANTS:
            self._choose_cached(views[self.region])
        self.groups, self.outlined = self.cut[self.region]
        self.host = self._host_schedule(ordering)
        self.ordering = ordering
        captured = source.captured(self.outlined)
        self.device = DeviceMemory(captured, self.outlined, source.objects, self.host, self.region)
        self.scheduled = self.device.scheduled

    def make(self) -> Kernel:
        return self._make_blocks() if self.variant in BLOCK_VARIANTS else self._make_plain()

    def _choose_cached(self, views: dict[str, str]) -> None:
        groups, outlined = self.cut[self.region]
        written = self.variant == "readonly"
        if self.reduce == ORDERED:  # what jobs contribute is kept apart, not in shared memory
            self.without |= {
                use.array for use in self.plan.uses[self.region] if any(p.access.site.operator for p in use.patterns)
            }
        self.cache = cacheable_arrays(
            self.plan, self.region, groups, outlined, written_only=written, without=self.without
        )
        if not self.cache.arrays:
            nothing = (
                "no index that can have other numbers leads to what it writes"
                if written
                else "no index that can have other numbers leads to it"
            )
            whys = "; ".join(f"{name}: {why}" for name, why in self.cache.refused.items())
            raise UnsupportedError(f"nothing that its iterations touch can be kept in shared memory: {whys or nothing}")
        if self.cache.others:
            third = {**views, **dict.fromkeys(self.cache.others, OLD)}
            self.cut[self.region] = self.source.cut_out(self.region, third)
            self.cache = with_groups(self.cache, self.plan, self.region, self.cut[self.region][0])

    def _host_schedule(self, ordering: Ordering) -> Schedule:
        if self.variant in ("original", "swap-indirect"):
            made = self.captured_identity()
            if self.variant == "original":
                return made
            (only,) = made.regions
            start = self.source.graph.job_starts[self.region]
            size = only.jobs.size
            chosen = ordering.jobs[(ordering.jobs >= start) & (ordering.jobs < start + size)] - start
            return replace(made, regions=(replace(only, jobs=np.ascontiguousarray(chosen, np.int32)),))
        groups = {region: found[0] for region, found in self.cut.items()}
        objects = list(self.source.objects)
        return build_schedule(self.plan, self.source.graph, ordering, self.source.guard, objects, groups)

    def captured_identity(self) -> Schedule:
        """The program's own order."""
        size = self.source.inspection.accesses.size(self.region) or 0
        blocks = Blocks(np.array([0, size], np.int64), np.zeros(1, np.int32))
        jobs = np.arange(size, dtype=np.int32)
        region = RegionSchedule(self.region, jobs, blocks, (), {}, np.zeros(0, np.int32))
        return Schedule(self.plan.accesses.nest.root, (), (), (region,), self.source.guard, "original")

    # One job a thread

    def _make_plain(self) -> Kernel:
        view = self.source.analysis.view_of(self.region)
        nest = self.source.inspection.accesses.nest
        disjoint, exclusive = self._facts()

        def build(ordered: OrderedReductions | None) -> PlainKernel:
            return plain_kernel(
                view,
                nest,
                view.loops[self.region],
                self.name,
                self.groups,
                outlined=self.outlined,
                variant=self.variant,
                disjoint=disjoint,
                exclusive=exclusive,
                ordered=ordered,
            )

        size = self.scheduled.jobs.size
        kernel, launched = self._launched(build, self.device.argument, max(1, -(-size // self.threads)), 0)
        return replace(launched, remarks=kernel.remarks)

    def _launched(
        self,
        build: Callable[[OrderedReductions | None], Module],
        argument: Callable[[Parameter], int | float | Address],
        blocks: int,
        shared_bytes: int,
    ) -> tuple[Module, Kernel]:
        # Kernels without copies know their jobs by their old numbers.
        jobs = self.scheduled.jobs.astype(np.int64)
        old = np.arange(jobs.size, dtype=np.int64) if self.variant in ("original", "swap-indirect") else jobs
        launch = Launch(self.name, blocks, self.threads, shared_bytes, old)
        made, arguments, combine = module_and_arguments(build, argument, self.device.memory, launch, self.reduce)
        kernel = Kernel(
            self.name,
            self.variant,
            self.arch,
            made.text,
            made.libdevice,
            made.parameters,
            arguments,
            tuple(self.device.memory.arrays),
            blocks,
            self.threads,
            shared_bytes,
            None,
            self.host,
            outlined=self.outlined,
        )
        return made, kernel if combine is None else replace(kernel, combine=second_kernel(kernel, combine))

    def _facts(self) -> tuple[frozenset[int], frozenset[int]]:
        found = gpu_facts(self.source.inspection, self.groups, self.region)
        return frozenset(found["disjoint"]), frozenset(found["exclusive"])

    # Blocks

    def _make_blocks(self) -> Kernel:
        region = self.scheduled
        spaces = list(self.cache.spaces)
        fields = self._local_fields(region, spaces)
        pins = job_pins(self.host, region, fields, spaces)
        widths = [sum(item.stride for item in self.cache.arrays if item.space == space) for space in spaces]
        extra = [sum(item.lead + 16 for item in self.cache.arrays if item.space == space) for space in spaces]
        bounds = cut_jobs(pins, self._breaks(region), self.jobs, self.shared, widths, extra)
        data, local = data_of_blocks(pins, bounds, spaces)
        check_local(data)
        shared_data = {item.space for item in data if np.any(item.owned < np.diff(item.offsets))}
        # Of a record that two blocks keep, the one that does not write to it would write the old values back.
        unsafe = {item.array for item in self.cache.arrays if item.writes and item.space in shared_data}
        if unsafe:
            return self._again(self.without | unsafe)
        both = self._elsewhere()
        data = tuple(replace(item, owned=np.zeros_like(item.owned)) if item.space in both else item for item in data)
        schedule = GpuSchedule(self.region, self.host.method, self.threads, bounds, data)
        schedule.verify()
        most = {item.space: item.most for item in data}
        places, used = layout_shared(self.cache.arrays, most)
        firsts = first_numbers(self.host, most)
        shared = [
            SharedArray(item, place, self._deltas(item, firsts))
            for item, place in zip(self.cache.arrays, places, strict=True)
        ]
        self.device.local = with_packed_starts(
            self.device, self._local_copies(region, fields, pins, local, most, firsts), bounds
        )
        self._check(schedule, region, fields, firsts)
        view = self.source.analysis.view_of(self.region)
        disjoint, exclusive = self._facts()
        narrower = self.device.local.packed
        packed = {group: narrower[copy] for group, copy in region.bases.items() if copy in narrower}
        starts = frozenset(group for group in packed if region.copies[region.bases[group]].mode == "offsets")
        facts = GroupFacts(packed, starts, exclusive, disjoint)

        def build(ordered: OrderedReductions | None) -> BlockKernel:
            return block_kernel(
                view,
                self.source.inspection.accesses.nest,
                view.loops[self.region],
                self.outlined,
                shared,
                spaces,
                facts,
                name=self.name,
                shared_bytes=used,
                ordered=ordered,
            )

        def argument(parameter: Parameter) -> int | float | Address:
            return self._block_argument(parameter, schedule, shared)

        _, kernel = self._launched(build, argument, max(1, schedule.blocks), used)
        return replace(kernel, schedule=schedule, notes=dict(self.cache.refused))

    def _again(self, without: frozenset[int]) -> Kernel:
        """The same with fewer arrays in shared memory."""
        asked = (self.source, self.ordering, self.variant, self.arch, self.threads, self.jobs, self.shared)
        return _Maker(*asked, self.reduce, without).make()

    def _local_fields(self, region: RegionSchedule, spaces: Sequence[int]) -> list[IndexField]:
        found: dict[int, list[IndexField]] = {}
        for number, copy in enumerate(region.copies):
            if copy.renumber and any(item.space in spaces for item in copy.renumber):
                data = copied(self.host, region, copy, self.device.data)
                found[number] = index_fields(self.host, number, copy, data)
        self.device.local = LocalCopies(fields=found)
        return [item for items in found.values() for item in items if item.space in spaces]

    def _breaks(self, region: RegionSchedule) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Where blocks of the ordering end, if its jobs are still in its order."""
        start = self.source.graph.job_starts.get(self.region, 0)
        mine = (self.ordering.jobs >= start) & (self.ordering.jobs < start + region.jobs.size)
        if not np.array_equal(self.ordering.jobs[mine] - start, region.jobs):
            return np.zeros(0, np.int64)
        return np.unique(np.concatenate([[0], np.cumsum(mine)])[self.ordering.blocks]).astype(np.int64)

    def _deltas(self, item: CachedArray, firsts: dict[int, int]) -> dict[int, int]:
        """Group → how far its root lies behind the record of the first number, in the program's numbers."""
        array = self.plan.arrays[item.array]
        number = list(self.source.objects).index(array.object)
        begin = int(self.device.data[number].ctypes.data) + array.origin
        first = begin + array.stride * (item.shift + firsts[item.space])
        return {group: self.device.roots[group] - first for group in item.groups}

    def _local_copies(
        self,
        region: RegionSchedule,
        fields: list[IndexField],
        pins: JobPins,
        local: Shorts,
        most: dict[int, int],
        firsts: dict[int, int],
    ) -> LocalCopies:
        all_fields = self.device.local.fields
        packed = packed_indices(self.device, fields, most, firsts, self.plan.fields)
        copies = {number: self.device.new_copy(number) for number in all_fields}
        data = local_copies(self.host, region, copies, fields, pins, local, packed, firsts)
        third = frozenset(group.id for group in self.groups if self.cache.third & set(group.sites))
        return LocalCopies(data, packed, all_fields, third)

    def _check(
        self, schedule: GpuSchedule, region: RegionSchedule, fields: Sequence[IndexField], firsts: dict[int, int]
    ) -> None:
        """Look at the schedule beside the numbers that the kernel is going to read."""
        found = []
        for item in fields:
            copy, factor = region.copies[item.copy], self.device.local.packed.get(item.copy, 1)
            width, stride = item.width // factor, copy.stride // factor
            data = self.device.local.data[item.copy]
            local = np.ndarray((data.size // stride,), f"u{width}", data, item.offset // factor, (stride,))
            first, step = first_records(region, copy)
            numbers = local[::step].astype(np.int64) - item.shift - firsts[item.space]
            if width < 8:  # negative numbers are there without their sign
                numbers %= 1 << 8 * width
            places = item.places[::step]
            records = first if step > 0 else np.arange(first.size, dtype=np.int64)
            found.append(LocalIndex(item.space, records, places, numbers))
        check_blocks(schedule, region.jobs.size, found, list(half_starts(self.device)), self._elsewhere())

    def _elsewhere(self) -> set[int]:
        """Spaces into whose records jobs reduce in global memory, too."""
        return {item.space for item in self.cache.arrays if item.elsewhere}

    def _block_argument(
        self, parameter: Parameter, schedule: GpuSchedule, shared: Sequence[SharedArray]
    ) -> int | float | Address:
        if parameter.kind == "bounds":
            return self.device.named("jobs of each block", schedule.bounds)
        if parameter.kind == "begins":
            return self.device.named("first piece of each block", self.device.local.begins)
        if parameter.kind in ("offsets", "data", "owned"):
            values = getattr(schedule.spaces[parameter.group], parameter.kind)
            return self.device.named(f"{parameter.kind} of space {parameter.group}", values)
        if parameter.kind != "array":
            return self.device.argument(parameter)
        item = shared[parameter.group].item
        array = self.plan.arrays[item.array]
        number = list(self.source.objects).index(array.object)
        low = array.origin + array.stride * (self.host.spaces[item.space].low + item.shift)
        copy = next((self.scheduled.bases.get(group) for group in item.groups), None)
        return self.device.in_copy(copy, low) if copy is not None else self.device.in_object(number, low)
