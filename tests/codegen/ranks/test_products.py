"""Products on ranks that are threads: equal to those of one, and bytes exactly as the model has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.ranks.communicator import Communicator
from tracecut.codegen.ranks.local_matrix import localized
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.codegen.ranks.split import EXCHANGES, SPLITS

from .shared import entries, multiplied, random_matrix, shared

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("split", SPLITS)
@settings(max_examples=8)
@given(st.integers(1, 30), st.integers(0, 90), st.sampled_from([1, 2, 3, 4, 7]), st.integers(0, 99), st.booleans())
def test_products(split: str, exchange: str, n: int, count: int, size: int, seed: int, ones: bool) -> None:
    """With the matrix and the transposed one, one vector and three: values are small whole numbers, sums exact."""
    matrix = random_matrix(n, count, seed)
    if ones:
        matrix.data[:] = 1.0
    given_entries = entries(matrix, ones=ones)
    x = np.random.default_rng(seed).integers(-9, 9, (n, 3)).astype(np.float64)
    ranks = Ranks(split, exchange, comm=size)

    def work(comm: Communicator) -> list[Any]:
        share = shared(comm, ranks, given_entries)
        found = [multiplied(comm, each, part) for each in (share, share.turned) for part in (x[:, 0], x)]
        return [*found, share.traffic]

    *found, traffic = ranks.run(work)
    expected = [(each, part) for each in (matrix, matrix.T) for part in (x[:, 0], x)]
    models = [(each, width) for each in (traffic, traffic.turned()) for width in (1, 3)]
    for (y, sent, messages), (own, part), (model, width) in zip(found, expected, models, strict=True):
        assert np.array_equal(y, own @ part)
        assert sent == model.bytes(width).tolist() and messages == model.messages().tolist()


def test_threads_give_the_same_bits() -> None:
    draw = np.random.default_rng(0)
    matrix = random_matrix(3000, 400_000, 2)
    matrix.data[:] = draw.random(matrix.nnz)
    x = draw.random(3000)
    given_entries = entries(matrix)

    def run(threads: int) -> Any:
        ranks = Ranks("spac" if threads < 0 else "grid", comm=2)
        return ranks.run(lambda comm: multiplied(comm, shared(comm, ranks, given_entries), x, threads)[0])

    one = run(1)
    assert np.allclose(one, matrix @ x, rtol=1e-12)
    for threads in (2, 3):
        assert np.array_equal(run(threads), one)


def test_what_needs_none_of_the_others_is_multiplied_while_messages_travel() -> None:
    """The sums that a rank owns of its own entries come between the start of the messages and the wait for them."""
    events: list[str] = []
    matrix = entries(random_matrix(50, 300, 3))

    class Told:
        def __init__(self, comm: Any) -> None:
            self._comm = comm
            self.rank, self.size, self.sent = comm.rank, comm.size, comm.sent

        def __getattr__(self, name: str) -> Any:
            return getattr(self._comm, name)

        def exchange(self, outgoing: Any, incoming: Any) -> Any:
            pending, rank = self._comm.exchange(outgoing, incoming), self.rank

            class Listening:
                def poll(self) -> None:
                    events.append("piece") if rank == 0 else None

                def wait(self) -> None:
                    events.append("wait") if rank == 0 else None
                    pending.wait()

            events.append("start") if rank == 0 else None
            return Listening()

    ranks = Ranks(comm=2)

    def work(comm: Communicator) -> None:
        told: Any = Told(comm)
        share = shared(told, ranks, matrix)
        if comm.rank == 0:
            events.clear()
        multiplied(told, share, np.ones(50))

    ranks.run(work)
    assert events[events.index("piece") - 1 :][:3] == ["start", "piece", "wait"]


@given(st.integers(1, 40), st.integers(0, 900), st.integers(0, 99), st.booleans())
def test_columns_rise_in_each_row(n: int, count: int, seed: int, ones: bool) -> None:
    """Whatever numbers they had before; each keeps its value. Long rows as well as short ones."""
    draw = np.random.default_rng(seed)
    matrix = random_matrix(n, count, seed)
    numbers = draw.permutation(n).astype(np.uint32)
    rows, offsets = np.arange(n, dtype=np.uint32), matrix.indptr.astype(np.uint64)
    values = np.zeros(0) if ones else draw.random(matrix.nnz)
    own = int(draw.integers(0, n + 1))
    found = localized(rows, offsets, numbers[matrix.indices], values, (n, n), own)
    for part, low, high in ((found.near, 0, own), (found.far, own, n)):
        for row in range(n):
            some = slice(int(matrix.indptr[row]), int(matrix.indptr[row + 1]))
            kept = numbers[matrix.indices[some]]
            inside = (kept >= low) & (kept < high)
            order = np.argsort(kept[inside], kind="stable")
            place = slice(int(part[0][row]), int(part[0][row + 1]))
            assert np.array_equal(part[1][place], kept[inside][order] - low)
            assert ones or np.array_equal(part[2][place], values[some][inside][order])
