"""What the memory model has to know of a GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from tracecut.support import memory_amounts
from tracecut.support.errors import ArgumentError, ArtefactError, known_names

from .description_file import fields_of

FOLDER = Path(__file__).parent / "data"
SECTOR, LINE = 32, 128  # bytes; what a warp request is counted in, and what a tag of L1 and L2 stands for
WARP = 32  # lanes
SCOPES = ("warp", "block")
# Fields that may be 0: a cache that is not there, and what has no overhead.
_MAY_BE_ZERO = {"l1_size", "read_only_size", "l2_size", "l2_bandwidth", "shared_reserve", "launch_overhead"}


@dataclass(frozen=True)
class Gpu:
    """A GPU. Sizes are bytes, rates of the whole card bytes a second, rates of a multiprocessor are per cycle.

    Attributes:
        name: what it is called.
        arch: compute capability as compilers write it, such as "sm_90".
        multiprocessors: how many it has.
        clock: cycles a second, of a multiprocessor at work.
        warp_size: lanes of a warp, 32.
        request_lanes: lanes whose accesses are coalesced together: a warp, or half of one (compute capability 1.x).
        max_warps, max_blocks, max_threads: that reside on a multiprocessor.
        max_block_threads: of one block.
        registers: of a multiprocessor, 32 bits each. max_registers: of a thread.
        register_unit: registers are given to a warp or block (`register_scope`) in multiples of it.
        warp_unit: warps that may have registers come in multiples of it.
        shared_memory, shared_block: most shared memory of a multiprocessor, of a block.
        shared_reserve: what the system takes of it for each block. shared_unit: it is given in multiples of this.
        carveouts: sizes that the shared part of a unified L1 may have, rising; () where it is not unified.
        l1_size: of the L1; where it is unified with shared memory, of both together.
        l1_global: whether global loads without a hint go through it.
        l1_ways: of the model's sets.
        l1_tags: lines that it looks up in a cycle.
        read_only_size: of a texture cache apart, which read-only loads go through; 0: they go through the L1.
        banks: of shared memory and L1, 4 bytes a cycle each.
        l2_size: 0 without one. l2_ways: of the model's sets.
        l2_bandwidth, hbm_bandwidth: that kernels reach. memory: of the card.
        issue_rate: instructions of warps that a multiprocessor begins in a cycle.
        memory_rate: those among them that access memory.
        l2_atomic: lines that the L2 is asked for in the time that it takes for one lane of an atomic access.
        shared_loop_4, shared_loop_8: wavefronts of an atomic access of 4 and 8 bytes of shared memory that the
            hardware makes of compare-and-swap, for each of a plain access.
        shared_latency, loop_latency, l1_latency, l2_latency: cycles that a warp waits for an access of shared memory,
            for such an atomic one, and for loads that the L1 has and has not; fitted, since it is not known how many
            accesses a thread has under way.
        overlap: how well memory, L2, multiprocessors and waiting hide behind each other, see `roofline.together`.
        launch_overhead: seconds, of one kernel after the other.
    """

    name: str
    arch: str
    multiprocessors: int
    clock: float
    warp_size: int
    request_lanes: int
    max_warps: int
    max_blocks: int
    max_threads: int
    max_block_threads: int
    registers: int
    max_registers: int
    register_unit: int
    register_scope: str
    warp_unit: int
    shared_memory: int
    shared_block: int
    shared_reserve: int
    shared_unit: int
    carveouts: tuple[int, ...]
    l1_size: int
    l1_global: bool
    l1_ways: int
    l1_tags: int
    read_only_size: int
    banks: int
    l2_size: int
    l2_ways: int
    l2_bandwidth: float
    hbm_bandwidth: float
    memory: int
    issue_rate: float
    memory_rate: float
    l2_atomic: float
    shared_loop_4: float
    shared_loop_8: float
    shared_latency: float
    loop_latency: float
    l1_latency: float
    l2_latency: float
    overlap: float
    launch_overhead: float

    def __post_init__(self) -> None:
        self.verify()

    def verify(self) -> None:
        """Raises ArgumentError, which names the field, unless all that is stated fits together."""
        for field in fields(self):
            value: Any = getattr(self, field.name)
            low = 0 if field.name in _MAY_BE_ZERO else 1e-9
            kind: type = {"str": str, "int": int, "float": float, "bool": bool}.get(str(field.type), tuple)
            if type(value) not in ((float, int) if kind is float else (kind,)):
                raise ArgumentError(f"{field.name} = {value!r}, {kind.__name__} was expected")
            if kind in (int, float) and not low <= value < float("inf"):
                least = "at least 0" if low == 0 else "a positive, finite number"
                raise ArgumentError(f"{field.name} = {value!r}, {least} was expected")
        self._check_limits()
        self._check_caches()

    def _check_limits(self) -> None:
        if self.warp_size != WARP or self.request_lanes not in (WARP, WARP // 2):
            raise ArgumentError(f"warp_size = {self.warp_size}, request_lanes = {self.request_lanes}: 32, and 32 or 16")
        if self.max_threads != self.max_warps * self.warp_size:
            raise ArgumentError(f"max_threads = {self.max_threads}: {self.max_warps} warps of {self.warp_size}")
        if self.max_block_threads > self.max_threads:
            raise ArgumentError(f"max_block_threads = {self.max_block_threads} is above max_threads")
        if self.register_scope not in SCOPES:
            raise ArgumentError(f"register_scope = {self.register_scope!r}, one of {SCOPES} was expected")
        if self.shared_block + self.shared_reserve > self.shared_memory:
            raise ArgumentError(f"shared_block = {self.shared_block} and its reserve are more than shared_memory")
        if self.banks not in (16, 32):
            raise ArgumentError(f"banks = {self.banks}, 16 or 32 were expected")

    def _check_caches(self) -> None:
        rising = sorted({size for size in self.carveouts if type(size) is int and size >= 0})
        if list(self.carveouts) != rising:
            raise ArgumentError(f"carveouts = {list(self.carveouts)}, rising sizes were expected")
        if self.carveouts and self.carveouts[-1] != self.shared_memory:
            raise ArgumentError(f"carveouts end with {self.carveouts[-1]}, with shared_memory they should")
        least = self.shared_memory if self.carveouts else 0
        for name, low in (("l1_size", least), ("read_only_size", 0), ("l2_size", 0)):
            size = getattr(self, name)
            if size < low or size % LINE:
                raise ArgumentError(f"{name} = {size}, at least {low} and a multiple of {LINE} was expected")
        for name, ways in (("l1_size", "l1_ways"), ("read_only_size", "l1_ways"), ("l2_size", "l2_ways")):
            if 0 < getattr(self, name) < LINE * getattr(self, ways):
                raise ArgumentError(
                    f"{name} = {getattr(self, name)} holds no set of {ways} = {getattr(self, ways)} lines"
                )
        if (self.l2_size == 0) != (self.l2_bandwidth == 0):
            raise ArgumentError(f"l2_size = {self.l2_size}, l2_bandwidth = {self.l2_bandwidth}: both or none is 0")

    @property
    def unified(self) -> bool:
        """Whether L1 and shared memory are one memory, and one path to it."""
        return bool(self.carveouts)

    def l1_beside(self, shared: int) -> int:
        """Bytes of L1 beside that much shared memory of a multiprocessor: what the smallest carve-out leaves."""
        if not self.unified:
            return self.l1_size
        return self.l1_size - next(size for size in self.carveouts if size >= shared)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Gpu:
        """Read a TOML file. Raises ArtefactError, which names the path and the key."""
        kinds = {field.name: str(field.type) for field in fields(cls)}
        found: dict[str, Any] = fields_of(Path(path), kinds)
        try:
            return cls(**found)
        except ArgumentError as error:
            raise ArtefactError(f"{path}: {error.message}") from error

    def __repr__(self) -> str:
        l2 = f"L2 {memory_amounts.size(self.l2_size)}, " if self.l2_size else ""
        return (
            f"<Gpu {self.name}, {self.arch}: {self.multiprocessors} multiprocessors, {l2}{self.hbm_bandwidth:.3g} B/s>"
        )


def names() -> tuple[str, ...]:
    """The GPUs that the package describes, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def gpu(name: str = "h200") -> Gpu:
    """A GPU by its name (`names()`), by the path of a TOML file, or by a compute capability such as "sm_90".

    A compute capability stands for the described GPU that has it; of several for the one with the largest memory.

    Raises:
        ArgumentError: no such GPU, or none of that compute capability, with all known ones.
        ArtefactError: a damaged file.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"gpu is {name!r}, a name was expected", hint=f"Known: {', '.join(names())}.")
    if name in names():
        return Gpu.load(FOLDER / f"{name}.toml")
    if name.endswith(".toml"):
        return Gpu.load(name)
    known = [gpu(each) for each in names()]
    fitting = [each for each in known if each.arch == name]
    if fitting:
        return max(fitting, key=lambda each: each.memory)
    archs = sorted({each.arch for each in known}, key=lambda arch: int(arch.removeprefix("sm_")))
    if name.startswith("sm_"):
        raise ArgumentError(f"no GPU of {name} is described", hint=f"Known: {', '.join(archs)}; or name a TOML file.")
    raise ArgumentError(f"{name!r} names no GPU", hint=known_names(name, [*names(), *archs]))
