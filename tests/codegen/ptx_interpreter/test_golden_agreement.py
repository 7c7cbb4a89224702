"""The golden kernels: their PTX, interpreted, leaves the very bits that their IR leaves on this CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.emulation.run_kernel import run_kernel

from ..emulation.test_golden_kernels import GOLDEN, JOBS
from .agreement import unequal
from .machine import Place, interpret
from .parse import PtxError

FOLDER = Path(__file__).parents[2] / "golden" / "ptx"
MATHEMATICAL = ("waves-swap",)  # with NVIDIA's library in the PTX, and the host's on this CPU


def test_every_golden_kernel_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.ptx")} == GOLDEN.keys()


@pytest.mark.parametrize("block", [7, 64])
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_kernels(name: str, block: int) -> None:
    """One thread after the other, as in phases, every sum has the same bits; all at once, they differ by rounding."""
    text, ptx = (FOLDER / f"{name}.ll").read_text(), (FOLDER / f"{name}.ptx").read_text()
    given, _ = GOLDEN[name](np.random.default_rng(block))
    every = -(-JOBS // block)
    for apart, blocks in ((True, range(every - 192 // block, every)), (False, range(every))):
        expected = [value.copy() if isinstance(value, np.ndarray) else value for value in given]
        run_kernel(text, "kernel", expected, every, block, blocks=blocks)
        arguments, arrays = _placed(given)
        interpret(ptx, arrays, arguments, blocks, block, apart=apart)
        assert _different(name, _arrays(expected), arrays, apart) == []
        assert any(not np.array_equal(before, after) for before, after in zip(_arrays(given), arrays, strict=True))


def _different(name: str, expected: list[Any], found: list[Any], apart: bool) -> list[str]:
    if name in MATHEMATICAL:
        return [str(a) for a, b in zip(expected, found, strict=True) if not np.allclose(a, b, rtol=2e-15, atol=0)]
    exact = apart or name == "mixed-swap"  # a sum of one number a thread is in the order of the threads
    return unequal([f"array {place}" for place in range(len(found))], expected, found, exact)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("edges-swap", "sub.rn.f64", "add.rn.f64"),
        ("edges-swap", "shl.b64 \t%rd10, %rd1, 2", "shl.b64 \t%rd10, %rd1, 3"),
        ("rows-swap", "setp.ge.s32", "setp.gt.s32"),
        ("norm-swap", "16, 31, -1", "8, 31, -1"),
        ("mixed-swap", "cas.b32", "exch.b32"),
    ],
)
def test_damaged_text_is_found(name: str, before: str, after: str) -> None:
    """What a wrong backend might emit is seen: another result, or an error."""
    ptx = (FOLDER / f"{name}.ptx").read_text()
    if before not in ptx:
        pytest.fail(f"{name} has no {before!r}")
    given, expected = GOLDEN[name](np.random.default_rng(1))
    arguments, arrays = _placed(given)
    try:
        interpret(ptx.replace(before, after, 1), arrays, arguments, -(-JOBS // 64), 64)
    except PtxError:
        return
    (value,) = expected.values()
    assert not np.allclose(arrays[-1], value, rtol=1e-12 if value.dtype == arrays[-1].dtype else 1e-5)


def _arrays(given: list[Any]) -> list[Any]:
    return [value for value in given if isinstance(value, np.ndarray)]


def _placed(given: list[Any]) -> tuple[list[Any], list[Any]]:
    """Arguments and copies of the arrays among them."""
    arrays = [value.copy() for value in _arrays(given)]
    numbers = iter(range(len(arrays)))
    return [Place(next(numbers)) if isinstance(value, np.ndarray) else value for value in given], arrays
