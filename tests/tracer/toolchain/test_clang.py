"""Front ends: compiler options, diagnostics, the canonical form."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.relative_tables import plain_relative_loads
from tracecut.support.errors import SourceError, UsageError
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import OPENMP_NOTE, Flags, parse_flags, to_ir
from tracecut.tracer.toolchain.inlining import mark_inline
from tracecut.tracer.toolchain.passes import canonical, emit_object, loosened, parse

from ...waiting import HUNG

# ---- options --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sources", "expected"),
    [
        (["a.c", "b.i", "c.ll", "d.bc"], ["a.c", "b.i", "c.ll", "d.bc"], Flags()),
        (["-I", "inc", "-Iother", "a.c"], ["a.c"], Flags(("-I", "inc", "-Iother"))),
        (["-D", "N=3", "-DM", "-U", "X", "a.c"], ["a.c"], Flags(("-D", "N=3", "-DM", "-U", "X"))),
        (["-std=c17", "-O3", "-Wall", "-pthread", "a.c"], ["a.c"], Flags(("-std=c17", "-O3", "-Wall", "-pthread"))),
        (["a.c", "-lm", "-l", "z", "-L/x", "-L", "y"], ["a.c"], Flags((), ("/x", "y"), ("m", "z"))),
        (["-include", "pre.h", "-isystem", "/inc", "a.c"], ["a.c"], Flags(("-include", "pre.h", "-isystem", "/inc"))),
        (
            ["a.c", "b.o", "libz.a", "libx.so", "liby.so.1.2"],
            ["a.c"],
            Flags(objects=("b.o", "libz.a", "libx.so", "liby.so.1.2")),
        ),
        (["-I", "a.c", "b.c"], ["b.c"], Flags(("-I", "a.c"))),  # the value of an option is no source
    ],
    ids=str,
)
def test_a_command_line_is_sorted(words: list[str], sources: list[str], expected: Flags) -> None:
    assert parse_flags(words) == (sources, expected)


@pytest.mark.parametrize(
    ("flags", "level"), [((), "-O2"), (("-O3",), "-O3"), (("-O3", "-DX", "-O0"), "-O0"), (("-Os",), "-Os")]
)
def test_the_last_level_wins(flags: tuple[str, ...], level: str) -> None:
    assert Flags(flags).optimisation == level


@pytest.mark.parametrize("word", ["-shared", "-pg", "-m32", "-mx32", "-stdlib=libc++"])
def test_options_that_make_no_sense_here(word: str) -> None:
    with pytest.raises(UsageError, match=f"compiler option {re.escape(word)}: "):
        parse_flags([word, "a.c"])


@pytest.mark.parametrize("word", ["-I", "-D", "-l", "-L", "-include", "-o", "-MF", "-x"])
def test_options_without_their_value(word: str) -> None:
    with pytest.raises(UsageError, match=f"compiler option {word} needs a value"):
        parse_flags(["a.c", word])


@pytest.mark.parametrize("word", ["a.cs", "a.f90", "program", "a.c.txt", ""])
def test_files_of_another_kind(word: str) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        parse_flags([word])


def test_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="a folder, a source file was expected"):
        parse_flags([str(tmp_path)])


# ---- C --------------------------------------------------------------------------------------------------------


def compiled(text: str, folder: Path, *flags: str, canonical: bool = True) -> str:
    path = folder / "source.c"
    path.write_text(text)
    return to_ir(path, Flags(flags), folder, canonical=canonical)


def test_options_reach_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "here.h").write_text("#define HERE 41\n")
    text = '#include "here.h"\nint main(void) { return HERE + MORE; }'
    found = compiled(text, tmp_path, "-I", str(tmp_path / "inc"), "-DMORE=1")
    assert "ret i32 42" in found
    with pytest.raises(SourceError, match="does not compile"):
        compiled(text, tmp_path, "-DMORE=1")


def test_a_language_standard_is_kept(tmp_path: Path) -> None:
    text = "int main(void) { for (int auto_ = 0; auto_ < 1; auto_++) ; nullptr_t x = nullptr; return x == 0; }"
    with pytest.raises(SourceError, match="use of undeclared identifier 'nullptr_t'"):
        compiled(text, tmp_path, "-std=c11")


def test_the_diagnostic_is_the_compilers_own(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        compiled("int main(void) {\n  return nowhere + 1;\n}", tmp_path)
    assert caught.value.message == f"{tmp_path / 'source.c'} does not compile"
    assert "source.c:2:10: error: use of undeclared identifier 'nowhere'" in caught.value.detail


def test_a_quoted_line_is_cut(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        compiled("int main(void) { return " + "1 + " * 999 + "nowhere; }", tmp_path)
    lines = caught.value.detail.splitlines()
    assert "'nowhere'" in lines[0] and 100 < max(map(len, lines)) <= 200


def test_a_flood_of_diagnostics_is_cut(tmp_path: Path) -> None:
    text = "int main(void) {\n" + "".join(f"  x{i} = 1;\n" for i in range(19)) + "}"
    with pytest.raises(SourceError) as caught:
        compiled(text, tmp_path)
    lines = caught.value.detail.splitlines()
    assert len(lines) == 31 and re.fullmatch(r"… \d+ more lines", lines[-1])


def test_the_remark_that_the_driver_always_makes_is_no_error(tmp_path: Path) -> None:
    assert "ret i32 0" in compiled("int main(void) { return 0; }", tmp_path, "-Wall", "-Wextra", "-Werror")
    with pytest.raises(SourceError) as caught:
        compiled("int main(void) { int unused = 0; return 0; }", tmp_path, "-Wall", "-Werror")
    assert "unused variable 'unused'" in caught.value.detail and "argument unused" not in caught.value.detail


@pytest.mark.parametrize(("flags", "kept"), [((), True), (("-DNDEBUG",), False), (("-DNDEBUG", "-UNDEBUG"), True)])
def test_assertions_stay_unless_the_user_removes_them(flags: tuple[str, ...], kept: bool, tmp_path: Path) -> None:
    text = "#include <assert.h>\nint main(int n, char **words) { (void)words; assert(n == 1); return 0; }"
    for canonical_form in (True, False):
        assert ("@__assert_fail(" in compiled(text, tmp_path, *flags, canonical=canonical_form)) is kept


def test_loops_that_openmp_makes_vectors_of_stay_whole(tmp_path: Path) -> None:
    text = """void run(int n, double *restrict y, const double *x, const int *at) {
        #pragma omp simd
        for (int i = 0; i < n; i++) y[i] = x[at[i]] + x[i];
    }"""
    flags = ("-O3", "-fopenmp-simd", "-Wall", "-Werror")
    assert "<2 x double>" in compiled(text, tmp_path, *flags, canonical=False)
    assert "<2 x double>" not in compiled(text, tmp_path, *flags, canonical=True)


def test_the_form_of_the_seed_keeps_every_variable_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "source.c"
    path.write_text("int square(int n) { int m = n; return m * n; }\nint main(void) { return square(0); }")
    text = to_ir(path, Flags(("-O3",)), tmp_path, canonical=True, opt="seed")
    assert text.count(" alloca i32") >= 3 and "optnone" not in text and "ubsan" not in text
    assert "alloca" not in to_ir(path, Flags(("-O0",)), tmp_path, canonical=True)
    with pytest.raises(UsageError, match="--opt O2: O1 or seed expected"):
        to_ir(path, Flags(), tmp_path, canonical=True, opt="O2")


OPENMP = r"""
#include <omp.h>
#include <stdio.h>
int main(void) {
    double sum = 0, start = omp_get_wtime();
    omp_lock_t lock;
    omp_init_lock(&lock);
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) { omp_set_lock(&lock); sum += i; omp_unset_lock(&lock); }
    printf("%g %d %d %d\n", sum, omp_get_max_threads(), omp_get_thread_num(), omp_get_wtime() >= start);
    return 0;
}
"""


@pytest.mark.parametrize("suffix", [".c", ".cpp"])
def test_openmp_is_serialised_and_that_is_stated(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"program{suffix}"
    path.write_text(OPENMP)
    sources, flags = parse_flags([str(path), "-fopenmp", "-Wall", "-Werror"])
    assert flags.openmp and flags.notes == (OPENMP_NOTE,) and "-fopenmp" not in flags.compile
    text = to_ir(Path(sources[0]), flags, tmp_path, canonical=True)
    assert "__kmpc" not in text
    program = executable([emit_object(text, optimise=False)], flags, tmp_path / "program")
    done = subprocess.run([program], capture_output=True, text=True, timeout=HUNG)
    assert done.stdout == "4950 1 0 1\n"


@pytest.mark.parametrize("suffix", [".c", ".cpp"])
def test_without_openmp_its_functions_are_those_of_a_library(suffix: str, tmp_path: Path) -> None:
    """GCC finds the header without `-fopenmp`, too; what a program calls of it is linked by itself."""
    path = tmp_path / f"program{suffix}"
    path.write_text(OPENMP)
    sources, flags = parse_flags([str(path), "-Wall"])
    text = to_ir(Path(sources[0]), flags, tmp_path, canonical=True)
    for name in ("i32 @omp_get_max_threads", "double @omp_get_wtime", "void @omp_set_lock"):
        assert re.search(rf"declare .*{name}\(", text)


@pytest.mark.parametrize("standard", ["c89", "c99", "gnu99", "gnu17"])
def test_openmp_needs_no_more_than_the_standard_that_the_program_is_in(standard: str, tmp_path: Path) -> None:
    """Strict ones have neither `inline` nor struct timespec; a program may use names of <time.h> as its own."""
    path = tmp_path / "program.c"
    path.write_text(
        "#include <omp.h>\n"
        + ("#include <time.h>\n" if standard == "gnu17" else "struct timespec { int mine; };\n")
        + "int main(void) { double start = omp_get_wtime(); return omp_get_wtime() < start || start <= 0.0; }\n"
    )
    sources, flags = parse_flags([str(path), "-fopenmp", f"-std={standard}", "-Wall", "-Werror"])
    text = to_ir(Path(sources[0]), flags, tmp_path, canonical=True)
    program = executable([emit_object(text, optimise=False)], flags, tmp_path / "program")
    assert subprocess.run([program], timeout=HUNG).returncode == 0


def test_without_the_option_nothing_is_said_of_openmp() -> None:
    assert parse_flags(["a.c"])[1] == Flags()
    assert parse_flags(["a.c", "-fopenmp", "-fno-openmp"])[1].notes == ()
    assert parse_flags(["a.c", "-fopenmp=libomp"])[1].notes == (OPENMP_NOTE,)


def test_missing_sources_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.c: no such file"):
        to_ir(tmp_path / "gone.c", Flags(), tmp_path, canonical=True)
    (tmp_path / "folder.c").mkdir()
    with pytest.raises(SourceError, match=r"folder\.c: not a file"):
        to_ir(tmp_path / "folder.c", Flags(), tmp_path, canonical=True)


def test_odd_file_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-o.c", "a b.c", 'q"uote.c', "ümlaut.c", "@args.c"):
        Path(name).write_text("int main(void) { return 7; }")
        assert "ret i32 7" in to_ir(Path(name), Flags(), tmp_path, canonical=True)


def test_the_canonical_form_does_not_depend_on_the_machine(tmp_path: Path) -> None:
    found = compiled("int main(int c, char **v) { return c * 3 + !v; }", tmp_path, "-O0", "-funroll-loops")
    assert "optnone" not in found and "+avx" not in found


# ---- the canonical form ---------------------------------------------------------------------------------------

CALLS = """
static int called(int x) { return x > 3 ? x * 2 : x + 1; }
__attribute__((noinline)) int stubborn(int x) { return x * 7; }
int recursive(int x) { return x > 0 ? recursive(x - 1) * recursive(x - 2) + 1 : 1; }
int main(int argc, char **argv)
{
    int s = 0;
    for (int i = 0; i < argc * 10; i++) s += called(i) ^ stubborn(i) ^ recursive(i);
    switch (s) { case 1: s = 5; break; case 2: s = 9; break; case 7: s = 1; break; case 70: s = 11; break; }
    return s + !argv;
}
"""


def test_loops_see_what_they_call(tmp_path: Path) -> None:
    module = canonical([compiled(CALLS, tmp_path)])
    main = module.functions["@main"]
    calls = [
        found.word for _, found in main.instructions() if found.op == "call" and not found.word.startswith("@llvm")
    ]
    assert calls == ["@recursive"]
    assert not any(found.op == "switch" for _, found in main.instructions())


def test_what_the_compiler_has_cleaned_up_stays_where_nothing_is_inlined(tmp_path: Path) -> None:
    other = compiled("int twice(int x) { return 2 * x; } int thrice(int x) { return 3 * x; }", tmp_path)
    text = """
int twice(int x), thrice(int x);
int once(int x) { return twice(x) + 1; }
int main(int argc, char **argv)
{
    int s = 0;
    for (int i = 0; i < argc; i++) s ^= thrice(5 * i);
    return once(s) + !argv;
}
"""
    module = canonical([compiled(text, tmp_path), other], optimised=True)
    calls = {
        name: [call.word for _, call in function.instructions() if call.word in module.functions]
        for name, function in module.functions.items()
    }
    # What no loop calls is called as before, also where LLVM's own limits would let it go in.
    assert calls["@once"] == calls["@main"] == ["@twice"]
    whole = canonical([compiled(text, tmp_path), other])
    assert not any(found.word == "@twice" for _, found in whole.functions["@main"].instructions())
    # Where something was inlined, the two products that came together are one.
    assert sum(found.op == "mul" for _, found in module.functions["@main"].instructions()) == 1


def test_every_value_has_a_name_and_every_loop_its_shape(tmp_path: Path) -> None:
    analysis = Analysis(canonical([compiled(CALLS, tmp_path)]))
    assert any(view.loops for view in analysis.views.values())
    for view in analysis.views.values():
        for _, instruction in view.function.instructions():
            assert instruction.result is None or not instruction.result[1:].isdigit()
        for loop in view.loops.values():
            assert loop.preheader is not None and len(loop.latches) == 1
            for _, outside in loop.exits:  # exits of its own
                assert all(pred in loop.blocks for pred in view.flow.predecessors[outside])


def test_modules_are_linked(tmp_path: Path) -> None:
    first = compiled("int other(int); int main(int c, char **v) { return other(c) + !v; }", tmp_path)
    second = compiled("static int hidden(int x) { return x + 2; } int other(int x) { return hidden(x) * x; }", tmp_path)
    module = canonical([first, second])
    assert {"@main", "@other"} <= set(module.functions)
    assert "@other" not in module.declarations


def test_effects_that_instrumentation_would_make_untrue_are_stripped() -> None:
    text = str(
        parse(
            "declare double @sqrt(double) #1\n"
            "define i32 @own(ptr readonly captures(none) %p) #0 {\n  %v = load i32, ptr %p\n  ret i32 %v\n}\n"
            "define i32 @main(ptr %p) #0 {\n  %v = tail call i32 @own(ptr readonly %p) #1\n"
            "  %s = call double @sqrt(double 2.0) #1\n  ret i32 %v\n}\n"
            'attributes #0 = { nounwind memory(argmem: read) norecurse noreturn "a"="readonly memory(none)" }\n'
            "attributes #1 = { nounwind willreturn memory(none) }\n"
        )
    )
    module = loosened(parse_module(text))
    parse(str(module))
    groups = module.attribute_groups()
    own = module.functions["@own"]
    words = " ".join(groups[group] for group in own.attribute_groups)
    assert "nounwind" in words and '"a"="readonly memory(none)"' in words
    assert "memory(argmem" not in words and "norecurse" not in words and "noreturn" not in words
    assert "readonly" not in own.header and "captures" not in own.header
    calls = {found.word: found for _, found in module.functions["@main"].instructions() if found.op == "call"}
    assert "tail" not in calls["@own"].text and "readonly" not in calls["@own"].text
    attached = re.findall(r"#\d+", calls["@own"].text)
    assert attached and not any("memory" in groups[group] or "willreturn" in groups[group] for group in attached)
    library = re.findall(r"#\d+", calls["@sqrt"].text)
    assert library and all("memory(none)" in groups[group] for group in library)


def test_what_must_not_be_inlined_stays() -> None:
    text = """
declare void @llvm.va_start(ptr)
declare i32 @setjmp(ptr) #0
define internal void @variable(i32 %n, ...) { ret void }
define internal void @twice(ptr %p) #0 { ret void }
define internal void @plain(i32 %n) unnamed_addr #1 { ret void }
define void @main(i1 %c) {
entry:
  br label %loop
loop:
  call void (i32, ...) @variable(i32 1)
  call void @twice(ptr null)
  call void @plain(i32 1)
  br i1 %c, label %loop, label %end
end:
  ret void
}
attributes #0 = { returns_twice }
attributes #1 = { noinline }
"""
    module = mark_inline(parse_module(str(parse(text))))
    parse(str(module))
    wanted = [name for name, function in module.functions.items() if "alwaysinline" in function.header]
    assert wanted == ["@plain"]
    groups = module.attribute_groups()
    assert not any("noinline" in groups[group] for group in module.functions["@plain"].attribute_groups)


def test_tables_of_distances_become_plain_loads() -> None:
    """A switch over strings in position-independent code: Lua has one."""
    text = """@table = private unnamed_addr constant [1 x i32] [i32 8]
define ptr @f(i64 %k) {
  %offset = shl i64 %k, 2
  %"x y" = call ptr @llvm.load.relative.i64(ptr @table, i64 %offset)
  ret ptr %"x y"
}
declare ptr @llvm.load.relative.i64(ptr, i64)
"""
    module = plain_relative_loads(parse_module(text))
    parse(str(module))
    assert [item.op for _, item in module.functions["@f"].instructions()] == [
        *("shl", "getelementptr", "load", "sext", "getelementptr", "ret")
    ]
