"""Writing results: a hidden folder inside the output folder, which becomes the result atomically."""

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

from tracecut.support.errors import ArtefactError, OutputError
from tracecut.support.files import write_json
from tracecut.support.version import __version__

from .folder import LISTING, NEXT, OWN_FILES, OWN_FOLDERS, RUNS, digest, fingerprint, finish, listed, locked
from .folder_marks import RESULT, STAGING, is_marked, put_mark, remove_marked

PREFIX = ".tracecut-staging-"
UNMARKED = re.compile(re.escape(PREFIX) + "[a-z0-9_]{8}")  # as `tempfile` names it
OTHER = "Remove it, or choose another folder with -o."


@contextlib.contextmanager
def staging(output: Path) -> Iterator[Path]:
    """An empty folder inside of `output`, removed on leaving the context unless it was published.

    Makes `output` if it does not exist, and removes it again if nothing was published. Raises OutputError if it can
    not be written to, or has other files with the names of results.
    """
    if os.path.realpath(output) == "/":
        raise OutputError(f"{output} is the root folder", hint="Results get a folder of their own: name one with -o.")
    made = _missing(output)
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_empty, made)
        try:
            output.mkdir(parents=True, exist_ok=True)
            with locked(output, fcntl.LOCK_EX):
                _check_foreign(output)
                _sweep(output)
                folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=output))
                stack.callback(_remove, folder)
                # a staging folder without a lock belongs to a dead run
                stack.enter_context(locked(folder, fcntl.LOCK_SH))
                for mark in (STAGING, RESULT):
                    put_mark(folder, mark, __version__)
        except OSError as error:
            raise _unwritable(output, error) from error
        yield folder


def publish(folder: Path, output: Path, listing: Mapping[str, Any]) -> None:
    """Make a staging folder the result by renames only, so that a full disk cannot stop it half way.

    `listing` goes into `host.json`, with the size and the SHA-256 of each file in the folder. Raises OutputError; then
    the old result is unchanged, or, if a rename failed half way, the next run completes the new one.
    """
    made: list[Path] = []
    try:
        names = seal(folder, listing)
        with locked(output, fcntl.LOCK_EX):
            _finish_or_drop(output)
            _check_foreign(output, [*OWN_FILES, *(name for name in names if name not in OWN_FILES)])
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
    """Complete an earlier result, or drop it if it is damaged, before a new one replaces it."""
    try:
        finish(output)
    except ArtefactError:
        remove_marked(output / NEXT, STAGING)


def seal(folder: Path, listing: Mapping[str, Any]) -> list[str]:
    """Write the listing of a folder of results. Returns the names of the other files."""
    apart = (folder / LISTING, folder / STAGING, folder / RUNS)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path not in apart)
    names = [str(path.relative_to(folder)) for path in paths]
    full = {**listing, "files": {name: digest(path) for name, path in zip(names, paths, strict=True)}}
    write_json(folder / LISTING, {**full, "check": fingerprint(full)})
    return names


def _check_foreign(output: Path, names: Iterable[str] = OWN_FILES) -> None:
    """Refuse a folder with files that have the names of results but do not come from tracecut; the error names them
    all.

    In a folder of results these are the files that its listing does not name; none if the listing is damaged.
    """
    known = listed(output)
    marked = is_marked(output, RESULT)
    if not is_marked(output / NEXT, STAGING) and not (marked and known is None):
        names = (*names, NEXT) if known else (*names, NEXT, *OWN_FOLDERS)
        taken = [name for name in names if name not in (known or ()) and os.path.lexists(output / name)]
        taken = [name for name in taken if not _is_empty_folder(output / name)]
        if taken:
            what = "is there already, and does not come" if len(taken) == 1 else "are there already, and do not come"
            raise OutputError(
                f"{', '.join(str(output / name) for name in taken)} {what} from tracecut",
                hint="Choose an empty or a new folder with -o.",
            )
    _check_in_the_way(output, OWN_FILES)


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _check_in_the_way(output: Path, names: Iterable[str]) -> None:
    """Refuse, before anything is moved, if a folder is in the place of a file or a file in the place of a folder."""
    for name in names:
        path = output / name
        if path.is_dir() and not path.is_symlink():
            raise OutputError(f"{path} is a folder, a file belongs there", hint=OTHER)
    for name in OWN_FOLDERS:
        path = output / name
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise OutputError(f"{path} is not a folder, a folder belongs there", hint=OTHER)


def _sweep(output: Path) -> None:
    """Remove the staging folders of killed runs: they carry our mark and are not locked.

    A run that was killed before it wrote its mark leaves an empty folder with a name of that form.
    """
    for folder in output.glob(f"{PREFIX}*"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if UNMARKED.fullmatch(folder.name):
                    remove_marked(folder, STAGING)
                    _remove_half_marked(folder)
            finally:
                os.close(handle)


def _remove(folder: Path) -> None:
    """Remove our own staging folder, its mark last, so that after an interruption the next run can remove the rest."""
    remove_marked(folder, STAGING)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_half_marked(folder: Path) -> None:
    """Remove a folder that is empty or has only an incomplete mark."""
    found = list(folder.iterdir())
    if [path.name for path in found] == [STAGING] and found[0].stat().st_size == 0:
        found[0].unlink()
    folder.rmdir()  # only when it is empty


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
            folder.rmdir()  # only folders that are still empty


def _unfinished(output: Path, error: OSError) -> OutputError:
    return OutputError(
        f"the new result could not be moved into {output}: {error.filename or ''} {error.strerror or error}",
        hint=f"It is complete in {output / NEXT}; the next `tracecut run` moves it when the problem is solved.",
    )


def _unwritable(output: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot write to the output folder {output}: {error.strerror or error}",
        hint="What was there before is unchanged. Choose another folder with -o, or free some space.",
    )
