"""Scotch's `gmap`, from the package `scotch` of Debian and others: a graph mapped into a mesh, with its CPU time.

Scotch runs on one thread (it does not repeat its results on several). Its seconds are those of the process, by its
resource usage, less those of a process that reads the same file, maps it onto one processor and writes the result.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tracecut.ir.machine.machine import Machine

PROGRAM = "scotch_gmap"
PRESETS = {"Scotch": (), "Scotch quality": ("-cq",)}  # its default strategy, and the one that spends more time
TOLERANCE = "-b0.03"
Longs = npt.NDArray[np.int64]
Answer = tuple[npt.NDArray[np.int32], float]


def installed() -> bool:
    return shutil.which(PROGRAM) is not None


@cache
def version() -> str:
    """As Scotch prints it, with the command."""
    text = subprocess.run([PROGRAM, "-V"], capture_output=True, text=True, check=True)
    found = re.search(r"version ([\d.]+)", text.stdout + text.stderr)
    if found is None:
        raise ValueError(f"{PROGRAM} -V states no version: {text.stdout[:100]!r}")
    return f"{PROGRAM} {found[1]} {TOLERANCE} [{'|'.join(' '.join(words) for words in PRESETS.values())}] on one thread"


def gmap(n: int, edges: Longs, weights: Longs, machine: str, preset: str, seed: int) -> Answer:
    """Node of the mesh of each vertex, int32 (n), and CPU seconds.

    Scotch's program takes no seed. Instead, the vertices get other numbers: each its own and `seed` sevenths of n.
    """
    shape = Machine.named(machine).joined.shape
    numbers = (np.arange(n) + seed * n // 7) % n
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("graph", "mesh", "one", "found")}
        files["graph"].write_text(text_of(n, numbers[edges], weights))
        files["mesh"].write_text(f"mesh2D {shape[0]} {shape[1]}\n")
        files["one"].write_text("cmplt 1\n")
        reading, _ = _run(files["graph"], files["one"], files["found"])
        spent, _ = _run(files["graph"], files["mesh"], files["found"], *PRESETS[preset])
        labels = _labels(n, files["found"])[numbers]
        _, said = _run(files["graph"], files["mesh"], files["found"], *PRESETS[preset], "-vm")
        if not np.array_equal(_labels(n, files["found"])[numbers], labels):
            raise ValueError(f"{PROGRAM} on one thread found two mappings of one graph")
    _check_cost(said, labels, edges, weights, shape)
    return labels, max(0.0, spent - reading)


def text_of(n: int, edges: Longs, weights: Longs) -> str:
    """A graph with weights of edges in Scotch's format."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    words = [f"{weight} {other}" for weight, other in zip(np.tile(weights, 2)[order], ends[order, 1], strict=True)]
    first = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=n))]).tolist()
    lines = [" ".join([str(first[v + 1] - first[v]), *words[first[v] : first[v + 1]]]) for v in range(n)]
    return "\n".join(["0", f"{n} {len(ends)}", "0 010", *lines, ""])


def _run(*words: Path | str) -> tuple[float, str]:
    before = _children()
    said = subprocess.run(
        [PROGRAM, TOLERANCE, *words],
        env={**os.environ, "SCOTCH_PTHREAD_NUMBER": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return _children() - before, said


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _labels(n: int, file: Path) -> npt.NDArray[np.int32]:
    pairs = np.loadtxt(file, np.int64, skiprows=1, ndmin=2)
    labels = np.full(n, -1, np.int32)
    labels[pairs[:, 0]] = pairs[:, 1]
    return labels


def _check_cost(said: str, labels: npt.NDArray[np.int32], edges: Longs, weights: Longs, shape: tuple[int, ...]) -> None:
    """What Scotch says its mapping costs is Σ weight · hops; raises ValueError where it is not."""
    found = re.search(r"CommExpan=\S+\s+\((\d+)\)", said)
    x, y = labels[edges] % shape[0], labels[edges] // shape[0]
    hops = np.abs(x[:, 0] - x[:, 1]) + np.abs(y[:, 0] - y[:, 1])
    if found is None or int(found[1]) != int(hops @ weights):
        raise ValueError(f"Scotch states {found and found[1]} hops, its mapping has {int(hops @ weights)}")


__all__ = ["PRESETS", "gmap", "installed", "text_of", "version"]
