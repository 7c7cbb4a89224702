"""`tracecut optimize`: its options, and the summary on the terminal."""

from __future__ import annotations

from pathlib import Path

from tracecut.pipeline.stage_names import STAGES
from tracecut.pipeline.stages.settings import OPTIONS, Settings
from tracecut.support.errors import ArgumentError, ArtefactError, UsageError, known_names

from .words import Parser, begin_work, input_file, sort_words, split_words

TYPE_CHECKING = False  # as in `typing`: `--help` loads nothing of the stages
if TYPE_CHECKING:
    from tracecut.ir.machine.machine import Machine
    from tracecut.pipeline.output.result import Optimized

USAGE = "tracecut optimize SOURCE… [compiler options] [options] [-- program arguments]"


def run_optimize(words: list[str]) -> int:
    """The command. Returns the exit status."""
    ours, program = split_words(words)
    parser = optimize_parser()
    mine, compiler = sort_words(parser, ours)
    options = parser.parse_args(mine)
    from tracecut.tracer.recorded.command_line import command_line

    sources, flags = command_line(compiler)
    if not sources:
        raise UsageError("no source file was given", hint=USAGE)
    asked = {name: getattr(options, name) for name in OPTIONS} | {
        "output": Path(_named(options.output)),
        "stdin": None if options.stdin is None else input_file(options.stdin),
        "method": _known_method(options.method),
        "machine": None if options.machine is None else _known_machine(options.machine),
        "gpu": None if options.gpu is None else _known_gpu(options.gpu),
        "arch": tuple(map(_known_arch, options.arch or Settings.arch)),
    }
    settings = Settings(tuple(sources), flags, tuple(program), **asked)
    from tracecut.pipeline.supervise import optimize_program
    from tracecut.support.compiler_messages import WARNINGS
    from tracecut.support.progress import Progress

    begin_work()
    warnings = None if options.verbose else WARNINGS
    result = optimize_program(settings, Progress(quiet=options.quiet, warnings=warnings))
    if options.json:
        import json

        print(json.dumps(result.manifest, indent=1))
    else:
        print_result(result, settings.output)
    return 3 if options.fail_if_no_gain and not result.improved else 0


def optimize_parser() -> Parser:
    """The options of the command: the fields of `Settings`, and options for printing."""
    parser = Parser(
        prog="tracecut optimize",
        usage=USAGE,
        description="Options that are not listed here go to the compiler (-I, -D, -O3, -lm, …).",
        epilog=f"stages: {', '.join(STAGES)}",
        allow_abbrev=False,
    )
    add = parser.add_argument
    for name, option in OPTIONS.items():
        default = None if name == "arch" else option.default  # a list as a default would be extended by argparse
        words = {"default": default, **option.metadata["words"]}
        add(*(["-o"] if name == "output" else []), f"--{name.replace('_', '-')}", **words)
    add("--fail-if-no-gain", action="store_true", help="exit with status 3 if nothing was improved")
    add("--json", action="store_true", help="print the manifest as JSON")
    add("-q", "--quiet", action="store_true", help="print no progress and no compiler warnings")
    add("-v", "--verbose", action="store_true", help="show all compiler warnings")
    return parser


def print_result(result: Optimized, name: Path) -> None:
    """Print a summary and what to do next, on one screen. `name`: the output folder as the user wrote it.

    The result exists by now: if the summary fails, the folder and the reason are printed.
    """
    from tracecut.report import ReportData, print_summary
    from tracecut.support.optional_parts import reason_of

    try:
        print_summary(ReportData.from_manifest(result.manifest, folder=str(name)))
    except OSError:
        raise
    except Exception as error:
        print(f"output  {str(name)!r}\nno summary: {reason_of(error)}")


def _known_method(name: str) -> str:
    if name == "auto":
        return name
    from tracecut.partition import METHODS

    if name not in METHODS:
        hint = f"{known_names(name, ('auto', *METHODS))} `tracecut methods` lists all methods."
        raise UsageError(f"--method {name}: unknown method", hint=hint)
    if name in METHODS and "coords" in METHODS[name].uses:
        raise UsageError(
            f"--method {name}: this method needs coordinates of the data, which a captured run does not have"
        )
    return name


def _known_machine(name: str) -> Machine:
    from tracecut.ir.machine.machine import Machine

    try:
        found = Machine.named(name)
        found.last_cache()  # orders are predicted for its caches
        return found
    except ArgumentError as error:
        raise UsageError(f"--machine {error.message}", hint=error.hint) from None


def _known_gpu(name: str) -> str:
    try:
        return str(OPTIONS["gpu"].metadata["check"]("gpu", name))
    except (ArgumentError, ArtefactError) as error:
        raise UsageError(f"--gpu {error.message}", hint=error.hint) from None


def _known_arch(name: str) -> str:
    from tracecut.codegen.ptx.nvptx import ARCHITECTURES

    if name not in ARCHITECTURES:
        raise UsageError(f"--arch {name}: one of {', '.join(ARCHITECTURES)} expected")
    return name


def _named(output: str | Path) -> str | Path:
    if output == "":
        raise UsageError("-o: the name of a folder expected", hint=USAGE)
    return output
