"""Short commands by the hundred: each in a forked child, where what takes longest, the imports, is done already."""

from __future__ import annotations

import faulthandler
import importlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tracecut.__main__ import main

from ..waiting import HUNG

COMMAND = (sys.executable, "-P", "-m", "tracecut")
IMPORTED = ("cli.graph", "cli.optimize", "cli.partition", "cli.spmv", "codegen.mining.cg", "tracer.depgraph.builder")


def completed(*words: str | Path, folder: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """Run tracecut to its end, as `subprocess.run` does; `more`: variables of the environment."""
    line = tuple(map(str, words))
    return subprocess.CompletedProcess(line, *forked(folder or Path.cwd(), more, line))


def started(*words: str | Path, folder: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, that has imported nothing: a test or two of each command are so."""
    line, environment = [*COMMAND, *map(str, words)], {**os.environ, **more}
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=HUNG, check=False)


def forked(folder: Path, environment: Mapping[str, str], words: Sequence[str]) -> tuple[int, str, str]:
    """Run tracecut to its end there; for commands that end by themselves. Status, standard output, standard error."""
    for name in IMPORTED:  # nearly all that the children would import
        importlib.import_module(f"tracecut.{name}")
    with ExitStack() as files:
        out, err = (files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _become(folder, environment, words, out.fileno(), err.fileno())
        _, status = os.waitpid(child, 0)
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode(errors="replace"))
    return os.waitstatus_to_exitcode(status), printed[0], printed[1]


def _become(folder: Path, environment: Mapping[str, str], words: Sequence[str], out: int, err: int) -> None:
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
        os.chdir(folder)
        os.environ.update(environment)
        tempfile.tempdir = None
        warnings.resetwarnings()  # here they are errors, there Python shows those that are for users
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        main(list(words))
    except SystemExit as done:
        code = done.code
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)
