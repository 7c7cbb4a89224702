"""The order of visits: shuffled within windows, dealt into lots of whole labels."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.partition.coarsening.visit_order import LITTLE, shuffled_visits
from tracecut.partition.datastructures.shuffle import WINDOW, shuffle
from tracecut.partition.parallel.thread_pool import MOST

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("size", [0, 5, WINDOW, 2 * WINDOW + 7])
def test_shuffle(size: int) -> None:
    values = np.arange(size, dtype=np.uint32)
    found, again, other = values.copy(), values.copy(), values.copy()
    for own, seed in ((found, 1), (again, 1), (other, 2)):
        shuffle(own, seed)
    assert np.sort(found).tolist() == values.tolist()
    assert (np.abs(found.astype(np.int64) - np.arange(size)) < WINDOW).all()
    assert found.tolist() == again.tolist()
    assert size < WINDOW or values.tolist() != found.tolist() != other.tolist()


@pytest.mark.parametrize("k", [1, 5, 40])
def test_lots_hold_whole_labels(k: int) -> None:
    """Each node stands in one lot, all of a label in the same, and nodes of a lot in the order of the whole."""
    labels = np.random.default_rng(k).integers(0, k, 3 * LITTLE).astype(np.uint32)
    visits = shuffled_visits(labels.size, labels, 4)
    place = np.empty(labels.size, np.int64)
    place[visits.order] = np.arange(labels.size)
    assert len(visits.lots) == MOST
    assert sorted(np.concatenate(visits.lots).tolist()) == list(range(labels.size))
    owners = [set(labels[lot].tolist()) for lot in visits.lots]
    assert sum(len(own) for own in owners) == k
    assert all((np.diff(place[lot]) > 0).all() for lot in visits.lots)


@pytest.mark.parametrize(("nodes", "labelled"), [(0, True), (LITTLE - 1, True), (2 * LITTLE, False)])
def test_few_nodes_or_no_labels_make_no_lots(nodes: int, labelled: bool) -> None:
    visits = shuffled_visits(nodes, np.zeros(nodes, np.uint32) if labelled else None, 4)
    assert visits.lots == ()
    assert sorted(visits.order.tolist()) == list(range(nodes))
