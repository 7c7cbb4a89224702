"""Programs that LLVM's optimiser makes wrong code of, unless it is kept from that."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tracecut.tracer.runtime.link import shared_library
from tracecut.tracer.toolchain.clang import optimised_object, to_ir, to_object
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical, emit_object

FLAGS = Flags(("-O3", "-fPIC"))
RECORDS, COUNT = 1024, 32760
MASKED = "for (unsigned i = 5; i < n; i++) y[i & 1023] += i;"
LEFT = "for (unsigned i = 5, j = 5 + off; i < n; i++, j++) { if (j == off) break; y[i & 1023] += j; }"
ASKED_FOR = f'_Pragma("clang loop vectorize(enable)")\n{MASKED}'


def _plain(source: Path) -> bytes:
    return to_object(source, FLAGS, source.parent)[0]


def _woven(source: Path) -> bytes:
    text = str(canonical([to_ir(source, FLAGS, source.parent, canonical=True)], for_regions=True))
    return optimised_object(text, FLAGS, source.parent, "woven")


def _in_process(source: Path) -> bytes:
    return emit_object(to_ir(source, FLAGS, source.parent, canonical=True), optimise=True)


@pytest.mark.parametrize("loop", [MASKED, LEFT, ASKED_FOR], ids=["masked", "left", "asked_for"])
@pytest.mark.parametrize("compiled", [_plain, _woven, _in_process])
def test_a_narrow_counter_that_wraps_beside_a_wide_one(
    loop: str, compiled: Callable[[Path], bytes], tmp_path: Path
) -> None:
    source, target = tmp_path / "run.c", tmp_path / "run.so"
    source.write_text(f"void run(long n, long off, long *y) {{\n{loop}\n}}\n")
    shared_library([compiled(source)], FLAGS, target)
    y = np.zeros(COUNT + RECORDS, np.int64)
    ctypes.CDLL(str(target)).run(ctypes.c_long(COUNT), ctypes.c_long(0), ctypes.c_void_p(y.ctypes.data))
    expected = np.zeros_like(y)
    steps = np.arange(5, COUNT)
    np.add.at(expected, steps & RECORDS - 1, steps)
    np.testing.assert_array_equal(y, expected)
