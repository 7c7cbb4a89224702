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
from dataclasses import dataclass, replace
from pathlib import Path

from tracecut.pipeline.folder_copy import copy_folder, files_of
from tracecut.pipeline.output.folder import opened
from tracecut.pipeline.stages.compare_outputs import Difference, compare_outputs, unstable_tokens
from tracecut.support.process.runner import Finished, Limits, describe, run
from tracecut.support.tolerances import OUTPUT

from .run_device import HERE

NOTHING = "nothing was optimized: the original program runs in either case"
DIFFERENT = 4  # exit status of a check that found a difference
OUTPUT_LIMIT = 1 << 30


@dataclass(frozen=True)
class Found:
    """The results of a run: how it ended, and what it wrote, by file or stream."""

    status: str
    written: dict[str, bytes]


def check_result(output: Path, argv: Sequence[str], *, threads: int | None, device: str = "cpu") -> int:
    """Run both programs and print how they compare. Returns 0 if they agree, else `DIFFERENT`."""
    with opened(output) as listing:
        if not listing["scopes"] and (device == "cpu" or not listing.get("device")):
            print(NOTHING)
            return 0
        rescheduled = bool(listing["scopes"])
        exact = bool(listing.get("exact"))
    base = Path.cwd()
    folder = base / output
    hosted: list[str | Path] = [sys.executable, "-P", "-m", "tracecut", "run", folder]
    hosted += ["--threads", str(threads)] if threads is not None else []
    hosted += ["--device", device] if device != "cpu" else []
    with tempfile.TemporaryDirectory(prefix="tracecut-check-") as name:
        work = Path(name)
        stdin = _given(work)
        original = _observe([folder / "program", *argv], base, folder, work, "original", stdin)
        other = _observe([*hosted, "--counters", work / "counters.json", "--", *argv], base, folder, work, "new", stdin)
        remark, other = _told_apart(other) if device != "cpu" else ("", other)
        differences = compare(original, other, exact=exact)
        if differences:  # what differs between two runs of the original is not compared
            again = _observe([folder / "program", *argv], base, folder, work, "again", stdin)
            differences = compare(original, other, exact=exact, again=again)
        used = _usage(work / "counters.json") if rescheduled or not remark else NOTHING
    if remark:
        print(remark)
    for line in differences:
        print(f"different: {line}")
    if not differences:
        gaps = [_gap(original.written[key], other.written[key]) for key in original.written if key in other.written]
        largest = max((gap for gap in gaps if gap is not None), default=0.0)
        how = "bit for bit" if original == other else f"largest relative difference {largest:.2g}"
        print(f"equal: exit status, {', '.join(original.written)}; {how}")
    print(used)
    return DIFFERENT if differences else 0


def _told_apart(found: Found) -> tuple[str, Found]:
    """What tracecut said before the program began, without a card; and the rest, which the program wrote."""
    first, _, rest = found.written["stderr"].partition(b"\n")
    if not (first.startswith(b"tracecut: ") and first.endswith(HERE.encode())):
        return "", found
    return first.decode().removeprefix("tracecut: "), replace(found, written={**found.written, "stderr": rest})


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
    copy_folder(base, copy, {result, work})
    before = files_of(copy)
    finished = run(command, stdin=stdin, folder=work, name=name, cwd=copy, limits=Limits(output_bytes=OUTPUT_LIMIT))
    written = {"stdout": finished.stdout.read_bytes(), "stderr": finished.stderr.read_bytes()}
    for place, seen in sorted(files_of(copy).items()):
        if before.get(place) != seen:
            written[place] = (copy / place).read_bytes()
    for place in sorted(before.keys() - files_of(copy).keys()):
        written[f"{place} (removed)"] = b""
    shutil.rmtree(copy, ignore_errors=True)
    return Found(_ending(finished), written)


def _ending(finished: Finished) -> str:
    return f"exit status {finished.returncode}" if finished.returncode >= 0 else describe(finished)


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
