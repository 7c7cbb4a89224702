"""When a layout comes back into force after an exit of its scope. Light.

At an exit the data go back to their places; the next region that runs asks for the layout again. It gets it if
everything that the schedule assumes holds as when the scope was entered, its arrays lie where they lay, and exits are
not so frequent that the copies cost more than what runs between them gains.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tracecut.tracer.runtime.hooks import Tables

PATIENCE = 3  # copies that may be lost before a layout is given up
COSTLY = "its layout had to be left so often that it cost more than it gained"
FINAL = "a pointer was replaced on a way that seldom runs"
MOVED = "an array lies elsewhere after an exit"


@dataclass
class Pause:
    """An entry of a scope, as far as its exits need it.

    Attributes:
        scope: its number. main: its main region. regions: all of them.
        pays_after: calls of the main region that pay for the copies of one exit.
        raw: values that the scope was entered with. bases: addresses of its objects.
        waiting: the layout is not in force, and the next region asks for it.
        lost: calls that would have been needed to pay for the copies until now, those that there were taken off.
    """

    scope: int
    main: int
    regions: tuple[int, ...]
    pays_after: float
    raw: list[int] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    waiting: bool = False
    lost: float = 0.0
    _calls: int = 0

    @property
    def too_costly(self) -> str:
        """Why the layout is given up for what its exits cost, empty while it is not."""
        return COSTLY if self.lost > PATIENCE * self.pays_after else ""

    def in_force(self, tables: Tables, raw: Sequence[int], bases: Iterable[int]) -> None:
        """The layout is in force."""
        self.raw, self.bases = list(raw), list(bases)
        self.waiting, self._calls = False, tables.states[self.main].calls
        tables.in_force[self.scope] = 1

    def end(self, tables: Tables) -> None:
        """The layout is not in force, and nobody asks for it."""
        self.waiting = False
        tables.in_force[self.scope] = 0

    def exit(self, tables: Tables) -> str:
        """An exit has ended the layout, which comes back if that pays. Returns why it does not, else nothing."""
        calls = tables.states[self.main].calls - self._calls
        self.lost = max(0.0, self.lost + self.pays_after - calls)
        self.waiting = not self.too_costly
        self._ask(tables)
        return self.too_costly

    def may_resume(self, tables: Tables) -> bool:
        """Whether a region that asks is one of the scope itself. A call in the exit may have come to it: then later."""
        if tables.depth[self.scope] != 1:
            self._ask(tables)
            return False
        return True

    def _ask(self, tables: Tables) -> None:
        """Have the next call of each region ask for the layout."""
        for region in self.regions:
            tables.probes[region] = int(self.waiting)
