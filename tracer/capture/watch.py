"""Which files a program looks at in the instrumented run: what its answer depends on, beside its words and streams.

`watch.c` is loaded in front of the C library of that run and writes down each path that the program, or a library for
it, opens or asks for. What it cannot see, a program started by the program for one, is known by the names of the
functions that the program calls.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tracecut.support.file_kinds import digest_of_path
from tracecut.tracer.runtime.compile_support import support_object
from tracecut.tracer.runtime.link import shared_library
from tracecut.tracer.toolchain.flags import Flags

PRELOAD, RECORD = "LD_PRELOAD", "looked-at"
# The state of the machine, which the clock belongs to as well: no two runs agree on it, and an answer does not expire
# with it.
MACHINE = ("/dev/", "/proc/", "/sys/")
UNSEEN = frozenset(
    "system popen posix_spawn posix_spawnp execl execle execlp execv execve execvp execvpe fexecve socket connect"
    " syscall shm_open mq_open msgget shmget semget open_by_handle_at glob glob64 ftw nftw fts_open scandir scandir64"
    " wordexp dlopen dlmopen".split()
)


def watcher(folder: Path) -> Path:
    """The library that is loaded in front of the C library, made in `folder`. Raises ToolchainError."""
    return shared_library([support_object(Path(__file__).with_name("watch.c"))], Flags(), folder / "watch.so")


def watching_environment(library: Path) -> dict[str, str]:
    """The environment of a run that is watched: `begin_watching` takes the library's name out again."""
    before = os.environ.get(PRELOAD)
    return {**os.environ, PRELOAD: f"{library}:{before}" if before else str(library)}


def begin_watching(library: Path, folder: Path) -> None:
    """In the run's process: write down what is looked at from now on, and give the program its own environment back."""
    words = os.environ.get(PRELOAD, "").split(":")
    if words[0] != str(library):
        return
    if words[1:]:
        os.environ[PRELOAD] = ":".join(words[1:])
    else:
        del os.environ[PRELOAD]
    ctypes.CDLL(None).tc_watch(os.fsencode(folder / RECORD))


@contextmanager
def own_work() -> Iterator[None]:
    """What this thread opens in the context is not the program's doing."""
    step = getattr(ctypes.CDLL(None), "tc_watch_ours", None)
    if step is None:
        yield
        return
    step(1)
    try:
        yield
    finally:
        step(-1)


def seen_inputs(folder: Path, called: Iterable[str], copy: Path | None = None) -> tuple[dict[str, str], str]:
    """What a watched run depends on: path → digest of what lies there, and why that is not all (empty: it is).

    Args:
        folder: of the run. called: names of functions of libraries that the program calls.
        copy: the folder that it ran in if that was a copy of the current one, which is meant by it.
    """
    blind = sorted(UNSEEN & set(called))
    if blind:
        return {}, f"it calls {blind[0]}, and what it learns from that is not known"
    found, why = read_record(folder / RECORD, {str(folder)})
    if copy is not None:
        found = {_in_place(path, copy): digest for path, digest in found.items()}
    return found, why


def read_record(record: Path, without: Iterable[str] = ()) -> tuple[dict[str, str], str]:
    """The same, of the events of `watch.c`. `without`: folders whose files are not the program's."""
    data = record.read_bytes() if record.exists() else b""
    first: dict[str, tuple[str, tuple[int, ...]]] = {}
    for event in data.split(b"\0")[:-1]:
        head, _, path = os.fsdecode(event).partition("\t")
        kind, *numbers = head.split(" ")
        if kind == "!":
            return {}, f"it uses {path}, and what it learns from that is not known"
        first.setdefault(path, (kind, tuple(map(int, numbers))))
    found = {}
    prefixes = (*MACHINE, *(f"{folder}/" for folder in without))
    for path, (kind, then) in first.items():
        if kind == "w" or path.startswith(prefixes):
            continue
        if state_of(path) != then:
            return {}, f"it changes {path}, which it looks at before"
        found[path] = digest_of_path(path)
        if not found[path]:
            return {}, f"it reads {path}, which is neither a file nor a folder"
    return found, ""


def _in_place(path: str, copy: Path) -> str:
    """The path in the current folder that one in a copy of it stands for."""
    if path != str(copy) and not path.startswith(f"{copy}/"):
        return path
    return f"{Path.cwd()}{path[len(str(copy)) :]}"


def state_of(path: str) -> tuple[int, ...]:
    """Size, time of change in seconds and nanoseconds, inode and mode, as in `watch.c`; zeros: nothing lies there."""
    try:
        known = Path(path).stat()
    except OSError:
        return (0, 0, 0, 0, 0)
    seconds, rest = divmod(known.st_mtime_ns, 10**9)
    return known.st_size, seconds, rest, known.st_ino, known.st_mode
