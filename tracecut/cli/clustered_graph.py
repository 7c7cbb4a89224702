"""What `map` and `simulate` share: reading a graph, and reading or making its clusters."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracecut.support.errors import ArtefactError, UsageError, known_names
from tracecut.support.progress import EVERY

if TYPE_CHECKING:
    from tracecut.ir.clustering import Clustering
    from tracecut.ir.dependence_graph import DependenceGraph
    from tracecut.ir.locality_graph import LocalityGraph

MOST_CLUSTERS = 1 << 13  # that labels in a file may have beyond the number of what is labelled, some of them empty
COUNTED = (
    "Bytes moved count each value once for each cluster that needs it; bytes as vertexcut counts (VertexCut) count one "
    "for every cut edge, or for every replica of a vertex."
)


def add_clusters(parser: argparse.ArgumentParser) -> None:
    """Options that say how the graph is clustered."""
    add = parser.add_argument
    add("--parts", metavar="FILE", help="cluster of each vertex or edge, one per line, as `partition -o` writes them")
    add("--of", choices=("jobs", "data"), default="jobs", help="what is labelled: edges or vertices (default: jobs)")
    add("-k", type=int, help="number of clusters to make, instead of --parts")
    add("--method", help="method that makes the -k clusters, a name from `tracecut methods`")
    add("--budget", type=float, metavar="S", help="CPU seconds that --method auto may use (default: 20)")
    add("--seed", type=int, default=0, help="seed of all random choices (default: 0)")


def check_names(options: argparse.Namespace) -> None:
    """Refuse unknown names of methods before any work. Raises UsageError."""
    from tracecut.mapping.place import PLACING
    from tracecut.partition import METHODS

    if options.place is not None and options.place not in PLACING:
        raise UsageError(f"--place {options.place}: unknown method", hint=f"One of {', '.join(PLACING)}.")
    if options.method is not None and options.method != "auto" and options.method not in METHODS:
        hint = f"{known_names(options.method, ('auto', *METHODS))} `tracecut methods` lists all methods."
        raise UsageError(f"--method {options.method}: unknown method", hint=hint)


@contextlib.contextmanager
def told_while(text: str) -> Iterator[None]:
    """Tell on standard error what takes long: on a terminal after a second, elsewhere every ten."""
    done = threading.Event()
    began = time.monotonic()

    def tell() -> None:
        wait = 1.0 if sys.stderr.isatty() else EVERY
        while not done.wait(wait):
            wait = EVERY
            with contextlib.suppress(OSError, ValueError):
                print(f"tracecut: {time.monotonic() - began:.0f} s: {text}", file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def clusters_of(options: argparse.Namespace, graph: LocalityGraph, method: str) -> Clustering:
    """The clusters of a graph: those of --parts, or -k made by --method. Raises UsageError, ArtefactError."""
    from tracecut.partition import METHODS, partition

    if (options.parts is None) == (options.k is None):
        raise UsageError(
            "exactly one of --parts and -k is required", hint=f"`{options.prog} --help` lists the options."
        )
    if options.k is not None:
        chosen = options.method or method
        of = METHODS[chosen].kind if chosen in METHODS else options.of
        blind = chosen in METHODS and METHODS[chosen].kind == "jobs" and "weights" not in METHODS[chosen].uses
        more: dict[str, Any] = {} if options.budget is None else {"budget": options.budget}
        with told_while(f"making {options.k} clusters by {chosen}"):
            return partition(graph, options.k, chosen, of=of, seed=options.seed, unweighted=blind, **more)
    if options.method is not None:
        raise UsageError("--method and --parts exclude each other: --parts gives the clusters that --method would make")
    if options.budget is not None:
        raise UsageError("--budget and --parts exclude each other: nothing is searched where the clusters are given")
    return _given(options.parts, graph, options.of)


def _given(path: str, graph: LocalityGraph, of: str) -> Clustering:
    """The clusters in a file of labels. Raises ArtefactError, which names the file, the row and the label."""
    import numpy as np

    from tracecut.ir.clustering import Clustering

    from .partition import read_numbers

    labels = read_numbers(Path(path))
    size = graph.n_jobs if of == "jobs" else graph.n_data
    what = "edges" if of == "jobs" else "vertices"
    if labels.size != size:
        raise ArtefactError(f"{path} has {labels.size} labels, the graph has {size} {what}")
    most = max(size, MOST_CLUSTERS) - 1  # clusters may be empty; each takes memory
    bad = np.flatnonzero(~((labels >= 0) & (labels <= most) & (labels == np.floor(labels))))
    if bad.size:
        place = int(bad[0])
        raise ArtefactError(
            f"{path}: row {place + 1}: label {labels[place]:.17g}, a whole number from 0 to {most} was expected",
            hint=f"Labels are numbers of clusters, one for each of the {size} {what}: "
            "`tracecut partition -o` writes such files.",
        )
    return Clustering(labels.astype(np.int32), int(labels.max(initial=0)) + 1, of, graph=graph)


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
