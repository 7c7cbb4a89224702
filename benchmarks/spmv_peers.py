"""Libraries whose products `spmv.py` measures beside ours: SciPy always, MKL and GraphBLAS where they are installed."""

from __future__ import annotations

import ctypes
import importlib.metadata
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
import scipy.sparse as sp

Vector = npt.NDArray[Any]
GENERAL, PLAIN = 20, 10  # SPARSE_MATRIX_TYPE_GENERAL, SPARSE_OPERATION_NON_TRANSPOSE
CALLS = 1000  # that MKL is told to expect


@dataclass(frozen=True)
class Peer:
    """A library: its name with its version, and what makes its product of a matrix on some threads.

    `make(matrix, threads)` returns `call(x, y)`, which may write to y or return a new vector.
    """

    name: str
    make: Callable[[Any, int], Callable[[Vector, Vector], Any]]
    most_threads: int


class _Descriptor(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int))


def _scipy(matrix: Any, threads: int) -> Callable[[Vector, Vector], Any]:
    return lambda x, y: matrix @ x


class Mkl:
    """A matrix in MKL's inspector-executor interface, hinted and optimized. int32 indices."""

    def __init__(self, matrix: Any, threads: int) -> None:
        self._library = _mkl_library()
        self._library.MKL_Set_Num_Threads(threads)
        self._kept, self._handle = matrix, ctypes.c_void_p()
        letter, self._number = {"f4": ("s", ctypes.c_float), "f8": ("d", ctypes.c_double)}[matrix.dtype.str[1:]]
        offsets, columns, values = (part.ctypes.data for part in (matrix.indptr, matrix.indices, matrix.data))
        parts = [ctypes.c_void_p(place) for place in (offsets, offsets + 4, columns, values)]
        create = getattr(self._library, f"mkl_sparse_{letter}_create_csr")
        self._check(create(ctypes.byref(self._handle), 0, *matrix.shape, *parts))
        self._descriptor = _Descriptor(GENERAL, 0, 0)
        self._check(self._library.mkl_sparse_set_mv_hint(self._handle, PLAIN, self._descriptor, CALLS))
        self._check(self._library.mkl_sparse_optimize(self._handle))
        self._product = getattr(self._library, f"mkl_sparse_{letter}_mv")

    def __call__(self, x: Vector, y: Vector) -> None:
        vectors = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)
        one, none = self._number(1), self._number(0)
        self._check(self._product(PLAIN, one, self._handle, self._descriptor, vectors[0], none, vectors[1]))

    def __del__(self) -> None:
        self._library.mkl_sparse_destroy(self._handle)

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise RuntimeError(f"MKL returned {status}")


def _mkl_library() -> Any:
    found = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
    return ctypes.CDLL(str(found[-1]))


def _graphblas(matrix: Any, threads: int) -> Callable[[Vector, Vector], Any]:
    import graphblas as gb

    gb.ss.config["nthreads"] = threads
    held = gb.io.from_scipy_sparse(matrix)

    def call(x: Vector, y: Vector) -> Any:
        given = gb.Vector.from_dense(x)
        return held.mxv(given, gb.semiring.plus_times).new()

    return call


def peers() -> list[Peer]:
    """Those that are installed here. The others need `pip install mkl python-graphblas`."""
    found = [Peer(f"scipy {scipy.__version__}", _scipy, 1)]
    for package, label, make in (("mkl", "MKL", Mkl), ("python-graphblas", "GraphBLAS", _graphblas)):
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append(Peer(f"{label} {version}", make, 1 << 10))
    return found


def with_small_indices(matrix: Any) -> Any:
    """The matrix with 32-bit indices, which all peers take."""
    parts = matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return sp.csr_array(parts, shape=matrix.shape)
