"""Arrays that are handed over by DLPack, as other libraries do it: on any device, of any type, in any order."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy.typing as npt
from tracecut.codegen.devices.dlpack import _Tensor, _Versioned

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Producer:
    """Hands over an array, or claims that it lies elsewhere.

    Args:
        array: what lies here. device: (kind, number) that is claimed. place: address that is claimed; None: its own.
        major: version of the protocol, 0: that of old libraries. changes: of fields of the tensor.
    """

    def __init__(
        self,
        array: npt.NDArray[Any],
        device: tuple[int, int] = (1, 0),
        *,
        place: int | None = None,
        major: int = 1,
        read_only: bool = False,
        **changes: Any,
    ) -> None:
        self.array, self.device, self.major, self.read_only, self.changes = array, device, major, read_only, changes
        self.place = array.ctypes.data if place is None else place
        self.asked: list[dict[str, Any]] = []
        self.kept: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **asked: Any) -> Any:
        if self.major == 0 and "max_version" in asked:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.asked.append(asked)
        shape = (ctypes.c_int64 * self.array.ndim)(*self.array.shape)
        steps = [step // self.array.itemsize for step in self.array.strides]
        strides = (ctypes.c_int64 * self.array.ndim)(*steps)
        tensor = _Tensor(
            self.place, *self.device, self.array.ndim, CODES[self.array.dtype.kind], 8 * self.array.itemsize, 1,
            ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)), ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)), 0,
        )  # fmt: skip
        for name, value in self.changes.items():
            setattr(tensor, name, value)
        held: Any = tensor
        name = b"dltensor"
        if self.major:
            held, name = _Versioned(self.major, 0, None, None, int(self.read_only), tensor), b"dltensor_versioned"
        self.kept += [held, name, shape, strides]
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(held), name, None)
