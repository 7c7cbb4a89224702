"""Ranks of MPI, by mpi4py. It is imported when the first one is made, and needed for nothing else."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError, ToolchainError

from .communicator import Messages, Sent, filled

HINT = "`pip install mpi4py mpich` installs both, without an MPI of the system; `mpiexec -n 4 …` starts ranks."


def mpi_module() -> Any:
    """`mpi4py.MPI`. Raises ToolchainError where it, or the MPI library that it loads, is missing."""
    try:
        from mpi4py import MPI
    except ModuleNotFoundError as error:
        raise ToolchainError(f"several ranks need mpi4py: {error}", hint=HINT) from None
    except (ImportError, RuntimeError, OSError) as error:
        raise ToolchainError(f"mpi4py finds no MPI library: {error}", hint=HINT) from None
    return MPI


class MpiCommunicator:
    """A rank of MPI.

    comm: an mpi4py.MPI.Intracomm; None: COMM_WORLD. It is duplicated, so that messages of its user are not mixed with
    these; `free` gives the copy back. Both are calls of all its ranks.

    Raises ToolchainError without MPI, ArgumentError for what is no communicator.
    """

    def __init__(self, comm: Any = None) -> None:
        self._mpi = mpi_module()
        if comm is not None and not isinstance(comm, self._mpi.Intracomm):
            raise ArgumentError(
                f"comm is a {type(comm).__name__}, a communicator of mpi4py or a number of ranks was expected"
            )
        self._comm = (self._mpi.COMM_WORLD if comm is None else comm).Dup()
        self.rank, self.size, self.sent = self._comm.rank, self._comm.size, Sent()
        near = self._comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        self.beside = near.size
        near.Free()

    def free(self) -> None:
        self._comm.Free()

    def end_all(self, code: int) -> NoReturn:
        """End all ranks of the program at once."""
        self._mpi.COMM_WORLD.Abort(code)
        os._exit(code)  # some launchers let it return

    def exchange(self, outgoing: Messages, incoming: Messages) -> MpiPending:
        byte = self._mpi.BYTE
        requests = [self._comm.Irecv([array.view(np.uint8), byte], source) for source, array in filled(incoming)]
        for target, array in filled(outgoing):
            self.sent.vectors += array.nbytes
            self.sent.messages += 1
            requests.append(self._comm.Isend([array.view(np.uint8), byte], target))
        return MpiPending(self._mpi, requests)

    def rows(self, row: npt.ArrayLike) -> npt.NDArray[np.float64]:
        own = np.array(row, np.float64)
        found = np.empty((self.size, *own.shape))
        self.sent.rows += own.nbytes * (self.size - 1)
        self._comm.Allgather(own, found)
        return found


class MpiPending:
    """Requests under way."""

    def __init__(self, mpi: Any, requests: list[Any]) -> None:
        self._mpi, self._requests = mpi, requests

    def poll(self) -> None:
        if self._requests and self._mpi.Request.Testall(self._requests):
            self._requests = []

    def wait(self) -> None:
        if self._requests:
            self._mpi.Request.Waitall(self._requests)
            self._requests = []
