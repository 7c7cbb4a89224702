"""The kernels of a layout scope, once the kernel of its hottest loop has been chosen.

The other loops of the scope get kernels too, so that the data can stay on the card: those that are rescheduled in the
chosen order, and those that do the same in any order on the numbering that there is (`order_free_loops.py`), or on
arrays that keep the program's (a stencil beside an indexed loop). What is left runs on the host, and what it touches is
copied each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tracecut.codegen.host.outline_loop import outline
from tracecut.codegen.host.weave import is_block_call
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import BLOCK_VARIANTS, Source
from tracecut.codegen.ptx.alias_facts import gpu_facts
from tracecut.codegen.ptx.nvptx import compile_ptx
from tracecut.codegen.schedule.inspector.build_schedule import views_of
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites, instruction_of
from tracecut.codegen.schedule.plan.order_free_loops import examine
from tracecut.codegen.schedule.plan.range_function import NEW, OLD, Outlined
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.accesses import Access
from tracecut.tracer.legality.evaluation.iteration_domains import steps_around
from tracecut.tracer.legality.judge import Verdict, judge

from .device_loop import DeviceLoop, DeviceScope, Given
from .make_loop import LoopMaker

MOVING = ("swap", *BLOCK_VARIANTS)  # variants whose data are in another order


@dataclass(frozen=True, eq=False)
class MadeScope:
    """A scope for a card. `outlined`: loop with a kernel → its range function, whose slots the hooks fill."""

    scope: DeviceScope
    outlined: Mapping[int, Outlined]


def make_device_scope(source: Source, kernel: Kernel, compiled: Callable[..., str] = compile_ptx) -> MadeScope:
    """Make kernels of the loops of a scope beside the one that was chosen. O(accesses).

    Args:
        source: the region that the kernel is of. kernel: from `make_region_kernel`, `fast` reductions.
        compiled: makes PTX, as `compile_ptx`.

    Raises UnsupportedError when the program's hooks cannot say what the kernel needs.
    """
    return ScopeMaker(source, kernel, compiled).make()


def _call_of(key: str) -> str:
    """The call that a site belongs to, as `call:block:place`."""
    return key.rsplit(":", 1)[0]


class ScopeMaker(LoopMaker):
    """Makes the kernels of a scope: `make`. `compiled`: makes PTX."""

    def __init__(self, source: Source, kernel: Kernel, compiled: Callable[..., str]) -> None:
        super().__init__(source.analysis, source.inspection.accesses, source.objects, kernel.arch, compiled)
        self.source, self.kernel = source, kernel
        self.plan = source.inspection.plan
        self.remarks: list[str] = []

    def make(self) -> MadeScope:
        loops = [self.chosen()]
        taken = set(self.nest.inside(self.source.region))
        for region in self.plan.uses:
            if not taken & self.nest.inside(region):
                loops += self._tried(region, self.rescheduled)
                taken |= self.nest.inside(region)
        for loop in self._outermost(taken):
            loops += self._tried(loop, self.order_free)
        inside = {number for item in loops for number in self.nest.inside(item.loop)}
        rest = [access for access in self.accesses.all() if access.site.loop not in inside]
        calls = self.calls(rest)
        rest = [access for access in rest if _call_of(access.site.key) not in calls]
        reads = {self.places[a.object] for a in rest if a.object in self.places and not a.site.writes}
        writes = {self.places[a.object] for a in rest if a.object in self.places and a.site.writes}
        reads |= {self.places[a.object] for a in rest if a.object in self.places and a.site.operator}
        scope = DeviceScope(
            self.kernel.arch,
            tuple(loops),
            tuple(sorted(reads)),
            tuple(sorted(writes)),
            tuple(sorted(calls)),
            tuple(self.remarks),
        )
        scope.verify()
        return MadeScope(scope, self.outlined)

    def calls(self, rest: Sequence[Access]) -> set[str]:
        """Calls, as `call:block:place`, that fill or copy blocks of bytes of known objects, once in an iteration."""
        view = self.source.analysis.view_of(self.nest.root)
        steps = {self.nest.root, *steps_around(self.nest, self.source.region)}
        found: dict[str, list[Access]] = {}
        for access in rest:
            if access.site.key.startswith("call:"):
                found.setdefault(_call_of(access.site.key), []).append(access)
        return {
            key
            for key, ends in found.items()
            if is_block_call(instruction_of(view, key))
            and all(access.object in self.places and access.site.loop in steps for access in ends)
        }

    def _tried(self, loop: int, make: Callable[[int], DeviceLoop]) -> list[DeviceLoop]:
        """A kernel, or a remark."""
        try:
            return [make(loop)]
        except UnsupportedError as error:
            self.remarks.append(f"{self.nest.loops[loop].place.told} runs on the host: {error.message}")
            return []

    def _outermost(self, taken: set[int]) -> list[int]:
        """Loops in the scope around which there is none but the scope's own, and in which none has a kernel."""
        found: list[int] = []
        stack = [self.nest.root]
        while stack:
            parent = stack.pop()
            for number, info in self.nest.loops.items():
                if info.parent == parent and number not in taken:
                    if taken & self.nest.inside(number):
                        stack.append(number)
                    else:
                        found.append(number)
        return sorted(found)

    def chosen(self) -> DeviceLoop:
        """The kernel that was chosen, without the data that it was made on."""
        kernel, region = self.kernel, self.source.region
        assert kernel.outlined is not None
        view = self.source.analysis.view_of(region)
        outlined = kernel.outlined
        if kernel.variant not in MOVING:
            plain = [replace(group, view=NEW) for group in outlined.groups]
            outlined = outline(view, self.nest, view.loops[region], outlined.name, plain)
        none = np.zeros(0, np.uint8)
        arrays = tuple(
            replace(item, data=none) if item.object >= 0 or (item.copy >= 0 and item.numbers in (NEW, OLD)) else item
            for item in kernel.arrays
        )
        given = []
        for parameter, value in zip(kernel.parameters, kernel.arguments, strict=True):
            found = self.slot(parameter, outlined)
            if found is None:
                assert not isinstance(value, int | float)
                found = Given("array", array=value.array, offset=value.offset)
            elif parameter.kind in ("base", "data-base"):
                assert not isinstance(value, int | float)
                if kernel.arrays[value.array].copy >= 0:
                    found = replace(found, kind="copy", array=value.array)
            given.append(self._meant(found, parameter, region, outlined, kernel.variant))
        blocks = kernel.blocks if kernel.schedule is not None else 0
        return self._loop(
            region,
            kernel.name,
            kernel.variant,
            kernel.ir,
            kernel.libdevice,
            kernel.parameters,
            given,
            arrays,
            outlined,
            blocks,
            kernel.threads,
            kernel.shared_bytes,
        )

    def rescheduled(self, region: int) -> DeviceLoop:
        """Another region of the scope, in the order of the chosen kernel."""
        if not self.source.inspection.verdicts[region].movable:
            raise UnsupportedError(self.source.inspection.verdicts[region].reason)
        moving = self.kernel.variant in MOVING
        groups, outlined = self.source.cut_out(region, views_of(self.plan, region))
        scheduled = next((item for item in self.kernel.host.regions if item.region == region), None)
        if moving and scheduled is None:
            raise UnsupportedError("it has no order")
        facts = gpu_facts(self.source.inspection, groups, region)
        disjoint, exclusive = frozenset(facts["disjoint"]), frozenset(facts["exclusive"])
        if not moving:
            return self.plain(region, groups, disjoint, exclusive)
        return self.plain(region, groups, disjoint, exclusive, outlined, scheduled)

    def order_free(self, loop: int) -> DeviceLoop:
        """A loop that does the same in any order, on any numbering."""
        verdict = self.check_order_free(loop)
        view = self.source.analysis.view_of(loop)
        groups = group_sites(view, self.nest, view.loops[loop])
        exclusive = frozenset(group.id for group in groups) if verdict.kind == "parallel" else frozenset[int]()
        return self.plain(loop, groups, self.unwritten(loop, groups), exclusive)

    def check_order_free(self, loop: int) -> Verdict:
        """Raise UnsupportedError for a loop whose order matters, or that is entered several times an iteration.

        One that would not do the same on another numbering may run where no array that it touches has one.
        """
        found = examine(self.accesses, loop)
        objects = {access.object for access in self._touched(loop)}
        if found.why and any(item is None or self.places.get(item) in self.moved() for item in objects):
            raise UnsupportedError(found.why)
        domain = self.accesses.evaluation.whole(loop)
        if domain is None or (domain.parent is not None and np.unique(domain.parent).size != 1):
            raise UnsupportedError("it is entered several times in an iteration of the loop around it")
        verdict = judge(self.accesses, loop)
        if not verdict.movable:
            raise UnsupportedError(verdict.reason)
        return verdict

    def moved(self) -> set[int | None]:
        """Objects that have another order on the card than in the program."""
        return {move.object for move in self.kernel.host.moves}
