"""External partitioners, each in a process of its own.

METIS ends its process on some valid graphs (heap overflows, floating-point exceptions), and the others do on inputs
that they do not expect, so none of them runs inside the user's. Graph and labels are exchanged
in files; a crash, a time-out or an invalid result becomes a `BackendError` that names the saved graph, so that the
failure can be reproduced.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.partition.balance.least_imbalance import best_balance
from tracecut.partition.datastructures.plain_graphs import PlainGraph
from tracecut.support.arrays import Floats, Ints, Longs, check_offsets, check_range
from tracecut.support.errors import ArtefactError, BackendError
from tracecut.support.files import read_arrays, write_arrays
from tracecut.support.process.runner import Limits, run
from tracecut.support.process.workers import phrase

from .worker import GRAPH_KIND, LABELS_KIND, LABELS_MEMBERS

COMMAND = (sys.executable, "-P", "-m", "tracecut.partition.external.worker")
TAIL = 2000
INSTALL = "pip install 'tracecut[partitioners]'"


@dataclass(frozen=True)
class Tool:
    """An external partitioner: its title, the module of its wheel, the bits of its weights."""

    title: str
    module: str
    bits: int = 64


TOOLS = {
    "metis": Tool("METIS", "pymetis"),
    "kahip": Tool("KaHIP", "kahip", 32),
    "kaminpar": Tool("KaMinPar", "kaminpar"),
    "mtkahypar": Tool("Mt-KaHyPar", "mtkahypar", 32),
    "mtkahypar-km1": Tool("Mt-KaHyPar", "mtkahypar", 32),
}


@dataclass(frozen=True, eq=False)
class Nets:
    """A hypergraph on `size` vertices: net n has the distinct vertices `pins[offsets[n] : offsets[n + 1]]`.

    Attributes:
        size: number of vertices.
        offsets: int64 (nets + 1). pins: int32.
        weights: int64 (nets), positive.
    """

    size: int
    offsets: Longs
    pins: Ints
    weights: Longs


@dataclass(frozen=True, eq=False)
class Answer:
    """Labels, int32 (vertices), and the CPU seconds that the library took, its conversions of the input included."""

    labels: Ints
    cpu_seconds: float


def installed(tool: str) -> bool:
    """Whether the wheel of a tool is there; it is not imported for that."""
    return importlib.util.find_spec(TOOLS[tool].module) is not None


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
    """Partition the vertices of `graph` with METIS. `recursive`: bisection instead of direct k-way; None lets k decide
    (up to 8). The rest as in `run_tool`. Source: Karypis and Kumar 1998."""
    options = {"recursive": recursive}
    return run_tool(
        "metis", graph, k, vertex_weights, targets, balance=balance, seed=seed, time_limit=time_limit, method=method,
        options=options,
    ).labels  # fmt: skip


def run_tool(
    tool: str,
    graph: PlainGraph | Nets,
    k: int,
    vertex_weights: Longs | None = None,
    targets: Floats | None = None,
    *,
    balance: float = 1.03,
    seed: int = 0,
    threads: int | None = None,
    time_limit: float | None = None,
    method: str = "",
    options: Mapping[str, Any] | None = None,
) -> Answer:
    """Partition the vertices of a graph, minimising the weight of cut edges, or of a hypergraph.

    Args:
        tool: a name of `TOOLS`; `"mtkahypar-km1"` takes Nets, the others a simple symmetric PlainGraph.
        graph: what to partition.
        k: number of parts, at least 1. With 1 part, without edges, or with as many parts as vertices, no library is
            called.
        vertex_weights: int64 (vertices), non-negative; None means 1 each. For METIS also several, (vertices, loads).
        targets: float64 (k), summing to 1; None means equal shares.
        balance: largest load of a part over its target, as far as the tool keeps it.
        seed: as far as the tool is repeatable, the same seed gives the same labels.
        threads: of the tool; None is 1.
        time_limit: seconds of wall time; None waits.
        method: the name that errors give, by default that of the tool.
        options: what else the call in `foreign` takes.

    Returns:
        An Answer; parts may be empty, and a tool may miss `balance`.

    Raises:
        BackendError: the tool is not installed, cannot count weights as large as these, crashed, ran past the limit
            or answered with something else than labels. The graph is kept in a file that the message names if the
            tool was started; nothing is left behind otherwise.
    """
    known = TOOLS[tool]
    size = graph.size
    members = graph.pins if isinstance(graph, Nets) else graph.neighbours
    if k == 1 or members.size == 0 or k >= size:
        return Answer((np.arange(size, dtype=np.int64) * k // max(1, size)).astype(np.int32), 0.0)
    if not installed(tool):
        raise BackendError(
            f"{known.title} is not installed: method {method or tool!r} needs the module {known.module!r}",
            hint=INSTALL if tool != "metis" else "pip install pymetis",
        )
    check_offsets("offsets", graph.offsets, members.size)
    check_range("neighbours", members, 0, size)
    nets = isinstance(graph, Nets)
    edges = graph.weights if isinstance(graph, Nets) else graph.edge_weights
    if known.bits < 64:
        edges = _fewer_bits(edges)
    vertices = np.ones(size, np.int64) if vertex_weights is None else vertex_weights
    largest = max(int(vertices.sum()), int(edges.sum()), members.size)
    if largest >= 1 << (known.bits - 1):
        raise BackendError(
            f"{known.title} counts in {known.bits} bits, weights that sum to {largest} do not fit",
            hint="Scale the weights down, or take the method 'metis' or 'kaminpar', which count in 64.",
        )
    arrays = {"offsets": graph.offsets, "members": members, "edge_weights": edges, "vertex_weights": vertices}
    if targets is not None and targets.max() != targets.min():
        arrays["targets"] = targets
    equal = np.full(k, 1.0 / k)
    meta = {
        "tool": tool,
        "size": size,
        "k": k,
        "balance": balance,
        "least": best_balance(vertices.reshape(size, -1)[:, 0].astype(np.float64), equal, balance),
        "seed": seed,
        "threads": threads or 1,
        "options": dict(options or {}),
    }
    count = f"{graph.offsets.size - 1} nets" if nets else f"{members.size // 2} edges"
    about = f"(method {method or tool!r}, {size} vertices, {count}, k = {k}, seed {seed})"
    return _ask(known.title, about, arrays, meta, time_limit)


def _fewer_bits(costs: Longs, bits: int = 30) -> Longs:
    """Costs of edges or nets, the same or, where their sum needs more bits, rounded to fewer; none becomes 0."""
    total = int(costs.sum())
    return costs if total < 1 << bits else np.maximum(1, costs * float(1 << bits) / total).astype(np.int64)


def _ask(title: str, about: str, arrays: dict[str, Any], meta: dict[str, Any], time_limit: float | None) -> Answer:
    folder = Path(tempfile.mkdtemp(prefix=f"tracecut-{meta['tool']}-"))
    keep = False
    try:
        write_arrays(folder / "graph.npz", GRAPH_KIND, arrays, meta)
        problem, evidence = _run(folder, time_limit)
        if not problem:
            try:
                found, said = read_arrays(folder / "labels.npz", LABELS_KIND, LABELS_MEMBERS)
                labels = found["labels"]
                check_range("labels", labels, 0, meta["k"])
                if labels.size == meta["size"]:
                    return Answer(labels, float(said.get("cpu_seconds", 0.0)))
                problem = f"returned {labels.size} labels for {meta['size']} vertices"
            except (ArtefactError, OSError, ValueError) as error:
                problem = f"returned no labels that can be used: {error}"
        keep = True
        saved = folder / "graph.npz"
        raise BackendError(
            f"{title} {problem} {about}",
            detail="\n".join(filter(None, (evidence, f"The graph is saved in {saved}"))),
            hint=f"Try another seed or method. To reproduce it: {_command(saved, folder / 'labels.npz')}",
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
    command: list[str | Path] = [*COMMAND, folder / "graph.npz", folder / "labels.npz"]
    limits = Limits(seconds=None if time_limit is None else float(time_limit))  # NumPy numbers are limits, too
    finished = run(command, folder=folder, name="worker", env=environment, limits=limits)
    evidence = finished.stderr.read_bytes()[-TAIL:].decode(errors="replace").strip()
    if finished.ok:
        return "", evidence
    return phrase(finished), evidence
