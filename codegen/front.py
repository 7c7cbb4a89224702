"""The host of a rescheduled program, as long as nothing but a few numbers is needed to know that a schedule is no use.

What looks at data (NumPy, the guard, the inspector) takes longer to load than many programs run. It is loaded when a
scope is entered whose numbers, objects and index arrays are those that its schedule was made for; or when other input
has been seen to take so long that an inspection may pay.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..ir.errors import UnsupportedError
from ..tracer.host import at_exit, borrowed_environment, handled_signals, own_signals, run_main, thread_count
from ..tracer.slots import number_of, same_number
from .hooks import ENTER, LEAVE, MISMATCH, PROBE, TRAPS, Tables, expanded
from .mappings import require_own

if TYPE_CHECKING:
    from .live import Host

LOADING = 0.2e9  # nanoseconds that it takes to load what inspects
MOST_OBJECTS = 1 << 12  # of a program with more of them only the numbers are looked at
Load = Callable[["Front"], "Host"]


class Scope:
    """A layout scope as the listing describes it (`firstlook.py`), and what happened to it."""

    def __init__(self, listed: Mapping[str, Any]) -> None:
        self.listed = listed
        self.entries = 0
        self.nanoseconds = 0
        self.refused = ""
        self.settled: set[str] = set()  # reasons for which no inspection will pay
        self.seen: tuple[list[int], str, int, int] | None = None  # slots, why, declined and nanoseconds before


class Front:
    """Hooks of a loaded program.

    Args:
        library: the woven program. listed: its scopes as in the listing. names: its globals, as in `tc_globals`.
        cpus: CPUs of the threads, the first is the program's own. say: where remarks go.
        load: makes the host that looks at data. inspects: whether it may inspect anew. enabled: False only measures.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        listed: Sequence[Mapping[str, Any]],
        names: Sequence[str],
        cpus: Sequence[int],
        *,
        say: Callable[[str], None],
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
        self.scopes = {int(item["number"]): Scope(item) for item in listed}
        self.owner = {number: scope for scope in self.scopes.values() for number in scope.listed["regions"].values()}
        self.tables = Tables(library, max([0, *(number + 1 for number in self.owner)]))
        self.host: Host | None = None
        self.broken = ""
        self._load = load
        self._calls = {
            "tc_on_enter": ENTER(self._enter),
            "tc_on_leave": LEAVE(self._leave),
            "tc_on_mismatch": MISMATCH(lambda region, slot: None),
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
            raw = [int(pointer[place]) for place in range(len(scope.listed["values"]))]
            closed = TRAPS if traps else self._closed()
            why = closed or self._differs(scope, raw)
            if not why:
                self._bring(scope, entered=True).enter(number, pointer)
            else:
                self._decline(scope, raw, why, pointer, final=bool(closed))
        except Exception as error:  # the program must not notice
            self._give_up(scope, error)
        scope.nanoseconds += time.perf_counter_ns() - start

    def _closed(self) -> str:
        """Why nothing may be done here at all; "" when something may."""
        if self.broken:
            return self.broken
        if thread_count() != self.own_threads:
            return "the program runs threads of its own"
        if handled_signals() & ~self.own_signals:
            return "the program handles signals, and a handler could see the data in another order"
        return ""

    def _decline(self, scope: Scope, raw: list[int], why: str, pointer: Any, *, final: bool) -> None:
        """The original loops run; the first sweep tells how long they take, and so whether an inspection may pay."""
        scope.refused = why
        region = int(scope.listed["main"])
        times = self.tables.states[region]
        before, scope.seen = scope.seen, (raw, why, times.declined, times.original_nanoseconds)
        if final or not self.inspects or why in scope.settled:
            self.say(f"scope {scope.listed['number']}: {why}; the original order runs")
        elif scope.listed["single"]:
            self.tables.probes[region] = 2
        elif before is not None and times.declined > before[2]:
            per_call = (times.original_nanoseconds - before[3]) / (times.declined - before[2])
            if self._may_pay(scope, raw, why, per_call):
                host = self._bring(scope, entered=True)
                host.expect(int(scope.listed["number"]), *before)
                host.enter(int(scope.listed["number"]), pointer)

    def _probe(self, region: int) -> None:
        """The main region of a scope is about to run on new input for the second time."""
        scope = self.owner[region]
        start = time.perf_counter_ns()
        try:
            if scope.seen is not None:
                (raw, why, declined, spent), scope.seen = scope.seen, None
                times = self.tables.states[region]
                per_call = (times.original_nanoseconds - spent) / max(1, times.declined - declined)
                if self._may_pay(scope, raw, why, per_call):
                    host = self._bring(scope, entered=False)
                    host.expect(int(scope.listed["number"]), raw, why, declined, spent)
                    host.probe(region)
        except Exception as error:  # the program must not notice
            self._give_up(scope, error)
        scope.nanoseconds += time.perf_counter_ns() - start

    def _leave(self, number: int) -> None:
        self.tables.probes[int(self.scopes[number].listed["main"])] = 0

    def _may_pay(self, scope: Scope, raw: list[int], why: str, per_call: float) -> bool:
        """Whether all time that is left of the loop is more than it takes to load the inspector."""
        terms, sweeps = scope.listed["sweeps"], scope.listed["traced_sweeps"]
        if terms is not None:
            types = scope.listed["values"]
            first, step, bound = (
                number if place < 0 else number_of(raw[place], types[place][1]) or 0 for place, number in terms
            )
            sweeps = abs(bound - first) / max(1, abs(step)) + 1
        if sweeps is None or per_call * (sweeps - 1) >= LOADING:
            return True
        scope.settled.add(why)
        left = max(0.0, per_call * (sweeps - 1) / 1e9)
        self.say(f"scope {scope.listed['number']}: {why}; {left:.2g} s are left of its loop: no inspection can pay")
        return False

    def _give_up(self, scope: Scope, error: Exception) -> None:
        scope.refused = self.broken = str(getattr(error, "message", "") or f"{type(error).__name__}: {error}")
        self.say(f"scope {scope.listed['number']}: {self.broken}; the original order runs")

    def _bring(self, scope: Scope, *, entered: bool) -> Host:
        """The host that looks at data, which takes the hooks over. `entered`: it will hear of this entry."""
        if self.host is None:
            keep = sys.dont_write_bytecode
            sys.dont_write_bytecode = True  # the umask is the program's now
            try:
                with borrowed_environment("OPENBLAS_NUM_THREADS=1"):  # linear algebra, not used here: no idle threads
                    self.host = self._load(self)
            finally:
                sys.dont_write_bytecode = keep
            for number, known in self.scopes.items():
                state = self.host.scopes[number]
                state.entries, state.refused = known.entries - (entered and known is scope), known.refused
        return self.host

    def _differs(self, scope: Scope, raw: list[int]) -> str:
        """What a schedule was not made for, as far as a quick look tells; "" when the guard has to be asked."""
        listed = scope.listed
        types = listed["values"]
        for place, number in listed["numbers"]:
            found = number_of(raw[place], types[place][1])
            if found is None or not same_number(number, found):
                return f"the value {types[place][0]} is {found}, it was {number}"
        if all(item is None for item in listed["objects"]):
            return ""
        alive = self._alive(scope, raw)
        if alive is None:
            return ""
        places: list[tuple[int, int] | None] = []
        for number, item in enumerate(listed["objects"]):
            held = [] if item is None else [each for each in alive if each[0] <= raw[item[0]] < each[0] + each[1]]
            if item is None or len(held) > 1:  # the guard will know
                places.append(None)
                continue
            size = held[0][1] if held else 0
            if not held or item[2] not in (0, size):  # 0: of any size
                return f"object {number} has {size} bytes, it had {item[2]}"
            if raw[item[0]] - held[0][0] != item[1]:
                return f"object {number} is used from another byte on"
            places.append(held[0])
        try:
            require_own(place for place in places if place is not None)
        except UnsupportedError as error:
            return error.message
        words = ctypes.create_string_buffer(expanded(bytes.fromhex(listed["secret"])))
        for number, offset, stride, width, count, first, second in listed["loads"]:
            at, print_ = places[number], (ctypes.c_uint64 * 2)()
            if at is None or offset < 0 or offset + stride * (count - 1) + width > at[1]:
                continue
            whole = ctypes.c_int64
            self.library.tc_fingerprint(
                ctypes.c_void_p(at[0] + offset), whole(count), whole(stride), ctypes.c_int32(width), words, print_
            )
            if [str(print_[0]), str(print_[1])] != [first, second]:
                return f"an index array of {count} entries has other values"
        return ""

    def _alive(self, scope: Scope, raw: list[int]) -> list[tuple[int, int]] | None:
        """Base and size of every object; None when there are too many to look at one by one."""
        bases, sizes = (ctypes.c_uint64 * MOST_OBJECTS)(), (ctypes.c_size_t * MOST_OBJECTS)()
        self.library.tc_objects.restype = ctypes.c_size_t
        count = self.library.tc_objects(bases, sizes, ctypes.c_size_t(MOST_OBJECTS))
        if count + len(self.names) > MOST_OBJECTS:
            return None
        found = list(zip(bases[:count], sizes[:count], strict=True))
        if self.names:
            table = (ctypes.c_uint64 * (2 * len(self.names))).in_dll(self.library, "tc_globals")
            found += [(int(table[2 * place]), int(table[2 * place + 1])) for place in range(len(self.names))]
        return found + [(raw[place], size) for place, size in scope.listed["stack"]]

    def summary(self) -> dict[str, Any]:
        """Counts and times of every region and scope."""
        if self.host is not None:
            return self.host.summary()
        cramped = ctypes.c_int32.in_dll(self.library, "tc_cramped").value
        if cramped:
            self.say(f"{cramped} times the stack had no room for the host; the original order ran")
        regions = {}
        for scope in self.scopes.values():
            for loop, number in scope.listed["regions"].items():
                state = self.tables.states[number]
                regions[loop] = {
                    "calls": state.calls,
                    "declined": state.declined,
                    "nanoseconds": state.nanoseconds,
                    "original_nanoseconds": state.original_nanoseconds,
                }
        scopes = {
            str(scope.listed["root"]): {
                "entries": scope.entries,
                "used": 0,
                "nanoseconds": scope.nanoseconds,
                "guard_nanoseconds": 0,
                "refused": scope.refused,
            }
            for scope in self.scopes.values()
        }
        return {"regions": regions, "scopes": scopes}


def run_listed(
    library: ctypes.CDLL,
    listed: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    words: Sequence[str],
    place: int,
    *,
    cpus: Sequence[int],
    verbose: bool,
    enabled: bool,
    load: Callable[[Front, Callable[[str], None]], Host],
    report: Callable[[dict[str, Any]], None],
) -> NoReturn:
    """Run a woven program in this process, its scopes described by their listing. `place`: address of its argv."""
    told: set[str] = set()

    def say(text: str) -> None:
        if verbose and text not in told:
            told.add(text)
            with contextlib.suppress(OSError):
                os.write(2, f"tracecut: {text}\n".encode())

    front = Front(library, listed, names, cpus, say=say, load=lambda front: load(front, say), enabled=enabled)
    started, process = time.perf_counter(), os.getpid()

    def over() -> None:
        if os.getpid() == process:  # a child of the program has nothing to tell
            report({**front.summary(), "seconds": time.perf_counter() - started})

    at_exit(over)
    run_main(library, words, place)
