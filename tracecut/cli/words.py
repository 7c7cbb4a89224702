"""What the commands share: splitting the command line, types of values, signals.

Arguments before `--` are options of tracecut and of the compiler, those after it are arguments of the program.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path

from tracecut.support.argument_checks import COUNT, SECONDS
from tracecut.support.errors import UsageError

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any, NoReturn

# The long options of all commands: one that a command does not have is an error, and is not passed to the compiler.
_NAMES = (
    "addresses arch budget check cycles device every exact fail-if-no-gain fresh function gpu in-copy json k "
    "kinds loop-budget loops machine max-instructions memory method opt original output quiet reduce region seed "
    "start stdin stdout stop threads timed timeout totals verbose weights whole"
)
OPTIONS = frozenset(f"--{name}" for name in _NAMES.split())

positive, seconds = COUNT.word, SECONDS.word  # types of values, for argparse


def leave_at_once() -> None:
    """Let the signals that ask to stop end the process at once, while there is nothing to clean up.

    An exception could be raised anywhere in the imports, and be printed by code that cannot propagate it.
    """

    def stop(number: int, frame: object) -> None:
        with contextlib.suppress(OSError):
            if number == signal.SIGINT:
                os.write(2, b"tracecut: interrupted\n")
        os._exit(128 + number)

    for number in _stops():
        signal.signal(number, stop)


def handle_signals() -> None:
    """Turn the first signal that asks to stop into an exception, and ignore later ones, which could interrupt
    clean-up."""

    def stop(number: int, frame: object) -> None:
        for other in stops:
            signal.signal(other, signal.SIG_IGN)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    stops = _stops()
    for number in stops:
        signal.signal(number, stop)


def begin_work() -> None:
    """What each command does after parsing its arguments, before it compiles or runs anything."""
    handle_signals()
    from tracecut.tracer.toolchain.find_compilers import cache_note

    note = cache_note()
    if note:
        print(f"tracecut: {note}", file=sys.stderr)


def _stops() -> list[signal.Signals]:
    """The signals that ask to stop, without those that are ignored (by nohup, or in a background job)."""
    stops = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [number for number in stops if signal.getsignal(number) is not signal.SIG_IGN]


class Parser(argparse.ArgumentParser):
    """Raises UsageError for an invalid command line instead of printing it, so that all messages have one form."""

    width: int | None = 80  # line width: argparse would query the terminal for each option, which imports large modules

    def _get_formatter(self) -> argparse.HelpFormatter:
        return argparse.HelpFormatter(self.prog, width=self.width)

    def format_help(self) -> str:
        self.width = None  # the width of the terminal
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"`{self.prog} --help` lists the options.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help or version. Unlike argparse, a failed write is an error."""
        (file or sys.stdout).write(message)


def split_words(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def input_file(name: str) -> Path:
    """The file of --stdin. Raises UsageError."""
    from tracecut.support.process.standard_input import problem_of

    problem = problem_of(name)
    if problem:
        raise UsageError(f"--stdin {name}: {problem}")
    return Path(name)


def sort_words(parser: argparse.ArgumentParser, words: list[str]) -> tuple[list[str], list[str]]:
    """Our own options, and the compiler's. Raises UsageError for an option of another tracecut command."""
    takes_value = {
        name: action.nargs is None and not isinstance(action, argparse._StoreTrueAction | argparse._HelpAction)
        for action in parser._actions
        for name in action.option_strings
    }
    mine: list[str] = []
    compiler: list[str] = []
    rest = iter(words)
    for word in rest:
        name = word.partition("=")[0] if word.startswith("--") else word
        if name not in takes_value:
            if name in OPTIONS:
                hint = f"`{parser.prog} --help` lists its options."
                raise UsageError(f"{name}: not an option of `{parser.prog}`", hint=hint)
            compiler.append(word)
            continue
        mine.append(word)
        if takes_value[name] and name == word:
            value = next(rest, None)
            if value is None:
                raise UsageError(f"{word} needs a value", hint=parser.usage or "")
            mine.append(value)
    return mine, compiler
