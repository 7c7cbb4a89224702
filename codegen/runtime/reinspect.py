"""Re-inspection of a scope in the running program, for input that its saved schedule does not fit.

The same steps as during optimization, on live memory, while the program waits or beside it
(`coming_schedule.py`). The code is already compiled, so a plan that needs different code is refused.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tracecut.codegen.schedule.schedule import Lookup, Schedule
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.beside import IDLE
from tracecut.tracer.legality.evaluation.memory import Memory

from .coming_schedule import packed
from .inspection_gain import expected_gain
from .rows.saved_columns import saved_columns
from .schedule_file import ScopeFile

if TYPE_CHECKING:
    from .host import Host
    from .scope_state import ScopeState


class Reinspector:
    """Makes schedules for new input. Remembers input for which that failed, to not try it again at every entry."""

    def __init__(self) -> None:
        self._failed: dict[int, str] = {}

    def __call__(
        self,
        host: Host,
        state: ScopeState,
        numbers: Mapping[str, int | float],
        memory: Memory,
        why: str,
        per_call: float,
    ) -> Schedule | None:
        """A schedule for the present input, None when that is not expected to pay or cannot be made.

        `per_call`: nanoseconds that the original loop took on this input.
        """
        file = state.file
        if self._failed.get(file.number) == why:
            return None
        worth = expected_gain(file, numbers, memory, per_call)
        if worth is not None:
            self._failed[file.number] = why
            host.say(f"scope {file.number}: {why}; {worth}")
            return None
        start = time.perf_counter()
        try:
            schedule = inspect_again(host, file, numbers, memory)
        except UnsupportedError as error:
            self._failed[file.number] = why
            host.say(f"scope {file.number}: {why}; it cannot be inspected anew: {error.message}")
            return None
        took = time.perf_counter() - start
        host.say(f"scope {file.number}: {why}; inspected anew in {took:.2f} s")
        return schedule


def inspect_beside(host: Host, number: int, raw: Sequence[int], per_call: float) -> Iterable[bytes]:
    """In a child of the program: the listing's entry and the file of a schedule for the present input.

    Where it would not pay if the program waited, it only gets the time that nobody else wants.

    Args:
        number: of the scope. raw: the values that it was entered with. per_call: as for `Reinspector`.

    Raises UnsupportedError when it cannot be made, or would be there too late to pay.
    """
    from .schedule_listing import first_look

    file, memory, numbers = host.look(number, raw)
    worth = expected_gain(file, numbers, memory, per_call, beside=True)
    if worth is not None:
        raise UnsupportedError(worth)
    if expected_gain(file, numbers, memory, per_call) is not None:
        os.nice(IDLE)
    schedule = inspect_again(host, file, numbers, memory)
    used, columns = schedule.meta.get("used_rows", {}), schedule.meta.get("columns", ())
    made = replace(file, schedule=schedule, key=host.secret, used_rows=used, columns=columns)
    handle = os.memfd_create("schedule")
    path = made.save(f"/proc/self/fd/{handle}")
    return packed(first_look(made, path.name, path.parent), path.read_bytes())


def inspect_again(host: Host, file: ScopeFile, numbers: Mapping[str, int | float], memory: Memory) -> Schedule:
    """Inspect the scope on live memory. Raises UnsupportedError when the compiled code cannot express the result."""
    from tracecut.codegen.host.region_library import reads_stay
    from tracecut.codegen.schedule.check.checker import check_schedule
    from tracecut.codegen.schedule.graph.candidate_orders import make_order
    from tracecut.codegen.schedule.graph.scope_graph import scope_graph
    from tracecut.codegen.schedule.guards.make_guard import make_guard
    from tracecut.codegen.schedule.inspector.build_schedule import build_schedule, views_of
    from tracecut.codegen.schedule.inspector.copies import renumbered
    from tracecut.codegen.schedule.inspector.inspect_scope import inspect_scope
    from tracecut.tracer.legality.row_checks import used_parts

    region = int(file.options["region"])
    found = inspect_scope(
        file.nest,
        memory,
        numbers,
        single=bool(file.options["single"]),
        renumber=bool(file.options["renumber"]),
        exact=bool(file.options.get("exact")),
        region=region,
        look_up=bool(file.schedule.lookups),
    )
    if set(found.plan.uses) != set(file.regions):
        raise UnsupportedError("other loops can be rescheduled now")
    for loop, verdict in found.verdicts.items():
        if loop in file.movable and not verdict.movable:
            raise UnsupportedError(verdict.reason)
    groups = {loop: list(file.outlined[loop].groups) for loop in file.regions}
    for loop in file.regions:
        views, fresh = views_of(found.plan, loop), renumbered(found.plan, loop)
        for group in groups[loop]:
            if not all(test.same_in(*fresh.get(test.load, (0, 0))) for test in group.tests):
                raise UnsupportedError("an index is compared with a number that it may have now")
            if any(views.get(key, group.view) != group.view for key in group.sites):
                raise UnsupportedError("an array that moved before has to stay now")
    variant = file.options.get("variant")
    if variant and variant != file.outlined[region].name and not reads_stay(found.accesses, region):
        raise UnsupportedError("an iteration reads memory that others write now")
    used = used_parts(found.accesses)
    guard, objects = make_guard(found.accesses, host.native, host.secret)
    graph = scope_graph(found.plan)
    clusters = file.options.get("clusters")
    ordering = make_order(graph.graph, str(file.options["method"]), k=clusters, seed=int(file.options["seed"]))
    schedule = build_schedule(
        found.plan,
        graph,
        ordering,
        guard,
        objects,
        groups,
        threads=max(1, host.threads),
        reduce=str(file.options["reduce"]),
        remark="inspected in the running program",
    )
    schedule = replace(schedule, lookups=in_the_places_of(schedule.lookups, file.schedule.lookups))
    schedule.meta.update(used_rows=used, columns=saved_columns(found.accesses, file.tables))
    check_schedule(schedule, objects, found.accesses, groups, found.plan.movable)
    return schedule


def in_the_places_of(found: Sequence[Lookup], known: Sequence[Lookup]) -> tuple[Lookup, ...]:
    """Lookups of a new schedule in the places of those that the code was made with.

    Raises UnsupportedError where the code does not look up what has to be.
    """
    places = {place: replace(item, move=-1) for place, item in enumerate(known)}
    free = list(places)
    for item in found:
        mine = {*item.sites}
        fits = [p for p in free if mine <= {*known[p].sites} and item.stride == known[p].stride]
        fits = [p for p in fits if item.align <= known[p].align]  # what the code relies on
        if not fits:
            raise UnsupportedError("the code beside its loops would have to look up other records now")
        place = min(fits, key=lambda p: len(known[p].sites))
        free.remove(place)
        places[place] = replace(known[place], move=item.move)
    return tuple(places.values())
