"""The host of a rescheduled program: runs it in this process and switches layouts at the edges of its scopes.

On entering a layout scope the saved schedule is used when its guard holds. Otherwise the scope is inspected
again if that is expected to pay, else the original loops run. Errors here must not affect the program: its original
loops then run.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tracecut.codegen.schedule.guards.check_guard import check_guard
from tracecut.codegen.schedule.guards.make_guard import (
    address_of,
    numbers_of,
    place_pointers,
    pointer_values,
    pointers_made,
)
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.load_and_run import (
    own_signals,
    thread_count,
)
from tracecut.tracer.legality.evaluation.iteration_domains import steps_around
from tracecut.tracer.legality.evaluation.memory import Memory, Object
from tracecut.tracer.legality.live_memory import LiveObjects
from tracecut.tracer.legality.row_arenas import Bytes, RowBuffers, flatten_memory, ranges_of
from tracecut.tracer.legality.row_columns import FlatScope, Vector
from tracecut.tracer.runtime.fingerprint_key import Secret
from tracecut.tracer.runtime.hook_slots import named_numbers
from tracecut.tracer.runtime.hooks import ENTER, LEAVE, MISMATCH, PAUSE, PROBE, TRAPS, Tables, mismatch

from .active_layouts import ActiveLayouts
from .coming_schedule import ComingSchedule
from .inspection_gain import expected_gain
from .pauses import FINAL, MOVED, SLOW, Pause
from .region_codes import region_codes
from .run_summary import run_summary, told, why_closed
from .schedule_file import ScopeFile
from .scope_state import ScopeState
from .shared_mappings import require_own

if TYPE_CHECKING:
    from .light_host import LightHost


class Host:
    """Connects a loaded program with its schedules.

    Args:
        library: the woven program. scopes: its layout scopes. names: its globals, as in `tc_globals`.
        cpus: CPUs of the threads, the first is the program's own. say: where remarks go.
        enabled: False runs the original loops and only measures.
        inspect: makes a schedule for new input, or raises; None never inspects.
        beside: has that done in a child while the program goes on (`reinspect.inspect_beside`).
        front: what has answered the hooks until now; this host takes over.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        scopes: Sequence[ScopeFile],
        names: Sequence[str],
        cpus: Sequence[int],
        *,
        say: Callable[[str], None],
        enabled: bool = True,
        inspect: Callable[..., Schedule | None] | None = None,
        beside: Callable[..., Iterable[bytes]] | None = None,
        front: LightHost | None = None,
    ) -> None:
        self.library = library
        self.objects = LiveObjects(library, names)
        count = max([0, *(number + 1 for scope in scopes for number in scope.numbers.values())])
        numbers = max([0, *(scope.number + 1 for scope in scopes)])
        self.tables = Tables(library, count, numbers) if front is None else front.tables
        self.scopes = {
            scope.number: ScopeState(
                scope,
                scope.schedule,
                scope.key,
                Pause(scope.number, scope.main, tuple(scope.numbers.values()), scope.pays_after, scope.lookup_gain),
                ComingSchedule(scope.number, scope.main, bool(scope.options["single"]), self.tables.probes, say),
                used_rows=scope.used_rows,
            )
            for scope in scopes
        }
        self.owner = {number: scope for scope in scopes for number in scope.numbers.values()}
        self.say = say
        self.secret = Secret.draw()  # of the schedules that are made in this run
        self.inspect, self.beside = inspect, beside
        self.allowed = os.sched_getaffinity(0) if front is None else front.allowed
        self.states, self.probes = self.tables.states, self.tables.probes
        self.layouts = ActiveLayouts(library, self.tables, cpus) if front is None else front.layouts
        self.native = self.layouts.native
        self._calls = {
            "tc_on_enter": ENTER(self._enter),
            "tc_on_leave": LEAVE(self._leave),
            "tc_on_pause": PAUSE(self._pause),
            "tc_on_mismatch": MISMATCH(self._mismatch),
            "tc_on_probe": PROBE(self._probe),
        }
        for name, call in self._calls.items():
            self.tables.set(name, ctypes.cast(call, ctypes.c_void_p).value or 0)
        self.layouts.start()
        self.threads = self.layouts.threads
        self.own_threads = thread_count()
        self.own_signals = own_signals() if front is None else front.own_signals
        ctypes.c_int32.in_dll(library, "tc_enabled").value = int(enabled)

    def enter(self, number: int, pointer: Any) -> None:
        """A scope is entered, and no trap is set."""
        self._enter(number, pointer, 0)

    def probe(self, region: int) -> None:
        """The main region of a scope is about to run on new input for the second time."""
        self._probe(region)

    def inspected(self, number: int, raw: Sequence[int], per_call: float) -> Iterable[bytes]:
        """In a child of the program: a schedule for new input, as `coming_schedule.packed` has it, or raises."""
        assert self.beside is not None
        return self.beside(self, number, raw, per_call)

    def close(self) -> None:
        """The program is at its end."""
        for state in self.scopes.values():
            state.coming.stop()

    def expect(self, number: int, raw: Sequence[int], why: str, declined: int, spent: int) -> None:
        """Input for which the schedule cannot be used has been seen before this host was there."""
        state = self.scopes[number]
        state.pause.raw = list(raw)
        state.waiting = (named_numbers(state.file.values, raw), why, declined, spent)

    def _enter(self, number: int, pointer: Any, traps: int) -> None:
        state = self.scopes[number]
        start = time.perf_counter_ns()
        state.entries += 1
        try:
            if traps:
                raise UnsupportedError(TRAPS)
            self._try_enter(state, pointer)
        except Exception as error:  # the program must not notice
            self._off(state)
            state.refused = told(error)
            self.say(f"scope {number}: {state.refused}; the original order runs")
        state.nanoseconds += time.perf_counter_ns() - start

    def _try_enter(self, state: ScopeState, pointer: Any) -> None:
        file = state.file
        raw = state.pause.raw = [int(pointer[place]) for place in range(len(file.values))]
        state.before = self.states[file.main].calls + self.states[file.main].declined
        fresh = state.hear()
        numbers, why = self._use(state, raw, None)
        if not why:
            return
        state.refused = why
        if fresh:
            state.coming.unfit(why)
        if state.coming.awaited:
            state.coming.ask_later()
            return
        if self.inspect is None or state.coming.settled(why):
            self.say(f"scope {file.number}: {why}; the original order runs")
            return
        # Other input: first measure the original loop on it, to decide whether an inspection pays.
        region = file.numbers[int(file.options["region"])]
        times = self.states[region]
        if file.options["single"]:
            state.waiting = (numbers, why, times.declined, times.original_nanoseconds)
            self.probes[region] = 2
        else:
            before = state.waiting
            state.waiting = (numbers, why, times.declined, times.original_nanoseconds)
            if before is not None and times.declined > before[2]:
                per_call = (times.original_nanoseconds - before[3]) / (times.declined - before[2])
                self._inspect_now(state, numbers, why, per_call)

    def _use(
        self, state: ScopeState, raw: list[int], bases: Sequence[int] | None
    ) -> tuple[dict[str, int | float], str]:
        """Put the layout in force, or say what differs. `bases`: where the objects have to lie, if that is known."""
        closed = why_closed(self.own_threads, self.own_signals) or state.pause.too_costly
        if closed:
            raise UnsupportedError(closed)
        start = time.perf_counter_ns()
        memory, numbers = self._look(state, named_numbers(state.file.values, raw))
        found, why = self._check(state, state.schedule, state.secret, memory, numbers)
        state.guard_nanoseconds += time.perf_counter_ns() - start
        if found is not None and bases is not None and [item.base for item in found] != bases:
            return numbers, MOVED
        if found is not None:
            self._activate(state, found, memory, numbers, raw)
        return numbers, why

    def _look(
        self, state: ScopeState, numbers: dict[str, int | float], *, whole: bool = False
    ) -> tuple[Memory, dict[str, int | float]]:
        """The objects as the code of a scope finds them, and its numbers. Rows behind pointers are copied.

        `whole`: not only what the schedule reads of them.
        """
        file = state.file
        memory = self.objects.memory([(file.nest, numbers)])
        if not file.tables:
            return memory, numbers
        single = bool(file.options["single"])
        steps = steps_around(file.nest, int(file.options["region"])) if single else frozenset[int]()
        found = flatten_memory(
            FlatScope(file.nest, file.tables, memory, numbers, single, steps),
            place=RowBuffers(state.rows),
            fill=self._gather,
            used=None if whole else state.used_rows,
        )
        state.written = found.written
        return found.memory, {**numbers, **found.lives}

    def _gather(self, data: Bytes, bases: Vector, sizes: Vector, starts: Vector) -> None:
        self.native.gather(data.ctypes.data, bases, sizes, starts, threads=max(1, self.threads))

    def _pause(self, number: int, final: int) -> None:
        """An exit of a scope begins."""
        state = self.scopes[number]
        start = time.perf_counter_ns()
        was = (state.executor is not None and state.executor.active) or state.pause.without
        self._off(state)
        if final:
            state.waiting, state.refused = None, FINAL
            state.coming.stop()
        elif was:
            state.refused = state.pause.exit(self.tables, time.perf_counter_ns() - start)
        state.nanoseconds += time.perf_counter_ns() - start

    def _resume(self, state: ScopeState) -> None:
        """The first region after an exit is about to run."""
        if not state.pause.may_resume(self.tables):
            return
        self._off(state)
        used = state.used
        _, state.refused = self._use(state, state.pause.raw, state.pause.bases)
        state.used = used
        if state.refused:
            self.say(f"scope {state.file.number}: {state.refused}; the original order runs")

    def _probe(self, region: int) -> None:
        """The main region of a scope is about to run on new input for the second time."""
        state = self.scopes[self.owner[region].number]
        start = time.perf_counter_ns()
        try:
            if state.pause.waiting:
                self._resume(state)
            elif state.coming.awaited:
                self._adopt(state)
            elif state.coming.slower(self.states[region]):
                self._off(state)
            elif state.pause.without:
                self._weigh(state)
            elif state.pause.outweighed(self.tables):
                self._off(state)
                state.pause.try_without(self.tables)
            elif state.waiting is not None:
                numbers, why, declined, spent = state.waiting
                state.waiting = None
                times = self.states[region]
                per_call = (times.original_nanoseconds - spent) / max(1, times.declined - declined)
                self._inspect_now(state, numbers, why, per_call)
        except Exception as error:  # the program must not notice
            self._off(state)
            self.say(f"scope {state.file.number}: {told(error)}; the original order runs")
        state.nanoseconds += time.perf_counter_ns() - start

    def _weigh(self, state: ScopeState) -> None:
        """The layout comes back if an iteration of the scope takes no longer with it."""
        if state.pause.slower(self.tables):
            state.refused = SLOW
            self.say(f"scope {state.file.number}: {SLOW}; the original order runs")
        else:
            _, state.refused = self._use(state, state.pause.raw, state.pause.bases)

    def _inspect_now(self, state: ScopeState, numbers: dict[str, int | float], why: str, per_call: float) -> None:
        assert self.inspect is not None
        if self.beside is not None:
            number, raw = state.file.number, list(state.pause.raw)
            if state.coming.begin(lambda: self.inspected(number, raw, per_call), self.allowed, why, per_call):
                return
        _, memory, numbers = self.look(state.file.number, state.pause.raw)
        before = thread_count()
        try:
            fresh = self.inspect(self, state, numbers, memory, why, per_call)
        finally:
            self.own_threads += thread_count() - before  # of libraries that an inspection loads
        if fresh is None:
            return
        found, why = self._check(state, fresh, self.secret, memory, numbers)
        if found is not None:
            state.schedule, state.secret, state.executor = fresh, self.secret, None
            state.used_rows = fresh.meta.get("used_rows", {})
            state.written = tuple(rows.up_to(state.used_rows) for rows in state.written)
            self._activate(state, found, memory, numbers, state.pause.raw)

    def look(self, number: int, raw: Sequence[int]) -> tuple[ScopeFile, Memory, dict[str, int | float]]:
        """A scope, and all that an inspection of it may read. Raises UnsupportedError for memory that others share."""
        state = self.scopes[number]
        memory, numbers = self._look(state, named_numbers(state.file.values, raw), whole=True)
        placed = place_pointers(memory, pointer_values(state.file.nest, memory, numbers))
        require_own({(found[0].base, found[0].size) for found in placed if found is not None})
        return state.file, memory, numbers

    def _adopt(self, state: ScopeState) -> None:
        """Put the schedule in force that was made beside the program, if it is there and the scope itself asks."""
        if self.tables.depth[state.file.number] == 1 and state.hear():
            self._off(state)
            late = self._late(state)
            state.refused = late or self._use(state, state.pause.raw, None)[1]
            if state.refused and not late:
                state.coming.unfit(state.refused)
            elif state.refused:
                self.say(f"scope {state.file.number}: {state.refused}; the original order runs")
            else:
                state.coming.try_out(self.states[state.file.main])
        state.coming.ask_later()

    def _late(self, state: ScopeState) -> str:
        """Why moving the data does not pay any more, for the sweeps that are left."""
        times = self.states[state.file.main]
        done = times.calls + times.declined - state.before
        memory, numbers = self._look(state, named_numbers(state.file.values, state.pause.raw))
        return expected_gain(state.file, numbers, memory, state.coming.per_call, made=True, done=done) or ""

    def _check(
        self, state: ScopeState, schedule: Schedule, secret: Secret, memory: Memory, numbers: Mapping[str, int | float]
    ) -> tuple[list[Object] | None, str]:
        """The objects of a schedule if its guard holds; else None, and what differs."""

        def require(objects: Sequence[Object]) -> None:
            places = [(item.base, item.size) for item in objects]
            rows = [place for found in state.written for place in ranges_of(found)]
            require_own([*places, *rows], [*(places[move.object] for move in schedule.moves), *rows])

        nest = state.file.nest
        values = pointer_values(nest, memory, numbers)
        return check_guard(
            schedule.guard,
            numbers,
            values,
            place_pointers(memory, values),
            lambda item, offset: address_of(memory, item, offset),
            self.native,
            secret,
            made=nest.made,
            pointers_made=lambda: pointers_made(nest),
            require=require,
            numbers=lambda item: numbers_of(memory, item),
        )

    def _activate(
        self,
        state: ScopeState,
        found: list[Object],
        memory: Memory,
        numbers: Mapping[str, int | float],
        raw: Sequence[int],
    ) -> None:
        start = time.perf_counter_ns()
        codes = region_codes(self.library, state.file, memory, numbers, list(state.schedule.regions))
        bases = [item.base for item in found]
        read = [address_of(memory, item, 0) if item in memory.rows else item.base for item in found]
        schedule, regions = state.schedule, state.file.numbers
        state.executor = self.layouts.put(state.executor, schedule, read, codes, regions, bases, written=state.written)
        state.pause.in_force(self.tables, raw, bases, time.perf_counter_ns() - start)
        state.used += 1
        state.refused = ""

    def _leave(self, number: int) -> None:
        start = time.perf_counter_ns()
        state = self.scopes[number]
        self._off(state)
        state.nanoseconds += time.perf_counter_ns() - start

    def _off(self, state: ScopeState) -> None:
        state.pause.end(self.tables)
        self.layouts.off(state.executor, state.file.numbers)

    def _mismatch(self, region: int, slot: int) -> None:
        file = self.owner[region]
        self.say(f"scope {file.number}: {mismatch(region, slot)}; the original order runs")
        self._off(self.scopes[file.number])

    def summary(self) -> dict[str, Any]:
        """Counts and times of every region and scope."""
        regions = {loop: number for state in self.scopes.values() for loop, number in state.file.numbers.items()}
        scopes = [(state.file.nest.root, state) for state in self.scopes.values()]
        return run_summary(self.library, self.states, regions, scopes, self.say)
