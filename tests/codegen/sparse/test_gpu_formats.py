"""CSR-vector and half-warp CSR, packets, SPAC's blocks: there and back, products, promises, refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.formats import packets
from tracecut.codegen.sparse.formats.csr_vector import CsrVector
from tracecut.codegen.sparse.formats.packets import Pkt
from tracecut.codegen.sparse.formats.slots import Format
from tracecut.codegen.sparse.formats.spac_blocked import SpacBlocked
from tracecut.support.errors import ArgumentError, UnsupportedError

from .matrices import dense, matrices, same_entries, whole_numbers
from .test_orders import grid, skewed

pytestmark = pytest.mark.quick


def square(matrix: Csr) -> Csr:
    """The same entries in a matrix that is as wide as it is high."""
    size = max(matrix.shape)
    offsets = np.pad(matrix.offsets, (0, size - matrix.shape[0]), mode="edge")
    return Csr(offsets, matrix.columns, matrix.values, (size, size))


def some_labels(count: int, parts: int) -> Any:
    return np.random.default_rng(count).integers(0, max(1, min(parts, count)), count)


MAKERS: dict[str, Callable[[Csr], Format]] = {
    "csr-vector": CsrVector.of,
    "csr-vector, padded": lambda matrix: CsrVector.of(matrix, 4, padded=True),
    "half-warp csr": CsrVector.half_warp,
    "pkt": lambda matrix: Pkt.of(square(matrix), threads=2),
    "pkt, some packets": lambda matrix: Pkt.of(
        square(matrix), some_labels(max(matrix.shape), 3), threads=3, shared=1 << 10
    ),
    "spac": SpacBlocked.of,
    "spac, small blocks": lambda matrix: SpacBlocked.of(matrix, some_labels(matrix.entries, 5)),
}


@given(matrices(), st.sampled_from(sorted(MAKERS)))
def test_there_and_back_and_products(matrix: Csr, name: str) -> None:
    made = MAKERS[name](matrix)
    matrix = square(matrix) if name.startswith("pkt") else matrix
    assert same_entries(made.to_csr(), matrix)
    x = whole_numbers(matrix, matrix.shape[1])
    np.testing.assert_array_equal(made.times(x), dense(matrix) @ x)
    assert made.padding >= 1
    assert made.bytes >= matrix.entries * matrix.values.itemsize
    with pytest.raises(ArgumentError, match="x has the shape"):
        made.times(np.ones(matrix.shape[1] + 1))
    with pytest.raises(FrozenInstanceError):
        made.shape = (1, 1)  # type: ignore[misc]


@pytest.mark.parametrize("name", ["pkt", "spac"])
def test_partitioners_make_the_clusters(name: str) -> None:
    """A mesh of 1,600 points, numbered at random, in several packets or blocks."""
    matrix = grid(40, seed=1)
    x = np.random.default_rng(0).random(matrix.shape[1])
    made: Any = Pkt.of(matrix, threads=32, shared=8192) if name == "pkt" else SpacBlocked.of(matrix, entries=500)
    assert same_entries(made.to_csr(), matrix)
    np.testing.assert_allclose(made.times(x), matrix.to_scipy() @ x)
    if name == "pkt":
        held = np.diff(made.member_starts)
        assert held.size >= 4 and held.max() <= 512
        assert made.rest_origin.size < matrix.entries / 5, "METIS cuts a mesh along short borders"
    else:
        assert made.blocks == -(-matrix.entries // 500)
        assert made.x.size < matrix.entries / 2.5, "an x serves several entries of its block"


@given(matrices(), st.sampled_from([1, 4, 16, 32]), st.booleans(), st.sampled_from([32, 128]))
def test_transactions(matrix: Csr, lanes: int, padded: bool, segment: int) -> None:
    """Beside the slow reference: the segments of each request, byte by byte."""
    made = CsrVector.of(matrix, lanes, padded=padded)
    found = turns = 0
    for row in range(matrix.shape[0]):
        begin, end = map(int, made.starts[row : row + 2])
        for first in range(begin, end, lanes):
            turns += lanes
            for size in (4, made.values.itemsize):
                low, high = size * first, size * min(first + lanes, end)
                found += len({byte // segment for byte in range(low, high)})
    assert made.transactions(segment) == found
    assert made.turns == (turns / matrix.entries if matrix.entries else 1)


def test_padded_rows_begin_at_segments() -> None:
    """What TileSpMV, appendix D says of CSR-vector: after one row of odd length, nothing is fully coalesced."""
    matrix = Csr.of(np.ones((64, 33), np.float32))
    plain, padded = CsrVector.of(matrix), CsrVector.of(matrix, 32, padded=True)
    assert (plain.padding, padded.padding, plain.turns) == (1.0, 64 / 33, 64 / 33)
    assert padded.transactions() == 64 * 2 * 2
    assert plain.transactions() > padded.transactions()
    half = CsrVector.half_warp(Csr.of(np.ones((3, 5))))
    assert (half.lanes, half.starts.tolist(), half.bytes) == (16, [0, 16, 32, 48], 48 * 12 + 16)


def test_threads_of_a_packet_have_whole_rows() -> None:
    """By hand: rows of 3, 2 and 2 entries on two threads, in a packet; one entry outside of it."""
    found = np.array([[1.0, 2, 3, 0], [4, 5, 0, 0], [0, 6, 7, 0], [0, 0, 8, 9]])
    made = Pkt.of(Csr.of(found), [0, 0, 0, 1], threads=2)
    assert made.starts.tolist() == [0, 8, 10]
    assert made.values.reshape(-1, 2).T.tolist() == [[1, 2, 3, 0, 9], [4, 5, 6, 7, 0]]
    assert made.places.reshape(-1, 2).T.tolist()[1] == [1 << 16, (1 << 16) + 1, (2 << 16) + 1, (2 << 16) + 2, 0]
    assert made.rest.values.tolist() == [8]
    assert made.padding == (10 + 32) / 9


def test_blocks_have_lists_and_short_numbers() -> None:
    """By hand: a row that only block 0 has comes first, and is stored; row 0 is added to by both."""
    matrix = Csr.of(np.array([[1.0, 2, 0], [3, 0, 0], [0, 0, 4]]))
    made = SpacBlocked.of(matrix, [0, 1, 0, 1])
    assert (made.starts.tolist(), made.x_starts.tolist(), made.y_starts.tolist()) == ([0, 2, 4], [0, 1, 3], [0, 2, 4])
    assert (made.x.tolist(), made.y.tolist(), made.owned.tolist()) == ([0, 1, 2], [1, 0, 2, 0], [1, 1])
    assert (made.rows.tolist(), made.columns.tolist()) == ([1, 0, 1, 0], [0, 0, 0, 1])
    assert (made.rows.dtype, made.columns.dtype, made.values.tolist()) == (np.uint16, np.uint16, [1, 3, 2, 4])
    assert made.shared_bytes == 4 * 8
    assert made.bytes == 4 * (8 + 4) + 4 * 7 + 32


def test_power_laws_have_no_balanced_packets() -> None:
    """As in TileSpMV §4.1; HYB's hint is in the message."""
    hub = sp.eye_array(4000, format="lil")
    hub[0] = 1
    with pytest.raises(UnsupportedError, match=r"not balanced: packet \d+ has a row of \d+ entries(?s:.*)HYB"):
        Pkt.of(Csr.of(hub), threads=1024, shared=32 << 10)
    assert Pkt.of(grid(60)).padding < 2


def wide() -> Csr:
    return Csr.of(np.ones((1, 65_537)))


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda: CsrVector.of(grid(3), 0), ArgumentError, "lanes"),
        (lambda: CsrVector.of(grid(3)).transactions(0), ArgumentError, "segment"),
        (lambda: CsrVector.of(Csr.of(np.ones((40_000, 1))), 1024, padded=True), ArgumentError, "CSR-vector would take"),
        (lambda: Pkt.of(Csr.of(np.ones((2, 3)))), ArgumentError, r"the shape \(2, 3\)"),
        (lambda: Pkt.of(grid(3), np.zeros(8)), ArgumentError, "labels has 8 entries, one for each of 9"),
        (lambda: Pkt.of(grid(3), np.full(9, -1)), ArgumentError, r"labels\[0\] = -1"),
        (lambda: Pkt.of(grid(3), threads=0), ArgumentError, "threads"),
        (lambda: Pkt.of(grid(3), shared=8), ArgumentError, "shared is 8"),
        (lambda: Pkt.of(grid(3), np.zeros(9), shared=100), UnsupportedError, "packet 0 has 9 rows, 6 fit"),
        (lambda: SpacBlocked.of(grid(3), np.zeros(8)), ArgumentError, "labels has 8 entries, one for each of "),
        (lambda: SpacBlocked.of(skewed(), np.full(skewed().entries, -1)), ArgumentError, r"labels\[0\] = -1"),
        (lambda: SpacBlocked.of(grid(3), entries=0), ArgumentError, "entries"),
        (lambda: SpacBlocked.of(grid(3), shared=100), UnsupportedError, "block 0 needs 144 bytes(?s:.*)Smaller blocks"),
        (lambda: SpacBlocked.of(wide(), np.zeros(65_537)), UnsupportedError, "block 0 has 65537 elements of x"),
    ],
)
def test_refused(made: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        made()


def test_where_metis_fails_the_error_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that is too large is named, whoever made it."""
    monkeypatch.setattr(packets, "_clusters", lambda matrix, rows, most, seed: np.zeros(matrix.shape[0], np.int32))
    with pytest.raises(UnsupportedError, match="packet 0 has 1600 rows, 1024 fit"):
        Pkt.of(grid(40))
