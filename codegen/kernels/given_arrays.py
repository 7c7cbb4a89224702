"""The arrays that a caller gives a kernel: whether they fit, where they lie, and whether their indices are its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from tracecut.codegen.devices.dlpack import Tensor, is_tensor, read_tensor
from tracecut.codegen.emulation.arguments import alignment, element, fits, types_of
from tracecut.codegen.emulation.lowering.kernel_text import read_kernel
from tracecut.codegen.emulation.lowering.memory_sites import find_accesses
from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.codegen.schedule.schedule import LoadGuard, Move
from tracecut.support.errors import ArgumentError

from .launchable import CallableKernel, Launchable

KINDS = "a NumPy array or one that knows DLPack"


@dataclass(frozen=True, eq=False)
class OnCard:
    """Bytes of a card that an array lies in. `owner`: keeps them."""

    card: int
    place: int
    bytes: int
    owner: Tensor


Place: TypeAlias = "Bytes | OnCard"


def given_arrays(kernel: CallableKernel, arrays: object, *, own: bool = False) -> list[Place | None]:
    """The bytes of each array of a kernel, in this process or on a card. O(arrays).

    own: None is taken for an array that is fixed: the kernel's own.

    Raises ArgumentError for another number of arrays, and for one whose type, size, order in memory or place does not
    fit, that must not be written, or that shares memory with another.
    """
    if not isinstance(arrays, list | tuple):
        raise ArgumentError(f"arrays is a {type(arrays).__name__}, a list of arrays was expected")
    if len(arrays) > len(kernel.arrays):
        raise ArgumentError(f"the kernel takes {len(kernel.arrays)} arrays, more were given")
    found = [
        None if own and array is None and kernel.arrays[number].fixed else _fitting(kernel, number, array)
        for number, array in enumerate(arrays)
    ]
    if len(found) != len(kernel.arrays):
        raise ArgumentError(f"the kernel takes {len(kernel.arrays)} arrays, {len(found)} were given")
    check_apart(kernel, found)
    return found


def check_apart(kernel: CallableKernel, memory: Sequence[Place | None]) -> None:
    """Raise ArgumentError if two of the arrays that were given share bytes."""
    places = sorted((*_span(item), number) for number, item in enumerate(memory) if item is not None)
    places = [(begin, size, number) for begin, size, number in places if size]
    for (begin, size, one), (following, _, other) in pairwise(places):
        if begin + size > following:
            first, second = sorted((one, other))
            raise ArgumentError(
                f"{name_of(kernel, first)} and {name_of(kernel, second)} share memory",
                hint="Give each a memory of its own.",
            )


def _span(item: Place) -> tuple[int, int]:
    """Where bytes begin, and how many they are: addresses on cards are none of this process."""
    return (item.place, item.bytes) if isinstance(item, OnCard) else (int(item.ctypes.data), item.size)


def name_of(kernel: CallableKernel, number: int) -> str:
    """An array in messages."""
    return f"array {number} ({kernel.arrays[number].name})"


def _fitting(kernel: CallableKernel, number: int, array: Any) -> Place:
    wanted, what = kernel.arrays[number], name_of(kernel, number)
    tensor = None if isinstance(array, np.ndarray) or not is_tensor(array) else read_tensor(array, what)
    if tensor is None and not isinstance(array, np.ndarray):
        raise ArgumentError(f"{what} is a {type(array).__name__}, {KINDS} was expected")
    dtype = array.dtype if tensor is None else tensor.dtype
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(f"{what} is a masked array, one without a mask was expected")
    if dtype.kind not in "iuf" or not dtype.isnative:
        raise ArgumentError(f"{what} has the type {dtype}, numbers in this machine's byte order were expected")
    contiguous = array.flags.c_contiguous if tensor is None else tensor.contiguous
    writable = array.flags.writeable if tensor is None else tensor.writable
    if not contiguous or not (writable or wanted.fixed):
        trouble = "is read-only" if contiguous else "does not lie in one piece in C order"
        raise ArgumentError(f"{what} {trouble}; a C-contiguous, writable array of numbers was expected")
    size = array.nbytes if tensor is None else tensor.nbytes
    if size != wanted.data.size:
        shape = array.shape if tensor is None else tensor.shape
        raise ArgumentError(f"{what} has {size} bytes (shape {shape}), {wanted.data.size} were expected")
    expected, align = kernel.elements[number]
    if expected is not None and not fits(dtype, expected):
        raise ArgumentError(f"{what} has the type {dtype}, {expected[0]}{8 * expected[1]} was expected, or bytes")
    if tensor is None or tensor.card < 0:
        here = array if tensor is None else tensor.here()
        return here.reshape(-1).view(np.uint8)
    if size and tensor.place % align:
        raise ArgumentError(f"{what} lies at an address that is no multiple of {align}")
    return OnCard(tensor.card, tensor.place, size, tensor)


def elements_of(kernel: CallableKernel) -> list[tuple[tuple[str, int] | None, int]]:
    """Of each array: (kind, bytes) of the one scalar type that the kernel accesses it in, None of several or none, and
    what its address has to be a multiple of. O(text of the kernel)."""
    types: list[set[str]] = [set() for _ in kernel.arrays]
    aligns = [1] * len(kernel.arrays)
    parts: list[Launchable] = [kernel] if kernel.combine is None else [kernel, kernel.combine]
    for part in parts:
        accesses = find_accesses(read_kernel(part.ir, part.name), None)
        for place, value in enumerate(part.arguments):
            if not isinstance(value, int | float):
                types[value.array] |= types_of(accesses, place)
                aligns[value.array] = max(aligns[value.array], alignment(accesses, place))
    return [(element(found), align) for found, align in zip(types, aligns, strict=True)]


def check_numbers(kernel: CallableKernel, memory: Sequence[Place | None], get: Callable[[OnCard], Bytes]) -> None:
    """Raise ArgumentError unless the indices and numbers of data in `memory` are those that the kernel was made for.

    get: the bytes of an array on a card; only of those that hold such numbers. O(bytes of these).
    """
    for number, (wanted, place) in enumerate(zip(kernel.arrays, memory, strict=True)):
        loads = _loads(kernel, wanted.object) if wanted.object >= 0 else []
        if place is None or (not wanted.fixed and not loads):
            continue
        what, data = name_of(kernel, number), get(place) if isinstance(place, OnCard) else place
        if wanted.fixed and not np.array_equal(data, wanted.data):
            raise ArgumentError(
                f"{what} has other numbers than the kernel was made for",
                hint="Make the kernel again for other indices: its blocks and data follow from them.",
            )
        for load in loads:
            _check_load(what, load, data, wanted.data)


def _loads(kernel: CallableKernel, object: int) -> list[LoadGuard]:
    """Indices in an object of the program that the schedule was made for."""
    moved = [move for move in kernel.host.moves if move.object == object and not move.renumber]
    loads = [load for load in kernel.host.guard.loads if load.object == object]
    # What moves is no index: these have copies, or new numbers where they lie.
    return [load for load in loads if not any(_meet(load, move) for move in moved)]


def _check_load(what: str, load: LoadGuard, data: npt.NDArray[np.uint8], wanted: Bytes) -> None:
    size = load.stride * (load.count - 1) + load.width if load.count else 0
    for byte in range(load.width):
        place = slice(load.offset + byte, load.offset + size, load.stride)
        if not np.array_equal(data[place], wanted[place]):
            raise ArgumentError(f"{what} has other indices at byte {load.offset} than the kernel was made for")


def _meet(load: LoadGuard, move: Move) -> bool:
    low, high = move.origin + move.stride * move.first, move.origin + move.stride * (move.first + move.count)
    return load.offset < high and low < load.offset + load.stride * load.count


def arrays_here(kernel: CallableKernel, arrays: object) -> list[Bytes]:
    """As `given_arrays`, of arrays in this process, with the numbers in them that the kernel was made for."""
    memory = []
    for number, place in enumerate(given_arrays(kernel, arrays)):
        if isinstance(place, OnCard):  # None is not taken here
            raise ArgumentError(
                f"{name_of(kernel, number)} lies on card {place.card}, an array of this process was expected",
                hint="kernel(*arrays) works on arrays where they lie.",
            )
        if place is not None:
            memory.append(place)
    check_numbers(kernel, memory, lambda place: np.zeros(0, np.uint8))
    return memory
