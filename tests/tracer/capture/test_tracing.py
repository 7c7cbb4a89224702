"""The traced run: it behaves as the native one, counts every loop, and captures what was asked for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tracecut.ir.llvm import parse_module
from tracecut.tracer.capture.instrument import global_objects, hook_values, set_apart, traced_module
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.loops.exits import counted_blocks
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain import clang
from tracecut.tracer.toolchain.find_compilers import Compiler
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import parse

from tracecut.pipeline.stages.capture import Traced, hooked_loops, trace_program
from tracecut.pipeline.stages.compile import compile_program
from tracecut.pipeline.stages.settings import Settings

from ...codegen.harness import Program, trace
from ...waiting import HUNG

SOURCE = Path(__file__).parents[1] / "programs" / "counts.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("counts")
    words = folder / "words"
    words.write_text("five words\nto be\tread\n")
    return trace(SOURCE.read_text(), folder, ["12"], stdin=words, min_jobs=20)


def again(program: Program, folder: Path, *argv: str, **options: int) -> Traced | str:
    """Trace the same program once more."""
    settings = replace(program.settings, argv=tuple(argv), **options)
    return trace_program(settings, program.compiled.analysis, program.compiled.native, folder)


def by_hand(text: str) -> dict[str, int]:
    found = [line[1:].split() for line in text.splitlines() if line.startswith("#")]
    return {name: int(count) for name, count in found}


def test_every_iteration_of_every_loop_is_counted(program: Program) -> None:
    counted = by_hand(program.traced.finished.stdout.read_text())
    late = 9  # it runs after the counts are printed
    expected = {**counted, "late": late}
    assert expected["triangle"] == 66 and expected["read"] == 5 and expected["never"] == 0
    for mark in program.lines:
        ran = program.traced.profile.iterations[program.loop(mark)]
        # A loop that is tested at its head gets there once more than it has iterations.
        assert ran - expected[mark] in ((0, 1) if mark in ("read", "broken") else (0,)), mark


def test_it_prints_what_the_native_program_prints(program: Program) -> None:
    words = program.folder / "words"
    from tracecut.support.process.runner import Limits, run

    native = run([program.compiled.native, "12"], stdin=words, folder=program.folder, name="alone", limits=Limits(HUNG))
    traced = program.traced.finished
    assert native.returncode == traced.returncode == 0
    assert traced.stdout.read_bytes() == native.stdout.read_bytes()
    assert traced.stderr.read_bytes() == native.stderr.read_bytes()
    assert b"late 9" in native.stdout.read_bytes()


@pytest.mark.parametrize(
    ("argument", "how"),
    [
        ("3", "ended with status 3, the original with 0: "),
        ("255", "ended with status 255, the original with 0: "),
        ("abort", "SIGABRT"),
    ],
)
def test_it_ends_as_the_native_program_ends(program: Program, tmp_path: Path, argument: str, how: str) -> None:
    found = again(program, tmp_path, "5", argument)
    assert isinstance(found, str)
    assert how in found


def test_entries_and_captures(program: Program) -> None:
    """An entry with too few iterations is not captured; a later one is, and again when it is four times larger."""
    loop = program.loop("some")
    profile = program.traced.profile
    assert profile.entries[loop] == 10
    assert profile.notes == ()
    capture = program.capture(loop)
    assert capture.loop == loop
    assert capture.entry == 8  # of 5, 5, 5, 50, 50, 50, 50, 400: looked at are entries 1, 2, 4 and 8


def test_the_memory_before_and_after(program: Program) -> None:
    """A capture holds memory as the loop found it; the file beside it, as the loop left it."""
    loop = program.loop("some")
    before = program.capture(loop)
    after = Capture.load(program.traced.profile.captures[loop].parent / f"after-{loop}.npz")
    changed = {
        base: (before.memory.contents[base].view(np.int64), data.view(np.int64))
        for base, data in after.memory.contents.items()
        if not np.array_equal(data, before.memory.contents[base])
    }
    ((first, last),) = changed.values()
    expected = first.tolist()
    for i in range(400):
        expected[399 - i] = expected[i] + 400
    assert last.tolist() == expected
    assert (after.entry, after.values) == (before.entry, {})


def test_a_first_entry_that_is_asked_for(program: Program, tmp_path: Path) -> None:
    found = again(program, tmp_path, "5", first_entry=5, min_jobs=1)
    assert isinstance(found, Traced)
    loop = program.loop("some")
    assert Capture.load(found.profile.captures[loop]).entry == 8


def test_more_memory_than_may_be_kept_is_refused(program: Program, tmp_path: Path) -> None:
    found = again(program, tmp_path, "5", byte_limit=100, min_jobs=1)
    assert isinstance(found, Traced)
    loop = program.loop("some")
    assert loop not in found.profile.captures
    why = found.profile.refused[loop]
    assert re.search(r"would copy \d\.\d+ KiB of memory that it touches, 100 bytes are allowed \(a part of", why)


# ---- the instrumented module ----------------------------------------------------------------------------------


def test_a_compiler_that_dies_ends_no_job(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optimised code is made in a process of its own: LLVM ends the one that it runs in where it fails."""
    dying = tmp_path / "dying"
    dying.write_text("#!/bin/sh\necho 'Assertion failed' >&2\nkill -ABRT $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(clang, "compiler", lambda **_: Compiler((str(dying),), "", 0, False))
    found = again(program, tmp_path, "12")
    assert isinstance(found, str)
    assert found.startswith("the program could not be instrumented: ") and "Assertion failed" in found


def test_instrumented_code_is_valid_and_complete(program: Program) -> None:
    analysis = program.compiled.analysis
    hooked = {loop: hook_values(analysis, loop) for loop in program.traced.values}
    text = traced_module(analysis, hooked)
    parse(text)
    counted = analysis.n_loops + len(counted_blocks(analysis.views))
    assert counted > analysis.n_loops
    assert text.count("getelementptr i64, ptr @tc_counts") == counted
    for loop in hooked:
        assert text.count(f"call void @tc_loop(i32 {loop},") == 1
        assert f"call void @tc_loop_done(i32 {loop})" in text
    for name in ("malloc", "calloc"):
        assert f"@{name}(" not in text and f"@tc_{name}(" in text


def test_counters_lie_apart_from_what_the_program_touches(program: Program) -> None:
    """So that an inner loop counts in a register."""
    text = traced_module(program.compiled.analysis, {})
    ours = re.search(r"store i64 %tc.count0.n, ptr %tc.count0.p, align 8, !alias.scope (!\d+)\n", text)
    assert ours is not None and re.search(rf"^{ours[1]} = !\{{!\d+\}}$", text, re.MULTILINE)
    lines = [line for line in text.splitlines() if re.match(r"  (%\S+ = load|store) ", line)]
    counting = [line for line in lines if "%tc.count" in line or "%tc.passed" in line]
    assert counting and all(line.endswith(f", !alias.scope {ours[1]}") for line in counting)
    rest = [line for line in lines if line not in counting]
    assert rest and all(f", !noalias {ours[1]}" in line for line in rest)


RESTRICTED = """
define void @copy(ptr %a, ptr %b) {
  %x = load i64, ptr %a, align 8, !alias.scope !3, !tbaa !4
  store i64 %x, ptr %b, align 8, !noalias !3
  store i64 %x, ptr %a, align 8
  ret void
}
!1 = distinct !{!1}
!2 = distinct !{!2, !1}
!3 = !{!2}
!4 = !{!5, !5, i64 0}
!5 = !{!"long", !6, i64 0}
!6 = !{!"char"}
"""


def test_what_restrict_says_of_the_program_stays() -> None:
    """What it tells apart from other accesses of the program is none of the counters."""
    module = parse_module(RESTRICTED)
    set_apart(module, module.functions.values())
    load, other, plain = (item.meta for item in module.functions["@copy"].entry.instructions[:3])
    assert load["alias.scope"] == "!3" and load["tbaa"] == "!4" and load["noalias"] not in ("", "!3")
    assert other == {"noalias": "!3"} and plain == {"noalias": load["noalias"]}


SHORT = """
void touch(double *x, const int *at, int n) {
  for (int t = 0; t < 3; t++) {
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 3; k++) x[at[i] + k] += 1;
    for (int k = 0; k < 7; k++) x[at[k]] = 0;
  }
}
int main(void) { static double x[9]; static int at[9]; touch(x, at, 3); return 0; }
"""


def test_short_loops_have_hooks_around_others_alone(tmp_path: Path) -> None:
    source = tmp_path / "short.c"
    source.write_text(SHORT)
    settings = Settings((str(source),), Flags(("-fno-unroll-loops", "-fno-inline")), min_jobs=8)
    analysis = compile_program(settings, tmp_path).analysis
    lines = {record.id: record.place.line for record in analysis.records}
    assert sorted(lines[loop] for loop in hooked_loops(settings, analysis)) == [3, 4]
    assert sorted(lines[loop] for loop in hooked_loops(replace(settings, min_jobs=3), analysis)) == [3, 4, 5, 6]


def test_the_analysis_is_not_changed_by_it(program: Program) -> None:
    analysis = program.compiled.analysis
    before = str(analysis.module)
    traced_module(analysis, {loop: hook_values(analysis, loop) for loop in program.traced.values})
    assert str(analysis.module) == before == str(parse_module(before))


OWN_MALLOC = """
@name = constant [16 x i8] c"@malloc(@calloc\\00"
@sized = global [3 x i32] zeroinitializer
@outside = external global i32
@own = thread_local global i32 0
%shut = type opaque
@closed = external global %shut
declare ptr @calloc(i64, i64)
declare ptr @malloc_like(i64)
define ptr @malloc(i64 %n) {
  %p = call ptr @calloc(i64 1, i64 %n)
  %q = call ptr @malloc_like(i64 %n)
  ret ptr %p
}
define i32 @main() {
  %p = call ptr @malloc(i64 8)
  ret i32 0
}
"""


def test_an_allocator_of_the_program_itself_stays() -> None:
    analysis = Analysis(parse_module(str(parse(OWN_MALLOC))))
    text = traced_module(analysis, {})
    assert "call ptr @malloc(i64 8)" in text and "define ptr @malloc(" in text
    assert "call ptr @tc_calloc(" in text and "declare ptr @tc_calloc(" in text
    assert "@malloc_like" in text and "tc_malloc_like" not in text
    assert 'c"@malloc(@calloc\\00"' in text
    assert global_objects(analysis) == [("@name", 16), ("@sized", 12)]


def test_functions_that_pointers_are_compared_with_are_objects() -> None:
    text = """declare double @sin(double)
define i1 @f(ptr %p) {
  %a = icmp eq ptr %p, @sin
  %b = icmp eq ptr @f, %p
  %c = and i1 %a, %b
  ret i1 %c
}
"""
    assert global_objects(Analysis(parse_module(str(parse(text))))) == [("@sin", 1), ("@f", 1)]
