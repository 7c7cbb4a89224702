"""A range function as its caller sees it: where its code takes each value from. Made by `outline_loop.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from tracecut.ir.llvm import Function

NEW, OLD = "new", "old"  # numbers of the data


@dataclass(frozen=True)
class Group:
    """Accesses that share a base pointer and a way to index.

    Attributes:
        root: that pointer: a local, a global, or the result of a load inside of the loop whose address does not
            vary; empty when there is no single one (a select between arrays, rows of pointers), and the program's own
            pointers stay.
        view: NEW or OLD numbers form the address; NEW with a number for further arrays in one object.
    """

    id: int
    root: str
    sites: tuple[str, ...]
    view: str = NEW


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
