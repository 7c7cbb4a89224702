"""The light host of a rescheduled program, which needs no analysis of loops.

It activates the layout of a scope whose values, objects and index arrays match its schedule, if the listing has the
locations of all pointers (`saved_schedule.py`). The analysis (NumPy, the inspector) takes longer to load than many
programs run, so it is loaded only for other scopes, or if other input takes so long that an inspection may pay.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from tracecut.codegen.schedule.guards.differences import other_number
from tracecut.support.errors import ArtefactError
from tracecut.support.process.beside import price
from tracecut.support.process.load_and_run import loading, own_signals, thread_count
from tracecut.tracer.runtime.hook_slots import named_numbers
from tracecut.tracer.runtime.hooks import ENTER, LEAVE, MISMATCH, PAUSE, PROBE, TRAPS, Tables, mismatch

from .listed_scope import ListedScope
from .pauses import FINAL, MOVED, SLOW
from .run_summary import run_summary, told, why_closed

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from typing import Any, Protocol

    from .active_layouts import ActiveLayouts
    from .run_summary import State

    class Host(Protocol):
        """What looks at loops (`host.Host`)."""

        @property
        def scopes(self) -> Mapping[int, State]: ...
        def expect(self, number: int, raw: Sequence[int], why: str, declined: int, spent: int) -> None: ...
        def enter(self, number: int, pointer: Any) -> None: ...
        def probe(self, region: int) -> None: ...
        def inspected(self, number: int, raw: Sequence[int], per_call: float) -> Iterable[bytes]: ...
        def close(self) -> None: ...
        def summary(self) -> dict[str, Any]: ...


LOADING = 0.4e9  # nanoseconds that it takes to load what inspects
PRICES = 100  # the time that is left has to be so many times the price of a child
Load = Callable[["LightHost"], "Host"]


class LightHost:
    """Hooks of a loaded program.

    Args:
        library: the woven program. listed: its scopes as in the listing. names: its globals, as in `tc_globals`.
        cpus: CPUs of the threads, the first is the program's own. say: where remarks go.
        read: bytes of a file of the result, which raises when they are not those that were written.
        load: makes the host that looks at loops. inspects: whether it may inspect anew. enabled: False only measures.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        listed: Sequence[Mapping[str, Any]],
        names: Sequence[str],
        cpus: Sequence[int],
        *,
        say: Callable[[str], None],
        read: Callable[[str], bytes],
        load: Load,
        inspects: bool = True,
        enabled: bool = True,
    ) -> None:
        self.library = library
        self.names = list(names)
        self.cpus = list(cpus)
        self.say = say
        self.inspects = inspects
        self.enabled = enabled
        numbers = [
            [number for item in listed for number in item["regions"].values()],
            [item["number"] for item in listed],
        ]
        self.tables = Tables(library, *(max([-1, *found]) + 1 for found in numbers))
        self.scopes = {int(item["number"]): ListedScope(item, self.tables, say) for item in listed}
        self.owner = {number: scope for scope in self.scopes.values() for number in scope.listed["regions"].values()}
        self.allowed = os.sched_getaffinity(0)
        self.host: Host | None = None
        self.broken = ""
        self._load, self._read = load, read
        self._calls = {
            "tc_on_enter": ENTER(self._enter),
            "tc_on_leave": LEAVE(self._leave),
            "tc_on_pause": PAUSE(self._pause),
            "tc_on_mismatch": MISMATCH(self._mismatch),
            "tc_on_probe": PROBE(self._probe),
        }
        for name, call in self._calls.items():
            self.tables.set(name, ctypes.cast(call, ctypes.c_void_p).value or 0)
        library.tc_threads(1, (ctypes.c_int32 * 1)(*self.cpus[:1]))  # this process is the one whose scopes count
        self.own_threads = thread_count()
        self.own_signals = own_signals()
        ctypes.c_int32.in_dll(library, "tc_enabled").value = int(enabled)

    def _enter(self, number: int, pointer: Any, traps: int) -> None:
        scope = self.scopes[number]
        start = time.perf_counter_ns()
        scope.entries += 1
        try:
            raw = scope.pause.raw = [int(pointer[place]) for place in range(len(scope.listed["values"]))]
            times = self.tables.states[int(scope.listed["main"])]
            scope.before = times.calls + times.declined
            fresh = self._hear(scope)
            closed = TRAPS if traps else self._closed() or scope.pause.too_costly
            closed = closed or scope.too_few(raw)
            why = closed or self._other_number(scope, raw) or self._use(scope, raw, number, pointer)
            if why and fresh and not closed:
                scope.coming.unfit(why)
            if why:
                self._decline(scope, raw, why, pointer, final=bool(closed))
        except Exception as error:  # the program must not notice
            self._give_up(scope, error)
        self._count(scope, start)

    @cached_property
    def layouts(self) -> ActiveLayouts:
        """The layouts that are in force; the host goes on with them."""
        from .active_layouts import ActiveLayouts

        return ActiveLayouts(self.library, self.tables, self.cpus)

    def _closed(self) -> str:
        """Why nothing may be done here at all; "" when something may."""
        if self.broken:
            return self.broken
        return why_closed(self.own_threads, self.own_signals)

    def _decline(self, scope: ListedScope, raw: list[int], why: str, pointer: Any, *, final: bool) -> None:
        """The original loops run; the first sweep tells how long they take, and so whether an inspection may pay."""
        scope.refused = why
        if scope.coming.awaited:
            scope.coming.ask_later()
            return
        region = int(scope.listed["main"])
        times = self.tables.states[region]
        before, scope.seen = scope.seen, (raw, why, times.declined, times.original_nanoseconds)
        scope.only_waits = not self.inspects or scope.coming.settled(why)
        if final or (scope.only_waits and not scope.comes_back):
            self.say(f"scope {scope.listed['number']}: {why}; the original order runs")
        elif scope.listed["single"]:
            self.tables.probes[region] = 2
        elif before is not None and times.declined > before[2]:
            per_call = (times.original_nanoseconds - before[3]) / (times.declined - before[2])
            if self._may_pay(scope, raw, why, per_call) and not self._inspect_beside(scope, raw, why, per_call):
                host = self._bring(scope, entered=True)
                host.expect(int(scope.listed["number"]), *before)
                host.enter(int(scope.listed["number"]), pointer)

    def _probe(self, region: int) -> None:
        """The main region of a scope is about to run on new input for the second time."""
        scope = self.owner[region]
        start = time.perf_counter_ns()
        try:
            if scope.pause.waiting:
                self._resume(scope, int(scope.listed["number"]))
            elif scope.coming.awaited:
                self._adopt(scope)
            elif scope.coming.slower(self.tables.states[region]):
                self._off(scope)
            elif scope.pause.without:
                self._weigh(scope)
            elif scope.pause.outweighed(self.tables):
                self._off(scope)
                scope.pause.try_without(self.tables)
            elif scope.seen is not None and not self._fits_by_now(scope):
                (raw, why, declined, spent), scope.seen = scope.seen, None
                times = self.tables.states[region]
                per_call = (times.original_nanoseconds - spent) / max(1, times.declined - declined)
                if scope.only_waits:
                    self.say(f"scope {scope.listed['number']}: {why}; the original order runs")
                elif not self._may_pay(scope, raw, why, per_call):
                    # the first sweeps may be quicker than all others: on data that are all zero, in one page
                    scope.seen = (raw, why, times.declined, times.original_nanoseconds)
                    self.tables.probes[region] = 2 * max(1, times.declined - declined)
                elif not self._inspect_beside(scope, raw, why, per_call):
                    host = self._bring(scope, entered=False)
                    host.expect(int(scope.listed["number"]), raw, why, declined, spent)
                    host.probe(region)
        except Exception as error:  # the program must not notice
            self._give_up(scope, error)
        self._count(scope, start)

    def _fits_by_now(self, scope: ListedScope) -> bool:
        """Whether the layout is in force after all: an exit in the first iteration made what the schedule expects.

        Buffers that are allocated when they are first used, say. It is asked before anything is inspected.
        """
        number, raw = int(scope.listed["number"]), scope.pause.raw
        if not scope.comes_back or self.tables.depth[number] != 1:
            return False
        if self._closed() or self._other_number(scope, raw) or self._use(scope, raw, number, None):
            return False
        scope.seen = None
        return True

    def _count(self, scope: ListedScope, start: int) -> None:
        """Add up the time of a call; with that of the host when it was there at the end."""
        scope.nanoseconds += time.perf_counter_ns() - start
        if self.host is not None:
            self.host.scopes[int(scope.listed["number"])].nanoseconds = scope.nanoseconds

    def _pause(self, number: int, final: int) -> None:
        """An exit of a scope begins."""
        scope = self.scopes[number]
        start = time.perf_counter_ns()
        was = (scope.executor is not None and scope.executor.active) or scope.pause.without
        self._off(scope)
        if final:
            scope.seen, scope.refused = None, FINAL
            scope.coming.stop()
        elif was:
            scope.refused = scope.pause.exit(self.tables, time.perf_counter_ns() - start)
        scope.nanoseconds += time.perf_counter_ns() - start

    def _resume(self, scope: ListedScope, number: int) -> None:
        """The first region after an exit is about to run."""
        if not scope.pause.may_resume(self.tables):
            return
        self._off(scope)
        raw, bases = scope.pause.raw, scope.pause.bases
        why = self._closed() or self._use(scope, raw, number, None, bases)
        if why:
            scope.refused = why
            self.say(f"scope {number}: {why}; the original order runs")

    def _weigh(self, scope: ListedScope) -> None:
        """The layout comes back if an iteration of the scope takes no longer with it."""
        number = int(scope.listed["number"])
        if scope.pause.slower(self.tables):
            scope.refused = SLOW
            self.say(f"scope {number}: {SLOW}; the original order runs")
        else:
            scope.refused = self._use(scope, scope.pause.raw, number, None, scope.pause.bases)

    def _leave(self, number: int) -> None:
        start = time.perf_counter_ns()
        self._off(self.scopes[number])
        self.scopes[number].nanoseconds += time.perf_counter_ns() - start

    def _off(self, scope: ListedScope) -> None:
        scope.pause.end(self.tables)
        self.tables.probes[int(scope.listed["main"])] = 0
        if scope.saved is not None:
            self.layouts.off(scope.executor, scope.saved.numbers)

    def _mismatch(self, region: int, slot: int) -> None:
        scope = self.owner[region]
        self.say(f"scope {scope.listed['number']}: {mismatch(region, slot)}; the original order runs")
        self._off(scope)

    def _may_pay(self, scope: ListedScope, raw: list[int], why: str, per_call: float) -> bool:
        """Whether the sweeps that are left take long enough for an inspection, as far as its costs tell."""
        times = self.tables.states[int(scope.listed["main"])]
        done = max(1, times.calls + times.declined - scope.before)
        expected = scope.sweeps(raw)
        left = expected - done if done < expected else done  # as many again, where there are more than expected
        beside = len(self.allowed) > 1
        if per_call * left < (max(LOADING, PRICES * price()) if beside else LOADING):
            told = f"{max(0.0, per_call * left / 1e9):.2g} s are left of its loop: no inspection can pay"
        else:
            told = scope.expects(per_call, left, beside=beside) or ""
        if told and scope.coming.settle(why):
            self.say(f"scope {scope.listed['number']}: {why}; {told}")
        return not told

    def _inspect_beside(self, scope: ListedScope, raw: list[int], why: str, per_call: float) -> bool:
        """Begin an inspection that the program need not wait for, if this host can use what comes of it."""
        if not scope.listed["complete"]:
            return False

        def work() -> Iterable[bytes]:
            return self._bring(scope, entered=False).inspected(int(scope.listed["number"]), raw, per_call)

        return scope.coming.begin(work, self.allowed, why, per_call)

    def _adopt(self, scope: ListedScope) -> None:
        """Put the schedule in force that was made beside the program, if it is there and the scope itself asks."""
        number = int(scope.listed["number"])
        if self.tables.depth[number] == 1 and self._hear(scope):
            self._off(scope)
            times, raw = self.tables.states[int(scope.listed["main"])], scope.pause.raw
            done = times.calls + times.declined - scope.before
            left = max(scope.sweeps(raw) - done, 0)
            left = left or done  # as many again, where there are more than expected
            late = self._closed() or scope.expects(scope.coming.per_call, left, made=True)
            scope.refused = late or self._use(scope, raw, number, None)
            if scope.refused and not late:
                scope.coming.unfit(scope.refused)
            elif scope.refused:
                self.say(f"scope {number}: {scope.refused}; the original order runs")
            else:
                scope.coming.try_out(times)
        scope.coming.ask_later()

    def _hear(self, scope: ListedScope) -> bool:
        """Whether a new schedule has come from beside the program."""
        found = scope.coming.take()
        if found is None:
            return False
        from .saved_schedule import SavedSchedule

        scope.listed, data = found
        scope.saved, scope.executor = SavedSchedule(scope.listed, self.library, self.names, lambda _: data), None
        return True

    def close(self) -> None:
        """The program is at its end."""
        for scope in self.scopes.values():
            scope.coming.stop()
        if self.host is not None:
            self.host.close()

    def _give_up(self, scope: ListedScope, error: Exception) -> None:
        """Nothing of the layout stays behind. Files that are damaged will be at the next entry, too."""
        self._off(scope)
        scope.refused = told(error)
        if isinstance(error, ArtefactError):
            self.broken = scope.refused
        self.say(f"scope {scope.listed['number']}: {scope.refused}; the original order runs")

    def _bring(self, scope: ListedScope, *, entered: bool) -> Host:
        """The host that looks at data, which takes the hooks over. `entered`: it will hear of this entry."""
        if self.host is None:
            try:
                with loading():
                    self.host = self._load(self)
            except Exception as error:  # which takes too long to try again
                self.broken = told(error)
                raise
            for number, known in self.scopes.items():
                state = self.host.scopes[number]
                state.entries, state.refused = known.entries - (entered and known is scope), known.refused
                state.used, state.guard_nanoseconds = known.used, known.guard_nanoseconds
                state.nanoseconds, state.executor = known.nanoseconds, known.executor
                state.pause, state.before, state.coming = known.pause, known.before, known.coming
        return self.host

    def _other_number(self, scope: ListedScope, raw: list[int]) -> str:
        """The first of the guard's numbers that differs: most other input is known by that, and nothing is loaded."""
        listed = scope.listed
        return other_number(listed["guard"]["numbers"], named_numbers(listed["values"], raw), listed["made"])

    def _use(
        self, scope: ListedScope, raw: list[int], number: int, pointer: Any, bases: Sequence[int] | None = None
    ) -> str:
        """Put the layout in force, or have the host decide; what differs when the schedule is not for this input.

        `bases`: where the objects have to lie, if that is known.
        """
        with loading():
            if scope.saved is None:
                from .saved_schedule import SavedSchedule

                scope.saved = SavedSchedule(scope.listed, self.library, self.names, self._read)
            layouts = self.layouts
        saved, start = scope.saved, time.perf_counter_ns()
        objects, found, why = saved.differs(raw, layouts.native, threads=max(1, layouts.threads))
        scope.guard_nanoseconds += time.perf_counter_ns() - start
        if found is None:
            return why
        if not saved.complete:
            self._bring(scope, entered=True).enter(number, pointer)
            return ""
        before = thread_count()
        layouts.start()
        self.own_threads += thread_count() - before
        schedule, places = saved.schedule, [item.base for item in found]
        if bases is not None and places != bases:
            return MOVED
        scope.executor = layouts.put(
            scope.executor, schedule, places, saved.codes(raw, objects), saved.numbers, written=saved.written
        )
        scope.pause.in_force(self.tables, raw, places, time.perf_counter_ns() - start)
        scope.used += bases is None
        scope.refused = ""
        return ""

    def summary(self) -> dict[str, Any]:
        """Counts and times of every region and scope."""
        if self.host is not None:
            return self.host.summary()
        listed = [scope.listed for scope in self.scopes.values()]
        regions = {int(loop): number for item in listed for loop, number in item["regions"].items()}
        scopes = [(scope.listed["root"], scope) for scope in self.scopes.values()]
        return run_summary(self.library, self.tables.states, regions, scopes, self.say)
