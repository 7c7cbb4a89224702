"""Running a program inside this process: load its library, call `main`, exit with its status.

From then on the process belongs to the program: signals have their default actions, `exit` ends the process, a crash
ends it too. Python is not finalised.
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
    """Load a program's shared library. Raises ProgramError if a symbol is undefined."""
    try:
        return ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise ProgramError(f"{path} cannot be loaded: {error}") from error


def at_exit(call: Callable[[], None]) -> None:
    """Register `call` to run at exit, after the handlers that the program itself installs."""
    callback = ExitCallback(lambda _: call())
    _kept.append(callback)
    ctypes.CDLL(None).__cxa_atexit(callback, None, None)


def run_main(library: ctypes.CDLL, argv: Sequence[str | bytes], address: int) -> NoReturn:
    """Call `main` with these arguments and exit with what it returns. `address`: where `become` put them."""
    for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # in a background job of a script it stays ignored
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
    """Bit n − 1 for each signal n that has a handler, without those that the C library uses for threads."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) & ~(3 << 31)
    return 0


def own_signals() -> int:
    """Reset the signals that the interpreter handles and the program does not expect, SIGINT included."""
    return handled_signals() & ~(1 << (signal.SIGINT - 1))


@contextlib.contextmanager
def borrowed_environment(word: str) -> Iterator[None]:
    """A temporary environment that begins with `NAME=VALUE`, while a library that reads it is loaded.

    The program's own environment is not changed: `setenv` would move it, and the program may have pointers into it.
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


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """While modules are imported in the process of a program, which must not notice."""
    keep = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # the umask is the program's now
    try:
        with borrowed_environment("OPENBLAS_NUM_THREADS=1"):  # linear algebra, not used here: no idle threads
            yield
    finally:
        sys.dont_write_bytecode = keep
