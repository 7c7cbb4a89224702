"""The IR that PTX is made of computes what the host's range function does, in both variants, for any thread order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.ptx.emit import emit_kernel
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites

from .ptx_support import HostKernel, arguments_of, run_range, subject

SOURCE = """
struct edge { int a, b; double length; };
struct cell { double u, v, ru, rv; };
struct wide { double field[9]; };

void mesh(int n, const int *ea, const int *eb, const double *len, const double *u, const double *v, double *ru,
          double *rv)
{
    for (int e = 0; e < n; e++) {
        int a = ea[e], b = eb[e];
        double f = len[e] * (u[a] - u[b]), g = len[e] * (v[a] * v[b]);
        ru[a] -= f;
        ru[b] += f;
        rv[a] -= g;
        rv[b] += g;
    }
}

void records(int n, const struct edge *e, struct cell *c)
{
    for (int i = 0; i < n; i++) {
        struct cell *a = &c[e[i].a], *b = &c[e[i].b];
        double f = e[i].length * (a->u - b->u), g = e[i].length * (a->v * b->v);
        a->ru -= f;
        b->ru += f;
        a->rv -= g;
        b->rv += g;
    }
}

void spmv(int n, const int *rp, const int *col, const double *val, const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = rp[i]; j < rp[i + 1]; j++)
            sum += val[j] * x[col[j]];
        y[i] = sum;
    }
}

void histogram(int n, const int *key, int *count, unsigned char *bytes)
{
    for (int i = 0; i < n; i++) {
        count[key[i]]++;
        bytes[key[i]] += 3;
    }
}

void extremes(int n, const int *key, const int *x, int *lo, unsigned *hi, double *flo)
{
    for (int i = 0; i < n; i++) {
        int k = key[i], v = x[i];
        lo[k] = lo[k] < v ? lo[k] : v;
        hi[k] = hi[k] > (unsigned)v ? hi[k] : (unsigned)v;
        flo[k] = __builtin_fmin(flo[k], 0.5 * v);
    }
}

void conditional(int n, const int *key, const double *x, double *s, int *t)
{
    for (int i = 0; i < n; i++) {
        if (x[i] > 0)
            s[key[i]] += x[i];
        else
            t[key[i]] -= 2;
    }
}

void index_as_data(int n, const int *key, const double *x, double *s)
{
    for (int i = 0; i < n; i++)
        s[key[i]] += x[i] * key[i] + 3 * i;
}

void copies(int n, const int *key, const struct wide *in, struct wide *out)
{
    for (int i = 0; i < n; i++)
        out[i] = in[key[i]];
}

void scratch(int n, const int *key, const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        double t[8];
        for (int j = 0; j < 8; j++)
            t[j] = 0;
        for (int j = 0; j < 8; j++)
            t[(key[i] + 3 * j) & 7] += x[8 * i + j];
        y[i] = t[key[i] & 7] + t[(key[i] + 1) & 7];
    }
}

void scaled(int n, const int *key, float *s, double by, long from, int flag)
{
    for (int i = 0; i < n; i++)
        s[key[i]] += flag > 3 ? (float)(by * i) : (float)from;
}

void walk(long n, const int *rp, const double *val, double *y)
{
    for (long i = 0; i < n; i++) {
        double sum = 1;
        for (const double *p = val + rp[i], *end = val + rp[i + 1]; p != end; p++)
            sum = sum * 0.5 + *p;
        y[i] = sum;
    }
}

void strided(int n, const int *key, const double *x, double *s)
{
    for (int i = 0; i < n; i += 3)
        s[key[i]] += x[i + 1] * (i + 5);
}

void chosen(long n, const int *key, const double *x, double *even, double *odd)
{
    for (long i = 0; i < n; i++) {
        double *to = key[i] & 1 ? odd : even;
        to[key[i]] += x[i];
    }
}

void sweeps(long n, long m, const int *key, const double *x, double *s)
{
    for (long t = 0; t < m; t++)
        for (long i = 0; i < n; i++)
            s[key[i]] += x[i] * t;
}

void backwards(int n, const int *key, const double *x, double *s)
{
    for (int i = n - 1; i >= 0; i--)
        s[key[i]] += x[i];
}
"""
JOBS, DATA = 61, 23


def _arrays(random: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Input of every function by C name; small whole numbers, so that sums are exact in any order."""

    def index(size: int = JOBS, bound: int = DATA) -> Any:
        return random.integers(0, bound, size, dtype=np.int32)

    def numbers(size: int = DATA) -> Any:
        return random.integers(-40, 40, size).astype(float)

    edges = np.zeros(JOBS, np.dtype([("a", "i4"), ("b", "i4"), ("length", "f8")]))
    edges["a"], edges["b"], edges["length"] = index(), index(), numbers(JOBS)
    cells = np.zeros(DATA, np.dtype([(name, "f8") for name in ("u", "v", "ru", "rv")]))
    for name in ("u", "v", "ru", "rv"):
        cells[name] = numbers()
    lengths = random.integers(0, 5, JOBS)
    lengths[::9] = 0
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    size = int(starts[-1])
    return {
        "mesh": {name: index() for name in ("ea", "eb")}
        | {"len": numbers(JOBS)}
        | {name: numbers() for name in ("u", "v", "ru", "rv")},
        "records": {"e": edges, "c": cells},
        "spmv": {"rp": starts, "col": index(size), "val": numbers(size), "x": numbers(), "y": np.full(JOBS, np.nan)},
        "histogram": {"key": index(), "count": index(DATA, 9), "bytes": index(DATA, 255).astype(np.uint8)},
        "extremes": {
            "key": index(),
            "x": random.integers(-50, 50, JOBS, dtype=np.int32),
            "lo": random.integers(-50, 50, DATA, dtype=np.int32),
            "hi": random.integers(0, 90, DATA, dtype=np.uint32),
            "flo": numbers(),
        },
        "conditional": {"key": index(), "x": numbers(JOBS), "s": numbers(), "t": index(DATA, 99)},
        "index_as_data": {"key": index(), "x": numbers(JOBS), "s": numbers()},
        "copies": {"key": index(), "in": random.random((DATA, 9)), "out": np.zeros((JOBS, 9))},
        "scratch": {"key": index(), "x": numbers(8 * JOBS), "y": np.zeros(JOBS)},
        "scaled": {"key": index(), "s": numbers().astype(np.float32), "by": 0.5, "from": 7, "flag": 5},
        "walk": {"rp": starts, "val": numbers(size), "y": np.zeros(JOBS)},
        "strided": {"key": index(3 * JOBS), "x": numbers(3 * JOBS), "s": numbers()},
        "chosen": {"key": index(), "x": numbers(JOBS), "even": numbers(), "odd": numbers()},
        "backwards": {"key": index(), "x": numbers(JOBS), "s": numbers()},
    }


# How a reordered copy of each array is made: `job` in job order, `data` renumbered, `index` in job order and
# renumbered, `rows`, `entries` and `entry-index` as of a sparse matrix whose rows are the jobs.
ROLES = {
    "mesh": dict.fromkeys(("ea", "eb"), "index") | {"len": "job"} | dict.fromkeys(("u", "v", "ru", "rv"), "data"),
    "records": {"e": "index", "c": "data"},
    "spmv": {"rp": "rows", "col": "entry-index", "val": "entries", "x": "data", "y": "job"},
    "histogram": {"key": "index", "count": "data", "bytes": "data"},
    "extremes": {"key": "index", "x": "job", "lo": "data", "hi": "data", "flo": "data"},
    "conditional": {"key": "index", "x": "job", "s": "data", "t": "data"},
    "index_as_data": {"key": "index", "x": "job", "s": "data"},
    "copies": {"key": "index", "in": "data", "out": "job"},
    "scratch": {"key": "index", "x": "job", "y": "job"},
    "scaled": {"key": "index", "s": "data"},
    "walk": {"rp": "rows", "val": "entries", "y": "job"},
}


class Layout:
    """A new order of jobs and data, and the copies that an executor would make for it."""

    def __init__(self, random: np.random.Generator, arrays: Mapping[str, Any]) -> None:
        self.jobs = random.permutation(JOBS).astype(np.int32)
        self.data = random.permutation(DATA)
        self.ranks = np.argsort(self.data).astype(np.int32)
        self.arrays = arrays

    def new(self, roles: Mapping[str, str]) -> dict[str, Any]:
        return {name: self._new(roles.get(name, ""), value) for name, value in self.arrays.items()}

    def old(self, roles: Mapping[str, str]) -> dict[str, Any]:
        """The same with the old numbers in index arrays; what starts in the matrix is as long by either number."""
        found = {}
        for name, value in self.arrays.items():
            role = roles.get(name, "")
            found[name] = value[self.jobs] if role == "index" else self._new(role, value)
        return found

    def back(self, roles: Mapping[str, str], new: Mapping[str, Any]) -> dict[str, Any]:
        """Copies in the order of the program again."""
        found = {}
        for name, value in new.items():
            role = roles.get(name, "")
            found[name] = value
            if role in ("data", "job"):
                order = self.data if role == "data" else self.jobs
                rows = value.reshape(order.size, -1)
                found[name] = np.empty_like(rows)
                found[name][order] = rows
                found[name] = found[name].reshape(value.shape)
        return found

    def _new(self, role: str, value: Any) -> Any:
        if role in ("job", "data"):
            order = self.jobs if role == "job" else self.data
            return np.ascontiguousarray(value.reshape(order.size, -1)[order]).reshape(value.shape)
        if role == "index":
            copy = value[self.jobs]
            for field in ("a", "b") if copy.dtype.names else ("",):
                part = copy[field] if field else copy
                part[:] = self.ranks[part]
            return copy
        if role in ("rows", "entries", "entry-index"):
            rows = self.arrays["rp"]
            lengths = np.diff(rows)[self.jobs]
            if role == "rows":
                return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
            pieces = [np.arange(rows[job], rows[job + 1]) for job in self.jobs]
            copy = value[np.concatenate(pieces)]
            return self.ranks[copy] if role == "entry-index" else copy
        return value.copy() if isinstance(value, np.ndarray) else value


def _copied(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arrays.items()}


@pytest.mark.parametrize("function", sorted(_arrays(np.random.default_rng(0))))
@pytest.mark.parametrize("variant", ["swap", "swap-indirect"])
def test_kernel_computes_what_the_host_does(function: str, variant: str) -> None:
    random = np.random.default_rng(5)
    given = _arrays(random)[function]
    loop = subject(SOURCE, function)
    expected = _copied(given)
    run_range(loop, JOBS, {"n": JOBS, **expected})

    kernel = loop.emit(variant=variant, disjoint=loop.reads())
    layout, roles = Layout(random, given), ROLES.get(function, {})
    if variant == "swap" and not roles:
        layout.jobs = np.arange(JOBS, dtype=np.int32)
    new = layout.new(roles) if variant == "swap" else _copied(given)
    old = layout.old(roles) if variant == "swap" else {}
    arguments = arguments_of(loop, kernel, JOBS, {"n": JOBS, **new}, old, layout.jobs)
    HostKernel(kernel).launch(arguments, JOBS, seed=int(random.integers(99)))
    result = layout.back(roles, new) if variant == "swap" else new

    written = {name for name in expected if isinstance(given[name], np.ndarray)}
    assert any((expected[name] != given[name]).any() for name in written)
    for name in written if variant == "swap-indirect" else written - {"key", "ea", "eb", "e", "rp", "col", "val"}:
        np.testing.assert_array_equal(result[name], expected[name], err_msg=name)


@pytest.mark.parametrize("variant", ["swap", "swap-indirect"])
def test_a_loop_inside_of_its_layout_scope(variant: str) -> None:
    """What the loop around counts is a value that the kernel is handed."""
    outer = subject(SOURCE, "sweeps")
    view, nest, _ = outer.parts
    (inner,) = (number for number, info in nest.loops.items() if info.parent == outer.loop)
    groups = group_sites(view, nest, view.loops[inner])
    kernel = emit_kernel(view, nest, view.loops[inner], "kernel", groups, variant=variant)
    (step,) = (p for p in kernel.parameters if p.kind == "live")
    assert step.type in ("i64", "double") and step.name not in outer.names
    random = np.random.default_rng(2)
    arrays = {"key": random.integers(0, DATA, JOBS, dtype=np.int32), "x": random.random(JOBS), "s": np.zeros(DATA)}
    order = random.permutation(JOBS).astype(np.int32)
    arguments = []
    for parameter in kernel.parameters:
        given = {"jobs": JOBS, "order": order, "live": 3}.get(parameter.kind)
        arguments.append(arrays[outer.names[parameter.name]] if given is None else given)
    HostKernel(kernel).launch(arguments, JOBS)
    expected = np.bincount(arrays["key"], 3 * arrays["x"], DATA)
    np.testing.assert_allclose(arrays["s"], expected, rtol=1e-13)


def test_no_jobs_touch_nothing() -> None:
    loop = subject(SOURCE, "histogram")
    given = _arrays(np.random.default_rng(1))["histogram"]
    kernel = loop.emit()
    arrays = _copied(given)
    HostKernel(kernel).launch(arguments_of(loop, kernel, 0, arrays), 0)
    for name, value in arrays.items():
        np.testing.assert_array_equal(value, given[name])


def test_exclusive_groups_are_added_to_without_atomics() -> None:
    loop = subject(SOURCE, "mesh")
    every = frozenset(group.id for group in loop.groups())
    assert "atom" not in loop.emit(exclusive=every).ptx
    some = loop.emit(exclusive=frozenset(group.id for group in loop.groups() if loop.names[group.root] == "ru"))
    assert some.ptx.count("atom.global.add.f64") == 2


def test_private_arrays_become_local_memory_and_need_no_atomics() -> None:
    kernel = subject(SOURCE, "scratch").emit()
    assert "alloca [8 x double]" in kernel.llvm and ".local" in kernel.ptx
    assert "atomicrmw" not in kernel.llvm and "atom" not in kernel.ptx
    assert "%i" not in [parameter.name for parameter in kernel.parameters]
