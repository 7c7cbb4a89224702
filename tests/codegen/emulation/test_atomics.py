"""Atomic operations of every kind, in every space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .kernels import kernel
from .launching import MODES, every_mode, run

ATOMICS: dict[str, Any] = {
    "add": (np.int32, lambda v: v.sum(dtype=np.int32)),
    "sub": (np.int32, lambda v: -v.sum(dtype=np.int32)),
    "and": (np.int32, np.bitwise_and.reduce),
    "or": (np.int32, np.bitwise_or.reduce),
    "xor": (np.int32, np.bitwise_xor.reduce),
    "max": (np.int32, np.max),
    "min": (np.int32, np.min),
    "umax": (np.uint32, np.max),
    "umin": (np.uint32, np.min),
    "fadd": (np.float32, np.sum),
    "fmax": (np.float32, np.max),
    "fmin": (np.float32, np.min),
}
START = {"and": -1, "min": 2**31 - 1, "umin": 2**32 - 1, "max": -(2**31), "fmin": np.inf, "fmax": -np.inf}


@pytest.mark.parametrize("how", [MODES[0], MODES[3]], ids=["phases", "races"])
@pytest.mark.parametrize("space", [1, 3, 0])
@pytest.mark.parametrize("operator", ATOMICS)
def test_atomics(how: dict[str, Any], operator: str, space: int) -> None:
    """In global, shared and generic memory; whole numbers as floats, so that any order gives the same bits."""
    dtype, expected = ATOMICS[operator]
    type = "float" if dtype is np.float32 else "i32"
    start = START.get(operator, 0)
    place = f"ptr addrspace({space})" if space else "ptr"
    cell = {1: "%out", 3: "@tc.shared", 0: "%generic"}[space]
    text = kernel(
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        f"""
entry:
  {{numbers}}
  %generic = addrspacecast ptr addrspace(1) %out to ptr
  %at = getelementptr {type}, ptr addrspace(1) %in, i64 %i
  %v = load {type}, ptr addrspace(1) %at
  %leads = icmp eq i32 %t32, 0
  %start = load {type}, ptr addrspace(1) %in
  br i1 %leads, label %init, label %ready
init:
  store {type} %start, ptr addrspace(3) @tc.shared, align 4
  br label %ready
ready:
  {{barrier}}
  %old = atomicrmw {operator} {place} {cell}, {type} %v syncscope("block") monotonic, align 4
  {{barrier}}
  br i1 %leads, label %flush, label %exit
flush:
  %sum = load {type}, ptr addrspace(3) @tc.shared, align 4
  %res = getelementptr {type}, ptr addrspace(1) %out, i64 1
  store {type} %sum, ptr addrspace(1) %res
  br label %exit
exit:
  ret void
""",
    )
    rng = np.random.default_rng(11)
    values = rng.integers(0, 99, 200).astype(dtype) if type == "float" else rng.integers(0, 1 << 31, 200).astype(dtype)
    values[0] = np.array(start).astype(dtype)
    out = np.zeros(2, dtype)
    out[0] = values[0]
    run(text, [values, out], 1, 200, 16, **how)
    assert out[1 if space == 3 else 0] == dtype(expected(values) if operator != "sub" else 0 - values.sum(dtype=dtype))


@every_mode
def test_compare_and_swap_and_counters_that_wrap(how: dict[str, Any]) -> None:
    text = kernel(
        "ptr addrspace(1) %in, ptr addrspace(1) %out",
        """
entry:
  {numbers}
  %at = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %v = load i32, ptr addrspace(1) %at
  %seen0 = load atomic i32, ptr addrspace(1) %out syncscope("device") monotonic, align 4
  br label %swap
swap:
  %seen = phi i32 [ %seen0, %entry ], [ %found, %swap ]
  %twice = mul i32 %v, 2
  %new = add i32 %seen, %twice
  %pair = cmpxchg ptr addrspace(1) %out, i32 %seen, i32 %new syncscope("device") monotonic monotonic, align 4
  %found = extractvalue {i32, i1} %pair, 0
  %won = extractvalue {i32, i1} %pair, 1
  br i1 %won, label %done, label %swap
done:
  %wrap = getelementptr i32, ptr addrspace(1) %out, i64 1
  %old = atomicrmw uinc_wrap ptr addrspace(1) %wrap, i32 6 syncscope("device") monotonic, align 4
  %last = getelementptr i32, ptr addrspace(1) %out, i64 2
  %older = atomicrmw xchg ptr addrspace(1) %last, i32 %v syncscope("device") monotonic, align 4
  ret void
""",
    )
    values = np.random.default_rng(12).integers(0, 1000, 150).astype(np.int32)
    out = np.zeros(3, np.int32)
    run(text, [values, out], 3, 50, **how)
    assert out[0] == 2 * values.sum() and out[1] == 150 % 7 and out[2] in values
