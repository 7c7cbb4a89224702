"""`nx.pagerank(G, backend="tracecut")`: the entry point `networkx.backends`.

Arguments, results and errors are networkx's; conversions are kept in the graph's cache by networkx itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
from tracecut.support.errors import ArgumentError, ConvergenceError

from .hits import ROUNDED, lanczos_hits
from .hits import hits as own_hits
from .iterations import positive
from .links import Links, as_links
from .pagerank import pagerank as own_pagerank

FIRST = 100  # steps of the power method for HITS, after which Lanczos steps are faster


@dataclass(frozen=True, eq=False)
class ConvertedGraph:
    """A networkx graph as links. `directed`, `multigraph`: what it was.

    plain: the links with the weight 1, or with the number of parallel edges: networkx takes a conversion with weights
    from its cache for calls without, too.
    """

    links: Links
    plain: Links
    directed: bool
    multigraph: bool
    __networkx_backend__ = "tracecut"

    def is_directed(self) -> bool:
        return self.directed

    def is_multigraph(self) -> bool:
        return self.multigraph

    def __len__(self) -> int:
        return self.links.size


def convert_from_nx(
    graph: Any, *, edge_attrs: Mapping[str, Any] | None = None, preserve_edge_attrs: bool = False, **_: Any
) -> ConvertedGraph:
    """The links of a networkx graph, with at most one attribute as their weight.

    Raises NotImplementedError where more than that is asked for.
    """
    attributes = dict(edge_attrs or {})
    if preserve_edge_attrs or len(attributes) > 1 or any(default != 1 for default in attributes.values()):
        raise NotImplementedError("tracecut keeps one edge attribute, which is 1 where it is missing")
    links = as_links(graph, next(iter(attributes), None))
    many = graph.is_multigraph()
    if many:
        plain = as_links(graph, None) if attributes else links
    else:
        plain = replace(links, weights=np.zeros(0))
    return ConvertedGraph(links, plain, graph.is_directed(), many)


def convert_to_nx(found: Any, **_: Any) -> Any:
    """A result as it is; a converted graph as a networkx graph with weights, parallel edges as one."""
    if not isinstance(found, ConvertedGraph):
        return found
    links = found.links
    names = range(links.size) if links.nodes is None else links.nodes
    graph: Any = nx.DiGraph() if found.directed else nx.Graph()
    graph.add_nodes_from(names)
    sources = np.repeat(np.arange(links.size), links.degrees()).tolist()
    weights = links.weights if links.weights.size else np.ones(links.targets.size)
    ends = zip(sources, links.targets.tolist(), weights.tolist(), strict=True)
    graph.add_weighted_edges_from((names[u], names[v], weight) for u, v, weight in ends)
    return graph


def can_run(name: str, args: Any, kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a call can run here, or why not."""
    if name == "hits" and not (kwargs.get("normalized", True) and (len(args) < 5 or args[4])):
        return "only normalized scores"
    return name in ("pagerank", "hits")


def should_run(name: str, args: Any, kwargs: Mapping[str, Any]) -> bool:
    """Always: conversion is faster than networkx's own."""
    return True


def pagerank(
    G: Any,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: str | None = "weight",
    dangling: Mapping[Any, float] | None = None,
) -> dict[Any, float]:
    """As `networkx.pagerank`."""
    links = _links(G, weight)
    if links.size == 0:
        return {}
    tol = positive("tol", tol)
    known: dict[str, Any] = {}
    if personalization is not None:
        known["personalization"] = _known(links, personalization)
        if not any(known["personalization"].values()):
            raise ZeroDivisionError("personalization gives no node of the graph a share")
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    for name, values in (("nstart", nstart), ("dangling", dangling)):
        if values is not None:
            known[name.removeprefix("n")] = own = _known(links, values)
            if not any(own.values()):  # networkx iterates with what is no number
                cause = ArgumentError(f"{name} gives no node of the graph a share")
                raise nx.PowerIterationFailedConvergence(max_iter) from cause
    try:
        found = own_pagerank(links, alpha=alpha, tol=tol * links.size, max_iter=max_iter, **known)
    except ConvergenceError as error:
        raise nx.PowerIterationFailedConvergence(max_iter) from error
    return found.to_dict()


def hits(
    G: Any,
    max_iter: int = 100,
    tol: float = 1e-8,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
) -> tuple[dict[Any, float], dict[Any, float]]:
    """As `networkx.hits`, whose results it equals where the largest singular value is a single one.

    `tol` may be 0, for what rounding leaves.
    """
    links = _links(G, "weight")
    if not links.size:
        return {}, {}
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    start = None if nstart is None else _known(links, nstart)
    if start is not None and not any(start.values()):
        raise ArgumentError("nstart gives no node of the graph a score")
    try:
        hubs, authorities = own_hits(links, start=start, tol=tol or ROUNDED, max_iter=FIRST)
    except ConvergenceError as first:
        last: Any = first.last
        try:
            hubs, authorities = lanczos_hits(links, last[0].values, tol, max_iter)
        except ConvergenceError as error:
            raise nx.PowerIterationFailedConvergence(max_iter) from error
    return hubs.to_dict(), authorities.to_dict()


def _links(graph: Any, weight: str | None) -> Links:
    if isinstance(graph, ConvertedGraph):
        return graph.plain if weight is None else graph.links
    return as_links(graph, weight)


def _known(links: Links, values: Mapping[Any, float]) -> dict[Any, float]:
    """Those of nodes of the graph: networkx passes over others."""
    names = set(range(links.size) if links.nodes is None else links.nodes)
    return {node: value for node, value in values.items() if node in names}
