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
WEARY = "its layout had to be left so often that it cost more than it gained"
FINAL = "a pointer was replaced on a way that seldom runs"
MOVED = "an array lies elsewhere after an exit"


@dataclass
class Pause:
    """An entry of a scope, as far as its exits need it.

    Attributes:
        pays_after: calls of the main region that pay for the copies of one exit.
        raw: values that the scope was entered with. bases: addresses of its objects.
        waiting: the layout is not in force, and the next region asks for it.
        lost: calls that would have been needed to pay for the copies until now, those that there were taken off.
    """

    pays_after: float
    raw: list[int] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    waiting: bool = False
    lost: float = 0.0
    _calls: int = 0

    @property
    def weary(self) -> bool:
        return self.lost > PATIENCE * self.pays_after

    def begin(self, raw: Sequence[int], bases: Iterable[int], calls: int) -> None:
        """The layout is in force. `calls`: of the main region until now."""
        self.raw, self.bases = list(raw), list(bases)
        self.waiting, self._calls = False, calls

    def left(self, calls: int) -> None:
        """The layout is left at an exit, and comes back if that pays."""
        self.lost = max(0.0, self.lost + self.pays_after - (calls - self._calls))
        self.waiting = not self.weary

    def ask(self, tables: Tables, regions: Iterable[int]) -> None:
        """Have the next call of each region ask for the layout."""
        for region in regions:
            tables.probes[region] = int(self.waiting)
