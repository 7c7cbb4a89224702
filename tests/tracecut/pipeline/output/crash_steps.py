"""Publishes one result over another and stops at step 1, 2, …: killed, or refused by the file system.

`python crash_steps.py FOLDER killed|ENOSPC|EPERM`; a step is a call that changes the file system. Leaves with the
first broken promise, or prints how many steps there were, and how often the new result was found afterwards.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from tracecut.errors import OutputError
from tracecut.pipeline.output.folder import opened
from tracecut.pipeline.output.staging import publish, staging

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "tempfile.mkstemp"}
CONTENT = {
    "old": {"program": b"old", "program.so": b"old", "scopes/scope0.npz": b"old", "scopes/scope1.npz": b"old"},
    "new": {"program": b"new", "program.so": b"new", "scopes/scope0.npz": b"new", "kernels/loop1.ptx": b"new"},
    "small": {"program": b"small"},
}
COMMON = ("manifest.json", "report.html", "remarks.yaml", "canonical.ll")
KILLED = 9


def make(output: Path, name: str) -> None:
    """Publish one of the contents."""
    content = {**CONTENT[name], **{common: name.encode() for common in COMMON}}
    with staging(output) as folder:
        try:
            for path, data in content.items():
                (folder / path).parent.mkdir(exist_ok=True)
                (folder / path).write_bytes(data)
        except OSError as error:
            raise OutputError("the work itself failed") from error
        scopes = [path for path in content if path.startswith("scopes/")]
        publish(folder, output, {"tracecut": "0.1.0", "globals": [], "scopes": scopes, "threads": 1})


def files(output: Path) -> Mapping[str, bytes]:
    """What a user sees: everything that is not hidden."""
    found = {str(path.relative_to(output)): path for path in output.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".")}


def stop_at(step: int, mode: str) -> None:
    """From now on the given step fails, and with the mode `EPERM` all that come after it."""
    count = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event not in CHANGES:
            return
        count += 1
        if mode == "killed" and count == step:
            os._exit(KILLED)
        if count == step or (mode == "EPERM" and count > step):
            number = getattr(errno, mode)
            raise OSError(number, os.strerror(number), str(arguments[0]))

    sys.addaudithook(watch)


def attempt(output: Path, name: str, step: int, mode: str) -> int:
    """Publish in a child process that is stopped. Returns its status: 0 done, 1 an OutputError, KILLED."""
    child = os.fork()
    if child == 0:
        stop_at(step, mode)
        try:
            make(output, name)
            os._exit(0)
        except OutputError:
            os._exit(1)
        except BaseException as error:
            print(f"step {step}: {error!r}", file=sys.stderr)
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(base: Path, before: str, after: str, mode: str) -> tuple[int, int]:
    """All steps of replacing one result by another. Returns their number, and how often the new one was found."""
    whole = {}
    for name in (before, after):
        make(base / name, name)
        whole[name] = files(base / name)
    step = renewed = undisturbed = 0
    while undisturbed < (1 if mode == "killed" else 8):  # some steps may fail: removing what is of no use any more
        step += 1
        output = base / f"{before}-{after}-{step}"
        make(output, before)
        status = attempt(output, after, step, mode)
        with opened(output):  # by whoever comes next
            found = files(output)
        case = f"{mode} at step {step} from {before} to {after}, status {status}"
        assert status != 2, case
        assert found in (whole[before], whole[after]), f"{case}: a mixture: {sorted(found)}"
        if mode != "killed" and status == 1 and found == whole[before]:
            assert not [path for path in output.iterdir() if path.name.startswith(".")] or mode == "EPERM", case
        if status == 0:
            assert found == whole[after], f"{case}: it says that it is done"
        renewed += found == whole[after]
        make(output, after)  # nothing stands in the way of the next one, and nothing is left of the last
        assert files(output) == whole[after], case
        assert not [path for path in output.iterdir() if path.name.startswith(".")], case
        shutil.rmtree(output)
        undisturbed = undisturbed + 1 if status == 0 else 0
    return step, renewed


def main() -> None:
    """All pairs."""
    base = Path(sys.argv[1])
    os.fsync = lambda handle: None  # what is tested is the order of the steps; the power stays on
    for before, after in (("old", "new"), ("new", "small"), ("small", "old")):
        folder = base / f"{before}-{after}"
        folder.mkdir()
        steps, renewed = check(folder, before, after, sys.argv[2])
        print(before, after, steps, renewed)


if __name__ == "__main__":
    main()
