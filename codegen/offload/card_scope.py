"""A layout scope whose loops run on a card, as the program's hooks, its guard and its kernels need it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import Source
from tracecut.codegen.ptx.nvptx import compile_ptx
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.guards.make_guard import make_guard
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.loops.flatten_rows import RowTable
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.runtime.fingerprint_key import Secret

from .any_indices import make_for_any_indices
from .device_loop import DeviceScope
from .make_device_scope import make_device_scope


@dataclass(frozen=True, eq=False)
class CardScope:
    """A scope. `outlined`: loop with a kernel → its range function, whose slots the hooks fill.

    `anyhow`: kernels that are right for any indices; None where there are none.
    """

    file: ScopeFile
    kernels: DeviceScope
    outlined: Mapping[int, Outlined]
    anyhow: DeviceScope | None = None


@dataclass(frozen=True, eq=False)
class Hooks:
    """How the program knows a scope.

    Attributes:
        scope: loop id. number, first: the scope's number, and that of its first loop. values: (name, type) of what its
            hook hands over.
        key: of the fingerprints. renumber, seed: how the schedule was made. tables, used_rows: as of `ScopeFile`.
    """

    scope: int
    number: int
    first: int
    values: Sequence[tuple[str, str]]
    key: Secret
    renumber: bool = True
    seed: int = 0
    tables: tuple[RowTable, ...] = ()
    used_rows: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)


def make_card_scope(
    source: Source, kernel: Kernel, hooks: Hooks, compiled: Callable[..., str] = compile_ptx
) -> CardScope:
    """Kernels of all loops of a scope that can have one, in the order of the kernel of its hottest loop.

    compiled: makes PTX, as `compile_ptx`. Raises UnsupportedError when the kernel cannot run in the program's place.
    """
    if any(table.written for table in hooks.tables):
        raise UnsupportedError("it writes rows behind pointers, which a card has copies of")
    if source.inspection.plan.lookups:
        raise UnsupportedError("loops beside it look up where records are, and a card has no code beside its kernels")
    compiled = cache(compiled)  # the same loop in the program's order has the same text, whatever it is for
    made = make_device_scope(source, kernel, compiled)
    anyhow = None if hooks.tables else make_for_any_indices(source, kernel, made, compiled)
    # Again: the further loops rely on numbers and loads of their own.
    guard, objects = make_guard(source.inspection.accesses, support(), hooks.key)
    if list(objects) != list(source.objects):
        raise UnsupportedError("loops beside it reach memory by pointers of their own")
    numbers = {loop.loop: hooks.first + place for place, loop in enumerate(made.scope.loops)}
    regions = tuple(item for item in kernel.host.regions if item.region in numbers)
    guard = replace(kernel.host.guard, numbers=guard.numbers, loads=guard.loads)
    file = ScopeFile(
        number=hooks.number,
        numbers=numbers,
        nest=source.inspection.accesses.nest,
        values=hooks.values,
        regions=list(numbers),
        movable=source.inspection.plan.movable,
        outlined=made.outlined,
        schedule=replace(kernel.host, regions=regions, guard=guard),
        key=hooks.key,
        costs={"original": 0.0, "optimized": 0.0, "inspect": 0.0, "copy": 0.0, "sweeps": 1.0},
        options={
            "method": kernel.host.method,
            "threads": 1,
            "single": hooks.scope != source.region,
            "renumber": hooks.renumber,
            "reduce": FAST,
            "region": source.region,
            "seed": hooks.seed,
        },
        tables=hooks.tables,
        used_rows=hooks.used_rows,
    )
    return CardScope(file, made.scope, made.outlined, anyhow)
