"""Running user code for the tests: in forked children, with a time limit, results through a pipe."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from ..waiting import HUNG

SECONDS = HUNG
AtExit = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)
_kept: list[Any] = []


class ChildFailed(AssertionError):
    """The child raised, crashed or ran too long."""


def in_child(work: Callable[[], Any], *, seconds: float = SECONDS) -> Any:
    """Result of `work()` (plain JSON values) in a forked child. Raises ChildFailed when there is none."""
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            faulthandler.disable()
            try:
                answer = {"result": work()}
            except BaseException:
                answer = {"error": traceback.format_exc()}
            with os.fdopen(writer, "w") as file:
                json.dump(answer, file)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    try:
        data = _drain(reader, seconds)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise ChildFailed(f"the child ran longer than {seconds:g} s") from None
    finally:
        os.close(reader)
    _, status = os.waitpid(pid, 0)
    if not data:
        raise ChildFailed(f"the child ended with {os.waitstatus_to_exitcode(status)} and no answer")
    answer = json.loads(data)
    if "error" in answer:
        raise ChildFailed(answer["error"])
    return answer["result"]


def _drain(reader: int, seconds: float) -> bytes:
    end = time.monotonic() + seconds
    parts = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def end_with_the_program() -> None:
    """In a forked child that becomes a program: when it exits, the libraries of the tests do not clean up.

    What the program and its host have to do at exit is done before. LLVM would delete whatever was parsed and compiled
    since the tests began, in memory that the child shares with them and would get copies of: one or two seconds a run.
    """
    libc = ctypes.CDLL(None)

    def end(status: int, _: object) -> None:
        libc.fflush(None)
        os._exit(status)

    _kept.append(AtExit(end))
    libc.on_exit(_kept[-1], None)
