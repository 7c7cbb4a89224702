"""A range function as its caller sees it: where its code takes each value from. Made by `outline_loop.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from tracecut.ir.llvm import Function

NEW, OLD = "new", "old"  # numbers of the data


@dataclass(frozen=True)
class IndexTest:
    """A comparison of a loaded index with a constant (`list[k] >= 0`, where a list ends), made by its new number.

    Attributes:
        load: name of the load. predicate: of `icmp`. constant: signed; the index is on the left.
    """

    load: str
    predicate: str
    constant: int

    def same_in(self, low: int, high: int) -> bool:
        """Whether all numbers in [low, high) come out alike: then the new number does what the old one would."""
        if high - low < 2:
            return True
        if self.predicate[0] == "u" and (low < 0 or self.constant < 0):
            return False
        if self.predicate in ("eq", "ne"):
            return not low <= self.constant < high
        bound = self.constant + (self.predicate[1:] in ("le", "gt"))  # the first number on the other side
        return bound <= low or bound >= high


@dataclass(frozen=True)
class Group:
    """Accesses that share a base pointer and a way to index.

    Attributes:
        root: that pointer: a local, a global, or the result of a load inside of the loop whose address does not
            vary; empty when there is no single one (a select between arrays, rows of pointers), and the program's own
            pointers stay.
        view: NEW or OLD numbers form the address; NEW with a number for further arrays in one object.
        tests: comparisons of what its loads read that are made by new numbers.
    """

    id: int
    root: str
    sites: tuple[str, ...]
    view: str = NEW
    tests: tuple[IndexTest, ...] = ()


@dataclass(frozen=True)
class Slot:
    """One 8-byte slot of `in`.

    Attributes:
        kind: `live` (a value from outside, by name), `base` (base pointer of a group), `data-base` (the same for
            the old values of an index), `order` (old number of each iteration) or `start` (of a reduction).
        name: the value of the program that it takes the place of.
    """

    kind: str
    name: str
    type: str
    group: int = -1

    @property
    def value(self) -> str:
        """Its name in the range function."""
        if self.kind == "start":
            return f"{self.name}.tc.start"
        return self.name if self.kind in ("live", "order") else f"%tc.{self.kind}{self.group}"


@dataclass(frozen=True)
class Reduction:
    """An accumulator: `slot` of `in` holds its start, place `out` of `out` receives the result."""

    phi: str
    type: str
    operator: str
    slot: int
    out: int


@dataclass(frozen=True)
class Outlined:
    """The emitted function and how to call it.

    Attributes:
        function: the code; None in a schedule file, which lies beside the machine code. Whoever edits it takes a copy.
        slots: of `in`. groups: of its accesses. reductions: its accumulators.
        locals: stack arrays of the iterations that the function makes for itself: name → its `alloca`.
    """

    name: str
    function: Function | None
    slots: tuple[Slot, ...]
    groups: tuple[Group, ...]
    reductions: tuple[Reduction, ...]
    locals: Mapping[str, str] = field(default_factory=dict)

    @property
    def code(self) -> Function:
        """The function of one that has code."""
        assert self.function is not None
        return self.function

    @property
    def text(self) -> str:
        """The function as text."""
        return str(self.code).replace("\n\n", "\n")
