"""Running a program inside of this process: load its library, call `main`, leave as it leaves.

The process belongs to the program from then on: signals have their default meaning, `exit` ends it, a crash is a
crash. Nothing of Python is torn down.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tracecut.support.errors import ProgramError

from .program_identity import restore_streams

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any, NoReturn

ExitCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_kept: list[Any] = []


def load_library(path: Path) -> ctypes.CDLL:
    """Load a program's shared library. Raises ProgramError when a name in it is defined nowhere."""
    try:
        return ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise ProgramError(f"{path} can not be loaded: {error}") from error


def at_exit(call: Callable[[], None]) -> None:
    """Have `call` run when the program exits, after the handlers that the program itself installs."""
    callback = ExitCallback(lambda _: call())
    _kept.append(callback)
    ctypes.CDLL(None).__cxa_atexit(callback, None, None)


def run_main(library: ctypes.CDLL, argv: Sequence[str | bytes], address: int) -> NoReturn:
    """Call `main` with these arguments and exit with what it returns. `address`: where `become` put them."""
    for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # in the background of a script it stays ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    place = ctypes.c_void_p(address)
    libc = ctypes.CDLL(None)
    sys.stdout.flush()
    sys.stderr.flush()
    restore_streams()
    environment = ctypes.c_void_p.in_dll(libc, "environ")
    library.tc_run_main(library.main, len(argv), place, environment)
    raise AssertionError("exit returned")


def thread_count() -> int:
    """Threads of this process."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def handled_signals() -> int:
    """Bit n − 1 for each signal n that has a handler; those that the C library uses for threads left out."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) & ~(3 << 31)
    return 0


def own_signals() -> int:
    """The signals that the interpreter handles, and the program does not. SIGINT it gets as it expects it."""
    return handled_signals() & ~(1 << (signal.SIGINT - 1))


@contextlib.contextmanager
def borrowed_environment(word: str) -> Iterator[None]:
    """While something is loaded that reads the environment: another one that begins with `NAME=VALUE`.

    The program's own is not touched. `setenv` would move it, and the program may hold on to where it is.
    """
    current = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ")
    own, words = current.value, [ctypes.create_string_buffer(word.encode())]
    pointers = [ctypes.addressof(words[0])]
    while own and (found := ctypes.c_uint64.from_address(own + 8 * (len(pointers) - 1)).value):
        pointers.append(found)
    array = (ctypes.c_uint64 * (len(pointers) + 1))(*pointers, 0)
    current.value = ctypes.addressof(array)
    try:
        yield
    finally:
        current.value = own
