"""The entry of the command line: finds the command, and says what went wrong.

Nothing heavy is imported before it is needed: `--help` and `run` have to start at once.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence

from tracecut.support.version import __version__

from .words import Parser, leave_at_once

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import NoReturn

DESCRIPTION = "Makes irregular programs fast: traces a program, regroups its work, emits the rescheduled program."
WIDEST = 600  # characters of a line of a message
COMMANDS = {  # each is `run_COMMAND` of the file of its name
    "optimize": "make a program faster, starting from its source",
    "run": "run the optimized program in place of the original",
    "methods": "list the partitioning and ordering methods",
    "partition": "partition a graph from a file",
    "trace": "record every instruction and address of a run",
    "info": "describe a trace file, or count the runs of a result",
    "annotate": "show the work of each source line",
    "graph": "build the dynamic dependence graph of a run",
    "machine": "describe the machine at hand, or a modelled one",
    "map": "put a graph on the cores of a machine",
    "simulate": "predict time and traffic of a clustered graph on a machine",
}
MODULES = {"info": "trace"}  # but for these


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Entry point. Exit status: 0 success, 1 bad input, 2 usage, 3 nothing improved (on request), 128 + signal."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] != ["run"]:  # whose program has all of this from the caller
        leave_at_once()
        _fill_closed_descriptors()
    _replace_closed_streams()
    try:
        try:
            code = _dispatch(words)
        except SystemExit as done:  # --help, --version; a signal
            code = done.code if isinstance(done.code, int) else 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        if words[:1] == ["run"]:  # the program has not started, but it is what was interrupted
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
    """Say what is wrong. Returns the exit status."""
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
    """One line for a terminal: no control characters, of names that hold some; the middle of a long one left out."""
    text = "".join(char if char.isprintable() or char == "\t" else ascii(char)[1:-1] for char in line)
    return text if len(text) <= WIDEST else f"{text[: WIDEST // 2]} … {text[-WIDEST // 2 :]}"


def _fill_closed_descriptors() -> None:
    """Open what the caller closed of 0, 1 and 2: no file of ours may get a number that children take for a stream."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _replace_closed_streams() -> None:
    """Give Python something to write to where the user closed a stream, without opening a descriptor for it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.StringIO())


def _give_up_stdout() -> None:
    """What can not be written at the very end (a full disk) has been reported; the interpreter need not try again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
