"""Matrices of any structure, and what a loop over their entries makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.native_code import VALUE_TYPES

INDICES = (np.dtype(np.int32), np.dtype(np.int64))


@st.composite
def matrices(draw: st.DrawFn, largest: int = 8, longest: int = 20) -> Csr:
    """Any structure: empty, unsorted, with duplicates and stored zeros."""
    rows, cols = draw(st.integers(0, largest)), draw(st.integers(0, largest))
    lengths = draw(st.lists(st.integers(0, longest if cols else 0), min_size=rows, max_size=rows))
    index = draw(st.sampled_from(INDICES))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    entries = sum(lengths)
    values = random.integers(-3, 4, entries) + 1j * random.integers(-3, 4, entries)
    dtype = draw(st.sampled_from(VALUE_TYPES))
    return Csr(
        np.cumsum([0, *lengths]).astype(index),
        random.integers(0, max(cols, 1), entries).astype(index),
        (values if dtype.kind == "c" else values.real).astype(dtype),
        (rows, cols),
    )


def dense(matrix: Csr) -> np.ndarray[Any, Any]:
    """The slow reference: entry by entry."""
    found = np.zeros(matrix.shape, matrix.values.dtype)
    for row in range(matrix.shape[0]):
        for k in range(matrix.offsets[row], matrix.offsets[row + 1]):
            found[row, matrix.columns[k]] += matrix.values[k]
    return found


def whole_numbers(matrix: Csr, *shape: int) -> np.ndarray[Any, Any]:
    """Small whole numbers: sums of their products are exact in any order."""
    return np.random.default_rng(3).integers(-4, 5, shape).astype(matrix.values.dtype)


def large(dtype: str = "f8") -> Csr:
    """4000 rows of about 100 entries each: some of them long, most not."""
    found = sp.random_array((4000, 5000), density=0.02, format="csr", rng=np.random.default_rng(1))
    return Csr.of(found, dtype)


def same_entries(one: Csr, other: Csr) -> bool:
    """Whether two matrices are the same, entry by entry in their order."""
    pairs = [(getattr(one, part), getattr(other, part)) for part in ("offsets", "columns", "values")]
    return one.shape == other.shape and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)
