"""From a small C program to schedules of its loops: the real front end, a real trace, and any order on top.

A loop is named by a comment behind it: `for (…) // @name`. One program may hold many; what costs time (compiling,
tracing, linking) is then paid once. User code never runs in the process of the tests: `children.py` forks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.codegen.host.region_library import outline_regions
from tracecut.codegen.runtime.replay import Replay
from tracecut.codegen.runtime.rows.saved_columns import saved_columns
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph, scope_graph
from tracecut.codegen.schedule.guards.make_guard import make_guard
from tracecut.codegen.schedule.inspector.build_schedule import build_schedule, views_of
from tracecut.codegen.schedule.inspector.copies import renumbered
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.codegen.schedule.plan.range_function import Group, Outlined
from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.codegen.schedule.schedule import Guard, Schedule
from tracecut.codegen.tuning.inspect_variant import Captured, Wanted, inspect_variant, with_used_rows
from tracecut.ir.llvm.passes.leave_loops import COPIED
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.nest_json import from_json, to_json
from tracecut.ir.ordering import Ordering
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Finished, Limits, run
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.recorded.command_line import command_line
from tracecut.tracer.runtime.binding import Native, support
from tracecut.tracer.runtime.fingerprint_key import Secret

from tracecut.pipeline.stages.capture import Traced, trace_program
from tracecut.pipeline.stages.compile import Compiled, compile_program
from tracecut.pipeline.stages.settings import Settings

from ..waiting import HUNG

KEY = Secret(bytes(range(32)))
MARK = re.compile(r"//\s*@(\w+)")


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled and traced program. `lines`: mark → line of the loop behind which it stands."""

    folder: Path
    settings: Settings
    compiled: Compiled
    traced: Traced
    lines: Mapping[str, int]

    @property
    def native_output(self) -> bytes:
        return self.native.stdout.read_bytes()

    @cached_property
    def native(self) -> Finished:
        """The program as the user would have built it, run once."""
        return run([self.compiled.native, *self.settings.argv], folder=self.folder, name="native", limits=Limits(HUNG))

    def loop(self, mark: str) -> int:
        """Id of the marked loop, not of the copy that goes on where it is left (`leave_loops.py`)."""
        line, analysis = self.lines[mark], self.compiled.analysis
        found = [record.id for record in analysis.records if record.place.line == line]
        if len(found) > 1:
            found = [loop for loop in found if not analysis.loop(loop).header.startswith(COPIED)]
        if len(found) != 1:
            raise AssertionError(f"loops at line {line} (@{mark}): {found}")
        return found[0]

    def scopes_of(self, loop: int) -> list[int]:
        """Loops that may be its layout scope, outermost first, itself last."""
        analysis = self.compiled.analysis
        found = [loop]
        above = analysis.parent(loop)
        while above is not None:
            if above in self.traced.values:
                found.append(above)
            above = analysis.parent(above)
        return found[::-1]

    def nest(self, scope: int) -> Nest:
        """The description of a loop, as the host of a running program sees it."""
        return from_json(to_json(self.compiled.analysis.nest(scope)))

    def capture(self, loop: int) -> Capture:
        return Capture.load(self.traced.profile.captures[loop])

    def inspect(
        self, mark: str, scope: str | None = None, *, renumber: bool = True, tuned: bool = False, look_up: bool = True
    ) -> Inspected:
        """Inspect the marked loop in a marked scope; without one, in the outermost in which it may be reordered.

        `tuned`: in the one that is worth most, as a tuned run does. `look_up`: as for `inspect_scope`.

        Raises UnsupportedError when no scope can be understood.
        """
        loop = self.loop(mark)
        scopes = self.scopes_of(loop) if scope is None else [self.loop(scope)]
        why = []
        best: Inspected | None = None
        for number in scopes:
            try:
                found = self.inspect_in(mark, loop, number, renumber=renumber, look_up=look_up)
            except UnsupportedError as error:
                why.append(error.message)
                continue
            ranks = [made.inspection.rank(loop)[: 1 + tuned] for made in (found, best) if made is not None]
            if len(ranks) == 1 or ranks[0] > ranks[1]:
                best = found
        if best is None:
            raise UnsupportedError("; ".join(why))
        return best

    def inspect_in(
        self,
        mark: str,
        loop: int,
        scope: int,
        exits: tuple[str, ...] = (),
        *,
        renumber: bool = True,
        look_up: bool = True,
    ) -> Inspected:
        """Inspect a loop in one scope with these exits. Raises UnsupportedError when that cannot be understood."""
        captured = Captured(
            self.compiled.analysis, self.capture(loop), loop, self.traced.values, with_rows=self.traced.with_rows
        )
        captured, found = inspect_variant(captured, scope, exits, Wanted(renumber, False, None, look_up))
        captured = with_used_rows(captured, found)
        if loop not in found.verdicts:
            raise UnsupportedError("it is part of a larger region")
        return Inspected(self, mark, loop, scope, captured, found, renumber)


def trace(source: str, folder: Path, argv: Sequence[str] = (), *, suffix: str = ".c", **options: Any) -> Program:
    """Compile and trace a program. `suffix`: of its language; `options`: further fields of Settings."""
    path = folder / f"program{suffix}"
    path.write_text(source)
    sources, flags = command_line([str(path)])
    settings = Settings(
        tuple(sources), flags, argv=tuple(argv), output=folder / "out", **{"first_entry": 1, "min_jobs": 1, **options}
    )
    compiled = compile_program(settings, folder)
    place = folder / "trace"
    place.mkdir()
    traced = trace_program(settings, compiled.analysis, compiled.native, place)
    assert not isinstance(traced, str), traced
    lines = {}
    for number, line in enumerate(source.splitlines(), 1):
        for mark in MARK.findall(line):
            assert mark not in lines, f"the mark @{mark} stands twice"
            lines[mark] = number
    return Program(folder, settings, compiled, traced, lines)


@dataclass(frozen=True, eq=False)
class Inspected:
    """A scope that was inspected for one of its regions."""

    program: Program
    mark: str
    region: int
    scope: int
    captured: Captured
    inspection: Inspection
    renumber: bool

    @property
    def capture(self) -> Capture:
        return self.captured.capture

    @property
    def verdict(self) -> str:
        return self.inspection.verdicts[self.region].kind

    @cached_property
    def views(self) -> dict[int, dict[str, str]]:
        return {region: views_of(self.inspection.plan, region) for region in self.inspection.plan.uses}

    @cached_property
    def graph(self) -> ScopeGraph:
        return scope_graph(self.inspection.plan)

    @cached_property
    def guarded(self) -> tuple[Guard, list[Object]]:
        return make_guard(self.inspection.accesses, support(), KEY)

    @cached_property
    def cut_out(self) -> tuple[dict[int, list[Group]], dict[int, Outlined]]:
        """Groups and range function of each region of the scope."""
        numbers = {region: renumbered(self.inspection.plan, region) for region in self.views}
        return outline_regions(self.captured.analysis, self.inspection.accesses.nest, self.views, numbers)

    @property
    def modes(self) -> dict[str, str]:
        """Array (by the name of its object, or its size) → how the region reaches it."""
        plan = self.inspection.plan
        return {self._name(use.array): use.mode for use in plan.uses[self.region]}

    @property
    def kept(self) -> dict[str, str]:
        """Array → why it stays in place."""
        return {self._name(place): why for place, why in self.inspection.plan.kept.items()}

    @property
    def looked_up(self) -> dict[str, set[str]]:
        """Moved array → why accesses beside the regions look its records up."""
        found = self.inspection.plan.lookups
        return {self._name(place): {pattern.why for pattern in patterns} for place, patterns in found.items()}

    def _name(self, place: int) -> str:
        array = self.inspection.plan.arrays[place]
        item = array.object
        return (
            f"{item.name.removeprefix('@') or item.size}+{array.low}"
            if array.low
            else item.name.removeprefix("@") or str(item.size)
        )

    def unchanged(self) -> Ordering:
        """Jobs and data as they are."""
        graph = self.graph.graph
        return Ordering(np.arange(graph.n_jobs, dtype=np.int32), np.arange(graph.n_data, dtype=np.int32), "unchanged")

    def random(self, seed: int) -> Ordering:
        """Jobs and data of every space in random order."""
        draw = np.random.default_rng(seed)
        graph = self.graph.graph
        edges = graph.space_offsets
        data = [low + draw.permutation(high - low) for low, high in pairwise(edges)]
        return Ordering(
            draw.permutation(graph.n_jobs).astype(np.int32),
            np.concatenate([np.zeros(0), *data]).astype(np.int32),
            f"random-{seed}",
        )

    def schedule(self, ordering: Ordering, threads: int = 1, reduce: str = FAST) -> Schedule:
        """A checked schedule in this order."""
        guard, objects = self.guarded
        plan, groups = self.inspection.plan, self.cut_out[0]
        made = build_schedule(plan, self.graph, ordering, guard, objects, groups, threads=threads, reduce=reduce)
        check_schedule(made, objects, self.inspection.accesses, self.cut_out[0], self.inspection.plan.movable)
        return made

    def replay(self, native: Native) -> Replay:
        """The region on its captured memory. Running it runs user code: only in a child."""
        from tracecut.codegen.tuning.live_values import address_values, start_values

        return Replay(
            self.capture,
            self.inspection.accesses,
            self.region,
            self.cut_out[1][self.region],
            native,
            self.captured.values[self.region],
            start_values(self.captured.analysis, self.region),
            address_values(self.captured.analysis, self.region),
            self.captured.image,
        )

    def scope_file(
        self, number: int, first: int, schedule: Schedule, threads: int = 1, variant: str = "", **options: Any
    ) -> ScopeFile:
        """What the host of the running program gets. `first`: number of its first region there."""
        plan = self.inspection.plan
        regions = list(plan.uses)
        return ScopeFile(
            number,
            {region: first + place for place, region in enumerate(regions)},
            self.inspection.accesses.nest,
            self.program.traced.values[self.scope],
            regions,
            plan.movable,
            self.cut_out[1],
            schedule,
            KEY,
            # Sweeps gain so much that no time decides whether the layout is left.
            {"original": 2.0, "optimized": 1e-9, "inspect": 0.0, "copy": 0.0, "sweeps": 10.0},
            {
                "method": "rcm",
                "threads": threads,
                "reduce": FAST,
                "single": self.scope != self.region,
                "renumber": self.renumber,
                "region": self.region,
                "variant": variant,
                "seed": 0,
                **options,
            },
            self.captured.tables,
            self.captured.used_rows,
            saved_columns(self.inspection.accesses, self.captured.tables),
        )
