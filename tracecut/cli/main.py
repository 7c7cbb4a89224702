"""The entry of the command line: finds the command; `optimize`, `run` and `methods` are read here.

Nothing heavy is imported before it is needed: `--help` and `run` have to start at once.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tracecut.pipeline.stage_names import STAGES
from tracecut.support.errors import UsageError, known_names
from tracecut.support.version import __version__

from .words import Parser, begin_work, input_file, leave_at_once, positive, sort_words, split_words

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import NoReturn

DESCRIPTION = "Makes irregular programs fast: traces a program, regroups its work, emits the rescheduled program."
OPTIMIZE_USAGE = "tracecut optimize SOURCE… [compiler options] [options] [-- program arguments]"
RUN_USAGE = "tracecut run OUT [options] [-- program arguments]"
WIDEST = 600  # characters of a line of a message
MODULES = {  # of the commands that have one of their own
    "partition": ".partition",
    "trace": ".trace",
    "info": ".trace",
    "annotate": ".annotate",
    "graph": ".graph",
}


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
    if command == "run":
        return _run(rest)
    if command == "optimize":
        return _optimize(rest)
    if command == "methods":
        return _methods(rest)
    if command in MODULES:
        run = getattr(importlib.import_module(MODULES[command], __package__), f"run_{command}")
        return int(run(rest))
    parser = Parser(prog="tracecut", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"tracecut {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    commands.add_parser("optimize", help="make a program faster, starting from its source")
    commands.add_parser("run", help="run the optimized program in place of the original")
    commands.add_parser("methods", help="list the partitioning and ordering methods")
    commands.add_parser("partition", help="partition a graph from a file")
    commands.add_parser("trace", help="record every instruction and address of a run")
    commands.add_parser("info", help="describe a trace file, or count the runs of a result")
    commands.add_parser("annotate", help="show the work of each source line")
    commands.add_parser("graph", help="build the dynamic dependence graph of a run")
    parser.parse_args([command, *rest] if command.startswith("-") else ["--help"] if not words else [command])
    return 0


def _optimize(words: list[str]) -> int:
    ours, program = split_words(words)
    parser = _optimize_parser()
    mine, compiler = sort_words(parser, ours)
    options = parser.parse_args(mine)
    from tracecut.pipeline.stages.settings import OPTIONS, Settings
    from tracecut.tracer.toolchain.clang import parse_flags

    sources, flags = parse_flags(compiler)
    if not sources:
        raise UsageError("no source file was given", hint=OPTIMIZE_USAGE)
    asked = {name: getattr(options, name) for name in OPTIONS} | {
        "output": Path(_named(options.output)),
        "stdin": None if options.stdin is None else input_file(options.stdin),
        "method": _known_method(options.method),
        "arch": tuple(map(_known_arch, options.arch or Settings.arch)),
    }
    settings = Settings(tuple(sources), flags, tuple(program), **asked)
    from tracecut.pipeline.supervise import optimize_program
    from tracecut.support.progress import Progress

    from .optimize import print_summary

    begin_work()
    shown = {"warnings": None} if options.verbose else {}
    result = optimize_program(settings, Progress(quiet=options.quiet, **shown))
    if options.json:
        import json

        print(json.dumps(result.manifest, indent=1))
    else:
        print_summary(result, settings.output)
    return 3 if options.fail_if_no_gain and not result.improved else 0


def _run(words: list[str]) -> int:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # as the program would end, also before it has started
    ours, program = split_words(words)
    parser = Parser(prog="tracecut run", usage=RUN_USAGE, allow_abbrev=False)
    parser.add_argument("output", help="folder that `tracecut optimize` wrote")
    parser.add_argument("-v", "--verbose", action="store_true", help="report on stderr which schedules are used")
    parser.add_argument("--threads", type=positive, help="number of threads (default: fastest measured)")
    parser.add_argument("--original", action="store_true", help="run the original loops (for comparison)")
    compared = "also run the original and compare: status 0 if they agree, 4 if not"
    parser.add_argument("--check", action="store_true", help=compared)
    parser.add_argument("--counters", type=Path, help=argparse.SUPPRESS)
    options, extra = parser.parse_known_args(ours)
    if extra:
        raise UsageError(f"{extra[0]}: not an option of `tracecut run`", hint="Program arguments go after `--`.")
    if options.check:
        if options.original or options.counters is not None:
            raise UsageError("--check runs both programs: it can not be combined with --original or --counters")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from .run_check import check_result

        return check_result(Path(options.output), program, threads=options.threads)
    from .run import run_output

    run_output(
        Path(options.output),
        program,
        threads=options.threads,
        verbose=options.verbose,
        original=options.original,
        counters=options.counters,
    )
    raise AssertionError("the program returned")


def _methods(words: list[str]) -> int:
    parser = Parser(prog="tracecut methods", description="List the methods for --method.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(words)
    from tracecut.partition import methods

    if options.json:
        import json

        keys = ("name", "kind", "source", "complexity", "note", "repeatable", "installed")
        rows = [{key: getattr(method, key) for key in keys} | {"uses": sorted(method.uses)} for method in methods()]
        print(json.dumps(rows, indent=1))
        return 0
    for method in methods():
        notes = [method.note] if method.note else []
        notes += [] if method.installed else ["not installed: pip install 'tracecut[partitioners]'"]
        told = f" ({'; '.join(notes)})" if notes else ""
        print(f"{method.name:<18} {method.kind:<6} {method.complexity:<28} {method.source}{told}")
    return 0


def _optimize_parser() -> argparse.ArgumentParser:
    from tracecut.pipeline.stages.settings import OPTIONS

    parser = Parser(
        prog="tracecut optimize",
        usage=OPTIMIZE_USAGE,
        description="Everything that is not listed here goes to the compiler (-I, -D, -O3, -lm, …).",
        epilog=f"stages: {', '.join(STAGES)}",
        allow_abbrev=False,
    )
    add = parser.add_argument
    for name, option in OPTIONS.items():
        default = None if name == "arch" else option.default  # to which argparse would add
        words = {"default": default, **option.metadata["words"]}
        add(*(["-o"] if name == "output" else []), f"--{name}", **words)
    add("--fail-if-no-gain", action="store_true", help="exit with status 3 if nothing was improved")
    add("--json", action="store_true", help="print the manifest as JSON")
    add("-q", "--quiet", action="store_true", help="no progress lines and no compiler warnings")
    add("-v", "--verbose", action="store_true", help="show all compiler warnings")
    return parser


def _known_method(name: str) -> str:
    if name == "auto":
        return name
    from tracecut.partition import METHODS

    if name not in METHODS:
        hint = f"{known_names(name, ('auto', *METHODS))} `tracecut methods` tells more."
        raise UsageError(f"--method {name}: no such method", hint=hint)
    if name in METHODS and "coords" in METHODS[name].uses:
        raise UsageError(f"--method {name}: it needs coordinates of the data, which a trace does not have")
    return name


def _known_arch(name: str) -> str:
    from tracecut.codegen.ptx.nvptx import ARCHITECTURES

    if name not in ARCHITECTURES:
        raise UsageError(f"--arch {name}: one of {', '.join(ARCHITECTURES)} expected")
    return name


def _named(output: str | Path) -> str | Path:
    if output == "":
        raise UsageError("-o: the name of a folder expected", hint=OPTIMIZE_USAGE)
    return output


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
