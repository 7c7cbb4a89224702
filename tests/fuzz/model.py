"""What a kernel is made of. Everything here is plain data; `emit` and `oracle` turn it into C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REAL = ("double", "float")
WRAPPING = ("unsigned", "short", "unsigned char")  # integers whose arithmetic cannot overflow
CODES = {"double": "d", "float": "f", "int": "i", "long": "l", "unsigned": "u", "short": "s", "unsigned char": "c"}

# First contents of an array by name: least and greatest value.
FILLS = {
    "zero": (0, 0),
    "real": (-1, 1),
    "near1": (0.9, 1.1),
    "small": (-99, 99),
    "byte": (0, 255),
    "any": (0, 4294967295),
}


@dataclass(frozen=True)
class Array:
    """An array of one kernel, as its text and the driver around it name it.

    Attributes:
        fill: a name in FILLS, or the very contents.
        storage: `heap`; `static` (a static array that the kernel gets a pointer to); `global` (used by its name);
            `const` (a constant table, used by its name).
        record: the array is a field of the records of this name, all of the same length.
        parent: the array is the part of that array which begins at `offset`.
        passed: whether the kernel knows it.
        prefix: `m->` where the kernel finds it in a structure.
        rows: each element is a row of its own, behind a pointer: `allocated`, or `slices` of one array. Empty: no rows.
        shared: two of the pointers lead to one row. width: elements of the rows, of which the first is used.
    """

    name: str
    type: str
    length: int
    fill: str | tuple[int, ...] = "zero"
    written: bool = False
    storage: str = "heap"
    record: str = ""
    parent: str = ""
    offset: int = 0
    passed: bool = True
    prefix: str = ""
    rows: str = ""
    shared: bool = False
    width: int = 1

    def at(self, index: str) -> str:
        """One element, in the kernel."""
        return self.prefix + self.outside(index)

    def outside(self, index: str) -> str:
        """One element, in the driver."""
        return f"{self.record}[{index}].{self.name}" if self.record else f"{self.name}[{index}]"

    @property
    def base(self) -> str:
        """What points to the first element, or to the first record, in the kernel."""
        return self.prefix + (self.record or self.name)

    @property
    def kept(self) -> str:
        """Where the driver has the elements themselves."""
        return f"{self.name}_kept" if self.rows else self.name

    @property
    def by_name(self) -> bool:
        return self.storage in ("global", "const")


@dataclass(frozen=True)
class Scalar:
    """An argument of the kernel. `later`: what the driver passes instead, in terms of `sweep`, 0 at first."""

    name: str
    type: str
    value: int | float
    later: str = ""


@dataclass(frozen=True)
class Cursor:
    """A variable that the loop moves by the same step each time: a counter, or a pointer that walks."""

    type: str
    name: str
    start: str
    step: str = "1"


@dataclass(frozen=True)
class Loop:
    """The loop around the body.

    Attributes:
        before: lines in front of it. head, tail: lines around its body.
        cursors: what they amount to, for running any iteration at any time.
        jobs: how often the body runs when nothing leaves the loop early.
        test: condition of a loop that ends on its data; the iteration that ends it counts as one more.
    """

    head: tuple[str, ...]
    tail: tuple[str, ...]
    cursors: tuple[Cursor, ...]
    jobs: int
    before: tuple[str, ...] = ()
    test: str = ""


@dataclass(frozen=True)
class Kernel:
    """One loop, with all that is needed to run it.

    Attributes:
        features: names from `features.FEATURES`.
        float_reduction: another order of the iterations may change results by rounding.
        before, body, after: lines of the kernel around and inside of the loop.
        helpers: functions that it calls.
        ahead, between: lines of the driver before and after each call. opening, closing: before and after all calls.
        sweeps: how often a loop of the driver calls it; 1: there is no such loop.
        bundle: the kernel gets its arrays in a structure.
    """

    number: int
    features: tuple[str, ...]
    float_reduction: bool
    arrays: tuple[Array, ...]
    scalars: tuple[Scalar, ...]
    loop: Loop
    body: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    sweeps: int = 3
    bundle: bool = False

    @property
    def name(self) -> str:
        return f"kernel_{self.number}"

    @property
    def n_jobs(self) -> int:
        return self.loop.jobs

    @property
    def source(self) -> str:
        """Text of the loop."""
        return "\n".join(indent([*self.loop.head, *self.body, *self.loop.tail]))


@dataclass(frozen=True)
class Suite:
    """Kernels and the program that runs them.

    Attributes:
        seed: what they were generated from.
        source: the program. lines: for each kernel, the line on which its loop begins.
    """

    seed: int
    kernels: tuple[Kernel, ...]
    source: str
    lines: tuple[int, ...]


def indent(lines: Sequence[str], depth: int = 0) -> list[str]:
    """Lines of C, shifted by how deep they stand in braces."""
    found = []
    for line in lines:
        closes = line.startswith("}")
        found.append("    " * (depth - closes) + line)
        depth += line.count("{") - line.count("}")
    return found


def real(type: str) -> bool:
    return type in REAL


def wraps(type: str) -> bool:
    return type in WRAPPING
