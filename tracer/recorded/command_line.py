"""What the user names: sources with their options, a program that the wrappers built, or a list of compiler lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracecut.support.errors import SourceError
from tracecut.tracer.toolchain.flags import C_SUFFIXES, CXX_SUFFIXES, IR_SUFFIXES, Flags, parse_flags

from .compile_commands import NAME, is_commands, listed_flags, read_commands
from .program import Program
from .read_program import is_program, read_program
from .records import Unit

_KNOWN = C_SUFFIXES | CXX_SUFFIXES | IR_SUFFIXES | {".o", ".a", ".so"}


def command_line(words: Sequence[str]) -> tuple[list[str], Flags]:
    """Files to make a program of, and its options.

    A program comes with the options that it was built with, behind which those of the line stand; `-p FOLDER`, or the
    file itself, is a list of compiler lines, of which sources that are named besides choose the program. Raises as
    `parse_flags` and the readers.
    """
    words = _with_lists(words)
    named = [word for word in words if not word.startswith("-") and (is_commands(word) or _is_program(word))]
    if not named:
        return parse_flags(words)
    if len(named) > 1:
        raise SourceError(f"{' and '.join(named)}: one program was expected")
    rest = list(words)
    rest.remove(named[0])
    sources, more = parse_flags(rest)
    if is_commands(named[0]):
        return [*named, *sources], listed_flags(Path(named[0]), more)
    if sources:
        raise SourceError(f"{named[0]} and {sources[0]}: a program or sources were expected, not both")
    flags = read_program(Path(named[0])).flags
    added = {name: getattr(flags, name) + getattr(more, name) for name in ("library_folders", "libraries", "objects")}
    return named, replace(flags, compile=flags.compile + more.compile, remarks=flags.remarks + more.remarks, **added)


def recorded_program(sources: Sequence[str], flags: Flags) -> Program | None:
    """The program behind what was named; None where these are sources."""
    if not sources or flags.languages:
        return None
    if is_commands(sources[0]):
        return read_commands(Path(sources[0]), sources[1:], flags)
    return read_program(Path(sources[0])) if _is_program(sources[0]) else None


def flags_without(sources: Sequence[str], flags: Flags, refused: Mapping[Unit, str]) -> Flags:
    """The options of a program of which some units, that cannot be compiled, are taken as they were compiled before.

    `refused`: these units, and why. Raises SourceError where their machine code cannot be had.
    """
    first, why = next(iter(refused.items()))
    if is_commands(sources[0]):
        raise SourceError(f"{first.source} does not compile: {why}", hint="The rest of the program needs it.")
    found = read_program(Path(sources[0]), refused).flags
    added: dict[str, Any] = {}
    for name in ("objects", "libraries", "remarks"):
        known = getattr(flags, name)
        added[name] = (*(word for word in getattr(found, name) if word not in known), *known)
    return replace(flags, **added)


def _with_lists(words: Sequence[str]) -> list[str]:
    """The words with `-p FOLDER` as the list that is there."""
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        folder = next(rest, "") if word == "-p" else ""
        found.append(str(Path(folder) / NAME) if folder else word)
    return found


def _is_program(word: str) -> bool:
    return Path(word).suffix not in _KNOWN and ".so." not in word and is_program(word)
