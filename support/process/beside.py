"""Work in a child of a running program, which goes on meanwhile. Light: `tracecut run` loads it.

The child is a copy of the process: it sees the memory as it was when the work was asked for, whatever the program does
to it then. The program sees nothing of it: no descriptor, no signal at its end, nothing to wait for (`wait` finds only
children that were started with a signal), and none of its own handlers runs there. It ends with the program, however
that ends, and with what takes the program's place (`exec`).

The result comes back through memory that both share. Its size is not known before, so that much is reserved; only what
is written takes memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import sys
import time

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

UNRESERVED = 0x4000  # MAP_NORESERVE
CLONE = 56  # the number of the system call on x86-64
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
ANY_CHILD = 0x40000000  # __WALL: also children without a signal
ROOMS = (1 << 36, 1 << 33, 1 << 30, 1 << 27)  # bytes to reserve; less where the address space is limited
HEAD = 4096  # bytes of the shared memory in front of the result: what became of the work, and how long the result is
FRESH, ROUNDS = 16, 4  # pages that are touched to learn what one costs, and how often
RUNNING, DONE, FAILED = 0, 1, 2
WATCH = 0.2  # seconds between two looks at the parent
IDLE = 19  # added to the niceness of work that is to have only the time that nobody else wants


class Beside:
    """A piece of work in a child. Made by `start`."""

    def __init__(self, child: int, room: mmap.mmap) -> None:
        self._child, self._room, self._owner = child, room, os.getpid()
        self.started = time.perf_counter()

    @classmethod
    def start(cls, work: Callable[[], Iterable[bytes]], cpus: Collection[int]) -> Beside | None:
        """Have `work` done in a child, on these CPUs; None where there can be no child, or no memory to share.

        The result is what `work` returns, one part behind the other. What it raises is told by `poll`. Takes as long as
        `fork`: some milliseconds a gigabyte of the process.
        """
        room = _reserve()
        if room is None:
            return None
        parent, before = os.getpid(), _identity(os.getpid())
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            child = _clone()
            if child == 0:
                _run(work, room, parent, before, cpus)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if child < 0:
            room.close()
            return None
        with contextlib.suppress(OSError):
            room.madvise(mmap.MADV_DONTFORK)  # children of the program have nothing to do with it
        return cls(child, room)

    def poll(self) -> bytes | str | None:
        """The result, why there is none, or None while it is being made. Asked once more after that, it is gone."""
        state = self._room[0]
        if state == RUNNING:
            ended, _ = os.waitpid(self._child, os.WNOHANG | ANY_CHILD)
            if not ended:
                return None
            if self._room[0] == RUNNING:
                self._room.close()
                return "it was ended"
        else:
            os.waitpid(self._child, ANY_CHILD)  # it leaves at once
        size = int.from_bytes(self._room[8:16], "little")
        found = self._room[HEAD : HEAD + size]
        done = self._room[0] == DONE
        self._room.close()
        return found if done else found.decode(errors="replace")

    def stop(self) -> None:
        """End it. A child of the program, which has a copy of this, has nothing to end."""
        if os.getpid() != self._owner:
            return
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, ANY_CHILD)
        self._room.close()


def price() -> float:
    """Nanoseconds that a child costs this process, roughly: a fork, and copies of pages that are written meanwhile.

    As much as if each page that it has were a fresh one: perhaps half of them are written, and a copy takes twice as
    long. What a page costs depends on the machine (a virtual one takes ten times as long), so it is measured: 0.1 ms.
    """
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * min(_fresh_page() for _ in range(ROUNDS))


def _fresh_page() -> float:
    """Nanoseconds that the first write to a page takes."""
    with mmap.mmap(-1, FRESH * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        start = time.perf_counter_ns()
        for place in range(0, FRESH * mmap.PAGESIZE, mmap.PAGESIZE):
            room[place] = 1
        return (time.perf_counter_ns() - start) / FRESH


def _reserve() -> mmap.mmap | None:
    for size in ROOMS:
        with contextlib.suppress(OSError):
            return mmap.mmap(-1, size, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | UNRESERVED)
    return None


def _clone() -> int:
    """A child without a signal at its end; 0 in it, negative where there is none. The interpreter works in both."""
    python = ctypes.PyDLL(None)  # calls keep the interpreter's lock, as `fork` has to
    python.syscall.restype = ctypes.c_long
    python.PyOS_BeforeFork()
    child = int(python.syscall(ctypes.c_long(CLONE), *(ctypes.c_long(0) for _ in range(5))))
    if child == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return child


def _run(
    work: Callable[[], Iterable[bytes]], room: mmap.mmap, parent: int, before: bytes, cpus: Collection[int]
) -> None:
    """The child, from its begin to its end."""
    try:
        _settle(parent, before, cpus)
        place = HEAD
        try:
            for part in work():
                if place + len(part) > len(room):
                    raise MemoryError(f"its result does not fit into {len(room) - HEAD} bytes")
                room[place : place + len(part)] = part
                place += len(part)
            state = DONE
        except Exception as error:
            told = str(getattr(error, "message", "") or f"{type(error).__name__}: {error}").encode()
            room[HEAD : HEAD + len(told)] = told
            place, state = HEAD + len(told), FAILED
        room[8:16] = (place - HEAD).to_bytes(8, "little")
        room[0] = state
    finally:
        os._exit(0)


def _settle(parent: int, before: bytes, cpus: Collection[int]) -> None:
    """Let go of all that is the program's; end with it."""
    libc = ctypes.CDLL(None)
    libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
    os.closerange(0, 1 << 30)
    for _ in range(3):  # so that no file of ours becomes a standard stream
        os.open(os.devnull, os.O_RDWR)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError, ValueError):
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # when memory runs out the program stays
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, cpus)
    sys.setswitchinterval(0.001)
    import _thread

    _thread.start_new_thread(_watch, (parent, before))


def _watch(parent: int, before: bytes) -> None:
    """End when another program has taken the parent's place: that is no end of the parent to the kernel."""
    while True:
        time.sleep(WATCH)
        if os.getppid() != parent or _identity(parent) not in (before, b""):
            os._exit(0)


def _identity(process: int) -> bytes:
    """What tells the program of a process from another one that takes its place; empty where it cannot be read."""
    try:
        with open(f"/proc/{process}/auxv", "rb") as file:  # the addresses that the kernel drew for it
            return file.read()
    except OSError:
        return b""
