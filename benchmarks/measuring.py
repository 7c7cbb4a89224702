"""What all families of `partitioning.py` share: inputs with coordinates, interleaved timing, rows of quality."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from graphs import DATA, GENERATED, LARGE, Graph, generated, near_pairs, real
from rows import Row
from shapes import SHAPES
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.clustering import STAND_INS
from tracecut.partition import METHODS
from tracecut.partition.datastructures.plain_graphs import PlainGraph
from tracecut.partition.external import client
from tracecut.partition.external.client import Answer, run_tool

# Real graphs of every class of the data folder: FEM, 3-D dual mesh, 2-D adaptive mesh, geometric, triangles,
# tetrahedra, circuit, netlist, chemical process, social, web, citation, road, power grid.
REAL = (
    *("fe_pwt", "bcsstk32", "wing", "bubbles-00010", "delaunay_n15", "tri-stanford-bunny", "tet-bunny", "memplus"),
    *("ibm10", "bayer10", "email-Enron", "soc-Slashdot0902", "cnr-2000", "internet", "cit-HepTh", "USA-road-NY"),
    "power",
)
PARTICLES = frozenset({"md-dhfr"})  # pairs are made of their places
EDGES = 500_000  # of a shape: a million pins
PLACED = ("delaunay250k", "grid3d63", "rgg3d250k", "bubbles-00010", "trace-00008", "tri-stanford-bunny", "tet-bunny")


@dataclass(frozen=True)
class Options:
    """`repeat` is the number of timed runs after a warm-up."""

    repeat: int


@dataclass(frozen=True, eq=False)
class Input:
    """A graph by name: its jobs, and where its data lie if that is known."""

    name: str
    graph: LocalityGraph
    coords: npt.NDArray[np.float64] | None
    edges: Graph | None


def load(name: str) -> Input | None:
    """A generated input, a shape or a real input; None for a real one where the data folder is not there."""
    if name in SHAPES:
        return Input(name, SHAPES[name](EDGES), None, None)
    if name in GENERATED or name in LARGE:
        found = generated(name)
        return Input(name, found.locality(), found.coords, found)
    if name in PARTICLES:
        pairs = near_pairs(name)
        return None if pairs is None else Input(name, pairs.locality(), pairs.coords, pairs)
    graph = real(name)
    if graph is None:
        return None
    file = DATA / f"{name}.npz"
    coords = np.load(file)["xyz"].astype(np.float64) if file.is_file() else None
    return Input(name, graph, coords, None)


def cpu_seconds() -> float:
    """CPU seconds of this process and of its ended children."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def timed(call: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """What `call` returns, and the median of its CPU seconds."""
    found = interleaved({"it": call}, repeat)
    return found["it"]


def interleaved(
    calls: Mapping[str, Callable[[], Any]], repeat: int, clock: Callable[[], float] = cpu_seconds
) -> dict[str, tuple[Any, float]]:
    """What each call returns, and the median of its seconds; one call after the other, round after round.

    The first round only warms up. An `Answer` of a peer counts the seconds inside its library, as it says them.
    """
    results: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeat + 1):
        for name, call in calls.items():
            start = clock()
            results[name] = call()
            spent = clock() - start
            if turn:
                inside = isinstance(results[name], Answer) and clock is cpu_seconds
                seconds[name].append(results[name].cpu_seconds if inside else spent)
    return {name: (results[name], statistics.median(seconds[name])) for name in calls}


def wall() -> float:
    return time.perf_counter()


def metis(
    plain: PlainGraph, k: int, weights: npt.NDArray[np.int64] | None = None, *, balance: float = 1.03
) -> Callable[[], Answer]:
    """METIS on a plain graph, timed inside its library."""
    return lambda: run_tool("metis", plain, k, weights, balance=balance)


def installed(method: str) -> bool:
    """Whether a peer's wheel is there; says so once where it is not."""
    if METHODS[method].installed:
        return True
    print(f"# {method} is not installed: {client.INSTALL}")
    return False


def quality(
    name: str, metric: str, found: Clustering, peer: str = "", value: float | None = None, order: str = "natural"
) -> Iterator[Row]:
    """Cost and, beside it, imbalance (bound 1.03) of a clustering; a stand-in is called so."""
    stand_in = " (stand-in)" if found.method in STAND_INS else ""
    yield Row(name, order, f"{metric}{stand_in}: cost", found.cost(), peer, value)
    yield Row(name, order, f"{metric}{stand_in}: imbalance", found.imbalance(), "allowed", 1.03)


def bar(name: str, metric: str, value: float, text: str, limit: float, order: str = "natural") -> Row:
    """A number against the figure that it must reach: `ratio` is value / figure."""
    return Row(name, order, metric, value, f"bar {text}", limit)
