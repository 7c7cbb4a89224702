"""Short commands by the hundred: each in a forked child, where what takes longest, the imports, is done already."""

from __future__ import annotations

import faulthandler
import importlib
import io
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import ExitStack

from tracecut.__main__ import main

from .conftest import PROGRESS, Done, Shell

IMPORTED = ("cli.graph", "cli.optimize", "cli.partition", "cli.spmv", "codegen.mining.cg", "tracer.depgraph.builder")
for name in IMPORTED:  # nearly all that the children would import
    importlib.import_module(f"tracecut.{name}")


def forked(shell: Shell, *words: str) -> Done:
    """Run tracecut to its end, as `shell(*words)` does; for commands that end by themselves."""
    with ExitStack() as files:
        out, err = (files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _run(shell, words, out.fileno(), err.fileno())
        _, status = os.waitpid(child, 0)
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode(errors="replace"))
    return Done(os.waitstatus_to_exitcode(status), printed[0], PROGRESS.sub("", printed[1]))


def _run(shell: Shell, words: Sequence[str], out: int, err: int) -> None:
    """In the child: become what the shell would have started. Does not return."""
    code: int | str | None = 70
    try:
        faulthandler.disable()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        null = os.open(os.devnull, os.O_RDONLY)
        for place, file in enumerate((null, out, err)):
            os.dup2(file, place)
        os.closerange(3, 1 << 12)
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(place, mode, closefd=False), errors=errors, write_through=True)
            for place, (mode, errors) in enumerate((("r", "strict"), ("w", "strict"), ("w", "backslashreplace")))
        )
        os.chdir(shell.folder)
        os.environ.update(shell.environment)
        tempfile.tempdir = None
        main(list(words))
    except SystemExit as done:
        code = done.code
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)
