"""Emitted kernels, as their golden files have them, against NumPy; nothing in them is a fault."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.emulation import run_kernel as emulation
from tracecut.codegen.emulation.lowering.device_calls import LIBRARY
from tracecut.codegen.emulation.run_kernel import kernel_sites, run_kernel

from .kernels import kernel
from .launching import MODES, every_mode, run

FOLDER = Path(__file__).parents[2] / "golden" / "ptx"
JOBS, DATA = 700, 90


def edges(rng: Any, swap: bool) -> tuple[list[Any], dict[int, Any]]:
    a, b = rng.integers(0, DATA, (2, JOBS)).astype(np.int32)
    w, u, r = rng.random(JOBS), rng.random(DATA), rng.random(DATA)
    order = [rng.permutation(JOBS).astype(np.int32)] if swap else []
    flux = w * (u[b] - u[a])
    expected = r + np.bincount(a, flux, DATA) - np.bincount(b, flux, DATA)
    return [JOBS, *order, a, b, w, u, r], {-1: expected}


def rows(rng: Any) -> tuple[list[Any], dict[int, Any]]:
    starts = np.r_[0, np.cumsum(rng.integers(0, 9, JOBS))].astype(np.int32)
    col, val, x = rng.integers(0, DATA, starts[-1]).astype(np.int32), rng.random(starts[-1]), rng.random(DATA)
    sums = [float(val[first:last] @ x[col[first:last]]) for first, last in pairwise(starts)]
    return [JOBS, starts, val, col, x, np.zeros(JOBS)], {-1: np.array(sums)}


def mixed(rng: Any) -> tuple[list[Any], dict[int, Any]]:
    order, key, x = (
        rng.permutation(JOBS).astype(np.int32),
        rng.integers(0, DATA, JOBS).astype(np.int32),
        rng.random(JOBS),
    )
    expected = np.bincount(key, x * order, DATA)
    return [JOBS, order, x, key, np.zeros(DATA, np.float32)], {-1: expected}


def norm(rng: Any) -> tuple[list[Any], dict[int, Any]]:
    x = rng.random(JOBS)
    return [JOBS, x, np.zeros(1)], {-1: np.array([x @ x])}


def waves(rng: Any) -> tuple[list[Any], dict[int, Any]]:
    x = rng.random(JOBS) - 0.5
    return [JOBS, x, np.zeros(JOBS)], {-1: np.cbrt(x)}


GOLDEN: dict[str, Any] = {
    "edges-swap": lambda rng: edges(rng, False),
    "edges-swap-indirect": lambda rng: edges(rng, True),
    "rows-swap": rows,
    "mixed-swap": mixed,
    "norm-swap": norm,
    "waves-swap": waves,
}


@every_mode
@pytest.mark.parametrize("block", [7, 256])
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_kernels(how: dict[str, Any], block: int, name: str) -> None:
    text = (FOLDER / f"{name}.ll").read_text()
    arguments, expected = GOLDEN[name](np.random.default_rng(1))
    report = run_kernel(text, "kernel", arguments, -(-JOBS // block), block, **how)
    assert report.faults == () and report.completed
    for place, value in expected.items():
        single = arguments[place].dtype == np.float32
        np.testing.assert_allclose(arguments[place], value, rtol=1e-5 if single else 1e-12, atol=1e-12)


@pytest.mark.parametrize("name", GOLDEN)
def test_vector_code_leaves_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As launches of many threads have it."""
    text, left = (FOLDER / f"{name}.ll").read_text(), []
    for many in (JOBS + 1024, 1):
        monkeypatch.setattr(emulation, "MANY", many)
        arguments, _ = GOLDEN[name](np.random.default_rng(1))
        run_kernel(text, "kernel", arguments, -(-JOBS // 96), 96)
        left.append(arguments)
    for plain, vectors in zip(*left, strict=True):
        np.testing.assert_array_equal(plain, vectors)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ll")), ids=lambda path: path.stem)
def test_every_golden_kernel_has_sites(path: Path) -> None:
    sites = kernel_sites(path.read_text(), "kernel")
    assert len(sites) > 0 and set(sites.kind.tolist()) <= {0, 1, 2}


DOMAIN = {"acosh": 1.5, "lgamma": 2.5, "tgamma": 2.5, "powi": 1.5}


@pytest.mark.parametrize("device", sorted(name for name in LIBRARY if not name.endswith("f") or name == "__nv_erf"))
def test_mathematical_functions(device: str) -> None:
    """The double function of each name, and the float one where there is one; against Python's where it has it."""
    name = device.removeprefix("__nv_")
    value = DOMAIN.get(name, 0.625)
    integers = {"ldexp": "i32", "scalbn": "i32", "powi": "i32"}
    results = {"ilogb": "i32", "llrint": "i64", "llround": "i64"}
    two = name in ("atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow", "remainder")
    for suffix, type in (("", "double"), ("f", "float")):
        called = f"{device}{suffix}"
        if called not in LIBRARY:
            continue
        second = [integers[name]] if name in integers else [type] * (two + 2 * (name == "fma"))
        result = results.get(name, type)
        given = ["%x", *(("i32 3" if one == "i32" else f"{type} 2.0").split()[1] for one in second)]
        listed = ", ".join(f"{kind} {text}" for kind, text in zip([type, *second], given, strict=True))
        text = kernel(
            f"{type} %x, ptr addrspace(1) %out",
            f"  %r = call {result} @{called}({listed})\n  store {result} %r, ptr addrspace(1) %out\n  ret void",
            f"declare {result} @{called}({', '.join([type, *second])})",
        )
        dtype = {"double": "f8", "float": "f4", "i32": "i4", "i64": "i8"}[result]
        out = np.zeros(1, dtype)
        run(text, [value, out], 1, 1, **MODES[0])
        python = {"fabs": math.fabs, "fmax": max, "fmin": min, "powi": math.pow, "scalbn": math.ldexp}
        reference = python.get(name, getattr(math, name, None))
        if reference is None:
            assert np.isfinite(out[0])
            continue
        operands = [value, *(3 if one == "i32" else 2.0 for one in second)]
        assert out[0] == pytest.approx(reference(*operands), rel=1e-6 if type == "float" else 1e-14)
