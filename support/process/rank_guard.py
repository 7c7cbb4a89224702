"""A rank of MPI as a child of the process that was started, which tells how the rank ended.

Without it a rank that is killed (by the kernel, where memory is short) ends the others with a status that says nothing,
or with 0.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

PARENT_DEATH = 1  # PR_SET_PDEATHSIG
PATIENCE = 5.0  # seconds
NAMES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")  # of MPICH and Intel MPI; PMIx; Open MPI


def started_rank() -> int | None:
    """The number of this rank, if `mpiexec` started this process."""
    for name in NAMES:
        number = os.environ.get(name, "")
        if number.isdecimal():
            return int(number)
    return None


def become_rank(rank: int) -> None:
    """Goes on in a child; this process waits for it and ends as it did, with status 1 where a signal ended it.

    Call it before there are threads, and before MPI starts.
    """
    own = os.getpid()
    child = os.fork()
    if not child:
        ctypes.CDLL(None, use_errno=True).prctl(PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != own:  # it ended before that
            os._exit(1)
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(child, number))
    while True:
        with contextlib.suppress(InterruptedError):
            _, status = os.waitpid(child, 0)
            break
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        text = f"tracecut: rank {rank} was ended by signal {-code} ({signal.strsignal(-code)}); all ranks end"
        print(text, file=sys.stderr, flush=True)
        _abort()
    os._exit(1 if code < 0 else code)


def _abort() -> None:
    """Ask the launcher to end all ranks with status 1, as MPI_Abort does.

    MPICH's launchers take that as a line of text. Without it they kill the others all the same, and may end with what
    these died of.
    """
    with contextlib.suppress(OSError, KeyError, ValueError):
        os.write(int(os.environ["PMI_FD"]), b"cmd=abort exitcode=1\n")
        time.sleep(PATIENCE)  # until it does
