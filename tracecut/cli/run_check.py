"""`tracecut run OUT --check`: the original and the rescheduled program on the same input, and what differs.

Each runs in its own copy of the current folder, so that neither sees files of the other, and the user's files do not
change. Compared are the exit status, standard output, standard error, and every file that either of them created or
changed in its copy. Effects elsewhere (absolute paths, the network) happen twice and are not compared.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracecut.pipeline.output.folder import opened
from tracecut.pipeline.stages.compare_outputs import Difference, compare_outputs, unstable_tokens
from tracecut.support.errors import OutputError
from tracecut.support.process.runner import Finished, Limits, describe, run
from tracecut.support.tolerances import OUTPUT

DIFFERENT = 4  # exit status of a check that found a difference
MOST_BYTES, MOST_FILES = 1 << 30, 20_000  # of the current folder, to be copied
OUTPUT_LIMIT = 1 << 30


@dataclass(frozen=True)
class Found:
    """The results of a run: how it ended, and what it wrote, by file or stream."""

    status: str
    written: dict[str, bytes]


def check_result(output: Path, argv: Sequence[str], *, threads: int | None) -> int:
    """Run both programs and print how they compare. Returns 0 if they agree, else `DIFFERENT`."""
    with opened(output) as listing:
        if not listing["scopes"]:
            print("nothing was optimized: the original program runs in either case")
            return 0
        exact = bool(listing.get("exact"))
    base = Path.cwd()
    folder = base / output
    hosted: list[str | Path] = [sys.executable, "-P", "-m", "tracecut", "run", folder]
    hosted += ["--threads", str(threads)] if threads is not None else []
    with tempfile.TemporaryDirectory(prefix="tracecut-check-") as name:
        work = Path(name)
        stdin = _given(work)
        original = _observe([folder / "program", *argv], base, folder, work, "original", stdin)
        other = _observe([*hosted, "--counters", work / "counters.json", "--", *argv], base, folder, work, "new", stdin)
        differences = compare(original, other, exact=exact)
        if differences:  # what differs between two runs of the original is not compared
            again = _observe([folder / "program", *argv], base, folder, work, "again", stdin)
            differences = compare(original, other, exact=exact, again=again)
        used = _usage(work / "counters.json")
    for line in differences:
        print(f"different: {line}")
    if not differences:
        gaps = [_gap(original.written[key], other.written[key]) for key in original.written if key in other.written]
        largest = max((gap for gap in gaps if gap is not None), default=0.0)
        how = "bit for bit" if original == other else f"largest relative difference {largest:.2g}"
        print(f"equal: exit status, {', '.join(original.written)}; {how}")
    print(used)
    return DIFFERENT if differences else 0


def _given(work: Path) -> Path | None:
    """The standard input, read once for both programs; empty if it is a terminal or closed."""
    try:
        kind = os.fstat(0).st_mode
        if stat.S_ISCHR(kind):
            return None
        with open(0, "rb", closefd=False) as source, open(work / "stdin", "wb") as target:
            shutil.copyfileobj(source, target)
    except OSError:
        return None
    return work / "stdin"


def _observe(
    command: Sequence[str | Path], base: Path, result: Path, work: Path, name: str, stdin: Path | None
) -> Found:
    copy = work / name / base.name if base.name else work / name / "root"
    _copy(base, copy, {result, work})
    before = _files(copy)
    finished = run(command, stdin=stdin, folder=work, name=name, cwd=copy, limits=Limits(output_bytes=OUTPUT_LIMIT))
    written = {"stdout": finished.stdout.read_bytes(), "stderr": finished.stderr.read_bytes()}
    for place, seen in sorted(_files(copy).items()):
        if before.get(place) != seen:
            written[place] = (copy / place).read_bytes()
    for place in sorted(before.keys() - _files(copy).keys()):
        written[f"{place} (removed)"] = b""
    shutil.rmtree(copy, ignore_errors=True)
    return Found(_ending(finished), written)


def _ending(finished: Finished) -> str:
    return f"exit status {finished.returncode}" if finished.returncode >= 0 else describe(finished)


def _copy(base: Path, target: Path, without: set[Path]) -> None:
    """Copy a folder with its file times. Raises OutputError if the folder is too large."""
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
                    f"{base} is too large to copy for a check: over {MOST_FILES} files or {MOST_BYTES >> 30} GiB",
                    hint="Run the check in a folder that has only the files that the program reads.",
                )
            shutil.copy2(source, to / name)


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder."""
    found = {}
    for path in folder.rglob("*"):
        known = path.lstat()
        if stat.S_ISREG(known.st_mode):
            found[str(path.relative_to(folder))] = known.st_size, known.st_mtime_ns
    return found


def compare(original: Found, other: Found, *, exact: bool, again: Found | None = None) -> list[str]:
    """The differences, one per line. `again`: a second run of the original; what differs there is not compared."""
    lines = []
    if original.status != other.status and (again is None or again.status == original.status):
        lines.append(f"the original ended with {original.status}, the rescheduled program with {other.status}")
    for name in sorted(original.written.keys() | other.written.keys()):
        first, second = original.written.get(name), other.written.get(name)
        if first is None or second is None:
            whose = "rescheduled program" if first is None else "original"
            lines.append(f"only the {whose} wrote {name}")
            continue
        unstable: frozenset[int] | None = frozenset()
        if again is not None and name in again.written:
            unstable = unstable_tokens(first, again.written[name])
        found = compare_outputs(first, second, tolerance=0.0 if exact else OUTPUT, unstable=unstable or frozenset())
        if not found.equal or (exact and not found.exact and not unstable):
            lines.append(f"{name}, {_where(found)}")
    return lines


def _where(found: Difference) -> str:
    return (
        f"line {found.where}: {found.expected!r} became {found.found!r} (largest relative difference so far "
        f"{found.largest:.2g})"
    )


def _gap(first: bytes, second: bytes) -> float | None:
    """Largest relative difference between numbers of two outputs that are otherwise equal."""
    return compare_outputs(first, second, tolerance=OUTPUT).largest


def _usage(counters: Path) -> str:
    """How many of its scope entries used the new layout."""
    import json

    try:
        scopes = json.loads(counters.read_text())["scopes"].values()
    except (OSError, ValueError, KeyError):
        return "layout: unknown, the program was stopped"
    used, entries = (sum(scope[name] for scope in scopes) for name in ("used", "entries"))
    why = "; ".join(dict.fromkeys(scope["refused"] for scope in scopes if scope["refused"]))
    return f"layout: used in {used} of {entries} entries{f' ({why})' if why else ''}"
