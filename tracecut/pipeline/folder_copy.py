"""Scratch copies of the current folder, for runs whose effects must not stay: `--in-copy` and `run --check`."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from tracecut.support.errors import OutputError

from .stages.settings import Settings

MOST_BYTES, MOST_FILES = 1 << 30, 20_000  # of the folder to be copied


@contextlib.contextmanager
def run_folder(settings: Settings, work: Path) -> Iterator[Path | None]:
    """The folder that a run of the program gets: None is the current one; with `--in-copy`, a new copy of it.

    The copy lies below `work`, under the same name for each run, and is removed on leaving the context. Raises
    OutputError if the folder is too large.
    """
    if not settings.in_copy:
        yield None
        return
    base = Path.cwd()
    copy = work / "copy" / (base.name or "root")
    shutil.rmtree(copy, ignore_errors=True)
    try:
        copy_folder(base, copy, {base / settings.output, work})
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def copy_folder(base: Path, target: Path, without: set[Path]) -> None:
    """Copy a folder with its file times; links lead where they led. Raises OutputError if the folder is too large."""
    total = count = 0
    target.mkdir(parents=True)
    for here, folders, files in os.walk(base):
        folders[:] = [name for name in folders if Path(here, name) not in without]
        to = target / Path(here).relative_to(base)
        for name in folders:
            link = Path(here, name)
            if link.is_symlink():
                (to / name).symlink_to(link.resolve())
            else:
                (to / name).mkdir()
        for name in files:
            source = Path(here, name)
            if not stat.S_ISREG(source.lstat().st_mode):
                if source.is_symlink() and source.exists():
                    (to / name).symlink_to(source.resolve())
                continue
            count, total = count + 1, total + source.stat().st_size
            if count > MOST_FILES or total > MOST_BYTES:
                raise OutputError(
                    f"{base} is too large to copy: over {MOST_FILES} files or {MOST_BYTES >> 30} GiB",
                    hint="Do it in a folder that has only the files that the program reads.",
                )
            shutil.copy2(source, to / name)


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder."""
    found = {}
    for path in folder.rglob("*"):
        known = path.lstat()
        if stat.S_ISREG(known.st_mode):
            found[str(path.relative_to(folder))] = known.st_size, known.st_mtime_ns
    return found
