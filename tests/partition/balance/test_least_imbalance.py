"""ε on weighted input: the largest load over its target is what was asked for, or the least that any partition has.

What the least is is found here by trying all partitions, or by a greedy packing of its own.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition import METHODS, partition
from tracecut.partition.balance.least_imbalance import best_balance, seated
from tracecut.partition.methods import Method

from ...waiting import HUNG

pytestmark = pytest.mark.quick

CONTIGUOUS = {method.name for method in METHODS.values() if method.kind == "order"} | {"chunks"}
BOUNDED = [
    method
    for method in METHODS.values()
    if method.installed and method.name not in CONTIGUOUS and "weights" in method.uses
    and (not method.bare or "balance" in method.uses)
]  # fmt: skip
QUICK = [method for method in BOUNDED if not method.module and "METIS" not in method.complexity]
SLOW = [method for method in BOUNDED if method not in QUICK]

HEAVY = st.one_of(
    st.just(0.0),
    st.integers(1, 9).map(float),
    st.floats(0.01, 1.0).map(lambda x: round(x**-2.0, 3)),  # heavy-tailed
)


def least(weights: list[float], shares: list[float], empty: bool = False) -> float:
    """The least imbalance of all partitions, without empty clusters where there are as many items, unless `empty`."""
    k, total = len(shares), sum(weights)
    if total == 0:
        return 1.0
    found = np.inf
    for labels in product(range(k), repeat=len(weights)):
        if not empty and len(weights) >= k and len(set(labels)) < k:
            continue
        loads = np.bincount(labels, weights, k)
        found = min(found, float((loads / (np.array(shares) * total)).max()))
    return found


def greedily(weights: np.ndarray[Any, Any], shares: np.ndarray[Any, Any]) -> float:
    """What packing the heaviest first gives."""
    loads = np.zeros(shares.size)
    for weight in sorted(weights.tolist(), reverse=True):
        loads[np.argmin((loads + weight) / shares)] += weight
    return float((loads / shares).max() / weights.sum())


def call(method: Method, graph: LocalityGraph, shares: list[float], **given: Any) -> Any:
    k = len(shares)
    if "coords" in method.uses:
        given["coords"] = np.random.default_rng(1).random((graph.n_data, 2))
    if "targets" in method.uses:
        given["targets"] = shares
    else:
        shares = [1 / k] * k
    if "time_limit" in method.options():
        given["time_limit"] = HUNG
    return partition(graph, k, method.name, **given), shares


def check(method: Method, of: str, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 3))
    weights = data.draw(st.lists(HEAVY, min_size=1, max_size=7))
    shares = data.draw(st.sampled_from([[1 / k] * k, [0.7, 0.3] if k == 2 else [0.5, 0.3, 0.2]]))
    asked = data.draw(st.sampled_from([1.0, 1.03, 1.3]))
    n = len(weights)
    if of == "jobs":
        graph = LocalityGraph.from_edges(np.arange(n, dtype=np.int32), np.arange(1, n + 1, dtype=np.int32))
    else:
        graph = LocalityGraph.from_edges(np.arange(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32), n)
    found, shares = call(method, graph, shares, of=of, weights=weights, balance=asked)
    loads = np.bincount(found.labels, weights, k)
    bound = max(asked, least(weights, shares)) * np.array(shares) * sum(weights)
    assert (loads <= bound * (1 + 1e-9)).all(), (weights, shares, loads.tolist(), bound.tolist())


@pytest.mark.parametrize("method", QUICK, ids=lambda method: method.name)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_balance_of_few_jobs(method: Method, data: st.DataObject) -> None:
    check(method, "jobs", data)


@pytest.mark.parametrize("method", [m for m in QUICK if m.kind == "data"], ids=lambda method: method.name)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_balance_of_few_data(method: Method, data: st.DataObject) -> None:
    check(method, "data", data)


@pytest.mark.parametrize("tail", [0.0, 0.6, 1.2])
@pytest.mark.parametrize("method", BOUNDED, ids=lambda method: method.name)
def test_balance_of_many(method: Method, tail: float, mesh: LocalityGraph) -> None:
    """Weights from small numbers to a Pareto distribution without a mean; a tenth of them zero."""
    draw = np.random.default_rng(int(10 * tail))
    of = "data" if method.kind == "data" else "jobs"
    size = mesh.n_data if of == "data" else mesh.n_jobs
    weights = draw.integers(1, 40, size) * 1.0 if tail == 0 else np.round(draw.pareto(tail, size) + 0.1, 3)
    weights[draw.random(size) < 0.1] = 0.0
    for shares in ([0.125] * 8, [0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05]):
        found, used = call(method, mesh, shares, of=of, weights=weights, balance=1.03)
        loads = np.bincount(found.labels, weights, len(shares))
        bound = max(1.03, greedily(weights, np.array(used)))
        worst = float((loads / (np.array(used) * weights.sum())).max())
        assert worst <= bound * (1 + 1e-9), (worst, bound)
        if "targets" not in method.uses:
            break


@settings(deadline=None, max_examples=150)
@given(weights=st.lists(HEAVY, min_size=1, max_size=7), k=st.integers(1, 4), asked=st.sampled_from([1.0, 1.03, 1.5]))
def test_the_least_imbalance_is_found(weights: list[float], k: int, asked: float) -> None:
    if k ** len(weights) > 3000:
        weights = weights[:5]
    found = best_balance(np.array(weights), np.full(k, 1 / k), asked)
    assert found == pytest.approx(max(asked, least(weights, [1 / k] * k)))


@settings(deadline=None, max_examples=150)
@given(
    weights=st.lists(HEAVY, min_size=1, max_size=6),
    shares=st.lists(st.sampled_from([1.0, 3.0, 50.0]), min_size=1, max_size=4),
)
def test_the_least_imbalance_with_empty_clusters(weights: list[float], shares: list[float]) -> None:
    """A cluster whose target is less than any weight may stay empty."""
    targets = np.array(shares) / sum(shares)
    found = best_balance(np.array(weights), targets, 1.03, empty=True)
    assert found == pytest.approx(max(1.03, least(weights, targets.tolist(), empty=True)))


def test_best_fit_finds_what_even_filling_misses() -> None:
    """Four loads of 100, each cut into seven pieces, are packed again."""
    draw = np.random.default_rng(17)
    cuts = [[0, *np.sort(draw.choice(np.arange(1, 100), 6, replace=False)), 100] for _ in range(4)]
    weights, targets = np.concatenate([np.diff(cut) for cut in cuts]).astype(float), np.full(4, 0.25)
    assert best_balance(weights, targets, 1.0) == 1.02
    assert best_balance(weights, targets, 1.0, empty=True) == 1.0
    found = seated(np.zeros(28, np.int32), weights, targets, np.full(4, 100.0), 1.0, empty=True)
    assert np.bincount(found, weights).tolist() == [100.0] * 4
