"""Private temporary folders: one per run, readable only by the owner, removed at the end.

The folder's name has the owner's pid namespace, pid and start time, so that the next run recognises and removes the
folder of a killed one, and never one in use.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .errors import OutputError


@contextlib.contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """A new empty folder of mode 0700 in the temporary folder, removed with its content on leaving the context.

    It is also removed if a signal handler raises; after a SIGKILL the next call with this prefix removes it.
    Raises OutputError if it cannot be made.
    """
    folder = new_folder(prefix)
    try:
        yield folder
    finally:
        _remove(folder)


def new_folder(prefix: str) -> Path:
    """The same, removed by the caller: for folders that live as long as an object or the process.

    The folder of a killed process is removed by the next call with this prefix. Raises OutputError.
    """
    base = Path(tempfile.gettempdir())
    _sweep(base, prefix)
    owner = f"{_namespace()}-{os.getpid()}-{_start_time(os.getpid())}"
    try:
        return Path(tempfile.mkdtemp(prefix=f"{prefix}-{owner}-", dir=base))
    except OSError as error:
        raise OutputError(
            f"cannot make a temporary folder in {base}: {error.strerror}",
            hint="Set TMPDIR to a folder with free space.",
        ) from error


def _sweep(base: Path, prefix: str) -> None:
    """Remove the folders with this prefix whose owner is dead, as far as we can tell and have permission."""
    pattern = re.compile(re.escape(prefix) + r"-(\d+)-(\d+)-(\d+)-[a-z0-9_]+")
    namespace = _namespace()
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            match = pattern.fullmatch(entry.name)
            # A pid of another namespace (a container that shares the folder) has no meaning here.
            if match and int(match[1]) == namespace and _start_time(int(match[2])) != int(match[3]):
                with contextlib.suppress(OSError):
                    state = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid():
                        _remove(Path(entry.path))


def _remove(folder: Path) -> None:
    """Remove as much as possible; nobody needs the content, so failures are not reported."""
    try:
        shutil.rmtree(folder)
    except OSError:  # a program may have removed its permissions for folders that it made there
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
            for parent, names, _ in os.walk(folder):
                for child in (Path(parent, name) for name in names):
                    if not child.is_symlink():
                        child.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)


def _start_time(pid: int) -> int:
    """Clock ticks from boot to the start of a process; -1 if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return -1
    return int(text.rpartition(b")")[2].split()[19])


def _namespace() -> int:
    """An identifier of the pid namespace; 0 if unknown."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
