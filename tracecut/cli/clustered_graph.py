"""What `map` and `simulate` share: reading a graph, and reading or making its clusters."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracecut.support.errors import ArtefactError, UsageError

if TYPE_CHECKING:
    from tracecut.ir.clustering import Clustering
    from tracecut.ir.dependence_graph import DependenceGraph
    from tracecut.ir.locality_graph import LocalityGraph


def add_clusters(parser: argparse.ArgumentParser) -> None:
    """Options that say how the graph is clustered."""
    add = parser.add_argument
    add("--parts", metavar="FILE", help="cluster of each vertex or edge, one per line, as `partition -o` writes them")
    add("--of", choices=("jobs", "data"), default="jobs", help="what is labelled: edges or vertices (default: jobs)")
    add("-k", type=int, help="number of clusters to make, instead of --parts")
    add("--method", help="method that makes the -k clusters, a name from `tracecut methods`")
    add("--seed", type=int, default=0, help="seed of all random choices (default: 0)")


def clusters_of(options: argparse.Namespace, graph: LocalityGraph, method: str) -> Clustering:
    """The clusters of a graph: those of --parts, or -k made by --method. Raises UsageError, ArtefactError."""
    import numpy as np

    from tracecut.ir.clustering import Clustering
    from tracecut.partition import METHODS, partition

    from .partition import read_numbers

    if (options.parts is None) == (options.k is None):
        raise UsageError(
            "exactly one of --parts and -k is required", hint=f"`{options.prog} --help` lists the options."
        )
    if options.k is not None:
        chosen = options.method or method
        of = METHODS[chosen].kind if chosen in METHODS else options.of
        blind = chosen in METHODS and METHODS[chosen].kind == "jobs" and "weights" not in METHODS[chosen].uses
        return partition(graph, options.k, chosen, of=of, seed=options.seed, unweighted=blind)
    if options.method is not None:
        raise UsageError("--method and --parts exclude each other: --parts gives the clusters that --method would make")
    labels = read_numbers(Path(options.parts))
    size = graph.n_jobs if options.of == "jobs" else graph.n_data
    if labels.size != size:
        what = "edges" if options.of == "jobs" else "vertices"
        raise ArtefactError(f"{options.parts} has {labels.size} labels, the graph has {size} {what}")
    if labels.size and (labels.min() < 0 or labels.max() >= 2**31 - 1 or (labels != np.floor(labels)).any()):
        raise ArtefactError(f"{options.parts}: whole numbers of at least 0 expected")
    return Clustering(labels.astype(np.int32), int(labels.max(initial=0)) + 1, options.of, graph=graph)


def dependence_graph_of(path: str) -> DependenceGraph:
    """The dependence graph of an .npz. Raises UsageError for another name, ArtefactError for a damaged file."""
    from tracecut.ir.dependence_graph import DependenceGraph

    if not path.endswith(".npz"):
        raise UsageError(
            f"{path}: a dependence graph (.npz) expected", hint="`tracecut graph SOURCE -o GRAPH.npz` makes one."
        )
    return DependenceGraph.load(path)


def rows(found: dict[str, Any]) -> str:
    """Names and values in two columns."""
    return "\n".join(f"  {name:<28} {value:>14}" for name, value in found.items())
