"""Options of units behind the preprocessor, and of a program whose units are compiled with different ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tracecut.tracer.toolchain.flags import Flags, parse_flags

from .records import Unit

# Options with a value that only the preprocessor reads, and the beginnings of those that hold it themselves.
_PREPROCESSOR = {"-I", "-D", "-U", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix"}
_BEGINNINGS = ("-I", "-D", "-U", "-isystem", "-iquote", "-idirafter")


def recorded_words(words: Sequence[str]) -> list[str]:
    """The options of a line that matter to a unit.

    One that goes into a shared library is compiled like any other, and what the user's compiler did not take for an
    error is none.
    """
    strict = ("-Werror", "-pedantic-errors")
    return [word for word in words if word not in ("-shared", *strict) and not word.startswith("-Werror=")]


def unit_flags(unit: Unit) -> Flags:
    """The options of a unit, without those that its preprocessor has read. Raises as `parse_flags`."""
    flags = parse_flags(["unit.ii" if unit.language == "c++" else "unit.i", *recorded_words(unit.words)])[1]
    kept: list[str] = []
    words = iter(flags.compile)
    for word in words:
        if word in _PREPROCESSOR:
            next(words, None)
        elif not word.startswith(_BEGINNINGS):
            kept.append(word)
    return replace(flags, compile=tuple(kept), languages=(), libraries=(), library_folders=(), objects=())


def common_flags(units: Sequence[Unit], flags: Flags, more: Sequence[str] = ()) -> Flags:
    """Options of a program as a whole: what all of its units say, and the optimisation level that most of them have.

    Without any level in one of them it is as if there were none: all of it then computes as written. One that may
    round as it likes lets all of it. `flags` has what is linked; `more` stands behind.
    """
    each = [unit_flags(unit) for unit in units]
    words = [word for word in each[0].compile if all(word in item.compile for item in each)] if each else []
    words = [word for word in words if not word.startswith("-O")]
    loose = next((item for item in each if item.relaxed), None)
    if loose is not None:
        words += [word for word in loose.compile if word not in words and not word.startswith("-O")]
    if each and not any(item.as_written for item in each):
        words.append(Counter(item.optimisation for item in each).most_common(1)[0][0])
    cxx = any(unit.language == "c++" for unit in units)
    libraries = tuple(name for name in ("stdc++", "gcc_s") if cxx and name not in flags.libraries)
    return replace(
        flags,
        compile=(*words, *more),
        openmp=any(item.openmp for item in each),
        libraries=flags.libraries + libraries,
    )
