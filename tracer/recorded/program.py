"""A program as translation units, each with options of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tracecut.tracer.toolchain.flags import Flags

from .common_flags import unit_flags
from .records import Unit


@dataclass(frozen=True)
class Program:
    """What a program is made of. flags: of all of it, and what it is linked with."""

    units: tuple[Unit, ...]
    flags: Flags


def unpack(program: Program, folder: Path) -> list[tuple[Path, Flags]]:
    """Write the units of a program to files, each with the options that it is compiled with."""
    found = []
    for number, unit in enumerate(program.units):
        own = folder / f"unit{number}"
        own.mkdir(parents=True, exist_ok=True)
        path = own / Path(unit.source).with_suffix(".ii" if unit.language == "c++" else ".i").name
        path.write_bytes(unit.text.encode("utf-8", "surrogateescape"))
        found.append((path, unit_flags(unit)))
    return found
