"""Machine code that may go into a shared library, of units that only the user's compiler takes.

What a compiler makes for programs alone reaches variables of the C library (`stderr`) in a way that no shared library
can. So such a unit is compiled once more by the compiler of the build, with `-fPIC`, as long as its source and headers
are what was recorded.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tracecut.support.errors import TracecutError
from tracecut.support.process.runner import Limits, run
from tracecut.tracer.toolchain.flags import Flags

from .preprocess import SECONDS, preprocessed
from .read_program import units_of
from .records import Unit
from .wrapper import find_compiler

_VALUES = {"-MF", "-MT", "-MQ", "-MJ"}  # of options that write lists of dependencies


def position_independent(flags: Flags, units: Collection[Unit], folder: Path) -> Flags:
    """The options of a program with such code in the places of the objects that hold one of `units` alone.

    An object stays as it is where that cannot be made. `folder`: where it is put.
    """
    objects = []
    for number, word in enumerate(flags.objects):
        inside = units_of(Path(word)) if Path(word).suffix != ".a" else []
        alone = inside[0] if len(inside) == 1 and inside[0] in units else None
        made = None if alone is None else _compiled(alone, folder / f"again{number}")
        objects.append(word if made is None else str(made))
    return replace(flags, objects=tuple(objects))


def _compiled(unit: Unit, folder: Path) -> Path | None:
    compiler = find_compiler(unit.language == "c++")
    place = Path(unit.folder)
    if compiler is None or preprocessed(unit.source, unit.language, unit.words, place).text != unit.text:
        return None
    folder.mkdir(exist_ok=True)
    target = folder / "unit.o"
    command = [*compiler, *_quiet(unit.words), "-fPIC", "-fno-lto", "-c", "-x", unit.language, unit.source]
    try:
        done = run(
            [*command, "-o", str(target)],
            folder=folder,
            name="again",
            env=dict(os.environ),
            cwd=place,
            limits=Limits(seconds=SECONDS),
        )
    except TracecutError:
        return None
    return target if not done.returncode and target.is_file() else None


def _quiet(words: Sequence[str]) -> Iterator[str]:
    """The options, without those that write something besides the object."""
    rest = iter(words)
    for word in rest:
        if word in _VALUES:
            next(rest, None)
        elif not word.startswith(("-M", "-save-temps")):
            yield word
