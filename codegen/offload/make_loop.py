"""A loop of a layout scope as a kernel without data: its arguments come from the program's hook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from tracecut.codegen.host.outline_loop import outline
from tracecut.codegen.kernels.kernel import KernelArray
from tracecut.codegen.ptx.emit import BLOCK_SIZE, plain_kernel
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.schedule.plan.private_data import is_local
from tracecut.codegen.schedule.plan.range_function import NEW, OLD, Group, Outlined
from tracecut.codegen.schedule.schedule import RegionSchedule
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.loops.program import Analysis

from .device_loop import DeviceLoop, Given


class LoopMaker:
    """Makes kernels of loops.

    Args:
        analysis: the program. accesses: of the scope. objects: of its guard. arch: to emit for. compiled: makes PTX.
    """

    def __init__(
        self,
        analysis: Analysis,
        accesses: Accesses,
        objects: Sequence[Object],
        arch: str,
        compiled: Callable[..., str],
    ) -> None:
        self.analysis, self.accesses, self.arch, self.compiled = analysis, accesses, arch, compiled
        self.nest = accesses.nest
        self.places: dict[Object, int] = {item: number for number, item in enumerate(objects)}
        self.outlined: dict[int, Outlined] = {}

    def unwritten(self, loop: int, groups: Sequence[Group]) -> frozenset[int]:
        """Groups of accesses to objects that nothing in the loop writes to."""
        touched = list(self.accesses.inside(loop))
        written = {access.object for access in touched if access.site.writes}
        objects = {group.id: {a.object for a in touched if a.site.key in group.sites} for group in groups}
        return frozenset(number for number, found in objects.items() if None not in found and not found & written)

    def plain(
        self,
        loop: int,
        groups: Sequence[Group],
        disjoint: frozenset[int],
        exclusive: frozenset[int],
        outlined: Outlined | None = None,
        scheduled: RegionSchedule | None = None,
    ) -> DeviceLoop:
        """A kernel with one job a thread. `outlined`, `scheduled`: of one whose data are in another order."""
        view, variant = self.analysis.view_of(loop), "original" if outlined is None else "swap"
        if outlined is None:
            groups = [replace(group, view=NEW) for group in groups]
            outlined = outline(view, self.nest, view.loops[loop], f"tc.loop.{loop}", list(groups))
        name = f"tc_kernel_{loop}"
        made = plain_kernel(
            view,
            self.nest,
            view.loops[loop],
            name,
            list(groups),
            outlined=outlined,
            variant=variant,
            disjoint=disjoint,
            exclusive=exclusive,
        )
        arrays: list[KernelArray] = []
        known: dict[tuple[int, str], int] = {}
        given = []
        for parameter in made.parameters:
            found = self.slot(parameter, outlined)
            assert found is not None or parameter.kind == "order", parameter
            if found is None:
                found = Given("array", array=len(arrays), offset=0)
                jobs = scheduled.jobs if scheduled is not None else np.zeros(0, np.int32)
                data = np.ascontiguousarray(jobs).view(np.uint8).reshape(-1)
                arrays.append(KernelArray("old number of each job", data, fixed=True))
            elif scheduled is not None and parameter.kind in ("base", "data-base"):
                copy = scheduled.bases.get(parameter.group)
                if copy is not None:
                    key = (copy, OLD if parameter.kind == "data-base" else NEW)
                    if key not in known:
                        known[key] = len(arrays)
                        arrays.append(KernelArray("", np.zeros(0, np.uint8), copy=copy, numbers=key[1]))
                    found = replace(found, kind="copy", array=known[key])
            given.append(self._meant(found, parameter, loop, outlined, variant))
        return self._loop(
            loop,
            name,
            variant,
            made.text,
            made.libdevice,
            made.parameters,
            given,
            tuple(arrays),
            outlined,
            0,
            BLOCK_SIZE,
            0,
        )

    def slot(self, parameter: Parameter, outlined: Outlined) -> Given | None:
        """Where the program hands an argument over; None for what is the kernel's own."""
        if parameter.kind == "jobs":
            return Given("jobs")
        if parameter.kind == "reduction":
            return Given("cell", next(item.out for item in outlined.reductions if item.phi == parameter.name))
        if parameter.kind == "live":
            place = next(
                n for n, slot in enumerate(outlined.slots) if slot.kind == "live" and slot.name == parameter.name
            )
            return Given("pointer" if parameter.type == "ptr" else "live", place)
        if parameter.kind in ("base", "data-base"):
            place = next(
                number
                for number, slot in enumerate(outlined.slots)
                if slot.kind == parameter.kind and slot.group == parameter.group
            )
            return Given("pointer", place, parameter.group)
        return None

    def _touched(self, loop: int) -> list[Access]:
        return [a for a in self.accesses.inside(loop) if a.runs and not is_local(self.nest, (loop,), a.site)]

    def _meant(self, found: Given, parameter: Parameter, loop: int, outlined: Outlined, variant: str) -> Given:
        """With the objects that are reached through a base pointer; groups with one root share it in `original`."""
        if parameter.kind not in ("base", "data-base"):
            return found
        root = next(group.root for group in outlined.groups if group.id == parameter.group)
        shares = [g for g in outlined.groups if g.id == parameter.group or (variant == "original" and g.root == root)]
        sites = {key for group in shares for key in group.sites}
        reached = {
            self.places[a.object] for a in self._touched(loop) if a.object in self.places and a.site.key in sites
        }
        return replace(found, objects=tuple(sorted(reached)))

    def _loop(
        self,
        loop: int,
        name: str,
        variant: str,
        text: str,
        libdevice: bool,
        parameters: tuple[Parameter, ...],
        given: Sequence[Given],
        arrays: tuple[KernelArray, ...],
        outlined: Outlined,
        blocks: int,
        threads: int,
        shared_bytes: int,
    ) -> DeviceLoop:
        touched = self._touched(loop)
        if any(access.object not in self.places for access in touched):
            raise UnsupportedError("it touches memory that no pointer into the scope leads to")
        self.outlined[loop] = outlined
        return DeviceLoop(
            loop,
            name,
            variant,
            text,
            self.compiled(text, name, self.arch, libdevice=libdevice),
            libdevice,
            parameters,
            tuple(given),
            arrays,
            blocks,
            threads,
            shared_bytes,
            tuple(sorted({self.places[a.object] for a in touched if a.object is not None})),
            tuple(sorted({self.places[a.object] for a in touched if a.object is not None and a.site.writes})),
        )
