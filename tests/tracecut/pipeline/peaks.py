"""The greatest memory of each process of a command, sampled from /proc."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PAUSE = 0.01  # seconds between two looks


@dataclass(frozen=True)
class Peak:
    """Of one process: its command line and the most memory that it ever held, bytes."""

    command: str
    resident: int


@dataclass(frozen=True)
class Watched:
    """How a command ended, and the peaks of all processes that it started, itself included, by process id."""

    code: int
    output: str
    peaks: dict[int, Peak]

    def largest(self, word: str = "") -> int:
        """The greatest peak among the processes whose command has a word in it."""
        return max((peak.resident for peak in self.peaks.values() if word in peak.command), default=0)


def watch(command: Sequence[str | Path], folder: Path) -> Watched:
    """Run a command in a folder and watch everything below it."""
    with (folder / "watched.txt").open("w+") as sink:
        process = subprocess.Popen([str(word) for word in command], cwd=folder, stdout=sink, stderr=subprocess.STDOUT)
        peaks: dict[int, Peak] = {}
        while process.poll() is None:
            for pid in (process.pid, *_below(process.pid)):
                found = _peak(pid)
                if found is not None and found.resident >= peaks.get(pid, found).resident:
                    peaks[pid] = found
            time.sleep(PAUSE)
        sink.seek(0)
        return Watched(process.returncode, sink.read(), peaks)


def _below(root: int) -> list[int]:
    """All descendants of a process."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                stat = Path(entry.path, "stat").read_bytes()
                children.setdefault(int(stat.rpartition(b")")[2].split()[1]), []).append(int(entry.name))
    found, level = [], [root]
    while level:
        level = [child for pid in level for child in children.pop(pid, [])]
        found += level
    return found


def _peak(pid: int) -> Peak | None:
    """The kernel keeps the high-water mark itself: a peak between two looks is seen at the next one."""
    with suppress(OSError, ValueError, StopIteration):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        kept = next(line for line in lines if line.startswith("VmHWM:"))
        return Peak(command.strip(), 1024 * int(kept.split()[1]))
    return None
