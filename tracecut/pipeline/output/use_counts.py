"""Use counts: how often the schedules of a result were used, over its completed runs.

`tracecut run` updates them at its end, `tracecut info OUT` shows them. They are not part of the result: if the folder
cannot be written, the disk is full, or another run holds the lock for too long, only the counts are lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import time
from collections.abc import Mapping
from pathlib import Path

from .folder import LISTING, RUNS, fingerprint, opened

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

MOST_REASONS, LONGEST = 16, 300
ROOM = 1 << 16  # bytes that the file may have
PATIENCE = 1.0  # seconds


def empty(listing: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of a result that has not been run."""
    return {"of": fingerprint(listing["files"]), "runs": 0, "native": 0, "entries": 0, "used": 0, "reasons": {}}


def read_usage(folder: Path, listing: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of a result; zero if the file is damaged or belongs to an earlier result in the folder."""
    fresh = empty(listing)
    try:
        with open(folder / RUNS, "rb") as file:
            found = json.loads(file.read(ROOM))
        numbers = [found[name] for name in ("runs", "native", "entries", "used")] + list(found["reasons"].values())
        whole = found["of"] == fresh["of"] and all(type(number) is int for number in numbers)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return fresh
    return {name: found[name] for name in fresh} if whole else fresh


def record(
    folder: Path, listing: Mapping[str, Any], *, native: str = "", found: Mapping[str, Any] | None = None
) -> None:
    """Add a run. `native`: why the original program ran instead; `found`: the summary of the host."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and limit < ROOM:
        return  # writing would end the program
    with contextlib.suppress(OSError):
        handle = os.open(folder / LISTING, os.O_RDONLY | os.O_CLOEXEC)  # the folder's own lock is for its results
        try:
            if _hold(handle):
                counts = read_usage(folder, listing)
                _add(counts, native, {} if found is None else found["scopes"])
                _replace(folder, json.dumps(counts).encode())
        finally:
            os.close(handle)


def _add(counts: dict[str, Any], native: str, scopes: Mapping[str, Any]) -> None:
    reasons = counts["reasons"]
    counts["runs"] += 1
    if native:
        counts["native"] += 1
        _count(reasons, native, 1)
    for scope in scopes.values():
        counts["entries"] += scope["entries"]
        counts["used"] += scope["used"]
        declined = scope["entries"] - scope["used"]
        if declined:
            _count(reasons, scope["refused"] or "other input, in an entry before one that matched again", declined)


def _count(reasons: dict[str, int], why: str, times: int) -> None:
    why = why[:LONGEST]
    if why not in reasons and len(reasons) >= MOST_REASONS:
        why = "other reasons"
    reasons[why] = reasons.get(why, 0) + times


def _hold(handle: int) -> bool:
    """Take the lock of the counts, or give up: the program has ended and must not wait."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.005)


def _replace(folder: Path, data: bytes) -> None:
    """Replace the counts atomically."""
    path = folder / f".{RUNS}.{os.getpid()}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        os.fchmod(handle, 0o644)  # independent of the program's umask
        os.write(handle, data)
        os.replace(path, folder / RUNS)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def print_usage(folder: Path, *, as_json: bool) -> int:
    """`tracecut info OUT`: what a result is, and how often its schedules were used."""
    with opened(folder) as listing:
        counts = read_usage(folder, listing)
    shown = [
        {name: scope[name] for name in ("places", "method", "threads", "rounding")}
        for scope in listing.get("guards", [])
    ]
    if as_json:
        print(json.dumps({"path": str(folder), "tracecut": listing["tracecut"], "scopes": shown, **counts}, indent=1))
        return 0
    print(f"{folder}: result of tracecut {listing['tracecut']}")
    for scope in shown:
        print(f"  rescheduled      {', '.join(scope['places'])} ({scope['method']}, threads: {scope['threads']})")
        if scope["rounding"]:
            print(f"  rounded differently: sums of {', '.join(scope['rounding'])}, in the order of the new layout")
    if not shown:
        print("  nothing was optimized: the original program runs")
    if listing.get("device"):
        count, card = len(listing["device"]["scopes"]), listing["device"]["gpu"]
        noun = "1 scope has" if count == 1 else f"{count} scopes have"
        print(f"  on a card        {noun} kernels for {card}: tracecut run {folder} --device gpu")
    declined = counts["entries"] - counts["used"]
    print(f"  runs             {counts['runs']:,} completed, {counts['native']:,} of them with the original program")
    print(f"  layout           used in {counts['used']:,} of {counts['entries']:,} entries, fell back in {declined:,}")
    for why, times in sorted(counts["reasons"].items(), key=lambda item: -item[1]):
        print(f"    {times:>8,} × {why}")
    return 0
