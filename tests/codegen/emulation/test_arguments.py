"""What a launch does not take: each with the name of the argument and what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracecut.codegen.emulation.run_kernel import run_kernel
from tracecut.support.errors import ArgumentError, UnsupportedError

from .kernels import BARRIER, kernel

TEXT = kernel(
    "i32 %n, float %by, ptr addrspace(1) noalias readonly %in, ptr addrspace(1) %out, i64 %far, i8 %flag, double %add",
    """
entry:
  {numbers}
  %n64 = sext i32 %n to i64
  %inside = icmp slt i64 %i, %n64
  br i1 %inside, label %run, label %exit
run:
  %at = getelementptr float, ptr addrspace(1) %in, i64 %i
  %v = load float, ptr addrspace(1) %at, align 4
  %w = fmul float %v, %by
  %d = fpext float %w to double
  %e = fadd double %d, %add
  %f = sitofp i64 %far to double
  %g = fadd double %e, %f
  %h = uitofp i8 %flag to double
  %r = fadd double %g, %h
  %o = getelementptr double, ptr addrspace(1) %out, i64 %i
  store double %r, ptr addrspace(1) %o, align 8
  br label %exit
exit:
  ret void
""",
)


def arguments(**changed: Any) -> list[Any]:
    given = {
        "n": 6,
        "by": 0.5,
        "in": np.arange(6, dtype=np.float32),
        "out": np.zeros(6),
        "far": -(2**40),
        "flag": 255,
        "add": 1e300,
    }
    assert set(changed) <= set(given)
    return list({**given, **changed}.values())


def launch(given: list[Any], grid: Any = 2, block: Any = 4, shared: int = 0, **how: Any) -> None:
    run_kernel(TEXT, "k", given, grid, block, shared, **how)


def test_every_type_arrives() -> None:
    for how in ({}, {"mode": "strict"}):
        out = np.zeros(6)
        launch(arguments(out=out, add=0.25, n=np.int64(6), by=np.float32(0.5)), **how)
        assert (out == np.arange(6) * 0.5 + 0.25 - 2**40 + 255).all()
    out = np.zeros(6)
    launch(arguments(out=out, flag=True, far=0, add=3), grid=(1, 1), block=[6])
    assert (out == np.arange(6) * 0.5 + 4).all()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"n": 1.5}, r"arguments\[0\] \(%n\) is 1.5, an integer was expected \(i32\)"),
    ({"n": 2**32}, r"arguments\[0\] \(%n\) is 4294967296, which i32 cannot hold"),
    ({"n": -(2**31) - 1}, "which i32 cannot hold"),
    ({"n": "6"}, r"arguments\[0\] \(%n\) is '6', an integer was expected"),
    ({"by": "x"}, r"arguments\[1\] \(%by\) is 'x', a number was expected \(float32\)"),
    ({"by": 1e300}, r"arguments\[1\] \(%by\) is 1e\+300, which float32 cannot hold"),
    ({"by": np.zeros(2)}, "a number was expected"),
    ({"in": [1.0, 2.0]}, r"arguments\[2\] \(%in\) is list, a NumPy array was expected"),
    ({"in": np.zeros(6)}, r"arguments\[2\] \(%in\) has dtype float64, float32 was expected"),
    ({"in": np.zeros(6, np.int32)}, r"arguments\[2\] \(%in\) has dtype int32, float32 was expected"),
    ({"out": np.zeros(6, np.float32)}, r"arguments\[3\] \(%out\) has dtype float32, float64 was expected"),
    ({"in": np.zeros(12, np.float32)[::2]}, r"arguments\[2\] \(%in\) is not contiguous"),
    ({"in": np.zeros(6, ">f4")}, r"arguments\[2\] \(%in\) has dtype >f4 of another byte order"),
    ({"flag": 256}, "which i8 cannot hold"),
]


@pytest.mark.parametrize(("changed", "said"), BAD)
def test_bad_arguments(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        launch(arguments(**changed))


def test_arrays_that_must_not_be_written() -> None:
    frozen = np.zeros(6)
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match=r"arguments\[3\] \(%out\) is read-only, and the kernel k writes to it"):
        launch(arguments(out=frozen))
    readable = np.arange(6, dtype=np.float32)
    readable.flags.writeable = False
    launch(arguments(**{"in": readable}))


def test_arrays_that_must_lie_apart() -> None:
    memory = np.zeros(48, np.uint8)
    with pytest.raises(ArgumentError, match=r"arguments\[2\] \(%in\) and arguments\[3\] \(%out\) overlap"):
        launch(arguments(**{"in": memory[:24].view(np.float32), "out": memory.view(np.float64)}))


def test_arrays_that_are_misaligned() -> None:
    memory = np.zeros(60, np.uint8)
    odd = memory[(-memory.ctypes.data) % 8 + 2 :][:24]
    with pytest.raises(ArgumentError, match=r"arguments\[2\] \(%in\) lies at an address that is no multiple of 4"):
        launch(arguments(**{"in": odd}))


def test_bytes_and_records_can_be_anything() -> None:
    out = np.zeros(48, np.uint8)
    given = np.arange(6, dtype=np.float32).view([("x", np.float32)])
    launch(arguments(**{"in": given, "out": out, "far": 0, "flag": 0, "add": 0}))
    assert (out.view(np.float64) == np.arange(6) * 0.5).all()


def test_extents() -> None:
    launch(arguments(), extents={2: 24, 3: 48})
    with pytest.raises(ArgumentError, match=r"arguments\[3\] \(%out\) has 48 bytes, 56 were expected"):
        launch(arguments(), extents={3: 56})
    with pytest.raises(ArgumentError, match="extents names parameter 0 of k, which is no pointer"):
        launch(arguments(), extents={0: 4})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"grid": -1}, r"grid.x is -1, 0 to 2147483647 were expected"),
        ({"grid": 2**31}, r"grid.x is 2147483648, 0 to 2147483647"),
        ({"grid": (1, 65536)}, r"grid.y is 65536, 0 to 65535"),
        ({"grid": (1, 1, 1, 1)}, "grid has 4 sizes"),
        ({"grid": 1.5}, "grid is 1.5"),
        ({"block": 0}, r"block.x is 0, 1 to 1024 were expected"),
        ({"block": 2000}, r"block.x is 2000, 1 to 1024"),
        ({"block": (64, 32)}, "block has 2048 threads, at most 1024"),
        ({"block": (1, 1, 65)}, r"block.z is 65, 1 to 64"),
        ({"block": 1.5}, "block is 1.5, one to three integers were expected"),
        ({"block": (4, "x")}, "block is "),
        ({"shared": -1}, "shared_bytes is -1, a whole number from 0 to 232448"),
        ({"shared": 227 * 1024 + 1}, "shared_bytes is 232449, a whole number from 0 to 232448"),
        ({"shared": 0.5}, "shared_bytes is 0.5"),
        ({"mode": "fast"}, "mode is 'fast'"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": 2, "mode": "strict"}, "workers is 2, more than 1 needs mode='phases'"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"patience": 0}, "patience is 0"),
        ({"blocks": 3}, "blocks is 3, a range of the 2 blocks"),
        ({"blocks": range(1, 3)}, r"blocks is range\(1, 3\), a range of the 2 blocks"),
        ({"blocks": range(0, 2, 2)}, "with step 1"),
    ],
)
def test_bad_launches(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        launch(arguments(), **options)


def test_the_number_of_arguments() -> None:
    with pytest.raises(ArgumentError, match="arguments has 6 entries, k has 7 parameters"):
        launch(arguments()[:-1])


@pytest.mark.parametrize("block", [1, 1024, (1024, 1, 1), (4, 4, 64)])
def test_the_largest_and_smallest_launches(block: Any) -> None:
    launch(arguments(n=0), grid=0, block=block, shared=227 * 1024)
    launch(arguments(n=6), grid=(1, 1, 1), block=block, shared=227 * 1024)
    launch(arguments(n=6), grid=np.int64(1), block=np.int32(16))


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("not IR", "k", "kernel_text is not valid LLVM IR"),
        (TEXT[: len(TEXT) // 2], "k", "kernel_text is not valid LLVM IR"),
        (TEXT, "other", "kernel_text has no kernel other"),
        (TEXT.replace("ptx_kernel ", ""), "k", "k of kernel_text is a device function"),
        (TEXT.replace("%inside", "%emu.t"), "k", "names that begin with emu."),
    ],
)
def test_bad_texts(text: str, name: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        run_kernel(text, name, arguments(), 1, 1)


@pytest.mark.parametrize(
    ("body", "declared", "said"),
    [
        ("%c = call i32 @llvm.nvvm.read.ptx.sreg.clock()", "declare i32 @llvm.nvvm.read.ptx.sreg.clock()", "clock"),
        ("%c = call i32 @stranger(i32 1)", "declare i32 @stranger(i32)", "this CPU has no stranger"),
        ("%c = call float @__nv_fast_sinf(float 1.0)", "declare float @__nv_fast_sinf(float)", "__nv_fast_sinf"),
        ('call void asm sideeffect "exit;", ""()', "", "asm"),
        ("call void @llvm.trap()\n  unreachable\nz:", "declare void @llvm.trap()", "llvm.trap"),
        (
            "call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 0, i32 32)",
            "declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)",
            "barrier.cta.sync.aligned.count",
        ),
        (
            f"%a = alloca i32, i32 %n\n  {BARRIER}\n  store i32 1, ptr %a",
            "",
            "a private array of k has a computed size",
        ),
    ],
)
def test_what_has_no_counterpart_here(body: str, declared: str, said: str) -> None:
    text = kernel("i32 %n", f"entry:\n  {body}\n  ret void", declared)
    with pytest.raises(UnsupportedError, match=said):
        run_kernel(text, "k", [1], 1, 1)


def test_parameters_that_are_copies_of_memory() -> None:
    text = kernel("ptr byval(i64) %n", "  ret void")
    with pytest.raises(UnsupportedError, match="byval"):
        run_kernel(text, "k", [np.zeros(1)], 1, 1)


def test_a_function_that_calls_itself() -> None:
    text = kernel(
        "i32 %n",
        "  %r = call i32 @again(i32 %n)\n  ret void",
        "define internal i32 @again(i32 %n) {\n  %r = call i32 @again(i32 %n)\n  ret i32 %r\n}\n",
    )
    with pytest.raises(UnsupportedError, match="calls @again, which cannot be inlined"):
        run_kernel(text, "k", [1], 1, 1)
