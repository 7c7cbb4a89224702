"""Matrix files as CSR matrices, compared with SciPy's reader and with slow ones; damaged files."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.partition.inputs.entries import text_pieces
from tracecut.partition.inputs.graph_files import read_graph
from tracecut.partition.inputs.matrix_files import ENDINGS, read_matrix
from tracecut.support.errors import ArgumentError, ArtefactError, TracecutError

import tracecut
from tracecut.cli.main import main

pytestmark = pytest.mark.quick

HEAD = "%%MatrixMarket matrix coordinate "


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def same(found: sp.csr_array[Any], expected: Any) -> bool:
    own: Any = sp.csr_array(expected)
    own.sum_duplicates()
    return bool(
        found.shape == own.shape
        and found.dtype == own.dtype
        and np.array_equal(found.indptr, own.indptr)
        and np.array_equal(found.indices, own.indices)
        and np.array_equal(found.data, own.data, equal_nan=True)
    )


HEADS = {  # which fields the format has with each symmetry
    "general": ["real", "integer", "complex", "pattern"],
    "symmetric": ["real", "integer", "complex", "pattern"],
    "skew-symmetric": ["real", "integer", "complex"],
    "hermitian": ["real", "complex"],
}


@pytest.mark.parametrize(("symmetry", "field"), [(name, field) for name, fields in HEADS.items() for field in fields])
@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_like_scipy(field: str, symmetry: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries in random order, pieces that end within lines."""
    draw = np.random.default_rng(3)
    rows, columns = draw.integers(0, 40, (2, 300))
    if symmetry != "general":
        keep = rows > columns
        rows, columns = rows[keep], columns[keep]
        rows, columns = np.unique(np.stack([rows, columns], 1), axis=0).T
        shuffled = draw.permutation(rows.size)
        rows, columns = rows[shuffled], columns[shuffled]
    lines = [f"{row + 1} {column + 1}" for row, column in zip(rows, columns, strict=True)]
    count = {"pattern": 0, "complex": 2}.get(field, 1)
    values = draw.integers(-9, 9, (rows.size, count)) if field == "integer" else draw.normal(size=(rows.size, count))
    lines = [" ".join([line, *map(str, own.tolist())]) for line, own in zip(lines, values, strict=True)]
    text = f"{HEAD}{field} {symmetry}\n% a comment\n\n40 40 {rows.size}\n" + "\n".join(lines)
    monkeypatch.setattr(text_pieces, "PIECE", piece)
    for name in ("a.mtx", "a.mtx.gz"):
        path = written(tmp_path, name, text)
        expected = scipy.io.mmread(path, spmatrix=False)
        found = read_matrix(path)
        if symmetry == "general" and field != "integer":  # sums of duplicates in another order
            assert np.allclose(found.toarray(), expected.toarray(), rtol=1e-15, atol=1e-15)
        else:
            assert same(found, expected)
        assert found.has_canonical_format


def test_values_of_every_kind(tmp_path: Path) -> None:
    words = ["1e400", "-Inf", "nan", "+.5", "5.", "1e-400", "4.9e-324", "2.4703282292062327208e-324", "-0"]
    words += ["9007199254740993", "179769313486231580793728971405301e276", "00000000000000000000000000001.5"]
    lines = "".join(f"{i + 1} 1 {word}\n" for i, word in enumerate(words))
    found = read_matrix(written(tmp_path, "a.mtx", f"{HEAD}real general\n{len(words)} 1 {len(words)}\n{lines}"))
    expected = np.array([float(word) for word in words])
    assert np.array_equal(found.data, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found.data), np.signbit(expected))


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False).map(repr),
            st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_floats_are_the_nearest(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    """Python's own conversion is the reference: exact, so that digits after the nineteenth count too."""
    lines = "".join(f"{i} 0 {word}\n" for i, word in enumerate(words))
    found = read_matrix(written(tmp_path_factory.mktemp("floats"), "a.el", lines))
    assert found.data.tolist() == [float(word) for word in words]


def test_undecided_numbers_on_one_line(tmp_path: Path) -> None:
    """Halves between two numbers, decided by the last digit: two on a line, twice."""
    half = "9007199254740993" + "0" * 20
    low, high = half + ".0", half + ".1"
    text = f"{HEAD}complex general\n2 1 2\n1 1 {high} {low}\n2 1 {low} {high}\n"
    found = read_matrix(written(tmp_path, "a.mtx", text))
    assert found.data.tolist() == [complex(float(high), float(low)), complex(float(low), float(high))]
    adjacency = read_matrix(written(tmp_path, "a.graph", f"2 1 1\n2 {high}\n1 {high}\n"))
    assert adjacency.data.tolist() == [float(high)] * 2


def test_edge_lists_keep_direction_and_values(tmp_path: Path) -> None:
    found = read_matrix(written(tmp_path, "a.txt.gz", "# from to\n2 0 -1.5\n% x\n\n0 1 2\r\n2 0 1\n"))
    assert found.shape == (3, 3) and found.toarray().tolist() == [[0, 2, 0], [0, 0, 0], [-0.5, 0, 0]]
    assert read_matrix(written(tmp_path, "b.el", "0 7")).toarray()[0, 7] == 1.0
    empty = read_matrix(written(tmp_path, "c.tsv", "# nothing\n"))
    assert empty.shape == (0, 0) and empty.nnz == 0


def test_metis(tmp_path: Path) -> None:
    path = written(tmp_path, "a.graph", "% c\n4 2 011 2\n1 1 3 5\n% d\n1 1\n1 1 4 2 1 5\n1 1 3 2\n")
    assert read_matrix(path).toarray().tolist() == [[0, 0, 5, 0], [0, 0, 0, 0], [5, 0, 0, 2], [0, 0, 2, 0]]
    plain = read_matrix(written(tmp_path, "b.graph", "3 2\n2\n3 1\n2"))
    assert plain.has_sorted_indices and plain.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("text", ["0 0\n", "0 0 011 3", "%c\n0 0 001\n\n%d\n"])
def test_metis_without_vertices(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.graph", text)
    assert read_matrix(path).shape == (0, 0) and read_graph(path).n_data == 0
    assert tracecut.pagerank(path).values.size == 0
    with pytest.raises(SystemExit) as ended:
        main(["pagerank", str(path)])
    assert ended.value.code == 0


def test_unsigned_matrices_that_scipy_wrote(tmp_path: Path) -> None:
    matrix = sp.coo_array((np.array([3, 2**63 - 1], np.uint64), ([0, 1], [1, 0])), shape=(2, 2))
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix)
    assert b"unsigned-integer" in (tmp_path / "a.mtx").read_bytes()
    found = read_matrix(tmp_path / "a.mtx")
    assert found.dtype == np.int64 and found.toarray().tolist() == [[0, 3], [2**63 - 1, 0]]


def test_a_bound_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the matrix fits, the file is read twice; a smaller bound is refused with what is needed."""
    monkeypatch.setattr(text_pieces, "PIECE", 1 << 16)
    draw = np.random.default_rng(5)
    count = 300_000
    rows, columns = draw.integers(0, 1000, (2, count))
    ends = np.stack([rows, columns], 1)
    content = "\n".join(f"{u} {v}" for u, v in ends.tolist())
    path = written(tmp_path, "a.txt", content)
    seen: list[float] = []
    free = read_matrix(path, told=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1.0
    from tracecut.partition.inputs.entries import file_layouts, to_csr

    head = file_layouts.edges_head(path)
    reads: list[float] = []
    bound = 5_000_000
    bounded = to_csr.to_csr(file_layouts.counted_chunks(head, reads.append), None, np.float64, 0, bound)
    assert same(bounded, free) and reads.count(1.0) > seen.count(1.0)
    with pytest.raises(ArgumentError, match=r"the matrix takes 3.46 MiB in memory, .* 1.91 MiB allowed"):
        to_csr.to_csr(file_layouts.counted_chunks(head), None, np.float64, 0, 2_000_000)
    assert same(read_matrix(path, memory="1G"), free)
    for wrong in (0, "2 parrots", 1.5):
        with pytest.raises(ArgumentError, match="memory is"):
            read_matrix(path, memory=wrong)  # type: ignore[arg-type]


REAL = HEAD + "real general\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.mtx", "3 3 1\n1 1\n", "a.mtx:1: '%%MatrixMarket' expected"),
        ("a.mtx", "%%MatrixMarket matrix coordinate\n", "a.mtx:1: .* a form, a field and a symmetry expected"),
        ("a.mtx", HEAD + "real odd\n", "a.mtx:1: 'odd', one of general, symmetric"),
        ("a.mtx", HEAD + "quaternion general\n", "a.mtx:1: 'quaternion', one of pattern, real"),
        (
            "a.mtx",
            HEAD + "pattern skew-symmetric\n2 2 1\n2 1\n",
            "a.mtx:1: pattern and skew-symmetric: the",
        ),
        ("a.mtx", HEAD + "pattern hermitian\n2 2 1\n2 1\n", "a.mtx:1: pattern and hermitian: the format has no"),
        ("a.mtx", HEAD + "integer hermitian\n2 2 1\n2 1 1\n", "a.mtx:1: integer and hermitian: the format has no"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n1.0\n", "a dense matrix"),
        ("a.mtx", REAL + "% c\n", "a.mtx:3: the numbers of rows, columns and entries expected, the file ends"),
        ("a.mtx", REAL + "2 2\n", "a.mtx:2: '2 2': the numbers of rows, columns and entries"),
        ("a.mtx", REAL + "2 -2 1\n", "a.mtx:2: 2 -2 1: numbers from 0"),
        ("a.mtx", REAL + "2 2 2\n1 1 1\n", "a.mtx:2: 2 entries announced, 1 found"),
        ("a.mtx", REAL + "2 2 1\n1 1 1\n2 2 2\n", "a.mtx:2: 1 entries announced, 2 found"),
        ("a.mtx", REAL + "2 2 1\n% c\n", r"a.mtx:3: '%': a whole number expected"),
        ("a.mtx", REAL + "2 2 1\n0 1 1\n", r"a.mtx:3: row 0 is outside \[1, 2\]"),
        ("a.mtx", REAL + "2 2 1\n1 3 1\n", r"a.mtx:3: column 3 is outside \[1, 2\]"),
        (
            "a.mtx",
            REAL + "2 2 1\n\n1 -9223372036854775809 1\n",
            r"a.mtx:4: column -9223372036854775809 is outside \[1, 2\]",
        ),
        ("a.mtx", REAL + "2 2 1\n1 nan 1\n", "a.mtx:3: 'nan': a whole number expected"),
        ("a.mtx", REAL + "2 2 1\n1 1 1 7\n", "a.mtx:3: 4 words, 3 expected"),
        ("a.mtx", REAL + "2 2 1\n1 1\n", "a.mtx:3: 2 words, 3 expected"),
        ("a.mtx", REAL + "2 2 1\n1\n", "a.mtx:3: 1 words, 3 expected"),
        ("a.mtx", REAL + "2 2 1\n1 1 1e\n", "a.mtx:3: '1e': a number expected"),
        ("a.mtx", REAL + "2 2 1\n1 1 infinite\n", "a.mtx:3: 'infinite': a number expected"),
        ("a.mtx", REAL + "2 2 1\n1 1 1x\n", "a.mtx:3: '1x': a number expected"),
        ("a.mtx", HEAD + "integer general\n2 2 1\n1 1 1.5\n", "a.mtx:3: '1.5': a whole number expected"),
        (
            "a.mtx",
            HEAD + "integer general\n2 2 1\n1 1 9223372036854775808\n",
            r"a.mtx:3: 9223372036854775808 is outside \[-2\*\*63, 2\*\*63 - 1\]",
        ),
        (
            "a.mtx",
            HEAD + "unsigned-integer general\n2 2 2\n1 1 7\n1 1 9223372036854775808\n",
            r"a.mtx:4: 9223372036854775808 is outside \[0, 2\*\*63 - 1\]",
        ),
        ("a.mtx", HEAD + "unsigned-integer general\n2 2 1\n1 1 -1\n", r"a.mtx:3: -1 is outside \[0, 2\*\*63 - 1\]"),
        (
            "a.mtx",
            HEAD + "unsigned-integer skew-symmetric\n2 2 0\n",
            "a.mtx:1: unsigned-integer and skew-symmetric",
        ),
        ("a.mtx", REAL + f"2 2 1\n1 {'9' * 4900} 1\n", r"a.mtx:3: column 9{40} is outside \[1, 2\]"),
        ("a.mtx", REAL + "2 2 1\n3 99999999999999999999 1\n", r"a.mtx:3: row 3 is outside \[1, 2\]"),
        ("a.txt", "0 1\n9223372036854775808 1\n", r"a.txt:2: id 9223372036854775808 is outside \[0, 2147483647\)"),
        ("a.graph", "2 1\n2\n9223372036854775808\n", r"a.graph:3: neighbour 9223372036854775808 is outside \[1, 2\]"),
        ("a.mtx", HEAD + "real symmetric\n2 3 1\n1 1 1\n", "a.mtx:2: symmetric and 2 × 3: a square matrix"),
        ("a.mtx", REAL + "99999999999999 1 0\n", "the matrix takes .* which is more than"),
        ("a.graph", "2 1\n2\n3\n", r"a.graph:3: neighbour 3 is outside \[1, 2\]"),
        ("a.graph", "2 1\n2\n1.5\n", "a.graph:3: '1.5': a whole number expected"),
        ("a.graph", "2 1\n2\nx\n", "a.graph:3: 'x': a number expected"),
        ("a.txt", "0 1\n2 x\n", "a.txt:2: 'x': a whole number expected"),
        ("a.txt", "0 1\n0 2147483647\n", r"a.txt:2: id 2147483647 is outside \[0, 2147483647\)"),
        ("a.txt", "0 1 1\n0 1\n", "a.txt:2: 2 words, 3 expected"),
        ("a.npz", "no archive", "a.npz: no sparse matrix"),
    ],
)
def test_damage_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, text)
    kind = ArgumentError if "takes" in message else ArtefactError
    with pytest.raises(kind, match=message):
        read_matrix(path)


@pytest.mark.parametrize("byte", [0, 1, 0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x1F])
def test_what_separates_nothing(byte: int, tmp_path: Path) -> None:
    """Only spaces, tabs and line ends separate: a hole in a file, say, is damage."""
    odd = bytes([byte])
    texts = {
        "a.txt": b"0 1\n@1 2\n",
        "b.txt": b"0 1\n1 2@\n",
        "c.txt": b"0 1\n1@2\n",
        "d.txt": b"# c\n@0 1\n",
        "a.mtx": REAL.encode() + b"2@2 0\n",
        "a.graph": b"2 1\n2@\n1\n",
        "b.graph": b"%c\n@2 1\n2\n1\n",
    }
    for name, text in texts.items():
        path = written(tmp_path, name, text.replace(b"@", odd))
        with pytest.raises(ArtefactError, match=rf"{name}:2: byte \d is 0x{byte:02x}, text expected"):
            read_matrix(path)
    path = written(tmp_path, "a.mtx", HEAD.encode() + b"real" + odd + b"general\n")
    with pytest.raises(ArtefactError, match=r"a.mtx:1: byte 38 is 0x"):
        read_matrix(path)
    path = written(tmp_path, "a.hgr", b"1 2\n1 2" + odd + b"\n")
    with pytest.raises(ArtefactError, match=r"a.hgr:2: byte 4 is 0x"):
        read_graph(path)
    with pytest.raises(ArtefactError, match=r"a.txt:2: byte 1 is 0x"):
        read_matrix(written(tmp_path, "a.txt", b"0 1\n" + odd * 9000 + b"1 2\n"))
    assert read_matrix(written(tmp_path, "a.txt", b"#" + odd + b"\n \t0\t1 \r\n\r\n1 2\r")).nnz == 2


def test_damage_in_a_later_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_pieces, "PIECE", 16)
    lines = ["0 1"] * 100
    lines[70] = "0 1.5"
    with pytest.raises(ArtefactError, match=r"a.txt:71: '1.5'"):
        read_matrix(written(tmp_path, "a.txt", "\n".join(lines)))


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"none.mtx': no such file"):
        read_matrix(tmp_path / "none.mtx")
    with pytest.raises(ArgumentError, match="a folder"):
        read_matrix(tmp_path)
    with pytest.raises(ArgumentError, match=r"whose ending is none of .mtx, .graph"):
        tracecut.read_matrix(tmp_path / "a.hgr")
    cut = written(tmp_path, "a.txt.gz", b"0 1\n" * 99).read_bytes()[:-9]
    (tmp_path / "a.txt.gz").write_bytes(cut)
    with pytest.raises(ArtefactError, match="a damaged gzip file"):
        read_matrix(tmp_path / "a.txt.gz")
    whole = (HEAD + "real general\n9 9 2000\n" + "".join(f"{i % 9 + 1} 2 {i}.5\n" for i in range(2000))).encode()
    for share in (5, 30, 200, 2000):
        (tmp_path / "a.mtx.gz").write_bytes(gzip.compress(whole)[:share])
        with pytest.raises(ArtefactError, match="a damaged gzip file"):
            read_matrix(tmp_path / "a.mtx.gz")


@settings(deadline=None, max_examples=200)
@given(
    ending=st.sampled_from([ending for ending in ENDINGS if ending != ".npz"]),
    content=st.one_of(st.binary(max_size=60), st.text("0123456789 \n%#.-e", max_size=60).map(str.encode)),
)
def test_noise_never_escapes(tmp_path_factory: pytest.TempPathFactory, ending: str, content: bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / f"a{ending}"
    path.write_bytes(REAL.encode() + content if ending == ".mtx" else content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = read_matrix(path)
        except TracecutError:
            return
    assert found.shape[0] == found.indptr.size - 1 and found.nnz == found.data.size
