"""Arrays of other libraries by DLPack, the protocol that CuPy, PyTorch, JAX and NumPy speak: where they lie, no copies.

The layout of what is handed over is that of `dlpack.h`, versions 0.8 and 1.x.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError

HOST, CARD, HOST_PINNED, MANAGED = 1, 2, 3, 13  # where memory lies; managed memory is reached by cards
KINDS = {0: "i", 1: "u", 2: "f"}
NEWEST = 1  # major version that is read here
READ_ONLY = 1  # flag
DEFAULT_STREAM = 1  # what a card runs launches in: the producer's work has to come before
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"


class _Tensor(Structure):
    _fields_ = (
        ("data", c_void_p), ("device", c_int32), ("card", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    )  # fmt: skip


class _Versioned(Structure):
    _fields_ = (
        ("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p), ("flags", c_uint64),
        ("tensor", _Tensor),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tensor:
    """An array that another library handed over.

    Attributes:
        place: its address. dtype, shape: of it. card: its number, −1 for memory of this process.
        contiguous: whether it lies in C order, without holes. writable: whether it may be changed.
        owner: keeps the memory for as long as it is kept.
    """

    place: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    card: int
    contiguous: bool
    writable: bool
    owner: object

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def here(self) -> npt.NDArray[Any]:
        """It as an array of NumPy, which keeps its owner; of one that is contiguous, in this process."""
        return np.asarray(_Seen(self)).reshape(self.shape)


class _Seen:
    """What NumPy asks for the memory of an array, and keeps."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.__array_interface__ = {
            "version": 3,
            "shape": (prod(tensor.shape),),
            "typestr": tensor.dtype.str,
            "data": (tensor.place, not tensor.writable),
        }


def is_tensor(array: object) -> bool:
    """Whether an object hands arrays over by DLPack."""
    return hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__")


def read_tensor(array: Any, what: str) -> Tensor:
    """The array that an object hands over; its work on a card so far comes before what the default stream does next.

    what: its name in messages. Raises ArgumentError for what is no such array, lies elsewhere, or holds no numbers.
    """
    try:
        device, card = array.__dlpack_device__()
        stream = {"stream": DEFAULT_STREAM} if device in (CARD, MANAGED) else {}
        try:
            capsule = array.__dlpack__(**stream, max_version=(NEWEST, 0))
        except TypeError:  # of libraries older than version 1
            capsule = array.__dlpack__(**stream)
    except Exception as error:  # whatever another library raises
        raise ArgumentError(f"{what} cannot be handed over by DLPack", detail=str(error)) from error
    if device not in (HOST, CARD, HOST_PINNED, MANAGED):
        raise ArgumentError(f"{what} lies on a device of kind {device}, this process or a card of CUDA was expected")
    tensor, flags = _contents(capsule, what)
    bits, code = int(tensor.bits), int(tensor.code)
    if code not in KINDS or tensor.lanes != 1 or bits not in ((16, 32, 64) if code == 2 else (8, 16, 32, 64)):
        raise ArgumentError(
            f"{what} has a type that is none of NumPy's numbers "
            f"(DLPack: code {code}, {bits} bits, {tensor.lanes} lanes)"
        )
    shape = tuple(int(tensor.shape[axis]) for axis in range(tensor.ndim))
    strides = [int(tensor.strides[axis]) for axis in range(tensor.ndim)] if tensor.strides else None
    return Tensor(
        (tensor.data or 0) + int(tensor.offset),
        np.dtype(f"{KINDS[code]}{bits // 8}"),
        shape,
        int(card) if device in (CARD, MANAGED) else -1,
        strides is None or _in_order(shape, strides),
        not flags & READ_ONLY,
        capsule,
    )


def _contents(capsule: object, what: str) -> tuple[_Tensor, int]:
    """What a capsule holds, and its flags. It is not marked as taken: it frees the memory itself when it goes."""
    valid, pointer = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    valid.restype, valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
    pointer.restype, pointer.argtypes = c_void_p, (ctypes.py_object, ctypes.c_char_p)
    if valid(capsule, _VERSIONED):
        held = _Versioned.from_address(pointer(capsule, _VERSIONED))
        if held.major > NEWEST:
            raise ArgumentError(f"{what} is handed over by version {held.major} of DLPack, at most {NEWEST} is known")
        return held.tensor, int(held.flags)
    if valid(capsule, _PLAIN):
        return _Tensor.from_address(pointer(capsule, _PLAIN)), 0
    raise ArgumentError(f"{what} hands over {type(capsule).__name__}, a capsule of DLPack was expected")


def _in_order(shape: tuple[int, ...], strides: list[int]) -> bool:
    wanted = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != wanted:
            return prod(shape) == 0
        wanted *= extent
    return True
