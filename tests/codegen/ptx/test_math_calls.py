"""Calls: lowered by the backend, taken from libdevice, or refused."""

from __future__ import annotations

import re
from importlib import metadata
from typing import Any

import numpy as np
import pytest
from llvmlite import binding
from tracecut.codegen.ptx.math_calls import LIBDEVICE, drop_markers, is_native, lower_calls
from tracecut.codegen.ptx.nvptx import find_libdevice
from tracecut.codegen.ptx.ptxas import assemble
from tracecut.ir.llvm import Block, Instruction
from tracecut.support.errors import UnsupportedError

from .ptx_support import HostKernel, arguments_of, run_range, subject

pytestmark = pytest.mark.quick

SOURCE = """
#include <math.h>
void doubles(long n, const double *x, double *y)
{
    for (long i = 0; i < n; i++) {
        double a = x[i], b = 1 + 0.25 * a * a;
        double s = sin(a) + cos(a) + tan(a) + exp(a) + exp2(a) + log(b) + log2(b) + log10(b) + pow(b, a) + hypot(a, b);
        s += atan2(a, b) + asin(a / 8) + acos(a / 8) + atan(a) + sinh(a) + cosh(a) + tanh(a) + cbrt(b) + erf(a);
        s += erfc(a) + expm1(a) + log1p(b) + fmod(17 * a, b) + remainder(17 * a, b) + tgamma(b) + lgamma(b);
        y[i] = s + fdim(a, b) + lround(a) + llrint(b);
    }
}
void floats(long n, const float *x, float *y)
{
    for (long i = 0; i < n; i++) {
        float a = x[i], b = 1 + 0.25f * a * a;
        float s = sinf(a) + cosf(a) + expf(a) + exp2f(a) + logf(b) + powf(b, a) + hypotf(a, b) + atan2f(a, b);
        y[i] = s + tanhf(a) + cbrtf(b) + erff(a) + fmodf(17 * a, b);
    }
}
void plain(long n, const double *x, double *y)
{
    for (long i = 0; i < n; i++) {
        double a = x[i];
        y[i] = sqrt(fabs(a)) + floor(a) + ceil(a) + trunc(a) + rint(a) + round(a) + copysign(2, a) + fmax(a, 1)
             + fmin(a, 2) + fma(a, a, 1) + a / 3 + (__builtin_popcountl((long)a) + __builtin_clzl((long)a | 1));
    }
}
"""


@pytest.mark.parametrize(("function", "dtype", "tolerance"), [("doubles", "f8", 1e-13), ("floats", "f4", 1e-5)])
def test_mathematical_functions_come_from_libdevice(function: str, dtype: str, tolerance: float) -> None:
    loop = subject(SOURCE, function)
    kernel = loop.emit(disjoint=loop.reads())
    names = re.findall(r"declare \w+ @__nv_(\w+)\(", kernel.llvm)
    assert {"doubles": 29, "floats": 12}[function] == len(names)
    assert all(name in kernel.remarks[0] for name in names) and "libdevice" in kernel.remarks[0]
    assert not re.search(r"\.extern|__nv_|__nvvm_reflect|\b(add|mul|fma)\.\w+\.ftz", kernel.ptx)
    assert assemble(kernel.ptx).registers > 0

    x = np.linspace(-3, 3, 50).astype(dtype)
    expected, result = np.zeros(50, dtype), np.zeros(50, dtype)
    run_range(loop, 50, {"n": 50, "x": x, "y": expected})
    HostKernel(kernel).launch(arguments_of(loop, kernel, 50, {"n": 50, "x": x, "y": result}), 50)
    np.testing.assert_allclose(result, expected, rtol=tolerance)


def test_what_the_hardware_has_needs_no_library() -> None:
    kernel = subject(SOURCE, "plain").emit()
    assert "__nv_" not in kernel.llvm and "nvvm-reflect" not in kernel.llvm
    assert not re.search(r"approx|div\.full|\.ftz", kernel.ptx)
    assert "sqrt.rn.f64" in kernel.ptx and "fma.rn.f64" in kernel.ptx and "div.rn.f64" in kernel.ptx


def test_every_name_of_the_table_is_in_libdevice() -> None:
    module = binding.parse_bitcode(find_libdevice().read_bytes())
    assert set(LIBDEVICE.values()) <= {function.name for function in module.functions if not function.is_declaration}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "%r = tail call nnan double @llvm.sin.f64(double noundef %x) #7",
            "%r = call nnan double @__nv_sin(double noundef %x)",
        ),
        ("%r = call float @llvm.powi.f32.i32(float %x, i32 3)", "%r = call float @__nv_powif(float %x, i32 3)"),
        ("%r = call i64 @llvm.lround.i64.f64(double %x)", "%r = call i64 @__nv_llround(double %x)"),
        ("%r = call i64 @lrintf(float %x)", "%r = call i64 @__nv_llrintf(float %x)"),
        ("%r = call double @exp10(double %x)", "%r = call double @__nv_exp10(double %x)"),
        ("%r = frem fast float %x, 3.0", "%r = call float @__nv_fmodf(float %x, float 3.0)"),
        ("%r = tail call double @llvm.sqrt.f64(double %x)", "%r = call double @llvm.sqrt.f64(double %x)"),
        ("call void @llvm.lifetime.start.p0(ptr %x)", None),
        ('call void @llvm.assume(i1 %x) [ "align"(ptr %y, i64 16) ]', None),
    ],
)
def test_lowering_of_a_call(line: str, expected: str | None) -> None:
    block = Block("b", [Instruction(line)])
    drop_markers([block])
    lower_calls([block])
    assert [made.text for made in block.instructions] == ([expected] if expected else [])


@pytest.mark.parametrize(
    "line",
    [
        "%r = call double @frobnicate(double %x)",
        "%r = call <2 x double> @llvm.sin.v2f64(<2 x double> %x)",
        "%r = call half @llvm.exp.f16(half %x)",
        "%r = call fp128 @llvm.sqrt.f128(fp128 %x)",
        "%r = call double @llvm.powi.f64.i64(double %x, i64 %n)",
        "%r = call i32 @llvm.lround.i32.f64(double %x)",
        "%r = call { double, double } @llvm.sincos.f64(double %x)",
        "%r = call i32 @isdigit(i32 %x)",
        "%r = call i128 @llvm.smax.i128(i128 %x, i128 %y)",
        "call void @llvm.masked.store.v4f64.p0(<4 x double> %x, ptr %p, i32 8, <4 x i1> %m)",
        "%r = frem half %x, %y",
    ],
)
def test_what_the_device_can_not_do_is_refused(line: str) -> None:
    with pytest.raises(UnsupportedError, match=r"which (a GPU kernel cannot do|libdevice does not have)"):
        lower_calls([Block("b", [Instruction(line)])])


def test_intrinsics_that_kill_the_backend_are_not_native() -> None:
    for name in (
        "sin.f32",
        "exp.f32",
        "exp.f64",
        "pow.f64",
        "exp2.f64",
        "exp2.f32",
        "tanh.f32",
        "lround.i64.f64",
        "frob",
    ):
        assert not is_native(f"llvm.{name}")


def test_without_the_wheel_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", missing)
    with pytest.raises(UnsupportedError, match="pip install nvidia-nvvm"):
        subject(SOURCE, "floats").emit()
