"""When a layout comes back into force after an exit of its scope. Light.

At an exit the data go back to their places; the next region that runs asks for the layout again. It gets it if
everything that the schedule assumes holds as when the scope was entered, its arrays lie where they lay, and exits are
not so frequent that the copies cost more than what runs between them gains. How often exits come is up to the input:
once two of them have come too early, the original order runs for so long that what was lost is little beside it. These
sweeps, and the copies, are measured; that tells better what a layout gains here than the run that was traced.

Loops beside the regions that look records up take longer than they did, and how long they run may be up to the data. As
long as all that is done beside the sweeps takes less than these gain, that cannot matter. Once it takes more, two
iterations of the scope run in the original order, to see which of the two is quicker.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from .coming_schedule import MOST

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tracecut.tracer.runtime.hooks import Tables

PATIENCE = 3  # copies that may be lost before a layout is given up
SPARED = 25  # sweeps in the original order for each whose gain was lost
LEAST = 0.05  # of a sweep's time, that it gains where less was measured: what is measured is not exact
COSTLY = "its layout had to be left so often that it cost more than it gained"
FINAL = "a pointer was replaced on a way that seldom runs"
MOVED = "an array lies elsewhere after an exit"
WATCHED, WITHOUT, LATER = 4, 2, 4  # sweeps that are looked at, those without the layout; how many times as many later
SLOW = "looking records up beside the sweeps takes more than these gain"


@dataclass
class Pause:
    """An entry of a scope, as far as its exits need it.

    Attributes:
        scope: its number. main: its main region. regions: all of them.
        pays_after: calls of the main region that pay for the copies of one exit, by the run that was traced.
        gain: of a sweep in the new order, as a share of its time, where something looks records up; 0: nothing does.
        raw: values that the scope was entered with. bases: addresses of its objects.
        waiting: the layout is not in force, and the next region asks for it.
        lost: calls that would have been needed to pay for the copies until now, those that there were taken off.
        without: the layout is not in force, to see how long that takes.
    """

    scope: int
    main: int
    regions: tuple[int, ...]
    pays_after: float
    gain: float = 0.0
    raw: list[int] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    waiting: bool = False
    lost: float = 0.0
    without: bool = False
    clock: Callable[[], int] = time.perf_counter_ns
    _calls: int = 0
    _came: int = 0  # nanoseconds that the copies took when it came into force
    _copy: int = 0  # the least nanoseconds that an exit and coming into force before it took; 0: not known
    _early: int = 0  # exits, one behind the other, that came before the copies had paid
    _watched: tuple[int, int, int] | None = None  # since when: nanoseconds, sweeps, and nanoseconds of these
    _sweeps: int = WATCHED
    _needed: float = 0.0  # as `pays_after`, as far as is known by now
    _step: float = 0.0  # nanoseconds of an iteration of the scope with the layout

    def __post_init__(self) -> None:
        self._needed = self.pays_after

    @property
    def too_costly(self) -> str:
        """Why the layout is given up for what its exits cost, empty while it is not."""
        return COSTLY if self.lost > PATIENCE * self._needed else ""

    def in_force(self, tables: Tables, raw: Sequence[int], bases: Iterable[int], spent: int = 0) -> None:
        """The layout is in force. `spent`: nanoseconds that this took; 0: not known."""
        self.raw, self.bases, self._came = list(raw), list(bases), spent
        self.waiting, self._calls = False, tables.states[self.main].calls
        tables.in_force[self.scope] = 1
        if self.gain:
            self._watch(tables, self._sweeps)

    def end(self, tables: Tables) -> None:
        """The layout is not in force, and nobody asks for it."""
        self.waiting = self.without = False
        self._watched = None
        tables.in_force[self.scope] = 0

    def exit(self, tables: Tables, spent: int = 0) -> str:
        """An exit has ended the layout, which comes back if that pays. Returns why it does not, else nothing.

        `spent`: nanoseconds that ending it took.
        """
        calls = tables.states[self.main].calls - self._calls
        before, self._needed = self._needed, self._pays_after(tables, spent)
        self.lost *= self._needed / before if before else 1.0
        self._early = self._early + 1 if calls < self._needed else 0
        self.lost = max(0.0, self.lost + self._needed - calls)
        self.waiting = not self.too_costly
        self._ask(tables)
        if self.waiting and self._early > 1:
            for region in self.regions:
                tables.probes[region] = 0
            tables.probes[self.main] = min(MOST, math.ceil(SPARED * self.lost) + 1)
        return self.too_costly

    def _pays_after(self, tables: Tables, spent: int) -> float:
        """Calls that pay for the copies of an exit, as far as these and the sweeps in both orders were measured."""
        known = self._copy > 0  # the first one takes longer
        if self._came:
            self._copy = min(self._copy or self._came + spent, self._came + spent)
        times = tables.states[self.main]
        if not (self.pays_after and known and times.declined and times.calls):
            return self.pays_after
        original = times.original_nanoseconds / times.declined
        return self._copy / max(original - times.nanoseconds / times.calls, LEAST * original, 1.0)

    def may_resume(self, tables: Tables) -> bool:
        """Whether a region that asks is one of the scope itself. A call in the exit may have come to it: then later."""
        if tables.depth[self.scope] != 1:
            self._ask(tables)
            return False
        return True

    def _watch(self, tables: Tables, sweeps: int) -> None:
        times = tables.states[self.main]
        self._watched = self.clock(), times.calls + times.declined, times.nanoseconds
        tables.probes[self.main] = sweeps + 1

    def _seen(self, tables: Tables) -> tuple[float, float]:
        """Nanoseconds of an iteration of the scope, and of a sweep in it, since they are watched."""
        assert self._watched is not None
        start, sweeps, spent = self._watched
        times = tables.states[self.main]
        count = max(1, times.calls + times.declined - sweeps)
        return (self.clock() - start) / count, (times.nanoseconds - spent) / count

    def outweighed(self, tables: Tables) -> bool:
        """Whether the layout has to be left for a while, since what is done beside the sweeps may cost what they gain.

        `try_without` is to be called then, when it is left."""
        if self._watched is None or self.without:
            return False
        self._step, sweep = self._seen(tables)
        if self._step - sweep > self.gain * sweep and tables.depth[self.scope] == 1:
            return True
        self._sweeps *= LATER
        self._watch(tables, self._sweeps)
        return False

    def try_without(self, tables: Tables) -> None:
        """The layout is left, to see how long an iteration of the scope takes without it."""
        self.without = True
        self._watch(tables, WITHOUT)

    def slower(self, tables: Tables) -> bool:
        """Whether it took longer with the layout. Else that may come back into force, and is looked at again later."""
        step, _ = self._seen(tables)
        self.without, self._watched = False, None
        self._sweeps *= LATER
        return step < self._step

    def _ask(self, tables: Tables) -> None:
        """Have the next call of each region ask for the layout."""
        for region in self.regions:
            tables.probes[region] = int(self.waiting)
