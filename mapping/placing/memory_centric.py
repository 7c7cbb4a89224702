"""Memory-centric placement: the factors of VertexCut §5.2, with a search for the cores instead of its greedy."""

from __future__ import annotations

import numpy as np
from tracecut.support.arrays import Ints

from .costs import Layout, layout_hops
from .hierarchical import hierarchical
from .memory_centric_greedy import Rules, memory_centric_greedy
from .shared_cores import units_of
from .swaps import swap_refined

ROUNDS = 2  # of swaps; further ones save 1 % of the hops and take a fifth of the time


def memory_centric(layout: Layout, regions: Ints, spread: Ints) -> Ints:
    """Core of each cluster, int32 (k), with no more than four clusters on a core, or ⌈k / cores⌉ if that is more.

    Clusters share a core where the estimate of the greedy says so (factor 1). What shares a core is placed as one: the
    architecture is decomposed by recursive bisection, so that independent clusters get different regions (factor 3),
    and moves and exchanges bring those that talk near each other (factor 2). Bisection pulls few clusters on many
    cores apart; where some cores stay free, the greedy's placement is refined instead if it has fewer hops.

    Args:
        regions: int32 (cores), cores such that parts of the order are regions.
        spread: int32 (cores), cores such that neighbours in the order lie far apart.

    O((k + m) log cores · log k + cores²): a quarter of the speed of the greedy, and half of its hops.
    """
    rules = Rules(shared=False)
    unit_of, units = units_of(layout, rules.most_per_core)
    found = hierarchical(units, regions)
    if units.load.size < units.speed.size:
        near = memory_centric_greedy(units, spread, rules)
        if layout_hops(units, near) < layout_hops(units, found):
            found = near
    placed: Ints = swap_refined(units, found, ROUNDS)[unit_of].astype(np.int32)
    return placed
