"""Writing results: a hidden folder inside of the output folder, which becomes the result as a whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracecut.ir.errors import OutputError
from tracecut.ir.files import write_json

from .folder import LISTING, NEXT, OWN_FILES, OWN_FOLDERS, digest, fingerprint, finish, locked

PREFIX = ".tracecut-"


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
    old result is then as it was.
    """
    try:
        names = seal(folder, listing)
        with locked(output, fcntl.LOCK_EX):
            _check_foreign(output)
            finish(output)
            for name in {Path(name).parent for name in names}:
                (output / name).mkdir(exist_ok=True)
            folder.rename(output / NEXT)
            finish(output)
    except OSError as error:
        raise _unwritable(output, error) from error


def seal(folder: Path, listing: Mapping[str, Any]) -> list[str]:
    """Write the listing of a folder of results. Returns the names of the other files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / LISTING)
    names = [str(path.relative_to(folder)) for path in paths]
    full = {**listing, "files": {name: digest(path) for name, path in zip(names, paths, strict=True)}}
    write_json(folder / LISTING, {**full, "check": fingerprint(full)})
    return names


def _check_foreign(output: Path) -> None:
    """Refuse a folder with files that have the names of results but come from elsewhere."""
    if any((output / name).exists() for name in (LISTING, "manifest.json", NEXT)):
        return
    taken = [name for name in (*OWN_FILES, *OWN_FOLDERS) if os.path.lexists(output / name)]
    if taken:
        raise OutputError(
            f"{output / taken[0]} is there already, and does not come from tracecut",
            hint="Choose an empty or a new folder with -o.",
        )


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


def _unwritable(output: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot write to the output folder {output}: {error.strerror or error}",
        hint="What was there before is unchanged. Choose another folder with -o, or free some space.",
    )
