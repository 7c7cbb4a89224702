"""Writing results: a hidden folder inside of the output folder, which becomes the result as a whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tracecut.ir.errors import ArtefactError, OutputError
from tracecut.ir.files import write_json

from .folder import LISTING, NEXT, OWN_FILES, OWN_FOLDERS, digest, fingerprint, finish, locked

PREFIX = ".tracecut-"
MARK = re.compile(rb'\s*\{\s*"tracecut":')
OTHER = "Remove it, or choose another folder with -o."


@contextlib.contextmanager
def staging(output: Path) -> Iterator[Path]:
    """An empty folder inside of `output`, removed on leaving the context unless it was published.

    Makes `output` when there is none, and removes it again when nothing was published. Raises OutputError when it can
    not be written to, or holds files of others under the names of results.
    """
    made = _missing(output)
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_empty, made)
        try:
            output.mkdir(parents=True, exist_ok=True)
            with locked(output, fcntl.LOCK_EX):
                _check_foreign(output)
                _sweep(output)
                folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=output))
                stack.callback(shutil.rmtree, folder, ignore_errors=True)
                stack.enter_context(locked(folder, fcntl.LOCK_SH))  # without a lock it would be a dead run's
        except OSError as error:
            raise _unwritable(output, error) from error
        yield folder


def publish(folder: Path, output: Path, listing: Mapping[str, Any]) -> None:
    """Make a staging folder the result: renames only, so that a full disk can not stop half way.

    `listing` goes into `host.json`, with the size and the SHA-256 of each file in the folder. Raises OutputError; the
    old result is then as it was, or, when its files can be renamed no more, the new one is finished by the next run.
    """
    made: list[Path] = []
    try:
        names = seal(folder, listing)
        with locked(output, fcntl.LOCK_EX):
            _check_foreign(output)
            _finish_or_drop(output)
            _check_in_the_way(output, names)
            for parent in {(output / name).parent for name in names}:
                if not parent.is_dir():
                    parent.mkdir()
                    made.append(parent)
            folder.rename(output / NEXT)
            made.clear()
            try:
                finish(output)
            except OSError as error:
                raise _unfinished(output, error) from error
    except OSError as error:
        _remove_empty(made)
        raise _unwritable(output, error) from error


def _finish_or_drop(output: Path) -> None:
    """Finish an earlier result, or drop it when it was damaged: a new one is about to take its place."""
    try:
        finish(output)
    except ArtefactError:
        shutil.rmtree(output / NEXT)


def seal(folder: Path, listing: Mapping[str, Any]) -> list[str]:
    """Write the listing of a folder of results. Returns the names of the other files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / LISTING)
    names = [str(path.relative_to(folder)) for path in paths]
    full = {**listing, "files": {name: digest(path) for name, path in zip(names, paths, strict=True)}}
    write_json(folder / LISTING, {**full, "check": fingerprint(full)})
    return names


def _check_foreign(output: Path) -> None:
    """Refuse a folder with files that have the names of results but come from elsewhere."""
    if not ((output / NEXT).exists() or any(_is_marked(output / name) for name in (LISTING, "manifest.json"))):
        taken = [path for path in map(output.joinpath, (*OWN_FILES, *OWN_FOLDERS)) if os.path.lexists(path)]
        taken = [path for path in taken if not _is_empty_folder(path)]
        if taken:
            raise OutputError(
                f"{taken[0]} is there already, and does not come from tracecut",
                hint="Choose an empty or a new folder with -o.",
            )
    _check_in_the_way(output, OWN_FILES)


def _is_marked(path: Path) -> bool:
    """Whether a file begins as our JSON files do: other programs have a `manifest.json` too."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return MARK.match(file.read(64)) is not None


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _check_in_the_way(output: Path, names: Iterable[str]) -> None:
    """Refuse when a file could not be put where it belongs, before anything is moved."""
    for name in names:
        path = output / name
        if path.is_dir() and not path.is_symlink():
            raise OutputError(f"{path} is a folder, a file belongs there", hint=OTHER)
    for name in OWN_FOLDERS:
        path = output / name
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise OutputError(f"{path} is not a folder, a folder belongs there", hint=OTHER)


def _sweep(output: Path) -> None:
    """Remove the staging folders of runs that were killed: nobody holds their locks."""
    for folder in output.glob(f"{PREFIX}*"):
        if folder.name == NEXT or folder.is_symlink() or not folder.is_dir():
            continue
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _missing(output: Path) -> list[Path]:
    """The folders that have to be made, innermost first."""
    found = []
    for folder in (output, *output.parents):
        if folder.exists():
            break
        found.append(folder)
    return found


def _remove_empty(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()  # only what is still empty goes


def _unfinished(output: Path, error: OSError) -> OutputError:
    return OutputError(
        f"the new result could not be moved into {output}: {error.filename or ''} {error.strerror or error}",
        hint=f"It is complete in {output / NEXT}; the next `tracecut run` moves it when the cause is gone.",
    )


def _unwritable(output: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot write to the output folder {output}: {error.strerror or error}",
        hint="What was there before is unchanged. Choose another folder with -o, or free some space.",
    )
