"""A translation unit behind the preprocessor, by tracecut's own clang and with the options of the user's line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tracecut.support.compiler_messages import first_lines
from tracecut.support.errors import TracecutError
from tracecut.support.process.runner import Limits, describe, private_folder, run
from tracecut.tracer.toolchain.clang import preprocessor
from tracecut.tracer.toolchain.find_compilers import environment
from tracecut.tracer.toolchain.flags import parse_flags

from .common_flags import recorded_words
from .records import Unit

SECONDS = 600.0  # for one unit; a preprocessor that reads a pipe would wait for ever
MOST_BYTES = 1 << 30  # of its text
_MARK = re.compile(r'^(# \d+ ")([^"/<][^"]*")', re.MULTILINE)


def preprocessed(source: str, language: str, words: Sequence[str], folder: Path) -> Unit:
    """A unit to record: of a source on a line that runs in `folder`. What cannot be had is in its `why`."""

    def unit(text: str = "", why: str = "") -> Unit:
        return Unit(source, str(folder), language, tuple(words), text, why)

    if language not in ("c", "c++"):
        return unit(why=f"it is compiled as {language}, which tracecut does not read")
    try:
        command = command_for(source, language, words)
        with private_folder("tracecut-unit-") as own:
            limits = Limits(seconds=SECONDS, output_bytes=MOST_BYTES)
            done = run(command, folder=own, name="unit", env=environment(), cwd=folder, limits=limits)
            said = done.stderr.read_text(errors="replace")
            text = done.stdout.read_bytes().decode("utf-8", "surrogateescape")
    except TracecutError as error:
        return unit(why=error.message)
    if done.returncode or done.output_capped:
        return unit(why=first_lines(said) or f"the preprocessor {describe(done)}")
    return unit(text=_MARK.sub(lambda mark: f"{mark[1]}{_escaped(folder)}/{mark[2]}", text))


def command_for(source: str, language: str, words: Sequence[str]) -> list[str]:
    """What prints a source behind the preprocessor. `words`: options of its line. Raises as `parse_flags`."""
    return preprocessor(source, parse_flags(["-x", language, source, *recorded_words(words)])[1])


def _escaped(folder: Path) -> str:
    return str(folder).replace("\\", "\\\\").replace('"', '\\"')
