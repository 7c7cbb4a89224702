"""Matrices on disk: the entries that `read_matrix` finds, in pieces of any size; nothing is left, whatever happens."""

from __future__ import annotations

import errno
import gzip
import os
import resource
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tracecut.partition.inputs.entries.file_layouts import market_head
from tracecut.partition.inputs.entries.sort_piece import SUM, merged, piece_cuts
from tracecut.partition.inputs.entries.text_pieces import unheard
from tracecut.partition.inputs.matrix_files import read_matrix
from tracecut.partition.inputs.on_disk import disk_matrix
from tracecut.partition.inputs.on_disk.stream_matrix import stream_matrix, to_disk
from tracecut.support.errors import ArgumentError, ArtefactError, OutputError

pytestmark = pytest.mark.quick
GIB = 1 << 30
HEADS = {  # which fields the format has with each symmetry
    "general": ["real", "integer", "complex", "pattern"],
    "symmetric": ["real", "integer", "complex", "pattern"],
    "skew-symmetric": ["real", "integer", "complex"],
    "hermitian": ["real", "complex"],
}


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, which is empty whenever somebody looks; no file stays open."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = len(list(Path("/proc/self/fd").iterdir()))
    yield folder
    assert list(folder.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def same(found: sp.csr_array[Any], expected: sp.csr_array[Any]) -> bool:
    parts = ((each.indptr, each.indices, each.data) for each in (found, expected))
    pairs = [*zip(*parts, strict=True)]
    return found.shape == expected.shape and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(("symmetry", "field"), [(name, field) for name, fields in HEADS.items() for field in fields])
def test_equals_what_is_read_into_memory(tmp_path: Path, scratch: Path, field: str, symmetry: str) -> None:
    """Twice at one place, in no order, with rows that are empty; pieces of one row, of some, of all."""
    draw = np.random.default_rng(3)
    rows, columns = draw.integers(1, 41, (2, 300))
    if symmetry != "general":
        rows, columns = np.maximum(rows, columns), np.minimum(rows, columns)
    if symmetry == "skew-symmetric":
        rows, columns = rows[rows != columns], columns[rows != columns]
    numbers = {"pattern": 0, "real": 1, "integer": 1, "complex": 2}[field]
    lines = [
        " ".join([str(u), str(v), *(f"{draw.integers(-4, 4)}" for _ in range(numbers))])
        for u, v in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    path = tmp_path / "a.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n45 45 {len(lines)}\n" + "\n".join(lines))
    expected = read_matrix(path)
    for most in (1, 20, 100, None):
        with to_disk(market_head(path), GIB, unheard, most) as found:
            assert same(found.to_csr(), expected)
            assert (found.shape, found.nnz, found.dtype) == (expected.shape, expected.nnz, expected.dtype)
            assert most is None or found.file.rows.size > 2


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 20), st.lists(st.integers(0, 30), max_size=4))
def test_pieces_have_whole_rows_and_no_more_than_allowed(counts: list[int], most: int, borders: list[int]) -> None:
    own = np.array(counts, np.int64)
    inside = [border for border in borders if border <= own.size]
    cuts = piece_cuts(own, most, inside)
    assert cuts[0] == 0 and cuts[-1] == own.size and (np.diff(cuts) > 0).all()
    for low, high in pairwise(cuts.tolist()):
        assert own[low:high].sum() <= most or high == low + 1
    if all(own[low:high].sum() <= most for low, high in pairwise([0, *sorted(inside), own.size])):
        assert set(cuts[1:-1].tolist()) <= set(inside)


def test_keys_of_many_bits() -> None:
    """A row, a column and a place fit in a word just so, and not any more; entries at one place add up in order."""
    draw, first = np.random.default_rng(2), 2**31 - 50
    rows, columns, values = draw.integers(0, 1 << 12, 1 << 19), draw.integers(0, 50, 1 << 19), draw.random(1 << 19)
    keys = (rows.astype(np.uint64) << np.uint64(32)) | (columns + first).astype(np.uint64)
    expected = np.zeros((1 << 12, 50))
    np.add.at(expected, (rows, columns), values)
    for high in (1 << 12, 1 << 13):
        offsets, found, sums = merged(keys.copy(), values, 0, high, SUM)
        own = sp.csr_array((sums, found.astype(np.int64) - first, offsets[: (1 << 12) + 1]), shape=expected.shape)
        assert np.array_equal(own.toarray(), expected) and offsets.size == high + 1 and offsets[-1] == sums.size


def test_edges_and_packed_files(tmp_path: Path, scratch: Path) -> None:
    """Without a head that says how many rows there are; rows that rise are not sorted into pieces again."""
    for name, lines in {
        "a": "0 1 2.5\n9 3 1\n0 1 1\n",
        "b": "0 0\n0 7\n3 1\n3 1\n5 5\n",
        "c": "",
        "d": "# no\n",
    }.items():
        (tmp_path / f"{name}.el.gz").write_bytes(gzip.compress(lines.encode()))
        with stream_matrix(tmp_path / f"{name}.el.gz", memory="1G") as found:
            assert same(found.to_csr(), read_matrix(tmp_path / f"{name}.el.gz")), name
    assert "0 × 0, 0 entries" in repr(found)


def test_damaged_files(tmp_path: Path, scratch: Path) -> None:
    path = tmp_path / "a.mtx"
    head = "%%MatrixMarket matrix coordinate real general\n"
    for text, message in {
        "5 5 2\n1 1 1\n": r"a.mtx:2: 2 entries announced, 1 found",
        "5 5 2\n1 1 1\n6 1 1\n": r"a.mtx:4: row 6 is outside \[1, 5\]",
        "5 5 1\n1 1 x\n": r"a.mtx:3: 'x': a number expected",
    }.items():
        path.write_text(head + text)
        with pytest.raises(ArtefactError, match=message):
            stream_matrix(path, memory="1G")
    whole = gzip.compress("".join(f"{i} {i * 7 % 999}\n" for i in range(9999)).encode())
    (tmp_path / "a.el.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArtefactError, match="a damaged gzip file"):
        stream_matrix(tmp_path / "a.el.gz", memory="1G")


def test_too_little_memory_is_named(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n4000000 4000000 1\n1 1\n")
    with pytest.raises(ArgumentError, match=r"4000000 × 4000000 on disk takes 584 MiB in memory.* 256 MiB allowed"):
        stream_matrix(path, memory="256M")
    (tmp_path / "b.el").write_text("0 1\n9000000 1\n")
    with pytest.raises(ArgumentError, match=r"9000001 × 9000001 on disk takes 1.17 GiB"):
        stream_matrix(tmp_path / "b.el", memory=GIB)
    (tmp_path / "c.el").write_text("".join(f"{i}\t0\n3 {i}\n" for i in range(2000)))
    monkeypatch.setattr(disk_matrix, "MOST_ENTRIES", 1024)  # what the memory allows is another bound, which holds
    with stream_matrix(tmp_path / "c.el", memory="256M") as found:
        assert same(found.to_csr(), read_matrix(tmp_path / "c.el")) and found.most == 1024
    with pytest.raises(ArgumentError, match=r"row 3, of 2001 entries, takes .* allowed"):
        to_disk_with_least_memory(tmp_path / "c.el")
    with pytest.raises(ArgumentError, match="memory is 1K: a size of at least"):
        stream_matrix(path, memory="1K")
    with pytest.raises(ArgumentError, match="rows and columns were expected"):
        path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{2**31} 1 1\n1 1\n")
        stream_matrix(path, memory="1G")


def to_disk_with_least_memory(path: Path) -> None:
    from tracecut.partition.inputs.entries.file_layouts import edges_head

    least = disk_matrix.TEXT_BYTES + disk_matrix.NODE_BYTES * 2000 + disk_matrix.ENTRY_BYTES * disk_matrix.LEAST_ENTRIES
    to_disk(edges_head(path), least, unheard)


def test_a_full_disk(tmp_path: Path, scratch: Path) -> None:
    """A limit of the size of files stands for it."""
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, sp.random_array((200, 200), density=0.5, rng=np.random.default_rng(1)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 8000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(OutputError, match=f"cannot write .* in {scratch}: File too large .*free") as caught:
                to_disk(market_head(path), GIB, unheard, 500)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert "TMPDIR" in caught.value.hint


def test_a_disk_that_is_full_at_any_write(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, sp.random_array((20, 20), density=0.5, rng=np.random.default_rng(1)))
    whole, left = os.pwrite, [0]

    def write(*words: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole(*words)

    monkeypatch.setattr(os, "pwrite", write)
    for written in range(99):
        left[0] = written
        try:
            to_disk(market_head(path), GIB, unheard, 100).close()
        except OutputError as error:
            assert "No space left on device (" in error.message
        else:
            break
    assert 10 < written < 98


def test_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.el").write_text("0 1\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OutputError, match=r"cannot make a temporary file of entries in .*none: No such file"):
        stream_matrix(tmp_path / "a.el", memory="1G")


def test_an_interruption_leaves_nothing(tmp_path: Path, scratch: Path) -> None:
    path = tmp_path / "a.el"
    path.write_text("0 1\n" * 1000)

    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stream_matrix(path, memory="1G", told=interrupt)


def test_after_it_was_closed(tmp_path: Path, scratch: Path) -> None:
    (tmp_path / "a.el").write_text("0 1\n")
    found = stream_matrix(tmp_path / "a.el", memory="1G")
    found.close()
    with pytest.raises(ArgumentError, match="was closed"):
        found.to_csr()


def test_refused_endings(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"a\.npz"):
        stream_matrix(tmp_path / "a.npz")
