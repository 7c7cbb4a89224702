"""Matrices that scipy saved: every format and type of values, damage by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tracecut.partition.inputs.matrix_files import read_matrix
from tracecut.support.errors import ArtefactError

from .test_matrix_files import same

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_saved_by_scipy(form: str, tmp_path: Path) -> None:
    matrix = sp.random_array((6, 4), density=0.5, rng=np.random.default_rng(1)).asformat(form)
    sp.save_npz(tmp_path / "a.npz", matrix)
    assert same(read_matrix(tmp_path / "a.npz"), matrix)


WIDE = {
    **dict.fromkeys(("bool", "int8", "uint8", "int32", "uint64", ">i4"), np.int64),
    **dict.fromkeys(("float16", "float32", "longdouble", ">f8"), np.float64),
    **dict.fromkeys(("complex64", "clongdouble"), np.complex128),
}
ROWS_ONLY = ("float16", ">i4", ">f8")  # scipy makes none but CSR matrices of them


@pytest.mark.parametrize(
    ("form", "stored"),
    [(form, name) for form in ("csr", "coo", "bsr") for name in WIDE if form == "csr" or name not in ROWS_ONLY],
)
def test_saved_in_other_types(form: str, stored: str, tmp_path: Path) -> None:
    data = np.array([1, 1, 100]).astype(stored)
    if form == "coo":  # two at one place, which add up unless they are truth values
        values: Any = sp.coo_array((data, ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    elif form == "csr":
        values = sp.csr_array((data, [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    else:
        values = sp.bsr_array((data.reshape(3, 1, 1), [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    sp.save_npz(tmp_path / "a.npz", values)
    found = read_matrix(tmp_path / "a.npz")
    last = 1 if stored == "bool" else 100
    expected = [[1 if stored == "bool" else 2, 0], [0, last]] if form == "coo" else [[1, 1], [last, 0]]
    assert found.dtype == WIDE[stored] and found.toarray().tolist() == expected


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.uint64(2**63), "9223372036854775808, of uint64: what int64 holds"),
        (np.longdouble(1) / 3, "0.333.*, of .*: what float64 holds"),
        (np.longdouble("1e4000"), r"1e\+4000, of .*: what float64 holds"),
    ],
)
def test_saved_values_that_would_change(value: Any, shown: str, tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.array([[value, np.asarray(value).dtype.type(1)]])))
    with pytest.raises(ArtefactError, match=rf"a\.npz: the value {shown}"):
        read_matrix(tmp_path / "a.npz")
    kept = np.array([[np.nan, np.inf, -np.inf]], np.longdouble)
    sp.save_npz(tmp_path / "b.npz", sp.csr_array(kept))
    assert np.array_equal(read_matrix(tmp_path / "b.npz").data, [np.nan, np.inf, -np.inf], equal_nan=True)


def test_archives_with_broken_structure(tmp_path: Path) -> None:
    good = sp.random_array((5, 5), density=0.5, format="csr", rng=np.random.default_rng(0))
    for part, value, message in (
        ("indices", 9, r"indices\[0\] = 9 is outside \[0, 5\)"),
        ("indptr", 7, "indptr"),
    ):
        broken = good.copy()
        getattr(broken, part)[0 if part == "indices" else 1] = value if part == "indices" else 99
        np.savez(
            tmp_path / "a.npz",
            indices=broken.indices,
            indptr=broken.indptr,
            format=np.array(b"csr"),
            shape=np.array(broken.shape),
            data=broken.data,
        )
        with pytest.raises(ArtefactError, match=rf"a\.npz: .*{message}"):
            read_matrix(tmp_path / "a.npz")
    sp.save_npz(tmp_path / "b.npz", good)
    (tmp_path / "b.npz").write_bytes((tmp_path / "b.npz").read_bytes()[:-40])
    with pytest.raises(ArtefactError, match=r"b\.npz"):
        read_matrix(tmp_path / "b.npz")
