"""METIS in a process of its own.

METIS ends its process on some valid graphs (heap overflows, floating-point exceptions), so it never runs inside the
user's. The graph goes over in a file, the labels come back in one; a crash, a time-out or a bad answer becomes a
`BackendError` that names the saved graph, so that the failure can be seen again.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..ir.arrays import Floats, Ints, Longs, check_offsets, check_range
from ..ir.errors import ArtefactError, BackendError
from ..ir.files import read_arrays, write_arrays
from .expand import PlainGraph
from .worker import GRAPH_KIND, LABELS_KIND, LABELS_MEMBERS

COMMAND = (sys.executable, "-P", "-m", "tracecut.partition.worker")
TAIL = 2000


def run_metis(
    graph: PlainGraph,
    k: int,
    *,
    vertex_weights: Longs | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    recursive: bool | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    method: str = "metis",
) -> Ints:
    """Partition the vertices of `graph` with METIS, minimising the weight of cut edges.

    Args:
        graph: a simple symmetric graph.
        k: number of parts, at least 1. With 1 part, or as many parts as vertices, METIS is not asked.
        vertex_weights: int64 (vertices), non-negative; None means 1 each.
        targets: float64 (k), summing to 1; None means equal shares.
        balance: largest load of a part over its target.
        recursive: recursive bisection instead of direct k-way; None lets k decide (up to 8).
        seed: same seed, same labels.
        time_limit: seconds of wall time; None waits.
        method: the name that errors give.

    Returns:
        int32 (vertices), labels in [0, k). Parts may be empty and METIS may miss `balance`.

    Raises:
        BackendError: METIS crashed, ran past the limit or answered with something else than labels. The graph is
            then kept in a file that the message names; nothing is left behind otherwise.

    Source: Karypis and Kumar 1998.
    """
    if k == 1 or graph.neighbours.size == 0 or k >= graph.size:
        return (np.arange(graph.size, dtype=np.int64) * k // max(1, graph.size)).astype(np.int32)
    check_offsets("offsets", graph.offsets, graph.neighbours.size)
    check_range("neighbours", graph.neighbours, 0, graph.size)
    folder = Path(tempfile.mkdtemp(prefix="tracecut-metis-"))
    keep = False
    try:
        arrays: dict[str, Any] = {
            "offsets": graph.offsets,
            "neighbours": graph.neighbours,
            "edge_weights": graph.edge_weights,
        }
        if vertex_weights is not None:
            arrays["vertex_weights"] = vertex_weights
        if targets is not None and targets.max() != targets.min():
            arrays["targets"] = targets
        meta = {"k": k, "balance": balance, "recursive": recursive, "seed": seed}
        write_arrays(folder / "graph.npz", GRAPH_KIND, arrays, meta)
        problem, evidence = _run(folder, time_limit)
        if not problem:
            try:
                labels = read_arrays(folder / "labels.npz", LABELS_KIND, LABELS_MEMBERS)[0]["labels"]
                check_range("labels", labels, 0, k)
                if labels.size == graph.size:
                    return labels
                problem = f"returned {labels.size} labels for {graph.size} vertices"
            except (ArtefactError, OSError, ValueError) as error:
                problem = f"returned no labels that can be used: {error}"
        keep = True
        saved = folder / "graph.npz"
        raise BackendError(
            f"METIS {problem} (method {method!r}, {graph.size} vertices, {graph.neighbours.size // 2} edges, "
            f"k = {k}, seed {seed})",
            detail="\n".join(filter(None, (evidence, f"The graph is saved in {saved}"))),
            hint=f"Try another seed or method. To see it again: {_command(saved, folder / 'labels.npz')}",
        )
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _command(graph: Path, labels: Path) -> str:
    return shlex.join([*COMMAND, str(graph), str(labels)])


def _run(folder: Path, time_limit: float | None) -> tuple[str, str]:
    """Run the worker; what went wrong, empty if nothing did, and the end of what it wrote to stderr."""
    # The worker must find the packages that this process found, wherever it was started from.
    search = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    environment = {**os.environ, "PYTHONPATH": search, "OMP_NUM_THREADS": "1"}
    command = [*COMMAND, str(folder / "graph.npz"), str(folder / "labels.npz"), str(os.getpid())]
    log = folder / "stderr.txt"
    with open(log, "wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )
        try:
            code = process.wait(time_limit)
        except subprocess.TimeoutExpired:
            return f"ran past its time limit of {time_limit:g} s", ""
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    evidence = log.read_bytes()[-TAIL:].decode(errors="replace").strip()
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}", evidence
    return (f"failed with exit status {code}" if code else ""), evidence
