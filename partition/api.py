"""The two functions that run any method: `partition` and `order`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.ordering import Ordering
from tracecut.partition.inputs.arguments import Request, check_number, check_options, check_request, check_used
from tracecut.partition.inputs.as_graph import as_graph
from tracecut.partition.inputs.machine_arguments import clusters_for
from tracecut.support.arrays import Floats, Ints
from tracecut.support.errors import ArgumentError, known_names

from .methods import ARGUMENTS, AUTO, LOADS, METHODS, Method, methods


def partition(
    graph: Any,
    k: int | None = None,
    method: str = "auto",
    *,
    tile_bytes: float | None = None,
    machine: Machine | None = None,
    memory: float | None = None,
    of: str = "jobs",
    balance: float = 1.03,
    targets: npt.ArrayLike | None = None,
    capacities: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    coords: npt.ArrayLike | None = None,
    order: npt.ArrayLike | str | None = None,
    passes: int = 1,
    refine: str | None = None,
    hierarchy: Sequence[int] | None = None,
    seed: int = 0,
    threads: int | None = None,
    unweighted: bool = False,
    **options: Any,
) -> Clustering:
    """Partition the jobs of a locality graph, or its data, into k clusters.

    Args:
        graph: a scipy.sparse matrix, a tuple of arrays `(u, v)` or `(u, v, w)` with weights, a list of pairs, a
            networkx graph, a DependenceGraph, a LocalityGraph, or the path of a file (Matrix Market, METIS, hMETIS,
            edge list; `.gz` too). `inputs` says what the jobs and data of each are: `labels[i]` belongs to edge i as
            given, or to entry i of the strict upper triangle of a symmetric matrix. Weights of jobs (edges, values of a
            matrix) are loads in a partition of jobs, and costs of cutting in one of data; weights of data (vertices,
            nets) are loads in a partition of data, and costs of copying in one of jobs.
        k: number of clusters, at least 1. More clusters than jobs leaves some empty. None takes `tile_bytes` or
            `machine`.
        method: a name of `methods()`. `"auto"` runs the candidates that fit in `budget=` CPU seconds (default 20; see
            `auto` for the prediction), keeps the one of lowest cost and gives the reasons in `report()`. Linear orders
            give contiguous chunks of equal load.
        tile_bytes: instead of k, bytes of data per cluster: `cache_tiles.parts_for_bytes`, with 8 bytes a datum unless
            the graph has weights of data.
        machine: cluster i is for its core i. Sets k, targets by the speeds of its cores (`target_sizes`), capacities by
            their memories, and the hierarchy of methods that take one (`Machine.fan_outs`), unless they are given.
            Targets are omitted if all cores are equal, capacities if every memory suffices.
        memory: total memory of the machine as a multiple of the total load, 1.2 in Hetero's experiments; None: its
            bytes, 8 per unit of load.
        of: `"jobs"` for a partition of jobs; `"data"` for the data partition that methods of kind `"data"` make.
        balance: largest load of a cluster over its target, at least 1. Kept by every method that takes loads; if no
            partition keeps it, because of heavy weights or few members, the least possible imbalance is kept. Loads of
            contiguous chunks and linear orders differ from targets by at most the heaviest item; so do cells with
            several weights.
        targets: k positive numbers, what each cluster should get: shares that sum to 1, or loads that sum to the whole
            load; None means equal.
        capacities: k numbers, loads that no cluster may exceed, whatever the method; infinity where there is no limit.
            Excess members of overfull clusters are moved across borders (`keep_capacities`). Without targets, loads are
            equal as far as capacities allow.
        weights: load of each job (of each datum with `of="data"`), 0 or more; None takes the graph's. Several of each
            datum, (data, loads), are balanced one by one, by the methods that can.
        coords: (data, dimensions), coordinates of the data, for geometric methods.
        order: the stream of jobs for methods that take one: a permutation, `"natural"`, `"shuffled"`, `"bfs"` or
            `"degree"` (`stream_orders`), or the name of a linear order.
        passes, hierarchy: repetitions and hierarchical k, for methods that have them.
        refine: `"km1"` lowers the vertex copies of any job partition, within its balance (`driver.refine_km1`; `"spac"`
            has its own, shorter one: `km1_cycles`).
        seed: 0 to 2**31 - 2. The same seed gives the same result on any number of threads.
        threads: largest number of threads; None lets the method choose.
        unweighted: ignore all weights of the graph; of a matrix, use only the pattern.
        options: method-specific options, such as `time_limit` (seconds) or `ring`; `Method.options` names them.

    Returns:
        A Clustering with the name of the method that made it. It refers to the graph, so `cost()`, `imbalance()` and
        `report()` work.

    Raises:
        ArgumentError: an argument is invalid, or the method does not use it or a weight.
        ArtefactError: the file of the graph is damaged.
        BackendError: an external partitioner failed; `"auto"` continues with the others.
    """
    graph = as_graph(graph, unweighted=unweighted)
    if isinstance(order, str):
        order = _stream(graph, order, seed)
    if machine is not None:
        k = clusters_for(machine, k)
        if hierarchy is None and method in METHODS and "hierarchy" in METHODS[method].uses:
            hierarchy = machine.fan_outs()
    request = check_request(
        graph,
        _clusters(graph, k, tile_bytes),
        of=of,
        balance=balance,
        targets=targets,
        capacities=capacities,
        weights=weights,
        coords=coords,
        order=order,
        passes=passes,
        refine=refine,
        hierarchy=hierarchy,
        seed=seed,
        threads=threads,
        machine=machine,
        memory=memory,
    )
    if refine is not None and (refine != "km1" or of != "jobs"):
        raise ArgumentError(f"refine = {refine!r} for a partition of {of}; 'km1', for jobs, is the one there is")
    _check_weights(graph, AUTO if method == AUTO.name else _find(method), request)
    bare = replace(request, refine=None, given=request.given - {"refine"})
    if method == AUTO.name:
        found = _best(graph, bare, options)
    elif "refine" in _find(method).uses:
        found, refine = _partition(graph, _find(method), request, options), None
    else:
        found = _partition(graph, _find(method), bare, options)
    if refine is not None:
        found = _refined(graph, found, request)
    more = ({"unweighted": True} if unweighted else {}) | ({"machine": machine.name} if machine is not None else {})
    return replace(found, options={**found.options, **more}) if more else found


def _check_weights(graph: LocalityGraph, method: Method, request: Request) -> None:
    """Refuse weights that the method would ignore. Refinement after it takes weights into account."""
    name, of, hint = method.name, request.of, "unweighted=True ignores all weights."
    if graph.more_data_weights.size and of == "jobs":
        raise ArgumentError(
            f"each datum has {graph.more_data_weights.shape[1] + 1} weights: a copy of it can cost but one",
            hint=f"of='data' balances them one by one. {hint}",
        )
    if request.more_weights.size and not method.several:
        others = ", ".join(other.name for other in methods() if other.several)
        raise ArgumentError(f"method {name!r} balances one weight of each datum", hint=f"Of several: {others}. {hint}")
    if request.refine is not None:
        return
    from tracecut.partition.datastructures.integer_weights import uneven  # compiles, as all methods do

    follows = of == "jobs" and method.kind == "data"  # jobs that follow their data are balanced in any case
    counts = method.kind in ("jobs", "data") and "weights" not in method.uses and not follows
    if counts and request.own_weights is not None and uneven(request.own_weights).size:
        able = ", ".join(other.name for other in methods(method.kind) if "weights" in other.uses)
        raise ArgumentError(
            f"method {name!r} balances numbers of {of}, and these have different weights",
            hint=f"By weight: {able}. {hint}",
        )
    if method.blind and uneven(graph.job_weights if of == "data" else graph.data_weights).size:
        what = "cut jobs" if of == "data" else "copies of data"
        able = ", ".join(other.name for other in methods(method.kind) if not other.blind)
        raise ArgumentError(
            f"method {name!r} counts {what} and does not weigh them, and these have different weights",
            hint=f"Others do, or have no objective: {able}. {hint}",
        )


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
        method: a name of `methods()`. A partition becomes an order through `from_clusters.order_clusters`.
        k: number of blocks. None: one for a linear order, `from_clusters.default_blocks(graph)` for a partition. A
            linear order is cut into k chunks of equal load.
        seed: as in `partition`.
        time_limit: seconds for methods that run in a process of their own; the others do not stop early.
        options: method-specific options.

    Returns:
        An Ordering; every index space keeps its id range.

    Raises:
        ArgumentError: an argument is out of its domain.
        BackendError: an external partitioner failed or ran past `time_limit`.
    """
    request = check_request(graph, 1 if k is None else k, seed=seed)
    chosen = _find(method)
    if time_limit is not None:
        check_number("time_limit", time_limit, 0.0)
    if chosen.kind == "order":
        return _cut(graph, _linear(graph, chosen, seed, options), request)
    from tracecut.partition.linear_orders.from_clusters import default_blocks, order_clusters

    if time_limit is not None and "time_limit" in chosen.options():
        options["time_limit"] = time_limit
    blocks = default_blocks(graph) if k is None else k
    return order_clusters(graph, partition(graph, blocks, method, seed=seed, **options))


def _clusters(graph: LocalityGraph, k: int | None, tile_bytes: float | None) -> int:
    if k is not None and tile_bytes is not None:
        raise ArgumentError(f"k = {k!r} and tile_bytes = {tile_bytes!r}, one of the two was expected")
    if k is not None:
        return k
    if tile_bytes is None:
        raise ArgumentError(
            "k = None, a whole number of clusters was expected", hint="tile_bytes= or machine= take its place."
        )
    from .cache_tiles import parts_for_bytes

    return parts_for_bytes(graph, tile_bytes)


def _find(name: str) -> Method:
    if not isinstance(name, str) or name not in METHODS:
        raise ArgumentError(f"there is no partitioning method {name!r}", hint=known_names(name, METHODS))
    return METHODS[name]


def _stream(graph: LocalityGraph, name: str, seed: int) -> Ints:
    from tracecut.partition.streaming.stream_orders import STREAMS, stream

    if name in STREAMS:
        return stream(graph, name, seed=check_request(graph, 1, seed=seed).seed)
    known = (*STREAMS, *(method.name for method in methods("order")))
    if name not in known:
        raise ArgumentError(f"there is no order {name!r}", hint=known_names(name, known))
    return _linear(graph, METHODS[name], seed, {}).jobs


def _linear(graph: LocalityGraph, method: Method, seed: int, options: Mapping[str, Any]) -> Ordering:
    request = check_request(graph, 1, seed=seed)
    check_options(method.name, method.options(), options)
    return method.function(graph, **_keywords(method, request), **options)


def _cut(graph: LocalityGraph, linear: Ordering, request: Request) -> Ordering:
    if request.targets.size == 1:
        return linear
    from tracecut.partition.balance.rebalance import chunk_offsets

    cuts = chunk_offsets(request.weights[linear.jobs], request.targets)
    return Ordering(linear.jobs, linear.data, linear.method, cuts)


def _users(argument: str) -> list[str]:
    return [method.name for method in methods() if argument in method.uses]


def _keywords(method: Method, request: Request) -> dict[str, Any]:
    """The arguments that the function takes. Of jobs that all weigh 1 it gets no weights: None means that."""
    plain = "own_weights" if method.kind == "jobs" else "weights"
    found = {name: getattr(request, plain if name == "weights" else name) for name in method.uses}
    return found | ({"weights": _all_weights(request)} if method.several else {})


def _all_weights(request: Request) -> Floats:
    """float64 (size), or (size, loads) where there are several of each."""
    return np.column_stack([request.weights, request.more_weights]) if request.more_weights.size else request.weights


def _partition(graph: LocalityGraph, method: Method, request: Request, options: Mapping[str, Any]) -> Clustering:
    from tracecut.partition.balance.fill_empty import fill_empty
    from tracecut.partition.balance.rebalance import chunks, filled, jobs_of_data, rebalance, work_on_data
    from tracecut.partition.datastructures.integer_weights import charging_copies

    # Every linear order is cut to any targets and weights here, whatever its function takes.
    check_used(request, method.name, method.uses | LOADS if method.kind == "order" else method.uses, _users)
    check_options(method.name, method.options(), options)
    if request.of == "data" and method.kind != "data":
        raise ArgumentError(
            f"method {method.name!r} partitions jobs, a partition of the data was asked for",
            hint=f"Methods that make one: {', '.join(other.name for other in methods('data'))}.",
        )
    keywords = _keywords(method, request)
    labels: Ints
    if method.kind == "order":
        linear = method.function(graph, **keywords, **options)
        labels = chunks(graph, request.k, weights=request.weights, targets=request.targets, order=linear.jobs)
    else:
        follow = request.of == "jobs" and method.kind == "data"
        if follow and "weights" in keywords:
            keywords["weights"] = work_on_data(graph, request.weights)
        labels = method.function(charging_copies(graph) if follow else graph, request.k, **keywords, **options)
        if follow:
            labels = jobs_of_data(graph, labels, request.weights, request.targets, request.balance)
        elif _needs_rebalancing(method, request):
            labels = rebalance(graph, labels, request.own_weights, request.targets, request.balance, request.of)
    if _needs_rebalancing(method, request) and not method.bare:
        labels = filled(labels, request.own_weights, request.targets, request.balance)
    elif not method.bare:
        labels = fill_empty(labels, request.k, request.own_weights)
    labels = _within_capacities(graph, labels, request)
    weights = _all_weights(request) if "weights" in request.given else None
    record = _record(request, options)
    return Clustering(labels, request.k, request.of, method.name, request.seed, record, graph, weights)


def _within_capacities(graph: LocalityGraph, labels: Ints, request: Request) -> Ints:
    """The labels, or others that keep the capacities of the request."""
    if request.capacities is None:
        return labels
    from tracecut.partition.balance.keep_capacities import keep_capacities
    from tracecut.partition.balance.rebalance import bounds

    limits = bounds(request.weights, request.targets, request.balance)
    return keep_capacities(graph, labels, request.own_weights, limits, request.capacities, request.of)


def _needs_rebalancing(method: Method, request: Request) -> bool:
    """Whether labels are rebalanced after the method.

    Not for chunks, which are as even as possible, and for published rules without a bound. With equal weights, methods
    without a balance argument make parts of equal sizes, and the bounds of rules hold.
    """
    from tracecut.partition.datastructures.integer_weights import uneven

    contiguous = method.kind == "order" or method.name == "chunks"
    if request.more_weights.size or contiguous or (method.bare and "balance" not in method.uses):
        return False
    if method.kind == "data" and request.of == "jobs":  # jobs that follow their data always keep the balance
        return True
    if "balance" in method.uses and not method.bare:
        return True
    return "weights" in method.uses and request.own_weights is not None and uneven(request.own_weights).size > 0


def _refined(graph: LocalityGraph, found: Clustering, request: Request) -> Clustering:
    """The clustering after km1 refinement, within its capacities whether the method kept to them or not."""
    from tracecut.partition.balance.rebalance import filled, rebalance
    from tracecut.partition.multilevel.driver import refine_km1

    load = (request.weights, request.targets, request.balance)
    start = rebalance(graph, found.labels, *load)
    labels = refine_km1(
        graph,
        start,
        weights=request.weights,
        targets=request.targets,
        balance=request.balance,
        seed=request.seed,
        threads=request.threads,
    )
    kept = _within_capacities(graph, filled(rebalance(graph, labels, *load), *load), request)
    refined = replace(found, labels=kept, options={**found.options, "refine": "km1"})
    if kept is not labels:  # refinement may fill a cluster up to its capacity: rebalancing can cost all of its gain
        unrefined = replace(refined, labels=_within_capacities(graph, filled(start, *load), request))
        if unrefined.cost() < refined.cost():
            return unrefined
    return refined


def _best(graph: LocalityGraph, request: Request, options: Mapping[str, Any]) -> Clustering:
    """The `"auto"` of `partition`: `auto.choose` decides, its candidates are run here."""
    from .auto import choose

    check_used(request, AUTO.name, AUTO.uses, _users)
    check_options(AUTO.name, AUTO.options(), options)

    def run(name: str, changes: Mapping[str, Any]) -> Clustering:
        method = METHODS[name]
        uses = method.uses | LOADS if method.kind == "order" else method.uses
        after = "refine" in changes and "refine" not in method.uses  # others refine by themselves
        arguments = {key: changes[key] for key in changes if key in ARGUMENTS and not (after and key == "refine")}
        own = replace(request, given=(request.given & (uses | {"capacities"})) | set(arguments), **arguments)
        found = _partition(graph, method, own, {key: changes[key] for key in changes if key not in ARGUMENTS})
        return _refined(graph, found, own) if after else found

    return choose(graph, request, run, **options)


def _record(request: Request, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that reproduce the clustering, as far as they fit in a header; arrays are only named."""
    record: dict[str, Any] = {"balance": request.balance}
    for name, value in options.items():
        record[name] = value if value is None or isinstance(value, int | str) else float(value)
    for name in sorted(request.given):
        value = getattr(request, name)
        if name == "targets":
            value = request.targets.tolist()
        elif name == "capacities" and request.capacities is not None:
            value = [room if math.isfinite(room) else None for room in request.capacities.tolist()]
        record[name] = value if isinstance(value, int | float | str | list) else "given"
    return record
