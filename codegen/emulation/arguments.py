"""What a kernel is launched with, checked against what its parameters are."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.llvm import int_bits
from tracecut.support.argument_checks import whole_number
from tracecut.support.errors import ArgumentError

from .lowering.host_function import SHARED_CAPACITY
from .lowering.kernel_text import KernelText
from .lowering.memory_sites import Accesses

MOST_THREADS = 1024
GRID = (2**31 - 1, 65535, 65535)
BLOCK = (1024, 1024, 64)
_FLOATS = {"float": ("float32", 4), "double": ("float64", 8), "half": ("float16", 2)}


@dataclass(frozen=True, eq=False)
class Within:
    """An address in an array, or near it, as an argument: all of the array may be touched from there.

    Several arguments may lie in one array. A promise of the kernel that one is nobody else's is about the bytes that
    are touched.

    Attributes:
        array: C-contiguous. offset: bytes from its begin; negative, or behind its end, where indices lead back.
    """

    array: npt.NDArray[Any]
    offset: int


@dataclass(frozen=True, eq=False)
class Array:
    """An array that was passed. `bytes` may be touched; `place`: of the parameter.

    `within`: other arguments may lie in the same array.
    """

    name: str
    place: int
    address: int
    bytes: int
    itemsize: int
    owner: Any
    within: bool = False


@dataclass(frozen=True, eq=False)
class Arguments:
    """Checked arguments: one 8-byte slot each (float32 in the lower half), and the arrays among them."""

    slots: npt.NDArray[np.uint64]
    arrays: tuple[Array, ...]


def triple(given: int | Sequence[int], name: str, most: Sequence[int], least: int) -> tuple[int, int, int]:
    """Three sizes of one to three given ones."""
    try:
        sizes = [operator.index(given)] if not isinstance(given, Sequence) else [operator.index(one) for one in given]
    except TypeError as error:
        raise ArgumentError(f"{name} is {given!r}, one to three integers were expected") from error
    if not 1 <= len(sizes) <= 3:
        raise ArgumentError(f"{name} has {len(sizes)} sizes, one to three were expected")
    sizes += [1] * (3 - len(sizes))
    for axis, size, bound in zip("xyz", sizes, most, strict=True):
        if not least <= size <= bound:
            raise ArgumentError(f"{name}.{axis} is {size}, {least} to {bound} were expected")
    return sizes[0], sizes[1], sizes[2]


def check_geometry(grid: Any, block: Any) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Sizes of grid and block. Raises ArgumentError for those that no card takes."""
    sizes, threads = triple(grid, "grid", GRID, 0), triple(block, "block", BLOCK, 1)
    if math.prod(threads) > MOST_THREADS:
        raise ArgumentError(f"block has {math.prod(threads)} threads, at most {MOST_THREADS} were expected")
    return sizes, threads


def check_shared(shared_bytes: int, static: int) -> int:
    """Bytes of shared memory that a launch asks for, beside those of the text."""
    return whole_number("shared_bytes", shared_bytes, 0, SHARED_CAPACITY - static)


def check_arguments(
    kernel: KernelText, accesses: Accesses, given: Sequence[Any], extents: Mapping[int, int] | None
) -> Arguments:
    """Slots of all arguments. O(arguments² + accesses).

    Args:
        given: an array (or a place `Within` one) for each pointer, a number for each other parameter.
        extents: place of a pointer parameter → bytes of the array that the kernel may touch.

    Raises ArgumentError naming the argument, what it is and what was expected.
    """
    if len(given) != len(kernel.parameters):
        raise ArgumentError(
            f"arguments has {len(given)} entries, {kernel.name} has {len(kernel.parameters)} parameters"
        )
    pointers = {place for place, parameter in enumerate(kernel.parameters) if parameter.type.startswith("ptr")}
    for place in extents or {}:
        if place not in pointers:
            raise ArgumentError(f"extents names parameter {place} of {kernel.name}, which is no pointer")
    slots = np.zeros(max(1, len(given)), np.uint64)
    arrays = []
    for place, (parameter, value) in enumerate(zip(kernel.parameters, given, strict=True)):
        name = f"arguments[{place}] ({parameter.name})"
        if place in pointers:
            offset = value.offset if isinstance(value, Within) else 0
            array = _array(kernel, accesses, place, name, value, (extents or {}).get(place))
            arrays.append(array)
            slots[place] = (array.address + offset) % (1 << 64)
        else:
            slots[place : place + 1].view(np.uint8)[:] = np.frombuffer(_number(parameter.type, name, value), np.uint8)
    _check_overlaps(kernel, accesses, arrays)
    return Arguments(slots, tuple(arrays))


def _number(type: str, name: str, value: Any) -> bytes:
    if type in _FLOATS:
        if isinstance(value, (complex, str, bytes, np.ndarray)) or not hasattr(value, "__float__"):
            raise ArgumentError(f"{name} is {value!r}, a number was expected ({_FLOATS[type][0]})")
        code = {"float": "f", "double": "d", "half": "e"}[type]
        try:
            return struct.pack(f"<{code}", float(value)).ljust(8, b"\0")
        except OverflowError as error:
            raise ArgumentError(f"{name} is {value!r}, which {_FLOATS[type][0]} cannot hold") from error
    bits = int_bits(type)
    if bits is None or bits > 64:
        raise ArgumentError(f"{name} has the type {type}, which cannot be passed here")
    try:
        whole = operator.index(value)
    except TypeError as error:
        raise ArgumentError(f"{name} is {value!r}, an integer was expected ({type})") from error
    if not -(1 << bits - 1) <= whole < 1 << bits:
        raise ArgumentError(f"{name} is {whole}, which {type} cannot hold")
    return (whole % (1 << bits)).to_bytes(8, "little")


def _array(kernel: KernelText, accesses: Accesses, place: int, name: str, value: Any, extent: int | None) -> Array:
    within, value = isinstance(value, Within), value.array if isinstance(value, Within) else value
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"{name} is {type(value).__name__}, a NumPy array was expected")
    expected = element(types_of(accesses, place))
    if expected is not None and not fits(value.dtype, expected):
        kind, size = expected
        raise ArgumentError(f"{name} has dtype {value.dtype}, {kind}{8 * size} was expected")
    if not value.flags.c_contiguous:
        raise ArgumentError(f"{name} is not contiguous")
    if not value.dtype.isnative:
        raise ArgumentError(f"{name} has dtype {value.dtype} of another byte order")
    if not value.flags.writeable and accesses.written(place):
        raise ArgumentError(f"{name} is read-only, and the kernel {kernel.name} writes to it")
    if extent is not None and value.nbytes < extent:
        raise ArgumentError(f"{name} has {value.nbytes} bytes, {extent} were expected")
    size = value.nbytes if extent is None else extent
    align = alignment(accesses, place)
    if size and value.ctypes.data % align:
        raise ArgumentError(f"{name} lies at an address that is no multiple of {align}")
    return Array(kernel.parameters[place].name, place, value.ctypes.data, size, value.dtype.itemsize, value, within)


def types_of(accesses: Accesses, place: int) -> set[str]:
    """Types that the kernel accesses memory in through the parameter at a place."""
    return {access.type for access in accesses.of.values() if access.base and access.base.place == place}


def alignment(accesses: Accesses, place: int) -> int:
    """What the address that a parameter is given has to be a multiple of."""
    return max([access.align for access in accesses.of.values() if access.base and access.base.place == place] + [1])


def element(types: Set[str]) -> tuple[str, int] | None:
    """(kind, bytes) of the one scalar type that an array is accessed in; None of several, or of none."""
    if len(types) != 1:
        return None
    (type,) = types
    if type in _FLOATS:
        return "float", _FLOATS[type][1]
    bits = int_bits(type)
    return None if bits is None or bits % 8 else ("int", bits // 8)


def fits(dtype: np.dtype[Any], expected: tuple[str, int]) -> bool:
    """Whether an array's elements can be what a kernel accesses. Bytes and records can be anything."""
    kind, size = expected
    if dtype.kind not in "iufb" or (dtype.itemsize == 1 and dtype.kind == "u"):
        return True
    if dtype.itemsize != size:
        return False
    return kind != "float" or dtype.kind == "f"  # an integer access may copy a float


def _check_overlaps(kernel: KernelText, accesses: Accesses, arrays: Sequence[Array]) -> None:
    """Memory that is promised to be nobody else's must not be reached through another argument."""
    for one in arrays:
        words = kernel.parameters[one.place].text.split()
        if "noalias" not in words:
            continue
        for other in arrays:
            apart = one.address + one.bytes <= other.address or other.address + other.bytes <= one.address
            read = not (accesses.written(one.place) or accesses.written(other.place))
            if other is one or apart or read or (one.within and other.within):
                continue
            raise ArgumentError(
                f"arguments[{one.place}] ({one.name}) and arguments[{other.place}] ({other.name}) overlap, "
                f"{one.name} of {kernel.name} has to be apart from what is written"
            )
