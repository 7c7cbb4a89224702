"""The run-time support as Python sees it: structures and prototypes of `runtime.c`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from .secret import Secret

OPERATORS = {
    "add": 0,
    "fadd": 1,
    "mul": 2,
    "fmul": 3,
    "and": 4,
    "or": 5,
    "xor": 6,
    "smin": 7,
    "smax": 8,
    "umin": 9,
    "umax": 10,
    "minnum": 11,
    "minimumnum": 11,
    "maxnum": 12,
    "maximumnum": 12,
    "fmin": 13,
    "fmax": 14,
}
TYPES = {"i8": 0, "i16": 1, "i32": 2, "i64": 3, "float": 4, "double": 5}
MAX_SLOTS, MAX_REDUCTIONS, MAX_THREADS = 256, 32, 64


class Plan(ctypes.Structure):
    """How a region runs while its layout is in force; mirrors the C structure of the same name."""

    _fields_ = [
        ("run", ctypes.c_void_p),
        ("jobs", ctypes.c_int64),
        *[(name, ctypes.c_int32) for name in ("slots", "threads", "checks", "patches", "reductions", "privates")],
        *[
            (name, ctypes.c_void_p)
            for name in (
                "bounds",
                "check_slot",
                "check_bytes",
                "check_value",
                "patch_slot",
                "patch_from",
                "patch_add",
                "reduce_slot",
                "reduce_op",
                "reduce_type",
                "private_slot",
                "private_low",
                "private_high",
                "private_origin",
                "private_type",
                "private_memory",
            )
        ],
    ]


class Native:
    """Typed access to the run-time support in a loaded library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        pointer, integer, long = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
        library.tc_move.argtypes = [pointer, pointer, pointer, long, long, integer, integer]
        library.tc_move_pieces.argtypes = [pointer, pointer, pointer, pointer, pointer, long, long]
        library.tc_permute.argtypes = [pointer, pointer, pointer, long, long, integer, integer]
        library.tc_renumber.argtypes = [pointer, long, long, integer, pointer, long, long, integer]
        library.tc_fingerprint.argtypes = [pointer, long, long, integer, pointer, pointer]
        library.tc_execute.argtypes = [pointer, pointer, pointer]
        library.tc_execute.restype = long
        library.tc_threads.argtypes = [integer, pointer]
        for name in ("tc_move", "tc_permute", "tc_move_pieces", "tc_renumber", "tc_fingerprint"):
            getattr(library, name).restype = None

    def threads(self, cpus: Sequence[int]) -> int:
        """Have a pool of one pinned thread for each CPU (the first is the caller's). Returns how many there are."""
        array = np.array(cpus, np.int32)
        return int(self.library.tc_threads(array.size, array.ctypes.data))

    def move(
        self, target: int, source: int, index: npt.NDArray[np.int32], size: int, *, threads: int, scatter: bool = False
    ) -> None:
        """target[i] = source[index[i]] for records of `size` bytes; with `scatter`, target[index[i]] = source[i]."""
        index = np.ascontiguousarray(index)
        self.library.tc_move(target, source, index.ctypes.data, index.size, size, threads, int(scatter))

    def permute(
        self, array: int, room: int, index: npt.NDArray[np.int32], size: int, *, threads: int, scatter: bool = False
    ) -> None:
        """Permute records of `size` bytes in place: array[i] becomes array[index[i]], with `scatter` the inverse.

        `room` is the address of as many bytes for use on the way.
        """
        index = np.ascontiguousarray(index)
        self.library.tc_permute(array, room, index.ctypes.data, index.size, size, threads, int(scatter))

    def move_pieces(
        self,
        target: int,
        source: int,
        order: npt.NDArray[np.int32],
        first: npt.NDArray[np.int64],
        length: npt.NDArray[np.int32],
        size: int,
    ) -> None:
        """Copy pieces of records one behind the other: piece order[i] of the source is piece i of the target."""
        order, first, length = np.ascontiguousarray(order), np.ascontiguousarray(first), np.ascontiguousarray(length)
        self.library.tc_move_pieces(
            target, source, order.ctypes.data, first.ctypes.data, length.ctypes.data, order.size, size
        )

    def renumber(
        self,
        field: int,
        count: int,
        stride: int,
        width: int,
        ranks: npt.NDArray[np.int32],
        low: int,
        high: int,
        *,
        threads: int = 1,
    ) -> None:
        """Replace values v in [low, high) of a field by ranks[v − low] + low."""
        ranks = np.ascontiguousarray(ranks)
        self.library.tc_renumber(field, count, stride, width, ranks.ctypes.data, low, high, threads)

    def fingerprint(self, address: int, count: int, stride: int, width: int, secret: Secret) -> tuple[int, int]:
        """127-bit keyed fingerprint of a strided field."""
        out = np.zeros(2, np.uint64)
        self.library.tc_fingerprint(address, count, stride, width, secret.words.ctypes.data, out.ctypes.data)
        return int(out[0]), int(out[1])

    def execute(self, plan: Plan, given: npt.NDArray[np.uint64], taken: npt.NDArray[np.uint64]) -> int:
        """Run a region once; returns nanoseconds."""
        return int(self.library.tc_execute(ctypes.byref(plan), given.ctypes.data, taken.ctypes.data))


@cache
def support() -> Native:
    """The run-time support by itself, for work on captured memory."""
    from ..tracer.frontend import Flags
    from .link import runtime_object, shared_library

    folder = TemporaryDirectory(prefix="tracecut-support-")
    path = shared_library([runtime_object()], Flags(), Path(folder.name) / "support.so")
    native = Native(ctypes.CDLL(str(path)))
    folder.cleanup()  # the loaded library stays mapped
    return native


def pointer_to(array: npt.NDArray[Any]) -> int:
    return int(array.ctypes.data)
