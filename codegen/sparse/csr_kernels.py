"""Products of compressed rows: y = α A x + β y, the transposed one, one or several right-hand sides.

Rows are never split, so results have the same bits on any number of threads. NaN and infinities go through as IEEE 754
has it: a stored zero times infinity is NaN, and a place that is not stored takes no part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError

from .csr import Array, Csr
from .native_code import VALUE_TYPES, address, native
from .row_threads import row_blocks, run_blocks, usable


def csr_times(
    matrix: Csr,
    x: npt.ArrayLike,
    *,
    out: Array | None = None,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    threads: int | None = None,
) -> Array:
    """α A x + β y.

    Args:
        matrix: A.
        x: (columns) or (columns, k), of any type that converts to A's without loss of kind; strided and read-only ones,
            too. Complex x with a real matrix is refused.
        out: y, read where β is not 0, and what the product is written to; it may overlap x. A new array without.
        alpha, beta: real for real matrices.
        threads: at most this many, one without much work; None: one per usable core.

    Returns:
        y, (rows) or (rows, k), of A's type. O(entries · k).

    Raises ArgumentError for wrong shapes and types.
    """
    product = Product(matrix.values.dtype, x, out, alpha, beta, matrix.shape[1], matrix.shape[0])
    index = matrix.columns.dtype
    fixed = [address(array) for array in (matrix.offsets, matrix.columns, matrix.values)]
    fixed += [address(product.x), address(product.y), address(product.scale)]
    cuts = row_blocks(matrix.offsets, usable(threads))
    if product.count == 1:
        call = native("csr_times", "nnpppppp", matrix.values.dtype, index)
        run_blocks(lambda first, last: call(first, last, *fixed), cuts)
    else:
        many = native("csr_times_rows", "nnpppppppn", matrix.values.dtype, index)
        run_blocks(lambda first, last: many(first, last, None, *fixed, product.count), cuts)
    return product.finish()


def csr_transposed_times(
    matrix: Csr, x: npt.ArrayLike, *, out: Array | None = None, alpha: complex = 1.0, beta: complex = 0.0
) -> Array:
    """α Aᵀ x + β y without a copy of the matrix, on one thread; not conjugated. For the arguments see `csr_times`.

    Many products are faster with `matrix.transpose` and `csr_times`, which has threads.
    """
    product = Product(matrix.values.dtype, x, out, alpha, beta, *matrix.shape)
    call = native("csr_transposed_times", "nnppppppn", matrix.values.dtype, matrix.columns.dtype)
    fixed = [address(array) for array in (matrix.offsets, matrix.columns, matrix.values)]
    call(*matrix.shape, *fixed, address(product.x), address(product.y), address(product.scale), product.count)
    return product.finish()


class Product:
    """The vectors of one product, as kernels take them: contiguous, of the matrix's type, y apart from x.

    Attributes:
        x, y: contiguous arrays; count: right-hand sides; scale: α and β.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        x: npt.ArrayLike,
        out: Array | None,
        alpha: complex,
        beta: complex,
        length: int,
        height: int,
    ) -> None:
        self.x = vectors("x", x, dtype, length)
        self.count = 1 if self.x.ndim == 1 else self.x.shape[1]
        shape = (height,) if self.x.ndim == 1 else (height, self.count)
        self.scale = _PLAIN[dtype] if alpha == 1 and beta == 0 else scale_of(alpha, beta, dtype)
        self.out = out
        if out is None:
            if beta != 0:
                raise ArgumentError(f"beta is {beta}, but there is no out to take y from")
            self.y = np.empty(shape, dtype)
            return
        _check_out(out, shape, dtype)
        apart = out.flags.c_contiguous and out.flags.aligned and not np.may_share_memory(out, self.x)
        self.y = out if apart else np.array(out, order="C")

    def finish(self) -> Array:
        """The result, where the caller asked for it."""
        if self.out is None or self.y is self.out:
            return self.y
        self.out[...] = self.y
        return self.out


def scale_of(alpha: complex, beta: complex, dtype: np.dtype[Any]) -> Array:
    """α and β as kernels take them. Raises ArgumentError for what is no number, or a complex one with a real matrix."""
    return np.array([factor("alpha", alpha, dtype), factor("beta", beta, dtype)], dtype)


_PLAIN = {dtype: np.array([1, 0], dtype) for dtype in VALUE_TYPES}


def vectors(name: str, x: npt.ArrayLike, dtype: np.dtype[Any], length: int) -> Array:
    """`x` as a contiguous array of `dtype`, (length) or (length, k). Raises ArgumentError."""
    given = np.asarray(x)
    if given.dtype == dtype and given.shape == (length,) and given.flags.c_contiguous and given.flags.aligned:
        return given
    if given.ndim not in (1, 2) or given.shape[0] != length:
        raise ArgumentError(f"{name} has the shape {given.shape}, ({length},) or ({length}, k) was expected")
    if given.dtype.kind not in "biufc":
        raise ArgumentError(f"{name} holds {given.dtype}, numbers were expected")
    if given.dtype.kind == "c" and dtype.kind != "c":
        raise ArgumentError(
            f"{name} holds {given.dtype}, but the matrix {dtype}",
            hint="Give a matrix of complex values, or multiply the real and the imaginary part.",
        )
    return np.require(given, dtype, ["C", "A"])


def factor(name: str, value: complex, dtype: np.dtype[Any]) -> complex:
    """α or β. Raises ArgumentError for what is no number, or a complex one with a real matrix."""
    if not isinstance(value, int | float | complex | np.number):
        raise ArgumentError(f"{name} is {value!r}, a number was expected")
    if dtype.kind != "c" and np.imag(value) != 0:
        raise ArgumentError(f"{name} is {value}, but the matrix is real")
    return complex(value) if dtype.kind == "c" else float(np.real(value))


def _check_out(out: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != dtype or out.shape != shape:
        what = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ArgumentError(f"out is {what}, an array {dtype} {shape} was expected")
    if not out.flags.writeable:
        raise ArgumentError("out is read-only, a writable array was expected")
