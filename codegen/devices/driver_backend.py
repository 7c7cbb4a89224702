"""A card by its driver alone (`libcuda`): nothing is installed beside it."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .backend import CUDA, WITHOUT_ASKING, cuda_version

LIBRARY = "libcuda.so.1"
MAJOR, MINOR = 75, 76  # attributes of a card: its compute capability
DYNAMIC_SHARED = 8  # attribute of a kernel: most dynamic shared memory
NO_MEMORY = 2


def driver_backend() -> DriverBackend | None:
    """It, None on a machine without an NVIDIA driver."""
    try:
        return DriverBackend(ctypes.CDLL(LIBRARY))
    except OSError:
        return None


@dataclass(frozen=True, eq=False)
class DriverArray:
    """Memory of a card, which is freed with this object. `bytes`: of it."""

    place: int
    bytes: int


class DriverBackend:
    """As `Backend`; failures are RuntimeError, and MemoryError for want of memory.

    Args:
        library: of the driver; its functions return the number of an error.
    """

    takes: tuple[str, ...] = CUDA

    def __init__(self, library: Any) -> None:
        self.library = library
        self._contexts: dict[int, c_void_p] = {}

    def call(self, name: str, *arguments: Any) -> None:
        """A call of the driver. Raises RuntimeError with the name and the words of an error."""
        code = getattr(self.library, name)(*arguments)
        if code:
            words = f"{name}: {self._words('cuGetErrorName', code)}: {self._words('cuGetErrorString', code)}"
            raise MemoryError(words) if code == NO_MEMORY else RuntimeError(words)

    def _words(self, name: str, code: int) -> str:
        text = c_char_p()
        getattr(self.library, name)(c_int(code), byref(text))
        return (text.value or b"error %d" % code).decode()

    def count(self) -> int:
        found = c_int()
        self.call("cuInit", c_uint(0))
        self.call("cuDeviceGetCount", byref(found))
        return found.value

    def capability(self, number: int) -> tuple[int, int]:
        major, minor = c_int(), c_int()
        for value, attribute in ((major, MAJOR), (minor, MINOR)):
            self.call("cuDeviceGetAttribute", byref(value), c_int(attribute), self._card(number))
        return major.value, minor.value

    def describe(self, number: int) -> str:
        return f"{self.name(number)}, CUDA {self.cuda()}"

    def name(self, number: int) -> str:
        """What a card calls itself."""
        text = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", text, c_int(len(text)), self._card(number))
        return text.value.decode(errors="replace")

    def cuda(self) -> str:
        """The newest CUDA that the driver knows."""
        version = c_int()
        self.call("cuDriverGetVersion", byref(version))
        return cuda_version(version.value)

    def _card(self, number: int) -> c_int:
        card = c_int()
        self.call("cuDeviceGet", byref(card), c_int(number))
        return card

    def use(self, number: int) -> None:
        """Make a card the one that calls of this thread are meant for; other libraries share its context."""
        if number not in self._contexts:
            context = c_void_p()
            self.call("cuDevicePrimaryCtxRetain", byref(context), self._card(number))
            self._contexts[number] = context
        self.call("cuCtxSetCurrent", self._contexts[number])

    def load(self, number: int, code: bytes, name: str, ending: str) -> Any:
        """`ending`: machine code and PTX are told apart by the driver; the latter ends with a null byte."""
        self.use(number)
        module, kernel = c_void_p(), c_void_p()
        self.call("cuModuleLoadData", byref(module), c_char_p(code))
        self.call("cuModuleGetFunction", byref(kernel), module, c_char_p(name.encode()))
        return kernel

    def put(self, number: int, data: npt.NDArray[Any]) -> DriverArray:
        self.use(number)
        place = c_uint64()
        self.call("cuMemAlloc_v2", byref(place), c_size_t(max(data.nbytes, 1)))
        array = DriverArray(place.value, data.nbytes)
        weakref.finalize(array, self._free, number, place.value).atexit = False  # the card forgets the process then
        self.write(number, array, data)
        return array

    def borrow(self, number: int, place: int, bytes: int) -> DriverArray:
        return DriverArray(place, bytes)  # the launches here, and their producer's work, are in the default stream

    def write(self, number: int, array: DriverArray, data: npt.NDArray[Any], first: int = 0) -> None:
        self.use(number)
        if data.nbytes:
            size = c_size_t(data.nbytes)
            self.call("cuMemcpyHtoD_v2", c_uint64(array.place + first), c_void_p(data.ctypes.data), size)

    def _free(self, number: int, place: int) -> None:
        try:
            self.use(number)
            self.call("cuMemFree_v2", c_uint64(place))
        except RuntimeError:
            pass  # a kernel has failed: the card's memory is lost to this process, and that was said

    def get(self, number: int, array: DriverArray, first: int = 0, size: int | None = None) -> npt.NDArray[Any]:
        self.use(number)
        data = np.empty(array.bytes if size is None else size, np.uint8)
        if data.nbytes:
            place, count = c_uint64(array.place + first), c_size_t(data.nbytes)
            self.call("cuMemcpyDtoH_v2", c_void_p(data.ctypes.data), place, count)
        return data

    def fill(self, number: int, array: DriverArray, first: int, size: int, byte: int) -> None:
        self.use(number)
        if size:
            self.call("cuMemsetD8_v2", c_uint64(array.place + first), c_ubyte(byte), c_size_t(size))

    def copy(self, number: int, array: DriverArray, first: int, source: DriverArray, place: int, size: int) -> None:
        self.use(number)
        if size:
            target = c_uint64(array.place + first)
            self.call("cuMemcpyDtoD_v2", target, c_uint64(source.place + place), c_size_t(size))

    def address(self, array: DriverArray) -> int:
        return array.place

    def launch(
        self, number: int, kernel: Any, blocks: int, threads: int, shared: int, arguments: Sequence[np.generic]
    ) -> None:
        self.use(number)
        self.begin(kernel, blocks, threads, shared, arguments)
        self.call("cuCtxSynchronize")

    def begin(self, kernel: Any, blocks: int, threads: int, shared: int, arguments: Sequence[np.generic]) -> None:
        """Launch a kernel on the card in use, and do not wait for its end."""
        if shared > WITHOUT_ASKING:
            self.call("cuFuncSetAttribute", kernel, c_int(DYNAMIC_SHARED), c_int(shared))
        cells = [np.array(value) for value in arguments]
        places = (c_void_p * max(len(cells), 1))(*(cell.ctypes.data for cell in cells))
        sizes = [c_uint(size) for size in (blocks, 1, 1, threads, 1, 1, shared)]
        self.call("cuLaunchKernel", kernel, *sizes, c_void_p(None), places, c_void_p(None))
