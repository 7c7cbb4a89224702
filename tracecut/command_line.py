"""What the subcommands share: sorting the words of the command line, kinds of values, signals.

Words before `--` are the options of tracecut and of the compiler, those behind it the program's arguments.
"""

from __future__ import annotations

import argparse
import signal

from tracecut.ir.errors import UsageError


def handle_signals() -> None:
    """Turn the signals that ask to stop into exceptions, once: what is cleaned up then is not interrupted again."""

    def stop(number: int, frame: object) -> None:
        for other in stops:
            signal.signal(other, signal.SIG_IGN)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    stops = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup, or a job in the background
    ]
    for number in stops:
        signal.signal(number, stop)


def split_words(words: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1 :]


def sort_words(parser: argparse.ArgumentParser, words: list[str]) -> tuple[list[str], list[str]]:
    """Our own options, and what belongs to the compiler."""
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
            compiler.append(word)
            continue
        mine.append(word)
        if takes_value[name] and name == word:
            value = next(rest, None)
            if value is None:
                raise UsageError(f"{word} needs a value", hint=parser.usage or "")
            mine.append(value)
    return mine, compiler


def positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: a whole number of at least 1 expected")
    return value


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: a positive number of seconds expected")
    return value
