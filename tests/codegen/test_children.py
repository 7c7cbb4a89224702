"""Children of the tests that become programs."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from tracecut.support.process.load_and_run import at_exit

from .children import end_with_the_program


def test_a_child_that_was_a_program_leaves_the_libraries_of_the_tests_alone(tmp_path: Path) -> None:
    """At exit what was registered since then runs, streams are written, and the status is the program's."""
    out = tmp_path / "out"
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT, 0o600), 1)
        libc = ctypes.CDLL(None)
        at_exit(lambda: os.write(1, b"a library cleans up "))
        end_with_the_program()
        at_exit(lambda: os.write(1, b"the host reports "))
        libc.printf(b"the program prints")
        libc.exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    found = out.read_text()
    assert "the host reports" in found and "the program prints" in found and "cleans up" not in found
