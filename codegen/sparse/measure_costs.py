"""The offline table of `costs.py`, measured: products of made matrices whose rows have one length."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from .costs import LENGTHS, LINE, Costs, FormCosts, cache_lines
from .csr import Array, Csr
from .forms import FORMATS, make_form, take
from .native_code import load_kernels
from .orders import NATURAL

DTYPES = ("float32", "float64")
USUAL = 16  # entries of a row, where other costs are measured
MIXED = {"csr": 4, "csr-vector": 32}  # mean entries of rows of mixed lengths, whose ends are mispredicted
PASSES = 3  # over all there is: what disturbs one for a second is not there in another
ROUNDS = 5  # times of a pass
LEAST = 2e-4  # seconds that are taken as one time
NEAR = 12_000  # entries of a matrix that lies in the second level, with its x
SEED = 17


def measure_costs(said: Callable[[str], None], source: str) -> Costs:
    """The costs of this machine, in about a minute of one core and 500 MiB.

    Args:
        said: called with what is measured next.
        source: `Costs.source` of the result.
    """
    load_kernels()
    least: dict[tuple[Any, ...], float] = {}
    for turn in range(PASSES):
        said(f"pass {turn + 1} of {PASSES}")
        for dtype in DTYPES:
            for key, matrix in _matrices(np.dtype(dtype)).items():
                for name in FORMATS:
                    _keep(least, (name, dtype, *key), _seconds(name, matrix()))
        for size in _sizes():
            _keep(least, ("take", size), _take_seconds(size))
    forms = {f"{name} {dtype}": _form_costs(least, name, dtype) for name in FORMATS for dtype in DTYPES}
    call = 1e6 * least["csr", "float64", "call", 1]
    near, far, memory = (1e9 * least["take", size] / size for size in _sizes())
    return Costs(forms, call, (near, far, memory), source)


def _matrices(dtype: np.dtype[Any]) -> dict[tuple[str, int], Callable[[], Csr]]:
    """What is measured, and how its matrix is made: one at a time is held."""
    first, second, third = (lines * LINE // dtype.itemsize for lines in cache_lines())
    many, usual = second // 2, np.array([USUAL])
    random = np.random.default_rng(SEED)
    mixed = {mean: random.integers(1, 2 * mean, third // 2 // mean) for mean in MIXED.values()}
    found = {
        ("call", 1): (1, 1, np.array([1])),
        **{("row", length): (NEAR, first // 2, np.array([length])) for length in LENGTHS},
        # Several times what lies in the level before:
        ("stream", many): (many, first // 2, usual),
        ("stream", 2 * third): (2 * third, first // 2, usual),
        **{("mixed", mean): (third // 2, first // 2, lengths) for mean, lengths in mixed.items()},  # known by no core
        ("miss", NEAR): (NEAR, second // 4, usual),
        ("miss", many): (many, third // 8, usual),
        ("miss", third // 2): (third // 2, 4 * third, usual),
    }

    def maker(entries: int, columns: int, lengths: Array) -> Callable[[], Csr]:
        return lambda: _matrix(entries, columns, lengths, dtype)

    return {key: maker(*given) for key, given in found.items()}


def _form_costs(least: dict[tuple[Any, ...], float], name: str, dtype: str) -> FormCosts:
    size = np.dtype(dtype).itemsize
    _, second, third = (lines * LINE // size for lines in cache_lines())
    many, most, streamed = second // 2, third // 2, 2 * third
    call = least[name, dtype, "call", 1]

    def nanoseconds(what: str, which: int) -> float:
        return 1e9 * max(0.0, least[name, dtype, what, which] - call)

    rows = tuple(nanoseconds("row", length) / (NEAR // length) for length in LENGTHS)
    usual = rows[LENGTHS.index(USUAL)] / USUAL  # of an entry
    held = size + (4 if name.startswith("csr") else 2)
    near, memory = (max(0.0, nanoseconds("stream", entries) / entries - usual) / held for entries in (many, streamed))
    end = 0.0
    if mean := MIXED.get(name):
        known = np.interp(np.arange(1, 2 * mean), LENGTHS, rows).mean() / mean + memory * held
        end = max(0.0, nanoseconds("mixed", mean) / most - float(known)) * mean
    misses = [
        max(0.0, nanoseconds("miss", entries) / entries - usual - held * read)
        for entries, read in ((NEAR, 0.0), (many, near), (most, memory))
    ]
    return FormCosts(rows, end, (misses[0], misses[1], misses[2]), (near, memory))


def _matrix(entries: int, columns: int, lengths: Array, dtype: np.dtype[Any]) -> Csr:
    """Rows of these lengths in turn, entries anywhere."""
    random = np.random.default_rng(SEED)
    count = max(1, round(entries / lengths.mean()))
    offsets = np.concatenate([[0], np.cumsum(np.resize(lengths, count))]).astype(np.int32)
    places = random.integers(0, columns, offsets[-1], dtype=np.int32)
    values = np.resize(np.array([1, 2], dtype), offsets[-1])  # of a single one there would be none to read
    return Csr(offsets, places, values, (count, columns))


def _seconds(name: str, matrix: Csr) -> float:
    dtype, form = matrix.values.dtype, make_form(matrix, name, NATURAL)
    x, y, scale = np.ones(matrix.shape[1], dtype), np.empty(matrix.shape[0], dtype), np.array([1, 0], dtype)
    return _least(lambda: form.times(x, y, scale, 1, 1))


def _take_seconds(size: int) -> float:
    order = np.random.default_rng(SEED).permutation(size).astype(np.uint32)
    x = np.ones(size)
    y = np.empty_like(x)
    return _least(lambda: take(order, x, y, 1))


def _sizes() -> tuple[int, int, int]:
    """Elements of vectors that lie in the second level, in the third, in memory."""
    _, second, third = (lines * LINE // 8 for lines in cache_lines())
    return second // 4, third // 4, 2 * third


def _least(call: Callable[[], object]) -> float:
    """The least CPU seconds of a call, of several times of as many calls as can be told from the clock's step."""
    call()
    begun, calls = process_time(), 1
    call()
    while process_time() - begun < LEAST:
        call()
        calls += 1
    times = []
    for _ in range(ROUNDS):
        begun = process_time()
        for _ in range(calls):
            call()
        times.append((process_time() - begun) / calls)
    return min(times)


def _keep(least: dict[tuple[Any, ...], float], key: tuple[Any, ...], seconds: float) -> None:
    least[key] = min(seconds, least.get(key, seconds))
