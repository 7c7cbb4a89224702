"""What was asked of `tracecut optimize`, as one number; and whether the result in the output folder answers it already.

A result answers a question again if nothing differs that it was made of: the preprocessed sources, the compiler and all
options, what is linked, the program's words, environment, current folder and standard input, the machine, tracecut
itself, and what lies at each path that the program looked at in the instrumented run (`tracer/capture/watch.py`). Where
these paths are not known, a result is not used again. What no two runs agree on (the clock, random devices, `/proc`)
is no part of the question: an answer holds for the run that was observed, at whatever time.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tracecut.ir.machine.machine import Machine
from tracecut.support.dataclass_json import to_json
from tracecut.support.errors import ArtefactError, TracecutError
from tracecut.support.file_kinds import digest_of_path
from tracecut.support.files import load_json
from tracecut.support.process.runner import Limits, run
from tracecut.support.version import __version__

from .output.folder import digest, opened
from .stages.settings import Settings

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from typing import Any

QUESTION = "question"  # of the listing
APART = ("output", "stdin", "fresh")  # settings that the answer does not depend on; of stdin it is the content
# Set anew by shells for each command or window, and of no use to a program.
PASSING = ("_", "OLDPWD", "SHLVL", "PWD", "WINDOWID", "COLUMNS", "LINES")
ROOMS = ("support", "ir", "partition", "mapping", "tracer", "codegen", "pipeline")
SECONDS, MOST_BYTES = 60.0, 1 << 30  # of one preprocessor
MOST_INPUTS = 2000  # each run of the result reads the listing that they stand in


def question_of(settings: Settings, stdin: Path | None, folder: Path) -> str:
    """The number of a question; empty if a source cannot be read, which then has its own error.

    `stdin`: what the program reads. `folder`: for intermediate files.
    """
    try:
        parts = {
            "settings": {name: value for name, value in to_json(settings).items() if name not in APART},
            "sources": list(_sources(settings, folder)),
            "linked": [digest_of_path(path) for path in _linked(settings)],
            "stdin": "" if stdin is None else digest_of_path(str(stdin)),
            "folder": str(Path.cwd()),
            "environment": sorted(pair for pair in os.environ.items() if pair[0] not in PASSING),
            "machine": [Machine.detect().summary(), sorted(os.sched_getaffinity(0))],
            "tracecut": [__version__, *_tools()],
        }
    except (TracecutError, OSError):
        return ""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def answer_to(question: str, output: Path) -> dict[str, Any] | None:
    """The manifest of an earlier result that answers a question, None if there is none that is whole."""
    with contextlib.suppress(ArtefactError, OSError), opened(output) as listing:
        asked = listing.get(QUESTION)
        if not question or not isinstance(asked, dict) or asked.get("number") != question:
            return None
        if any(digest(output / name) != known for name, known in listing["files"].items()):
            return None
        if any(digest_of_path(path) != known for path, known in asked["inputs"].items()):
            return None
        manifest = dict(load_json(output / "manifest.json"))
        said = f"the result of {manifest['made']}: nothing that it depends on has changed since (--fresh makes it anew)"
        return {**manifest, "reused": True, "notes": [said, *manifest["notes"]]}
    return None


def with_question(listing: Mapping[str, Any], before: str, after: str) -> dict[str, Any]:
    """The listing of a new result with the question that it answers, if that is known.

    `before`, `after`: the question when the job began and when it was done. If they differ, a source was changed
    meanwhile, and which one was compiled is not known.
    """
    kept = {name: value for name, value in listing.items() if name not in ("inputs", "unseen")}
    inputs = listing.get("inputs", {})
    if before and before == after and not listing.get("unseen", "") and len(inputs) <= MOST_INPUTS:
        kept[QUESTION] = {"number": before, "inputs": dict(inputs)}
    return kept


def _sources(settings: Settings, folder: Path) -> Iterator[Any]:
    from tracecut.tracer.recorded.command_line import recorded_program
    from tracecut.tracer.toolchain.clang import preprocessor
    from tracecut.tracer.toolchain.find_compilers import environment

    program = recorded_program(settings.sources, settings.flags)
    if program is not None:
        yield from (to_json(unit) for unit in program.units)
        return
    for number, source in enumerate(settings.sources):
        if settings.flags.language(source) == "ir":
            yield digest_of_path(source)
            continue
        name = f"question{number}"
        limits = Limits(seconds=SECONDS, output_bytes=MOST_BYTES)
        done = run(preprocessor(source, settings.flags), folder=folder, name=name, env=environment(), limits=limits)
        if not done.ok:
            raise TracecutError(f"{source} cannot be preprocessed")
        yield digest_of_path(str(done.stdout))
        done.stdout.unlink()


def _linked(settings: Settings) -> Iterator[str]:
    """Files that the program is linked with."""
    yield from settings.flags.objects
    if settings.flags.libraries:
        from tracecut.tracer.runtime.link import find_library

        for name in settings.flags.libraries:
            yield str(find_library(name, settings.flags))


def _tools() -> Iterator[Any]:
    """The compiler and tracecut's own files, by their sizes and times."""
    from tracecut.support.version import package_versions
    from tracecut.tracer.toolchain.find_compilers import compiler

    yield [*compiler().command, str(compiler().version)]
    yield package_versions()
    for room in ROOMS:
        spec = importlib.util.find_spec(f"tracecut.{room}")
        for folder in [] if spec is None else spec.submodule_search_locations or []:
            yield from sorted(_files(folder))


def _files(folder: str) -> Iterator[list[str | int]]:
    """Path, size and time of each source file in a folder and those in it. There are a thousand: no `Path` is made."""
    with os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith((".py", ".c")):
                known = entry.stat()
                yield [entry.path, known.st_size, known.st_mtime_ns]
            elif entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
