"""The schedule of a GPU kernel: thread blocks, and the data that each keeps in shared memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.support.arrays import Ints, Longs, check_offsets, frozen
from tracecut.support.errors import ArgumentError, ArtefactError, ScheduleError
from tracecut.support.files import read_arrays, write_arrays

MAX_LOCAL = 1 << 16  # local numbers have 16 bits
THREADS = (16, 1024)  # least and most threads of a block
MEMBERS = {"gpu_bounds?": "int64", "gpu*_offsets?": "int64", "gpu*_data?": "int32", "gpu*_owned?": "int32"}


@dataclass(frozen=True, eq=False)
class BlockData:
    """The distinct data of one index space that each block touches.

    Attributes:
        space: a place in the scope plan. size: data of the space.
        offsets: int64 (blocks + 1); block b touches `data[offsets[b] : offsets[b + 1]]`, and numbers them from 0 on
            in this sequence.
        data: int32; places in the space's new order: first those that no other block touches (the block owns them),
            then those that it shares, both ascending.
        owned: int32 (blocks); how many each owns.
    """

    space: int
    size: int
    offsets: Longs
    data: Ints
    owned: Ints

    @property
    def most(self) -> int:
        """Data of the block that touches most."""
        return int(np.diff(self.offsets).max(initial=0))


@dataclass(frozen=True, eq=False)
class GpuSchedule:
    """Which jobs each thread block runs, and which data it keeps in shared memory.

    Attributes:
        region: loop id. method: the order of the jobs. threads: of a block; they take its jobs in turns.
        bounds: int64 (blocks + 1); block b runs the jobs at places `bounds[b] … bounds[b + 1]` of the job order.
        spaces: index spaces with data in shared memory; none for kernels that use only global memory.
    """

    region: int
    method: str
    threads: int
    bounds: Longs
    spaces: tuple[BlockData, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", frozen("bounds", self.bounds, np.int64))

    @property
    def blocks(self) -> int:
        return len(self.bounds) - 1

    def verify(self) -> None:
        """Raise ScheduleError unless all numbers are in range. What they mean is checked by `check_blocks.py`."""
        try:
            check_offsets("bounds", self.bounds, int(self.bounds[-1]) if len(self.bounds) else 0)
            if not THREADS[0] <= self.threads <= THREADS[1]:
                raise ArgumentError(f"a block has {self.threads} threads, {THREADS[0]} to {THREADS[1]} were expected")
            for item in self.spaces:
                check_offsets("offsets", item.offsets, item.data.size)
                counts = np.diff(item.offsets)
                if counts.size != self.blocks or item.owned.size != self.blocks:
                    raise ArgumentError(f"space {item.space} has data for {counts.size} of {self.blocks} blocks")
                if np.any(item.owned < 0) or np.any(item.owned > counts) or item.most > MAX_LOCAL:
                    raise ArgumentError(f"a block has {item.most} data of space {item.space}, {MAX_LOCAL} at most")
                if item.data.size and (item.data.min() < 0 or item.data.max() >= item.size):
                    raise ArgumentError(f"a block keeps a datum that space {item.space} does not have")
        except ArgumentError as error:
            raise ScheduleError(f"the GPU schedule of loop {self.region} is damaged: {error.message}") from error

    def parts(self) -> tuple[dict[str, Ints | Longs], dict[str, Any]]:
        """Its arrays by their names in a file (`MEMBERS` has their dtypes), and all else."""
        arrays: dict[str, Ints | Longs] = {"gpu_bounds": self.bounds}
        for place, item in enumerate(self.spaces):
            arrays |= {f"gpu{place}_offsets": item.offsets, f"gpu{place}_data": item.data}
            arrays[f"gpu{place}_owned"] = item.owned
        spaces = [[item.space, item.size] for item in self.spaces]
        return arrays, {"region": self.region, "method": self.method, "threads": self.threads, "spaces": spaces}

    @classmethod
    def of_parts(cls, arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> GpuSchedule:
        """From `parts`, verified. Raises ScheduleError, KeyError, TypeError or ValueError for what is none."""
        spaces = tuple(
            BlockData(
                int(space),
                int(size),
                arrays[f"gpu{place}_offsets"],
                arrays[f"gpu{place}_data"],
                arrays[f"gpu{place}_owned"],
            )
            for place, (space, size) in enumerate(meta["spaces"])
        )
        found = cls(int(meta["region"]), str(meta["method"]), int(meta["threads"]), arrays["gpu_bounds"], spaces)
        found.verify()
        return found

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it. Raises OutputError."""
        return write_arrays(path, "GpuSchedule", *self.parts())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GpuSchedule:
        """Read and verify it. Raises ArtefactError for a damaged file."""
        arrays, meta = read_arrays(path, "GpuSchedule", MEMBERS)
        try:
            return cls.of_parts(arrays, meta)
        except (KeyError, TypeError, ValueError, ScheduleError) as error:
            raise ArtefactError(f"{path} is not a valid GPU schedule: {error}") from error

    def __repr__(self) -> str:
        kept = ", ".join(f"at most {item.most} of {item.size} data" for item in self.spaces)
        jobs = int(self.bounds[-1])
        return f"<GpuSchedule by {self.method}: {jobs} jobs in {self.blocks} blocks of {self.threads} threads; {kept}>"
