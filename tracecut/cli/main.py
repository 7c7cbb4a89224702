"""The entry point of the command line: dispatches to a command and reports errors.

Large modules are imported only when they are needed, because `--help` and `run` must start quickly.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence

from tracecut.support.garbage_collection import from_the_start
from tracecut.support.process.numba_alone import without_linear_algebra
from tracecut.support.version import __version__

from .words import Parser, leave_at_once

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import NoReturn

DESCRIPTION = "Speeds up programs with irregular memory access: reorders their iterations and data."
WIDEST = 600  # characters of a line of a message
COMMANDS = {  # each is `run_COMMAND` of the file of its name
    "optimize": "make a faster program from C or C++ source",
    "run": "run an optimized program in place of the original",
    "methods": "list the partitioning and ordering methods",
    "partition": "partition a graph from a file",
    "spmv": "choose how a sparse matrix is multiplied with vectors",
    "tune": "measure what products of sparse matrices cost on this machine",
    "trace": "record every instruction and address of a run",
    "info": "describe a trace file, or how often schedules of a result were used",
    "annotate": "show the work of each source line",
    "graph": "build the dynamic dependence graph of a run",
    "machine": "describe this machine or a modelled one",
    "map": "assign a graph or its clusters to the cores of a machine",
    "simulate": "predict time and traffic of a clustered dependence graph on a machine",
    "pagerank": "rank the nodes of a graph from a file",
    "hits": "score the nodes of a graph as hubs and authorities",
    "rwr": "score the nodes of a graph by random walks from some of them",
    "cg": "solve a linear system by conjugate gradients",
}
MODULES = {"info": "trace"} | dict.fromkeys(("pagerank", "hits", "rwr", "cg"), "mining.commands")  # but for these


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Entry point. Exit status: 0 success, 1 bad input, 2 usage, 3 nothing improved (on request), 128 + signal."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] != ["run"]:  # whose program has all of this from the caller
        leave_at_once()
        from_the_start()
        without_linear_algebra()
        _fill_closed_descriptors()
    _replace_closed_streams()
    try:
        try:
            code = _dispatch(words)
        except SystemExit as done:  # --help, --version; a signal
            code = done.code if isinstance(done.code, int) else 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        if words[:1] == ["run"]:  # the program has not started yet, but the user interrupted it
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        print("tracecut: interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except Exception as error:
        code = _complain(error)
    try:
        sys.exit(code)
    finally:
        _give_up_stdout()


def _dispatch(words: list[str]) -> int:
    command, rest = (words[0], words[1:]) if words else ("--help", [])
    if command in COMMANDS:
        module = importlib.import_module(f".{MODULES.get(command, command)}", __package__)
        return int(getattr(module, f"run_{command}")(rest))
    parser = Parser(prog="tracecut", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"tracecut {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, does in COMMANDS.items():
        commands.add_parser(name, help=does)
    parser.parse_args([command, *rest] if command.startswith("-") else ["--help"] if not words else [command])
    return 0


def _complain(error: Exception) -> int:
    """Report an error. Returns the exit status."""
    from tracecut.support.errors import InternalError, TracecutError

    if isinstance(error, InternalError) or not isinstance(error, TracecutError | OSError | MemoryError):
        if os.environ.get("TRACECUT_DEBUG"):
            print(getattr(error, "detail", ""), file=sys.stderr)
            raise error
        name = "" if isinstance(error, InternalError) else f"{type(error).__name__}: "
        lines = [f"internal error: {name}{error.args[0] if error.args else ''}"]
        lines.append("This is a bug: please report it with the output of TRACECUT_DEBUG=1 and the same command.")
    elif isinstance(error, TracecutError):
        lines = [_shown(error.message), *map(_shown, (error.detail or "").splitlines())]
        lines += [_shown(error.hint)] if error.hint else []
    elif isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        lines = [_shown(f"{name}{error.strerror or error}")]
    else:
        lines = ["not enough memory"]
    with contextlib.suppress(OSError):  # a full disk
        print("tracecut: " + "\n  ".join(lines), file=sys.stderr)
    return getattr(error, "exit_code", 1)


def _shown(line: str) -> str:
    """One line for a terminal: control characters are replaced, the middle of a long line is left out."""
    text = "".join(char if char.isprintable() or char == "\t" else ascii(char)[1:-1] for char in line)
    return text if len(text) <= WIDEST else f"{text[: WIDEST // 2]} … {text[-WIDEST // 2 :]}"


def _fill_closed_descriptors() -> None:
    """Open the closed ones of descriptors 0, 1 and 2, so that no other file gets the number of a standard stream."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _replace_closed_streams() -> None:
    """Replace standard streams that the user closed by a sink, without opening a descriptor."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.StringIO())


def _give_up_stdout() -> None:
    """Discard output that cannot be written (a full disk): the error was reported, the interpreter must not try
    again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
