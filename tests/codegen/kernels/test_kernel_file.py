"""Kernels by hand: launches, saved and loaded, damaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.kernels.kernel import Address, Considered, Kernel, KernelArray
from tracecut.codegen.kernels.kernel_file import load_kernel, save_kernel
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.schedule.schedule import Guard, LoadGuard, ObjectRef, Schedule
from tracecut.support.errors import ArgumentError, ArtefactError, ScheduleError

pytestmark = pytest.mark.quick

IR = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @twice(ptr addrspace(1) %x, double %by) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %k = zext i32 %t to i64
  %at = getelementptr double, ptr addrspace(1) %x, i64 %k
  %v = load double, ptr addrspace(1) %at, align 8
  %w = fmul double %v, %by
  store double %w, ptr addrspace(1) %at, align 8
  ret void
}
"""


def kernel(**changes: Any) -> Kernel:
    """Eight numbers of an object, the first of which are indices; the others are doubled."""
    data = np.arange(16, dtype=np.float64).view(np.uint8)
    guard = Guard({}, (ObjectRef(128, ((0, 0),)),), (), (), (LoadGuard(0, 0, 8, 8, 8),))
    made = Kernel(
        "twice",
        "original",
        "sm_90",
        IR,
        False,
        (Parameter("base", "%x", "ptr", 0), Parameter("live", "%by", "double")),
        (Address(0, 64), 2.0),
        (KernelArray("x", data, 0),),
        1,
        8,
        0,
        None,
        Schedule(0, (), (), (), guard, "original"),
        considered=(Considered("swap", 256, 1024, None, 0, 0, "no index"),),
    )
    return replace(made, **changes)


def test_places_within_an_array_are_launched_with() -> None:
    run = kernel().run_cpu(strict=True, races=True)
    assert run.faults == () and run.report.threads == 8
    assert run.results[0].view("f8").tolist() == [*range(8), *range(16, 32, 2)]
    assert run.sums == {}


def test_a_block_too_large_is_found() -> None:
    run = kernel(threads=9).run_cpu(strict=True, races=True)
    assert {fault.kind for fault in run.faults} == {"out of bounds"}


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    for value in (2.0, float("inf"), -0.0, 1e-320):
        made = kernel(arguments=(Address(0, 64), value))
        found = load_kernel(save_kernel(made, tmp_path / "kernel.npz"))
        assert (found.ir, found.parameters, found.considered) == (made.ir, made.parameters, made.considered)
        assert found.arguments == made.arguments and np.array_equal(found.arrays[0].data, made.arrays[0].data)
        assert str(found.arguments[1]) == str(value)
        assert repr(found) == repr(made)


DAMAGE: dict[str, dict[str, Any]] = {
    "too few arguments": {"arguments": (2.0,)},
    "an array that is not there": {"arguments": (Address(1, 0), 2.0)},
    "no blocks": {"blocks": 0},
    "too many threads": {"threads": 1025},
    "less than no memory": {"shared_bytes": -1},
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_does_not_fit_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScheduleError):
        kernel(**DAMAGE[name]).verify()
    with pytest.raises(ArtefactError, match="not a valid kernel"):
        load_kernel(save_kernel(kernel(**DAMAGE[name]), tmp_path / "kernel.npz"))


def test_indices_of_the_program_are_guarded() -> None:
    memory = kernel().memory()
    memory[0][0] ^= 1
    with pytest.raises(ArgumentError, match="has other indices at byte 0"):
        kernel().run_cpu(memory)
    memory = kernel().memory()
    memory[0][64] ^= 1
    kernel().run_cpu(memory)
