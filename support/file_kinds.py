"""What a path leads to: a folder, something that must not be replaced by a file, an open descriptor."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

LINKS = 40  # longest chain of symbolic links, as in Linux
NOTHING = "nothing"


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether there is a folder of this name; False also without permission to look."""
    with contextlib.suppress(OSError, ValueError):
        return Path(path).is_dir()
    return False


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to something that must not be replaced by a file: a folder, device, pipe or descriptor."""
    with contextlib.suppress(OSError, ValueError):
        if Path(path).exists() and not Path(path).is_file():
            return True
    return descriptor_of(path) is not None


def descriptor_of(path: str | os.PathLike[str]) -> int | None:
    """The open descriptor of this process that a path (`/dev/stdout`, `/dev/fd/3`) leads to, plain file or not."""
    here = Path(path)
    with contextlib.suppress(OSError, ValueError):
        for _ in range(LINKS):
            folder = Path(os.path.realpath(here.parent))
            if folder in (Path(f"/proc/{os.getpid()}/fd"), Path(f"/proc/{os.getpid()}/task/{os.getpid()}/fd")):
                return int(here.name) if here.name.isdigit() else None
            if not here.is_symlink():
                return None
            here = here.parent / here.readlink()
    return None


def digest_of_path(path: str) -> str:
    """SHA-256 of the content of a file, or of the names in a folder; `NOTHING` where nothing lies or it cannot be read;
    empty for anything else (a pipe, a device), which cannot be read twice."""
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            names = "\0".join(sorted(entry.name for entry in Path(path).iterdir())).encode(errors="surrogateescape")
            return f"folder {hashlib.sha256(names).hexdigest()}"
        if not stat.S_ISREG(mode):
            return ""
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return NOTHING
