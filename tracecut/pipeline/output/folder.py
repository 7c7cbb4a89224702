"""The output folder: all of its files come from one run, the old or the new one, even after a crash.

A run fills a hidden folder beside the old results (`staging.py`). Renaming that folder to `.tracecut-next` commits
the result; its files are then moved to their places under a lock. After a crash, the next reader completes the
moves. `host.json` lists every file with its size and SHA-256 and is moved last, so a mixture of two results is never
accepted.

Files of tracecut are recognised by a mark and not by their names (`folder_marks.py`): users may have a
`manifest.json` or a hidden folder of their own.

`tracecut run` imports this file before the user's program starts: it imports only light modules.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tracecut.support.version import __version__

from .folder_marks import RESULT, STAGING, is_marked, remove_marked

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

    from tracecut.support.errors import ArtefactError

LISTING = "host.json"
NEXT = ".tracecut-next"
RUNS = "tracecut-runs.json"  # use counts are not part of the result
OWN_FILES = (
    LISTING,
    RESULT,
    "manifest.json",
    "program",
    "program.so",
    "device.so",
    "remarks.yaml",
    "report.html",
    "canonical.ll",
)
OWN_FOLDERS = ("scopes", "kernels")
MAX_LISTING = 64 << 20
AGAIN = "Run tracecut optimize again."
MAKE_IT = "Make it with `tracecut optimize SOURCE -o OUT`."


@contextlib.contextmanager
def opened(output: Path) -> Iterator[dict[str, Any]]:
    """The listing of a result, checked against its files; no other run changes them inside of the context.

    Raises ArtefactError when the folder is no result, is damaged, or was made by another version.
    """
    try:
        with locked(output, fcntl.LOCK_SH) as handle:
            if is_marked(output / NEXT, STAGING):
                _lock(handle, fcntl.LOCK_EX)
                finish(output)
            yield _checked(output)
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else str(output)
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and name == str(output):
            what = "no such folder" if error.errno == errno.ENOENT else "not a folder"
            raise damaged(f"{output}: {what}", MAKE_IT) from error
        raise damaged(f"{name} cannot be read: {error.strerror or error}") from error


@contextlib.contextmanager
def locked(folder: Path, kind: int) -> Iterator[int]:
    """Hold a lock on a folder itself, so that no file is left behind; the kernel drops it when the process dies."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(handle, kind)
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, kind: int) -> None:
    with contextlib.suppress(OSError):  # some network file systems have no locks
        fcntl.flock(handle, kind)


def finish(output: Path) -> None:
    """Move the next result, if there is one, into place. Idempotent: a crash at any point can be repaired by another
    call."""
    source = output / NEXT
    if not is_marked(source, STAGING):
        return
    if (source / LISTING).is_file():
        names = set(read_listing(source)["files"])
        # the mark first: from now on the folder is known as ours
        for name in sorted(names, key=lambda name: (name != RESULT, name)):
            if (source / name).exists():
                (output / name).parent.mkdir(exist_ok=True)
                os.replace(source / name, output / name)
        _remove_stale(output, names)
        os.replace(source / LISTING, output / LISTING)
    remove_marked(source, STAGING)


def _remove_stale(output: Path, keep: set[str]) -> None:
    """Remove the files of the old result that the new one does not have, and no others."""
    old = listed(output)
    for name in (set(OWN_FILES) if old is None else old) - keep - {LISTING}:
        (output / name).unlink(missing_ok=True)
    for name in OWN_FOLDERS:
        with contextlib.suppress(OSError):
            (output / name).rmdir()  # only when it is empty


def _checked(output: Path) -> dict[str, Any]:
    """The listing, if all files that a run needs match it."""
    if not (output / LISTING).is_file():
        found = "is incomplete" if (output / "program").exists() else "holds no result of tracecut"
        raise damaged(f"{output} {found}", MAKE_IT)
    listing = read_listing(output)
    if listing["tracecut"] != __version__:
        raise damaged(f"{output} was made by tracecut {listing['tracecut']}, this is {__version__}")
    scopes = listing["scopes"]
    for name in ("program", *(["program.so", *scopes] if scopes else [])):
        if name not in listing["files"]:
            raise damaged(f"{output / LISTING} is damaged: it does not list {name}")
        if not (output / name).is_file():
            raise damaged(f"{output / name} is missing")
        if digest(output / name) != listing["files"][name]:
            raise damaged(f"{output / name} is damaged: it is not the file that tracecut wrote")
    return listing


def read_listing(folder: Path) -> dict[str, Any]:
    """The listing of a folder, with its shape checked. Raises ArtefactError, or OSError when it cannot be read."""
    path = folder / LISTING
    with open(path, "rb") as file:
        data = file.read(MAX_LISTING)
    try:
        listing = json.loads(data)
        whole = (
            data == f"{json.dumps(listing, indent=1)}\n".encode()  # as `files.write_json` wrote it, blanks and all
            and isinstance(listing["tracecut"], str)
            and isinstance(listing["threads"], int)
            and all(isinstance(name, str) for name in [*listing["globals"], *listing["scopes"]])
            and isinstance(listing["files"], dict)
            and all(_is_inside(name) for name in [*listing["scopes"], *listing["files"]])
            and listing.pop("check") == fingerprint(listing)
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(f"{path} is damaged: {type(error).__name__}: {error}") from error
    if not whole:
        raise damaged(f"{path} is damaged")
    return dict(listing)


def listed(folder: Path) -> set[str] | None:
    """Names of the files of a result; None if its listing is missing or damaged."""
    try:
        return {LISTING, *read_listing(folder)["files"]}
    except Exception:
        return None


def fingerprint(listing: Mapping[str, Any]) -> str:
    """SHA-256 of the values of a listing."""
    return hashlib.sha256(json.dumps(listing, sort_keys=True).encode()).hexdigest()


def _is_inside(name: object) -> bool:
    """Whether a listed name is a valid name of ours, which never leads out of the folder."""
    if not isinstance(name, str):
        return False
    parts = name.split("/")
    return name in OWN_FILES or (len(parts) == 2 and parts[0] in OWN_FOLDERS and parts[1] not in ("", ".", ".."))


def digest(path: Path) -> list[int | str]:
    """Size and SHA-256 of a file."""
    with open(path, "rb") as file:
        value = hashlib.file_digest(file, "sha256").hexdigest()
        return [file.tell(), value]


def digest_of(data: bytes) -> list[int | str]:
    """Size and SHA-256 of bytes."""
    return [len(data), hashlib.sha256(data).hexdigest()]


def damaged(message: str, hint: str = AGAIN) -> ArtefactError:
    """The error for a damaged result."""
    from tracecut.support.errors import ArtefactError

    return ArtefactError(message, hint=hint)
