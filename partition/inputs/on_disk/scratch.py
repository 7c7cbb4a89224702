"""Temporary files without a name: what they hold is gone with the process, however that ends."""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError, OutputError
from tracecut.support.files import free_space
from tracecut.support.memory_amounts import size

HINT = "Set TMPDIR to a folder with free space."


class Scratch:
    """Arrays in a file in the temporary folder, which has no name there.

    what: what it holds, for messages. Raises OutputError where it cannot be made, written or read.
    """

    def __init__(self, what: str) -> None:
        self._what, self._folder, self._end = what, Path(tempfile.gettempdir()), 0
        try:
            self._file = tempfile.TemporaryFile(prefix="tracecut-", dir=self._folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._failed("make", error) from error
        weakref.finalize(self, self._file.close)  # without the warning that a file has when nobody closed it

    @property
    def bytes(self) -> int:
        """Behind the last byte that was written."""
        return self._end

    def write(self, place: int, array: npt.NDArray[Any]) -> None:
        """The bytes of an array, from the byte `place` on."""
        left = _bytes_of(np.ascontiguousarray(array))
        while left.nbytes:
            try:
                done = os.pwrite(self._file.fileno(), left, place)
            except OSError as error:
                raise self._failed(f"write {size(left.nbytes)} to", error) from error
            place, left = place + done, left[done:]
        self._end = max(self._end, place)

    def append(self, array: npt.NDArray[Any]) -> None:
        self.write(self._end, array)

    def read(self, place: int, into: npt.NDArray[Any]) -> None:
        """Fills an array with the bytes from `place` on. Raises ArgumentError once it is closed."""
        if self._file.closed:
            raise ArgumentError("the matrix on disk was closed", hint="Use it before the end of its `with`.")
        left = _bytes_of(into)
        while left.nbytes:
            try:
                done = os.preadv(self._file.fileno(), [left], place)
                if not done:
                    raise OSError(0, "it ends too early")
            except OSError as error:
                raise self._failed("read", error) from error
            place, left = place + done, left[done:]

    def close(self) -> None:
        self._file.close()

    def _failed(self, what: str, error: OSError) -> OutputError:
        problem = f"{error.strerror or error}{free_space(error, self._folder)}"
        return OutputError(f"cannot {what} a temporary file of {self._what} in {self._folder}: {problem}", hint=HINT)


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    return memoryview(array.view(np.uint8)) if array.size else memoryview(b"")  # type: ignore[arg-type]
