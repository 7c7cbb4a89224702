"""What a kernel did wrong: races, accesses outside of arrays, barriers that not all threads reach."""

from __future__ import annotations

from dataclasses import dataclass

# In the order of `machine.h`. Behind the first FATAL the run has no result.
KINDS = (
    "shared race",
    "global race",
    "out of bounds",
    "uninitialised read",
    "misaligned access",
    "divergent barrier",
    "warp mask",
    "deadlock",
    "livelock",
    "endless loop",
    "consumer",
    "too many events",
    "out of memory",
)
FATAL = KINDS.index("divergent barrier")
_SAID = {
    "shared race": "two threads touch one word of shared memory, and no barrier comes between them",
    "global race": "two threads touch one word of global memory without atomics, and nothing orders them",
    "out of bounds": "an access lies outside of its array",
    "uninitialised read": "shared memory is read before anything was written there",
    "misaligned access": "an address is not a multiple of the size of its access",
    "divergent barrier": "not all threads of a block come to the same barrier",
    "warp mask": "a thread calls a warp function whose mask does not name it",
    "deadlock": "threads of a warp wait for others that never come",
    "livelock": "all threads that run wait for memory to change",
    "endless loop": "a thread does not leave a loop",
    "consumer": "the consumer of the trace stopped the run",
    "too many events": "a warp has more accesses than a trace can hold (2^31)",
    "out of memory": "there is no memory for the emulation",
}


@dataclass(frozen=True)
class Place:
    """One of the two sides of a fault.

    Attributes:
        where: `file:line`; where the kernel has none, the number of the site and the text of the instruction.
        site: number of the access in the table of sites, −1 of a barrier or a return.
        block: linear number, −1 when it does not matter. thread: linear number in its block.
        does: what the thread does there: `loads`, `stores`, `updates`, `waits`, `has ended`, `runs`.
    """

    where: str
    site: int
    block: int
    thread: int
    does: str

    def __str__(self) -> str:
        return f"thread {self.thread} of block {self.block} {self.does} at {self.where}"


@dataclass(frozen=True)
class Fault:
    """A rule of the machine that a kernel broke.

    Attributes:
        kind: of KINDS. kernel: its name.
        array: the parameter or shared variable, empty when it is not known. offset: in bytes from its start.
        places: where; of two accesses the earlier one first.
        count: how often the same two places met (at most one a cell and access).
    """

    kind: str
    kernel: str
    array: str
    offset: int
    places: tuple[Place, ...]
    count: int

    @property
    def is_fatal(self) -> bool:
        """Whether the run ended there, without a result."""
        return KINDS.index(self.kind) >= FATAL

    def __str__(self) -> str:
        target = f", byte {self.offset} of {self.array}" if self.array else ""
        return f"{self.kind} in {self.kernel}{target}: {_SAID[self.kind]}: {'; '.join(map(str, self.places))}"
