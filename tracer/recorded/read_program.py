"""From a program that the compiler wrappers built back to its sources and options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tracecut.support.errors import SourceError
from tracecut.tracer.toolchain.flags import Flags, parse_flags

from .archive import is_archive, members
from .common_flags import common_flags
from .elf_sections import is_elf, section
from .program import Program
from .records import SECTION, LinkLine, Unit, decode

HINT = "Build it with CC=tracecut-cc and CXX=tracecut-c++, from clean."


def is_program(path: str | Path) -> bool:
    """Whether a file is machine code by its first bytes."""
    try:
        with open(path, "rb") as file:
            return is_elf(file.read(16))
    except OSError:
        return False


def read_program(path: Path, refused: Mapping[Unit, str] | None = None) -> Program:
    """The units of a program. `refused`: those that cannot be compiled, and why: their machine code is linked as it is.

    Raises SourceError when it has none, or some of it has no record.
    """
    known = refused or {}
    units, link = _records(path, path.read_bytes())
    units = _marked(units, known)
    if link is None:
        raise SourceError(f"{path}: a program that does not say what it was made of", hint=HINT)
    flags = parse_flags(link.words)[1]
    inside = {word: [] if _is_shared(word) else _marked(units_of(Path(word)), known) for word in flags.objects}
    if not units:  # an optimising linker keeps no sections: all that the line names is in it
        units = [unit for found in inside.values() for unit in found]
    if not units:
        raise SourceError(f"{path}: a program without a record of its sources", hint=HINT)
    without = [unit for unit in units if unit.why]
    plain = tuple(word for word in flags.objects if _is_linked(Path(word), inside[word]))
    folders, libraries, others = _libraries(flags, link, known)
    lost = [unit for unit in without if unit not in others and not any(unit in inside[word] for word in plain)]
    if lost:
        raise SourceError(f"{lost[0].source} cannot be read: {lost[0].why}", hint="The rest of the program needs it.")
    said = tuple(f"{unit.source}: taken as it was compiled, {unit.why}" for unit in without)
    kept = [unit for unit in units if unit.text]
    if not kept:
        raise SourceError(f"{path}: none of its sources can be read; {without[0].source}: {without[0].why}")
    made = replace(flags, objects=plain, library_folders=folders, libraries=libraries, remarks=said)
    assembly = any(Path(word).suffix == ".S" for word in plain)
    return Program(tuple(kept), common_flags(kept, made, _of_preprocessor(flags, link) if assembly else ()))


def _is_shared(word: str) -> bool:
    """Whether a file is a shared library by its name: it stays one, though its sources may be known."""
    return word.endswith(".so") or ".so." in Path(word).name


def _of_preprocessor(flags: Flags, link: LinkLine) -> list[str]:
    """What a line says of macros and headers, with folders by their whole names."""
    found: list[str] = []
    words = iter(flags.compile)
    for word in words:
        option = word[:2]
        if option in ("-I", "-D", "-U"):
            value = word[2:] or next(words, "")
            found.append(option + (str(Path(link.folder) / value) if option == "-I" else value))
    return found


def _is_linked(path: Path, units: list[Unit]) -> bool:
    """Whether a file is linked beside the units that are compiled anew.

    An archive is if it holds any that cannot be: of archives a linker takes the members that nothing else defines.
    """
    return not any(unit.text for unit in units) or (path.suffix == ".a" and any(unit.why for unit in units))


def _marked(units: list[Unit], refused: Mapping[Unit, str]) -> list[Unit]:
    return [replace(unit, text="", why=refused[unit]) if unit in refused else unit for unit in units]


def _libraries(
    flags: Flags, link: LinkLine, refused: Mapping[Unit, str]
) -> tuple[tuple[str, ...], tuple[str, ...], list[Unit]]:
    """Folders by their whole names, libraries but those whose units the program holds itself, and units of the rest."""
    folders = tuple(str(Path(link.folder) / folder) for folder in flags.library_folders)
    kept: list[str] = []
    units: list[Unit] = []
    for name in flags.libraries:
        places = [Path(folder) / f"lib{name}.{end}" for folder in folders for end in ("so", "a")]
        first = next((place for place in places if place.exists()), None)
        inside = [] if first is None or first.suffix == ".so" else _marked(units_of(first), refused)
        if first is None or _is_linked(first, inside):
            kept.append(name)
            units += inside
    return folders, tuple(kept), units


def units_of(path: Path) -> list[Unit]:
    """Units in an object, or in the members of an archive."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    if is_archive(data):
        return [unit for name, member in members(data) for unit in _records(path / name, member)[0]]
    return _records(path, data)[0] if is_elf(data) else []


def _records(path: Path, data: bytes) -> tuple[list[Unit], LinkLine | None]:
    try:
        found = decode(section(data, SECTION)) if is_elf(data) else []
    except ValueError as error:
        raise SourceError(f"{path}: its record cannot be read: {error}", hint=HINT) from error
    links: Iterator[LinkLine] = (item for item in found if isinstance(item, LinkLine))
    return [item for item in found if isinstance(item, Unit)], next(links, None)
