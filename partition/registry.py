"""All partitioning methods by name, and the two calls that run them.

To add a method, write a plain function and one record of `METHODS`. The function gets what its record's `uses` names,
as keywords; any other keyword of the function is an option of the method.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy.typing as npt

from ..ir.arrays import Ints
from ..ir.clustering import Clustering
from ..ir.errors import ArgumentError, BackendError
from ..ir.graph import LocalityGraph
from ..ir.ordering import Ordering
from .arguments import Request, check_number, check_options, check_request, check_used
from .inputs import as_graph

ARGUMENTS = frozenset(
    {"balance", "targets", "weights", "coords", "order", "passes", "refine", "hierarchy", "seed", "threads"}
)
LOADS = frozenset({"targets", "weights"})
BALANCED = frozenset({"balance", "targets", "weights", "seed"})
PLACED = LOADS | {"coords"}
COMPACT = PLACED | {"balance", "threads"}
STREAM = frozenset({"order"})
RESTREAM = frozenset({"balance", "targets", "weights", "order", "passes"})
SLOW_PINS = 1 << 20  # paths through hubs coarsen badly: with more pins METIS takes minutes on SPAC's graph
SKEWED = 16  # a largest degree above this many times the mean: hubs, which are better copied than kept whole


@dataclass(frozen=True)
class Method:
    """One partitioning method.

    Attributes:
        name: how callers ask for it.
        kind: what its function makes. `"order"`: `function(graph, **uses) -> Ordering`. `"jobs"`, `"data"`:
            `function(graph, k, **uses) -> labels`, int32 in [0, k), of the jobs or of the data.
        source: the paper or the seed section.
        complexity: time, in jobs, data, pins and k.
        target: `"module:function"` in this package, imported when it is first used.
        uses: the arguments of `partition` that the function takes, out of `ARGUMENTS`.
    """

    name: str
    kind: str
    source: str
    complexity: str
    target: str
    uses: frozenset[str] = frozenset()

    @cached_property
    def function(self) -> Callable[..., Any]:
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(f".{module}", __package__), name)

    def options(self) -> dict[str, Any]:
        """The options of the method and their defaults: the keywords of its function that `partition` has not."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.function).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY and name not in ARGUMENTS
        }


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("original", "order", "baseline", "jobs + data", "linear:original_order"),
        Method("first-touch", "order", "SPAC §4", "pins + data", "linear:first_touch_order"),
        Method("random", "order", "baseline", "jobs + data", "linear:random_order", frozenset({"seed"})),
        Method("rcm", "order", "Cuthill and McKee 1969", "pins + data", "rcm:rcm_order"),
        Method("degree-z", "order", "TileSpMV §3, Morton 1966", "pins + data + jobs log data", "degree:degree_z_order"),
        Method("chunks", "jobs", "baseline", "jobs", "loads:chunks", frozenset({"targets", "weights", "order"})),
        Method("metis", "data", "Karypis and Kumar 1998", "pins + METIS", "metis:metis_labels", BALANCED),
        Method(
            "expansion",
            "jobs",
            "Zhang et al. 2017, Mayer and Jacobsen 2021",
            "pins · copies",
            "expansion:expansion",
            LOADS,
        ),
        Method(
            "multilevel",
            "jobs",
            "Schlag et al. 2016, Gottesbüren et al. 2021",
            "pins · log k",
            "multilevel:multilevel",
            BALANCED,
        ),
        Method("hilbert", "data", "Zoltan HSFC, Hetero §III", "data", "curves:hilbert", PLACED),
        Method("morton", "data", "Morton 1966", "data", "curves:morton", PLACED),
        Method("rcb", "data", "Berger and Bokhari 1987", "data · log data · log k", "bisection:rcb", PLACED),
        Method("rib", "data", "Simon 1991", "data · log data · log k", "bisection:rib", PLACED),
        Method("multijagged", "data", "Deveci et al. 2016", "data · log data", "bisection:multijagged", PLACED),
        Method("kmeans", "data", "von Looz et al. 2018", "sweeps · (data + k²)", "kmeans:kmeans", COMPACT),
        Method(
            "hkmeans",
            "data",
            "Hetero §V",
            "levels · sweeps · data + k²",
            "kmeans:hkmeans",
            COMPACT | {"hierarchy"},
        ),
        Method("geographer-r", "data", "Hetero §V", "pins · log data", "geographer:geographer_r", COMPACT),
        Method("parcubed", "data", "ParCubed §2", "pins · depth", "parcubed:parcubed", frozenset({"threads"})),
        Method(
            "parcubed-det",
            "data",
            "ParCubed §2, improved",
            "pins",
            "parcubed_det:parcubed_det",
            LOADS | {"balance", "threads"},
        ),
        Method("gpart", "data", "Han and Tseng 2006, ParCubed §4", "pins · depth", "parcubed:gpart"),
        Method(
            "compnet",
            "data",
            "stand-in for CompNet, Xiao et al. 2017",
            "pins · log data",
            "compnet:compnet",
            LOADS | {"balance"},
        ),
        Method("spac-split", "jobs", "SPAC §3.2", "pins + METIS", "spac_split:spac_split", BALANCED),
        Method("spac", "jobs", "SPAC §3.2, contracted", "pins + METIS", "metis:spac_labels", BALANCED),
        Method("wvp-random", "jobs", "SPAC §3.3.3, Bourse et al. 2014", "pins + METIS", "wvp:wvp_random", BALANCED),
        Method("wvp-greedy", "jobs", "SPAC §3.3.3, Bourse et al. 2014", "pins + METIS", "wvp:wvp_greedy", BALANCED),
        Method("dbh", "jobs", "Xie et al. 2014", "pins", "hashing:dbh", frozenset({"seed"})),
        Method("powergraph", "jobs", "Gonzalez et al. 2012", "pins", "streaming:powergraph", STREAM),
        Method("powergraph-simple", "jobs", "SPAC §3.3.2", "pins", "streaming:powergraph_simple", STREAM),
        Method("libra", "jobs", "VertexCut §4.3", "pins", "streaming:libra", STREAM),
        Method("w-pg", "jobs", "VertexCut §4.3", "pins", "streaming:w_pg", STREAM | {"weights"}),
        Method("w-libra", "jobs", "VertexCut §4.3", "pins", "streaming:w_libra", STREAM | {"weights"}),
        Method("wb-pg", "jobs", "VertexCut §4.3", "pins · passes", "streaming:wb_pg", RESTREAM),
        Method("wb-libra", "jobs", "VertexCut §4.3, algorithm 1", "pins · passes", "streaming:wb_libra", RESTREAM),
    )
}


def methods(kind: str | None = None) -> tuple[Method, ...]:
    """All methods, or those of one kind (`"order"`, `"jobs"`, `"data"`)."""
    if kind not in (None, "order", "jobs", "data"):
        raise ArgumentError(f"kind = {kind!r}, 'order', 'jobs' or 'data' expected")
    return tuple(method for method in METHODS.values() if kind in (None, method.kind))


def partition(
    graph: Any,
    k: int,
    method: str = "auto",
    *,
    of: str = "jobs",
    balance: float = 1.03,
    targets: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    coords: npt.ArrayLike | None = None,
    order: npt.ArrayLike | str | None = None,
    passes: int = 1,
    refine: str | None = None,
    hierarchy: Sequence[int] | None = None,
    seed: int = 0,
    threads: int | None = None,
    **options: Any,
) -> Clustering:
    """Partition the jobs of a locality graph, or its data, into k clusters.

    Args:
        graph: a LocalityGraph, a scipy.sparse matrix, `(u, v)` integer arrays, a networkx graph, or the path of a
            file (Matrix Market, METIS, hMETIS, edge list; `.gz` too). `inputs` says what the jobs and data of each are:
            `labels[i]` belongs to edge i as given, or to entry i of the strict upper triangle of a symmetric matrix.
        k: number of clusters, at least 1. More clusters than jobs leaves some empty.
        method: a name of `methods()`, or `"auto"`: the fewest vertex copies among chunks of the given order, chunks
            of `rcm` and of `degree-z`, and METIS (`metis` where degrees are even; `spac` where they are not, up to
            2**20 pins). Linear orders give contiguous chunks of equal load.
        of: `"jobs"` for a partition of jobs; `"data"` for the data partition that methods of kind `"data"` make.
        balance: largest load of a cluster over its target, at least 1. Kept by every method that takes it, except
            that a cluster may always hold up to one heaviest item more than its target, which is what chunks keep.
        targets: k positive numbers, what each cluster should get: shares that sum to 1, or loads that sum to the whole
            load; None means equal.
        weights: positive load of each job (of each datum with `of="data"`); None takes the graph's.
        coords: (data, dimensions), where the data lie, for geometric methods.
        order: the stream of jobs for methods that take one: a permutation, `"natural"`, `"shuffled"`, `"bfs"` or
            `"degree"` (`stream_orders`), or the name of a linear order.
        passes, hierarchy: repetitions and hierarchical k, for methods that have them.
        refine: `"km1"` lowers the vertex copies of any job partition, within its balance (`multilevel.refine_km1`).
        seed: 0 to 2**31 - 2. The same seed gives the same result on any number of threads.
        threads: threads to use at most; None lets the method choose.
        options: what else the method's function takes, such as `time_limit` (seconds) or `ring`.

    Returns:
        A Clustering with the name of the method that made it. It knows the graph, so `cost()`, `imbalance()` and
        `report()` answer.

    Raises:
        ArgumentError: an argument is out of its domain, or the method makes no use of it.
        ArtefactError: the file of the graph is damaged.
        BackendError: a foreign partitioner failed; `"auto"` goes on with the others.
    """
    graph = as_graph(graph)
    if isinstance(order, str):
        order = _stream(graph, order, seed)
    request = check_request(
        graph,
        k,
        of=of,
        balance=balance,
        targets=targets,
        weights=weights,
        coords=coords,
        order=order,
        passes=passes,
        refine=refine,
        hierarchy=hierarchy,
        seed=seed,
        threads=threads,
    )
    if refine is not None and (refine != "km1" or of != "jobs"):
        raise ArgumentError(f"refine = {refine!r} for a partition of {of}; 'km1', for jobs, is the one there is")
    bare = replace(request, given=request.given - {"refine"})
    found = _best(graph, bare, options) if method == "auto" else _partition(graph, _find(method), bare, options)
    return found if refine is None else _refined(graph, found, request)


def order(
    graph: LocalityGraph,
    method: str,
    *,
    k: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    **options: Any,
) -> Ordering:
    """An order of the jobs and of the data by any method.

    Args:
        graph: the locality graph.
        method: a name of `methods()`. A partition becomes an order through `blocks.order_clusters`.
        k: number of blocks. None: one for a linear order, `blocks.default_blocks(graph)` for a partition. A linear
            order is cut into k chunks of equal load.
        seed: as in `partition`.
        time_limit: seconds for methods that run in a process of their own; the others do not stop early.
        options: what else the method's function takes.

    Returns:
        An Ordering; every index space keeps its id range.

    Raises:
        ArgumentError: an argument is out of its domain.
        BackendError: a foreign partitioner failed or ran past `time_limit`.
    """
    request = check_request(graph, 1 if k is None else k, seed=seed)
    chosen = _find(method)
    if time_limit is not None:
        check_number("time_limit", time_limit, 0.0)
    if chosen.kind == "order":
        return _cut(graph, _linear(graph, chosen, seed, options), request)
    from .blocks import default_blocks, order_clusters

    if time_limit is not None and "time_limit" in chosen.options():
        options["time_limit"] = time_limit
    blocks = default_blocks(graph) if k is None else k
    return order_clusters(graph, partition(graph, blocks, method, seed=seed, **options))


def _find(name: str) -> Method:
    known = [method.name for method in methods()]
    if name not in known:
        raise ArgumentError(f"there is no partitioning method {name!r}", hint=f"Known: {', '.join(known)}.")
    return METHODS[name]


def _stream(graph: LocalityGraph, name: str, seed: int) -> Ints:
    from .stream_orders import STREAMS, stream

    if name in STREAMS:
        return stream(graph, name, seed=check_request(graph, 1, seed=seed).seed)
    known = (*STREAMS, *(method.name for method in methods("order")))
    if name not in known:
        raise ArgumentError(f"there is no order {name!r}", hint=f"Known: {', '.join(known)}.")
    return _linear(graph, METHODS[name], seed, {}).jobs


def _linear(graph: LocalityGraph, method: Method, seed: int, options: Mapping[str, Any]) -> Ordering:
    request = check_request(graph, 1, seed=seed)
    check_options(method.name, method.options(), options)
    return method.function(graph, **_keywords(method, request), **options)


def _cut(graph: LocalityGraph, linear: Ordering, request: Request) -> Ordering:
    from .loads import chunk_offsets

    cuts = chunk_offsets(request.weights[linear.jobs], request.targets)
    return Ordering(linear.jobs, linear.data, linear.method, cuts)


def _users(argument: str) -> list[str]:
    return [method.name for method in methods() if argument in method.uses]


def _keywords(method: Method, request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in method.uses}


def _partition(graph: LocalityGraph, method: Method, request: Request, options: Mapping[str, Any]) -> Clustering:
    from .loads import chunks, flipped, jobs_of_data, settle, work_on_data

    # Every linear order is cut to any targets and weights here, whatever its function takes.
    check_used(request, method.name, method.uses | LOADS if method.kind == "order" else method.uses, _users)
    check_options(method.name, method.options(), options)
    if request.of == "data" and method.kind != "data":
        raise ArgumentError(
            f"method {method.name!r} partitions jobs, a partition of the data was asked for",
            hint=f"Methods that make one: {', '.join(other.name for other in methods('data'))}.",
        )
    keywords = _keywords(method, request)
    load = (request.weights, request.targets, request.balance)
    labels: Ints
    if method.kind == "order":
        linear = method.function(graph, **keywords, **options)
        labels = chunks(graph, request.k, weights=request.weights, targets=request.targets, order=linear.jobs)
    else:
        if request.of == "jobs" and method.kind == "data" and "weights" in keywords:
            keywords["weights"] = work_on_data(graph, request.weights)
        labels = method.function(graph, request.k, **keywords, **options)
        if request.of == "jobs" and method.kind == "data":
            labels = jobs_of_data(graph, labels, *load)
        elif "balance" in method.uses:  # a method without a bound is left as its paper has it
            labels = settle(graph if request.of == "jobs" else flipped(graph), labels, *load)
    weights = request.weights if "weights" in request.given else None
    record = _record(request, options)
    return Clustering(labels, request.k, request.of, method.name, request.seed, record, graph, weights)


def _refined(graph: LocalityGraph, found: Clustering, request: Request) -> Clustering:
    """The clustering after km1 refinement, within its capacities whether the method kept to them or not."""
    from .loads import settle
    from .multilevel import refine_km1

    load = (request.weights, request.targets, request.balance)
    start = settle(graph, found.labels, *load)
    labels = refine_km1(
        graph, start, weights=request.weights, targets=request.targets, balance=request.balance, seed=request.seed
    )
    return replace(found, labels=settle(graph, labels, *load), options={**found.options, "refine": "km1"})


def _best(graph: LocalityGraph, request: Request, options: Mapping[str, Any]) -> Clustering:
    """The `"auto"` of `partition`."""
    if request.of == "data":
        return _partition(graph, METHODS["metis"], request, options)
    from ..ir.metrics import vertex_copies

    names = ["chunks"]
    if request.k > 1:
        names += ["rcm", "degree-z"]
        if graph.degrees().max(initial=0) * graph.n_data <= SKEWED * graph.n_pins:
            names.append("metis")
        elif graph.n_pins <= SLOW_PINS:
            names.append("spac")
    tried = [METHODS[name] for name in names]
    check_used(request, "auto", LOADS.union(*(method.uses for method in tried)), _users)
    check_options("auto", {key: value for method in tried for key, value in method.options().items()}, options)
    found = []
    for method in tried:
        own = replace(request, given=request.given & (method.uses | LOADS))
        mine = {key: value for key, value in options.items() if key in method.options()}
        try:
            found.append(_partition(graph, method, own, mine))
        except BackendError:
            continue  # the linear orders never fail
    return min(found, key=lambda clustering: vertex_copies(graph, clustering))


def _record(request: Request, options: Mapping[str, Any]) -> dict[str, Any]:
    """What makes the clustering again, as far as it fits in a header; arrays are only named."""
    record: dict[str, Any] = {"balance": request.balance}
    for name, value in options.items():
        record[name] = value if value is None or isinstance(value, int | str) else float(value)
    for name in sorted(request.given):
        value = getattr(request, name)
        if name == "targets":
            value = request.targets.tolist()
        record[name] = value if isinstance(value, int | float | str | list) else "given"
    return record
