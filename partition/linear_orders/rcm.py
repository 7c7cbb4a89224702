"""Reverse Cuthill-McKee: the baseline that every partition has to beat on one core."""

from __future__ import annotations

from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.partition.datastructures.radix_sort import sort_jobs
from tracecut.partition.datastructures.typed_views import ranks

from .cuthill_mckee import walk
from .simple import keep_spaces


def rcm_order(graph: LocalityGraph, *, sweeps: int = 1) -> Ordering:
    """Data by reverse Cuthill-McKee, jobs by the (lowest, highest) of their data's new places.

    The walk runs over the bipartite incidence itself, through all index spaces at once; each space then keeps its
    own range of ids and the walk's relative order. Jobs are sorted by places in the walk, which compare across
    spaces where ids do not. Jobs without data run last; `walk` says what becomes of hubs, of untouched data and of
    several components.

    Args:
        graph: the locality graph.
        sweeps: breadth-first searches per component for a good start. More than 1 gained under 1 % on meshes.

    Returns:
        An Ordering with one block. O(pins · (sweeps + 1) + data).

    Source: Cuthill and McKee 1969, start vertices after George and Liu 1979; data reordering as in SPAC §4.
    """
    walked = walk(graph, sweeps=sweeps)
    jobs = sort_jobs(graph.offsets, graph.data, ranks(walked))
    return Ordering(jobs, keep_spaces(walked, graph.space_offsets), "rcm")
