"""Validation of the arrays of artefacts.

The arrays of an artefact are checked once, when it is made, and frozen: stages can pass them to kernels without bounds
checks, and no stage can change the artefact of another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import ArgumentError

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]


def frozen(name: str, value: npt.ArrayLike, dtype: npt.DTypeLike, *, ndim: int = 1) -> npt.NDArray[Any]:
    """`value` as a contiguous, read-only array of `dtype`; refuses a lossy conversion, naming the first bad entry."""
    source = np.asarray(value)
    target = np.dtype(dtype)
    if source.ndim != ndim:
        raise ArgumentError(f"{name} has {source.ndim} dimensions, {ndim} expected")
    if source.dtype == target:
        array = np.ascontiguousarray(source)
    else:
        array = _converted(name, source, target)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def check_offsets(name: str, offsets: Longs, total: int) -> None:
    """CSR offsets start at 0, never decrease, and end at `total`."""
    if offsets.size == 0 or offsets[0] != 0:
        raise ArgumentError(f"{name} must start with 0")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        place = int(falls[0])
        raise ArgumentError(f"{name}[{place + 1}] = {offsets[place + 1]} is below {name}[{place}] = {offsets[place]}")
    if offsets[-1] != total:
        raise ArgumentError(f"{name} ends at {offsets[-1]}, but {total} entries were given")


def check_compressed(name: str, matrix: Any, major: int, minor: int) -> None:
    """A scipy matrix in compressed rows (columns): `major` of them, indices in [0, `minor`), a value for each.

    name: what stands before the names of its arrays. SciPy reads and writes wherever an index says.
    """
    if matrix.indptr.size != major + 1:
        raise ArgumentError(f"{name}indptr has {matrix.indptr.size} entries, {major + 1} expected")
    check_offsets(f"{name}indptr", matrix.indptr, matrix.indices.size)
    check_range(f"{name}indices", matrix.indices, 0, minor)
    if matrix.data.size != matrix.indices.size:
        raise ArgumentError(f"{name}data has {matrix.data.size} entries, {name}indices has {matrix.indices.size}")


def check_range(name: str, values: npt.NDArray[Any], low: int, high: int) -> None:
    """Every value lies in [low, high)."""
    if values.size == 0:
        return
    if int(values.min()) >= low and int(values.max()) < high:
        return
    place = int(np.flatnonzero((values < low) | (values >= high))[0])
    raise ArgumentError(f"{name}[{place}] = {values[place]} is outside [{low}, {high})")


def check_permutation(name: str, values: npt.NDArray[Any]) -> None:
    """`values` holds each of 0 … size − 1 exactly once."""
    check_range(name, values, 0, values.size)
    seen = np.zeros(values.size, bool)
    seen[values] = True
    if not seen.all():
        raise ArgumentError(f"{name} is not a permutation: {int(np.flatnonzero(~seen)[0])} is missing")


def check_weights(name: str, weights: Floats) -> None:
    """Every weight is finite and at least 0, and their sum is finite; errors name the row."""
    good = np.isfinite(weights) & (weights >= 0)
    bad = np.flatnonzero(~(good if weights.ndim == 1 else good.all(axis=1)))
    if bad.size:
        raise ArgumentError(f"{name}[{int(bad[0])}] = {weights[bad[0]]}, a finite number of at least 0 was expected")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total == np.inf:
        raise ArgumentError(
            f"{name} sum up to more than {np.finfo(np.float64).max:.3g}, which a float64 cannot hold",
            hint=f"Only proportions count: divide {name} by their maximum.",
        )


def inverse(order: Ints) -> Ints:
    """The inverse permutation: `inverse(order)[order[i]] == i`."""
    result = np.empty(order.size, np.int32)
    result[order] = np.arange(order.size, dtype=np.int32)
    return result


def _converted(name: str, source: npt.NDArray[Any], target: np.dtype[Any]) -> npt.NDArray[Any]:
    if source.size == 0:
        return np.zeros(source.shape, target)
    if source.dtype.kind not in "biuf":
        raise ArgumentError(f"{name} holds {source.dtype}, numbers were expected")
    if target.kind in "iu":
        if source.dtype.kind == "f":
            odd = np.flatnonzero(~np.isfinite(source.ravel()) | (source.ravel() != np.floor(source.ravel())))
            if odd.size:
                raise ArgumentError(f"{name}[{int(odd[0])}] = {source.ravel()[odd[0]]} is not an integer")
        limits = np.iinfo(target)
        if source.min() < limits.min or source.max() > limits.max:
            place = int(np.flatnonzero((source.ravel() < limits.min) | (source.ravel() > limits.max))[0])
            raise ArgumentError(f"{name}[{place}] = {source.ravel()[place]} does not fit {target}")
    return np.ascontiguousarray(source.astype(target))
