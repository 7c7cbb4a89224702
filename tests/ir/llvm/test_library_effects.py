"""What is told of functions of libraries, where a program only declares them."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.call_effects import effect_of, read_through
from tracecut.ir.llvm.passes.library_effects import with_library_effects
from tracecut.ir.loops.nest import ObstacleKind
from tracecut.tracer.loops.program import Analysis
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


@pytest.mark.parametrize("name", ["j0", "exp10f", "ilogb", "div", "yn"])
def test_functions_of_numbers_reach_no_memory(name: str) -> None:
    text = f"define void @f() {{\n  %x = call double @{name}(double 1.0)\n  ret void\n}}\n"
    ((_, call), _) = parse_module(text).functions["@f"].instructions()
    assert effect_of(call).movable


@pytest.mark.parametrize(
    ("call", "written", "type"),
    [
        ("call void @sincos(double 1.0, ptr %a, ptr %b)", (1, 2), "double"),
        ("call void @sincosf(float 1.0, ptr %a, ptr %b)", (1, 2), "float"),
        ("call double @frexp(double 1.0, ptr %a)", (1,), "i32"),
        ("call float @modff(float 1.0, ptr %a)", (1,), "float"),
        ("call double @remquo(double 1.0, double 2.0, ptr %a)", (2,), "i32"),
        ("call double @lgamma_r(double 1.0, ptr %a)", (1,), "i32"),
    ],
)
def test_functions_with_several_results_store_them(call: str, written: tuple[int, ...], type: str) -> None:
    text = f"define void @f(ptr %a, ptr %b) {{\n  {'' if ' void ' in call else '%x = '}{call}\n  ret void\n}}\n"
    ((_, made), _) = parse_module(text).functions["@f"].instructions()
    effect = effect_of(made)
    assert not effect.movable and read_through(made, effect) == ()
    assert (effect.writes, effect.type) == (written, type)


@pytest.mark.parametrize(
    ("call", "read"),
    [
        ("call i32 (ptr, ptr, ...) @fprintf(ptr %f, ptr %a, ptr %b)", (1, 2)),
        ("call i32 @fputs(ptr %a, ptr %f)", (0,)),
        ("call i64 @fwrite(ptr %a, i64 8, i64 1, ptr %f)", (0, 1, 2)),
        ("call i32 (ptr, ...) @printf(ptr %a, ptr %b)", (0, 1)),
        ("call i32 @fflush(ptr %f)", ()),
        ("call i32 @rand()", ()),
        ("call ptr @getenv(ptr %a)", ()),
        ("call i32 @rand_r(ptr %a)", (0,)),
        ("call double @atof(ptr %a)", (0,)),
    ],
)
def test_what_output_reads_is_not_the_stream(call: str, read: tuple[int, ...]) -> None:
    text = f"define void @f(ptr %f, ptr %a, ptr %b) {{\n  %x = {call}\n  ret void\n}}\n"
    ((_, made), _) = parse_module(text).functions["@f"].instructions()
    effect = effect_of(made)
    assert effect.kind == "io" and read_through(made, effect) == read


@pytest.mark.parametrize(
    ("variable", "use", "accessed"),
    [
        ("external global ptr", "", False),
        ("global ptr null", "", True),
        ("external global ptr", "%in = load i32, ptr %to", True),
    ],
)
def test_a_standard_stream_is_none_of_the_programs_data(variable: str, use: str, accessed: bool) -> None:
    """But for a variable of that name that the program has itself, and for what a program does with it by itself."""
    text = f"""
@stderr = {variable}
define void @f(ptr %x, i64 %n) {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]
  %to = load ptr, ptr @stderr
  %said = call i32 @fputc(i32 65, ptr %to)
  {use}
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
declare i32 @fputc(i32, ptr)
"""
    nest = Analysis(parse_module(text)).nest(0)
    assert bool(nest.sites) == accessed
    assert [item.kind for item in nest.loops[0].obstacles] == [ObstacleKind.IO]
