"""What the subcommands share: sorting the words of the command line, kinds of values, signals.

Words before `--` are the options of tracecut and of the compiler, those behind it the program's arguments.
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

# The long options of all commands: what one of them does not have is a mistake, and nothing for the compiler.
_NAMES = (
    "addresses arch budget check cycles every exact fail-if-no-gain function json k kinds loops machine "
    "max-instructions memory method opt original output quiet reduce region seed start stdin stdout stop "
    "threads timed timeout totals verbose weights whole"
)
OPTIONS = frozenset(f"--{name}" for name in _NAMES.split())

positive, seconds = COUNT.word, SECONDS.word  # kinds of values, for argparse


def leave_at_once() -> None:
    """Let the signals that ask to stop end the process: for as long as there is nothing to tidy up.

    An exception would come up anywhere in the imports, and be printed by whoever can not hand it on.
    """

    def stop(number: int, frame: object) -> None:
        with contextlib.suppress(OSError):
            if number == signal.SIGINT:
                os.write(2, b"tracecut: interrupted\n")
        os._exit(128 + number)

    for number in _stops():
        signal.signal(number, stop)


def handle_signals() -> None:
    """Turn the signals that ask to stop into exceptions, once: what is cleaned up then is not interrupted again."""

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
    """What a command does when its words are understood, before it compiles and runs anything."""
    handle_signals()
    from tracecut.tracer.toolchain.find_compilers import cache_note

    note = cache_note()
    if note:
        print(f"tracecut: {note}", file=sys.stderr)


def _stops() -> list[signal.Signals]:
    """The signals that ask to stop, without those that are ignored: by nohup, or for a job in the background."""
    stops = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [number for number in stops if signal.getsignal(number) is not signal.SIG_IGN]


class Parser(argparse.ArgumentParser):
    """Raises what is wrong with a command line, in place of printing it: messages have one form, and one place."""

    width: int | None = 80  # of lines: argparse asks for the terminal's at each option, and loads a lot for that

    def _get_formatter(self) -> argparse.HelpFormatter:
        return argparse.HelpFormatter(self.prog, width=self.width)

    def format_help(self) -> str:
        self.width = None  # the terminal's
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"`{self.prog} --help` lists the options.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help and version: what can not be written is an error like any other; argparse passes over it."""
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
    """Our own options, and what belongs to the compiler. Raises UsageError for an option of another command of ours."""
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
                hint = f"`{parser.prog} --help` lists those that it has."
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
