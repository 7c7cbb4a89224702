"""A program from the list of its compiler lines: `compile_commands.json`, which CMake, Meson and Bear write."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracecut.support.errors import SourceError
from tracecut.tracer.toolchain.flags import Flags

from .common_flags import common_flags
from .compiler_line import read_line
from .preprocess import preprocessed
from .program import Program
from .records import Unit

NAME = "compile_commands.json"
_MAIN = re.compile(r"^[ \t]*(?:extern\s+\"C\"\s+)?(?:int|void|auto)\s+main\s*\(", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One line of the list: what it compiles, where, and with which options."""

    source: str
    folder: str
    language: str
    words: tuple[str, ...]

    @property
    def path(self) -> str:
        """The source by its whole name."""
        return os.path.normpath(Path(self.folder) / self.source)


def is_commands(path: str | Path) -> bool:
    """Whether a file is such a list, by its name."""
    return Path(path).name == NAME


def read_entries(path: Path) -> list[Entry]:
    """The lines that compile C or C++, the last one of each source. Raises SourceError, which names the entry."""
    try:
        listed = json.loads(path.read_text(errors="surrogateescape"))
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SourceError(f"{path}: not JSON: {error}") from error
    if not isinstance(listed, list):
        raise SourceError(f"{path}: a list of compiler lines was expected")
    found: dict[str, Entry] = {}
    for number, item in enumerate(listed):
        for entry in _entries(path, number, item):
            found[entry.path] = entry
    if not found:
        raise SourceError(f"{path}: no line in it compiles C or C++")
    return list(found.values())


def _entries(path: Path, number: int, item: Any) -> list[Entry]:
    try:
        words = [str(word) for word in item["arguments"]] if "arguments" in item else shlex.split(item["command"])
        folder = str(path.parent.absolute() / item["directory"])
    except (TypeError, KeyError, ValueError) as error:
        raise SourceError(f"{path}: entry {number} is no compiler line ({error})") from error
    if len(words) > 2 and not words[1].startswith("-") and "." not in Path(words[1]).name:
        words = words[1:]  # the first one starts the compiler, as ccache does
    line = read_line(words[1:], cxx=bool(words) and "++" in Path(words[0]).name)
    return [
        Entry(source, folder, language, line.words) for source, language in line.sources if language in ("c", "c++")
    ]


def listed_flags(path: Path, more: Flags) -> Flags:
    """Options of the program as a whole; `more` has what it is linked with, which the list does not tell."""
    units = [Unit(entry.source, entry.folder, entry.language, entry.words) for entry in read_entries(path)]
    return common_flags(units, replace(more, compile=()), more.compile)


def read_commands(path: Path, chosen: Sequence[str], flags: Flags) -> Program:
    """Preprocess the program of a list. `chosen`: sources that are part of it, of those that have a main function.

    Raises SourceError when a source cannot be preprocessed, or several programs are meant.
    """
    entries = read_entries(path)
    wanted = {os.path.normpath(Path(name).absolute()) for name in chosen}
    unknown = wanted - {entry.path for entry in entries}
    if unknown:
        raise SourceError(f"{path}: no line in it compiles {min(unknown)}")

    def made(entry: Entry) -> Unit:
        return preprocessed(entry.source, entry.language, entry.words, Path(entry.folder))

    with ThreadPoolExecutor(2) as pool:
        units = list(pool.map(made, entries))
    mains = [entry for entry, unit in zip(entries, units, strict=True) if _MAIN.search(unit.text)]
    taken = [entry for entry in mains if not wanted or entry.path in wanted]
    if len(taken) > 1:
        names = ", ".join(entry.source for entry in taken)
        raise SourceError(
            f"{path}: {len(taken)} programs are listed, whose main functions are in {names}",
            hint=f"Name the one to take: tracecut optimize -p {path.parent} {taken[0].path}",
        )
    kept = [unit for entry, unit in zip(entries, units, strict=True) if entry in taken or entry not in mains]
    for unit in kept:
        if unit.why:
            raise SourceError(f"{unit.source} cannot be read: {unit.why}")
    return Program(tuple(kept), flags)
