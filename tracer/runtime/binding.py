"""The run-time support as Python sees it: structures and prototypes of `runtime.c`."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from .buffers import Block
from .fingerprint_key import Secret

TYPE_CHECKING = False  # as in `typing`, whose import takes longer than this one
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    import numpy.typing as npt

_OPERATORS = "add fadd mul fmul and or xor smin smax umin umax minnum maxnum fmin fmax"
OPERATORS = {name: code for code, name in enumerate(_OPERATORS.split())}
OPERATORS |= {"minimumnum": OPERATORS["minnum"], "maximumnum": OPERATORS["maxnum"]}
TYPES = {"i1": 0, "i8": 0, "i16": 1, "i32": 2, "i64": 3, "float": 4, "double": 5}
MAX_SLOTS, MAX_REDUCTIONS, MAX_THREADS = 256, 32, 64
_COUNTS = "slots threads checks patches reductions privates blocks waves"
_ARRAYS = (
    "bounds sequence wave_bounds results check_slot check_bytes check_value patch_slot patch_from patch_add "
    "reduce_slot reduce_op reduce_type private_slot private_low private_high private_origin private_type "
    "private_memory"
)


class Plan(ctypes.Structure):
    """How a region runs while its layout is in force; mirrors the C structure of the same name."""

    _fields_ = [
        ("run", ctypes.c_void_p),
        ("jobs", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in _COUNTS.split()),
        *((name, ctypes.c_void_p) for name in _ARRAYS.split()),
        ("offload", ctypes.c_void_p),
    ]


class Native:
    """Typed access to the run-time support in a loaded library. Arrays of numbers are whatever `Block.of` takes.

    Args:
        library: it. pool: address of the threads that work is done on, None: those of the program (`tc_threads`).
    """

    def __init__(self, library: ctypes.CDLL, pool: int | None = None) -> None:
        self.library = library
        self.pool = pool
        pointer, integer, long = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
        prototypes: dict[str, list[Any]] = {
            "tc_move": [pointer, pointer, pointer, pointer, long, long, integer, integer],
            "tc_move_pieces": [pointer, pointer, pointer, pointer, pointer, pointer, long, long, integer],
            "tc_copy": [pointer, pointer, pointer, long, integer],
            "tc_gather": [pointer, pointer, pointer, pointer, pointer, long, integer],
            "tc_spread": [pointer, pointer, pointer, pointer, pointer, long, integer],
            "tc_touch": [pointer, pointer, long, integer],
            "tc_permute": [pointer, pointer, pointer, pointer, long, long, integer, integer],
            "tc_renumber": [pointer, pointer, long, long, integer, pointer, long, long, integer],
            "tc_fingerprint": [pointer, long, long, integer, pointer, pointer],
            "tc_inverse": [pointer, pointer, long],
            "tc_shifted": [pointer, pointer, long, integer],
            "tc_reversed": [pointer, pointer, long],
            "tc_widened": [pointer, pointer, long, long, integer],
            "tc_piece_offsets": [pointer, pointer, pointer, long, long, integer, integer],
            "tc_row_bounds": [pointer, pointer, pointer, long, integer],
            "tc_put_pieces": [pointer, long, integer, pointer, pointer, long, integer],
            "tc_piece_places": [pointer, pointer, pointer, pointer, long, long, integer, integer],
            "tc_piece_range": [pointer, pointer, pointer, long],
        }
        library.tc_unchanged.argtypes, library.tc_unchanged.restype = [pointer, long], integer
        for name, arguments in prototypes.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, None
        library.tc_execute.argtypes, library.tc_execute.restype = [pointer, pointer, pointer, pointer], long
        library.tc_move_pages.argtypes, library.tc_move_pages.restype = [pointer, pointer, long, integer], long
        library.tc_threads.argtypes = [integer, pointer]

    def threads(self, cpus: Sequence[int]) -> int:
        """Have a pool of one pinned thread for each CPU (the first is the caller's). Returns how many there are."""
        return int(self.library.tc_threads(len(cpus), (ctypes.c_int32 * len(cpus))(*cpus)))

    def move(self, target: int, source: int, index: Any, size: int, *, threads: int, scatter: bool = False) -> None:
        """target[i] = source[index[i]] for records of `size` bytes; with `scatter`, target[index[i]] = source[i]."""
        order = Block.of(index, "i4")
        self.library.tc_move(self.pool, target, source, order.address, order.count, size, threads, int(scatter))

    def permute(self, array: int, room: int, index: Any, size: int, *, threads: int, scatter: bool = False) -> None:
        """Permute records of `size` bytes in place: array[i] becomes array[index[i]], with `scatter` the inverse.

        `room` is the address of as many bytes for use on the way.
        """
        order = Block.of(index, "i4")
        self.library.tc_permute(self.pool, array, room, order.address, order.count, size, threads, int(scatter))

    def move_pages(self, array: int, size: int, *, threads: int) -> int:
        """Move pages to the memory nodes of the threads that use them, each its share. Returns how many were moved.

        None on a machine of one node, or where the kernel does not let the process.
        """
        return int(self.library.tc_move_pages(self.pool, array, size, threads))

    def copy(self, target: int, source: int, size: int, *, threads: int) -> None:
        """Copy `size` bytes."""
        self.library.tc_copy(self.pool, target, source, size, threads)

    def gather(self, target: int, places: Any, sizes: Any, starts: Any, *, threads: int = 1) -> None:
        """Copy memory from many addresses: `sizes` bytes each, to `starts` bytes behind the target."""
        at, length, to = (Block.of(part, "i8") for part in (places, sizes, starts))
        self.library.tc_gather(self.pool, target, at.address, length.address, to.address, at.count, threads)

    def spread(self, source: int, places: Any, sizes: Any, starts: Any, *, threads: int = 1) -> None:
        """The way back from `gather`: `sizes` bytes each, from `starts` bytes behind the source."""
        at, length, to = (Block.of(part, "i8") for part in (places, sizes, starts))
        self.library.tc_spread(self.pool, source, at.address, length.address, to.address, at.count, threads)

    def touch(self, block: Block, *, threads: int) -> Block:
        """Have the pages of a block given memory by the threads, each its share; returns the block."""
        self.library.tc_touch(self.pool, block.address, block.bytes, threads)
        return block

    def move_pieces(
        self, target: int, source: int, order: Any, first: Any, length: Any, size: int, *, threads: int = 1
    ) -> None:
        """Copy pieces of records one behind the other: piece order[i] of the source is piece i of the target."""
        jobs, starts, lengths = Block.of(order, "i4"), Block.of(first, "i8"), Block.of(length, "i4")
        places = (jobs.address, starts.address, lengths.address)
        self.library.tc_move_pieces(self.pool, target, source, *places, jobs.count, size, threads)

    def renumber(
        self, field: int, count: int, stride: int, width: int, ranks: Any, low: int, high: int, *, threads: int = 1
    ) -> None:
        """Replace values v in [low, high) of a field by ranks[v − low] + low."""
        to = Block.of(ranks, "i4")
        self.library.tc_renumber(self.pool, field, count, stride, width, to.address, low, high, threads)

    def fingerprint(self, address: int, count: int, stride: int, width: int, secret: Secret) -> tuple[int, int]:
        """127-bit keyed fingerprint of a strided field."""
        out = (ctypes.c_uint64 * 2)()
        self.library.tc_fingerprint(address, count, stride, width, ctypes.addressof(secret.words), out)
        return out[0], out[1]

    def is_unchanged(self, order: Block) -> bool:
        """Whether an order leaves all where it is. O(items); of one that moves many, it ends early."""
        return bool(self.library.tc_unchanged(order.address, order.count))

    def inverse(self, order: Block) -> Block:
        """`inverse[order[i]] = i`."""
        found = Block.room(order.count, 4)
        self.library.tc_inverse(found.address, order.address, order.count)
        return found

    def shifted(self, order: Block, by: int) -> Block:
        """Every number less `by`."""
        found = Block.room(order.count, 4)
        self.library.tc_shifted(found.address, order.address, order.count, by)
        return found

    def reversed(self, order: Block) -> Block:
        """The same order of records that are counted, and walked, from the last one down."""
        found = Block.room(order.count, 4)
        self.library.tc_reversed(found.address, order.address, order.count)
        return found

    def widened(self, address: int, count: int, stride: int, width: int) -> Block:
        """Signed numbers of `width` bytes, `stride` apart, as 8-byte ones."""
        found = Block.room(count, 8)
        self.library.tc_widened(found.address, address, count, stride, width)
        return found

    def row_bounds(self, target: int, source: int, rows: Block, width: int) -> None:
        """Bounds of `width` bytes of rows that follow each other in another order; one more than there are rows."""
        self.library.tc_row_bounds(target, source, rows.address, rows.count, width)

    def piece_offsets(
        self, order: Block, lengths: Block, count: int, width: int, *, ends: bool, threads: int = 1
    ) -> Block:
        """Where pieces start (or end) that follow each other in an order: `count` numbers of `width` bytes."""
        found = self.touch(Block.room(count, width), threads=threads)
        self.library.tc_piece_offsets(
            found.address, order.address, lengths.address, order.count, count, width, int(ends)
        )
        return found

    def put_pieces(self, target: int, stride: int, width: int, order: Block, lengths: Block, *, ends: bool) -> None:
        """Write where pieces start (or end) that follow each other in an order: numbers of `width` bytes."""
        places = (order.address, lengths.address)
        self.library.tc_put_pieces(target, stride, width, *places, order.count, int(ends))

    def piece_places(
        self, order: Block, starts: Block, lengths: Block, count: int, width: int, *, ends: bool, threads: int = 1
    ) -> Block:
        """Where pieces start (or end) in the program, in an order; one number more is the end of the last piece."""
        found = self.touch(Block.room(count, width), threads=threads)
        self.library.tc_piece_places(
            found.address, order.address, starts.address, lengths.address, order.count, count, width, int(ends)
        )
        return found

    def piece_range(self, starts: Block, lengths: Block) -> tuple[int, int, int]:
        """First record of any piece, the one behind the last, and the number of records in all pieces."""
        out = (ctypes.c_int64 * 3)()
        self.library.tc_piece_range(out, starts.address, lengths.address, lengths.count)
        return out[0], out[1], out[2]

    def execute(self, plan: Plan, given: npt.NDArray[np.uint64], taken: npt.NDArray[np.uint64]) -> int:
        """Run a region once; returns nanoseconds."""
        return int(self.library.tc_execute(self.pool, ctypes.byref(plan), given.ctypes.data, taken.ctypes.data))


_GIVEN: list[Path] = []  # handed in where there is no compiler


def take_support(path: Path) -> None:
    """Use a library of the run-time support that was made elsewhere, such as on a machine with a compiler."""
    _GIVEN[:] = [path]
    support.cache_clear()


@cache
def support() -> Native:
    """The run-time support by itself, for work on captured memory."""
    from tempfile import TemporaryDirectory

    if _GIVEN:
        return Native(ctypes.CDLL(str(_GIVEN[0])))

    from tracecut.tracer.toolchain.clang import Flags

    from .link import runtime_object, shared_library

    folder = TemporaryDirectory(prefix="tracecut-support-")
    path = shared_library([runtime_object()], Flags(), Path(folder.name) / "support.so")
    native = Native(ctypes.CDLL(str(path)))
    folder.cleanup()  # the loaded library stays mapped
    return native
