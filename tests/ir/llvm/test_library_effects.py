"""What is told of functions of libraries, where a program only declares them."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.passes.library_effects import with_library_effects
from tracecut.tracer.toolchain.passes import parse

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("declare ptr @_Znwm(i64 noundef) local_unnamed_addr #0", "memory(inaccessiblemem: readwrite)"),
        ("declare void @_ZdlPvm(ptr noundef, i64) #0", "memory(argmem: readwrite, inaccessiblemem: readwrite)"),
        ("declare { double, double } @__muldc3(double, double, double, double) local_unnamed_addr", "memory(none)"),
        ("declare <2 x float> @__divsc3(float, float, float, float) #0", "memory(none)"),
        ("declare double @__muldc3x(double)", ""),
        ("define void @_ZdlPvm(ptr %p, i64 %n) {\n  ret void\n}", ""),
        ("declare void @g(ptr)", ""),
    ],
)
def test_what_is_told(line: str, told: str) -> None:
    text = f"{line}\nattributes #0 = {{ nounwind }}\n"
    found = with_library_effects(text)
    assert (told in found) if told else (found == text)
    parse(found)


@pytest.mark.parametrize("name", ["__muldc3", "__divsc3", "cexp", "cpowf"])
def test_complex_arithmetic_reaches_no_memory(name: str) -> None:
    text = f"define void @f() {{\n  %x = call double @{name}(double 1.0)\n  ret void\n}}\n"
    ((_, call), _) = parse_module(text).functions["@f"].instructions()
    assert effect_of(call).movable
