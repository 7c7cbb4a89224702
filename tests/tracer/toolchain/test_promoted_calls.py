"""Calls through pointers, promoted: the same results as by the pointers, whatever they mean and whenever."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.tracer.runtime.link import shared_library
from tracecut.tracer.toolchain.clang import to_ir
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical, emit_object

Law = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_double)

# `law` has its first argument on the stack, as a std::function does; an iteration may be skipped, or the last one.
SOURCE = """
typedef double (*Law)(const double *, double);
struct item { Law law, other; double x; };
static double twice(const double *a, double x) { return 2 * *a - x; }
static double half(const double *a, double x) { return 0.5 * *a + x; }
static double least(const double *a, double x) { return *a < x ? *a : x; }
Law known(int k) { return k == 0 ? twice : k == 1 ? half : least; }
double run(int n, const struct item *items, double *out)
{
    double sum = 1;
    int seen = 0;
    for (int k = 0; k < n; k++) {
        if (items[k].x < -8)
            continue;
        double held = sum + k;
        sum = items[k].law(&held, items[k].x);
        seen++;
        if (items[k].other)
            out[k] = items[k].other(&held, sum) + held;
        if (sum > 1000)
            break;
        out[k] += sum;
    }
    return sum + seen;
}
"""


class Item(ctypes.Structure):
    _fields_ = (("law", ctypes.c_void_p), ("other", ctypes.c_void_p), ("x", ctypes.c_double))


def laws(chosen: list[Callable[[float, float], float]]) -> list[Callable[[float, float], float]]:
    return [lambda a, x: 2 * a - x, lambda a, x: 0.5 * a + x, min, *chosen]


def expected(items: list[tuple[int, int, float]], out: list[float]) -> float:
    total, seen, meaning = 1.0, 0, laws([lambda a, x: a + 0.25 * x])
    for k, (law, other, x) in enumerate(items):
        if x < -8:
            continue
        held = total + k
        total = meaning[law](held, x)
        seen += 1
        if other >= 0:
            out[k] = meaning[other](held, total) + held
        if total > 1000:
            break
        out[k] += total
    return total + seen


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    folder = tmp_path_factory.mktemp("promoted")
    source = folder / "laws.c"
    source.write_text(SOURCE)
    text = str(canonical([to_ir(source, Flags(), folder, canonical=True)], for_regions=True))
    assert "tracecut.copy" in text and "@twice" in text
    shared_library([emit_object(text, optimise=True)], Flags(), folder / "laws.so")
    made = ctypes.CDLL(str(folder / "laws.so"))
    made.run.restype = ctypes.c_double
    made.known.restype = ctypes.c_void_p
    yield made


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3), st.integers(-10, 30).map(float)), max_size=9))
def test_whatever_a_pointer_means(library: ctypes.CDLL, items: list[tuple[int, int, float]]) -> None:
    """The fourth law is one that the module does not have: where it is asked for, a copy of the loop goes on."""
    foreign = Law(lambda a, x: a[0] + 0.25 * x)
    places = [library.known(k) for k in range(3)] + [ctypes.cast(foreign, ctypes.c_void_p).value]
    made = (Item * max(1, len(items)))(*((places[a], places[b] if b >= 0 else None, x) for a, b, x in items))
    out, wanted = (ctypes.c_double * max(1, len(items)))(), [0.0] * len(items)
    assert library.run(len(items), made, out) == expected(items, wanted)
    assert list(out)[: len(items)] == wanted
