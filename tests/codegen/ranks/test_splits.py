"""Splits: who gets what, by hand, and in balance; and the model of what they exchange."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.codegen.ranks.simple_splits import bitonic, columns, grid, grid_rows
from tracecut.codegen.ranks.split import SPLITS
from tracecut.codegen.ranks.traffic import traffic_of
from tracecut.support.errors import ArgumentError

from .shared import by_hand, entries, random_matrix

pytestmark = pytest.mark.quick


def test_bitonic_deals_forwards_and_backwards() -> None:
    """Rows of the lengths 1 … 8: the longest four to ranks 0, 1, 2, 3, the others to 3, 2, 1, 0."""
    matrix = entries(np.tril(np.ones((8, 8))))
    split = bitonic(matrix, 4)
    assert split.owners.tolist() == [0, 1, 2, 3, 3, 2, 1, 0]
    assert np.array_equal(split.places, split.owners[matrix.rows()])
    assert np.bincount(split.places).tolist() == [9, 9, 9, 9]


def test_columns_are_contiguous_and_balanced() -> None:
    matrix = entries(np.tril(np.ones((8, 8))))
    split = columns(matrix, 2)
    assert split.owners.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert np.array_equal(split.places, split.owners[matrix.columns])


def test_a_grid_keeps_messages_in_its_rows_and_columns() -> None:
    assert [grid_rows(ranks) for ranks in (1, 2, 3, 4, 6, 7, 12, 16)] == [1, 1, 1, 2, 2, 1, 3, 4]
    matrix = entries(np.ones((8, 8)))
    split = grid(matrix, 4)
    assert split.owners.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    places = split.places.reshape(8, 8)
    assert places[0].tolist() == [0, 0, 1, 1, 0, 0, 1, 1] and places[7].tolist() == [2, 2, 3, 3, 2, 2, 3, 3]
    assert np.argwhere(split.expands).tolist() == [[0, 2], [1, 3], [2, 0], [3, 1]]
    assert np.argwhere(split.folds).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]


@pytest.mark.parametrize("name", SPLITS)
@settings(max_examples=15)
@given(st.integers(1, 40), st.integers(0, 120), st.integers(1, 9), st.integers(0, 99))
def test_the_model_counts_what_sets_hold(name: str, n: int, count: int, ranks: int, seed: int) -> None:
    matrix = entries(random_matrix(n, count, seed))
    split = Ranks(name, comm=ranks, seed=seed).make_split(matrix, ranks)
    assert split.owners.size == n and split.places.size == matrix.columns.size
    assert max(split.owners.max(), split.places.max(initial=0)) < ranks
    needed, every = (traffic_of(matrix, split, exchange) for exchange in ("needed", "allgather"))
    expand, fold = by_hand(matrix, split)
    assert np.array_equal(needed.expand, expand) and np.array_equal(needed.fold, fold)
    assert (needed.expand <= every.expand).all() and (needed.fold <= every.fold).all()
    assert np.array_equal(needed.turned().bytes(3), 24 * (expand + fold).sum(axis=0))


def test_what_all_that_is_owned_takes() -> None:
    """Rows: each entry of x to all others, as in the seed. A grid: along its lines. Both spaces: twice."""
    matrix = entries(random_matrix(100, 700, 1))
    sums = {}
    for name in SPLITS:
        split = Ranks(name, comm=4).make_split(matrix, 4)
        sums[name] = int(traffic_of(matrix, split, "allgather").bytes().sum())
    assert sums["bitonic"] == sums["columns"] == sums["km1"] == 100 * 3 * 8
    assert sums["grid"] == 100 * 2 * 8 and sums["spac"] == 100 * 6 * 8


def test_partitions_of_a_mesh_need_few_entries() -> None:
    """Rows that are dealt out need most."""
    line = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(24, 24))
    matrix = entries(sp.kron(line, line))
    costs = {}
    for name in SPLITS:
        split = Ranks(name, comm=4).make_split(matrix, 4)
        costs[name] = int(traffic_of(matrix, split, "needed").bytes().sum()) // 8
        held = np.bincount(split.places, minlength=4)
        assert held.max() <= 1.15 * held.mean(), name
    assert costs["km1"] < min(costs["columns"], costs["spac"]) and 5 * costs["spac"] < costs["bitonic"]


def test_seconds_are_those_of_the_busiest_rank() -> None:
    matrix = entries(np.ones((4, 4)))
    found = traffic_of(matrix, bitonic(matrix, 2), "needed")
    assert found.messages().tolist() == [1, 1] and found.bytes().tolist() == [16, 16]
    assert found.seconds(1e-6, 16e6) == pytest.approx(2e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "rows"}, "split is 'rows', 'bitonic' or 'columns' or"),
        ({"exchange": "all"}, "exchange is 'all', 'needed' or 'allgather'"),
        ({"comm": 0}, "comm is 0, a whole number from 1"),
        ({"comm": True}, "comm is True, a communicator of mpi4py or a number of ranks"),
        ({"comm": "world"}, "comm is 'world'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Ranks(**options)  # type: ignore[arg-type]
