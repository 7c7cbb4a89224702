"""Compiler lines as build systems write them: what is passed on, what is left out, what the messages say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tracecut.codegen.host.vector_versions import WIDE, add_versions, rounds_freely
from tracecut.ir.llvm import parse_module
from tracecut.support.compiler_messages import first_lines
from tracecut.support.errors import SourceError, UsageError
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import to_ir, to_object
from tracecut.tracer.toolchain.flags import Flags, parse_flags


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("-c a.c", ()),
        ("-S -E a.c -o a.s", ()),
        ("-MD -MMD -MP -MF a.d -MT a.o -MQ b.o -MFx.d a.c", ()),
        ("-save-temps -save-temps=obj --save-temps a.c", ()),
        ("-pipe -flto -flto=auto -static -no-pie -Wl,-rpath,/x -Xlinker -z a.c", ()),
        ("-fPIC -march=x86-64-v3 -mtune=haswell a.c", ("-fPIC", "-march=x86-64-v3", "-mtune=haswell")),
        ("-std=gnu99 -isystem /inc -include pre.h a.c", ("-std=gnu99", "-isystem", "/inc", "-include", "pre.h")),
        ("-Wall -Wp,-D_FORTIFY_SOURCE=2 --param ssp=4 a.c", ("-Wall", "-Wp,-D_FORTIFY_SOURCE=2", "--param", "ssp=4")),
    ],
)
def test_options_of_build_systems(line: str, kept: tuple[str, ...]) -> None:
    sources, flags = parse_flags(line.split())
    assert sources == ["a.c"] and flags.compile == kept


def test_options_that_only_gcc_has(tmp_path: Path) -> None:
    """What changes no result is not handed to clang, which would end with an error; the rest is."""
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    only = (
        "-ftree-vectorizer-verbose=2 -fopt-info-vec -fno-tree-pre -fipa-pta -fsched-pressure -fira-algorithm=priority "
        "-fvect-cost-model=unlimited -fno-guess-branch-probability -fdump-tree-all -fanalyzer -fdiagnostics-urls=never "
        "-flto-partition=none -fvar-tracking -gstabs -mveclibabi=svml -mpreferred-stack-boundary=4 -fprofile-use "
        "-fno-toplevel-reorder -fexcess-precision=fast -finline-limit-500 -gno-statement-frontiers -fabi-version=11"
    ).split()
    both = (
        "-ftree-vectorize -fno-tree-slp-vectorize -fwrapv -fno-math-errno -mfma -fno-optimize-sibling-calls "
        "-funsigned-char -fno-split-stack -fsplit-stack -mfpmath=sse -fdiagnostics-color=never"
    ).split()
    _, flags = parse_flags([str(tmp_path / "a.c"), *only, *both])
    assert flags.compile == tuple(both) and flags.remarks == ()
    assert "ret i32 0" in to_ir(tmp_path / "a.c", flags, tmp_path, canonical=True)
    for word in (
        "-fplan9-extensions",
        "-mpc32",
        "-mno-fused-madd",
        "-fgnu-tm",
    ):  # another language, or another rounding
        assert parse_flags([str(tmp_path / "a.c"), word])[1].compile == (word,)


def test_what_is_left_out_is_said_with_the_reason() -> None:
    _, flags = parse_flags("-c -MD -MF a.d -pipe a.c -o a.o".split())
    assert flags.notes == (
        "-c: left out, the whole program is compiled and linked",
        "-MD, -MF a.d: left out, it makes lists of dependencies",
        "-o a.o: left out, tracecut chooses the names of what it writes",
    )


def test_languages_are_spoken_until_the_next(tmp_path: Path) -> None:
    sources, flags = parse_flags("-x c++ a.inc -xc b -x none c.cpp".split())
    assert sources == ["a.inc", "b", "c.cpp"] and "stdc++" in flags.libraries
    assert [flags.language(source) for source in sources] == ["c++", "c", "c++"]
    with pytest.raises(UsageError, match="-x fortran: c, "):
        parse_flags(["-x", "fortran", "a.f"])
    path = tmp_path / "program.text"
    path.write_text("int main(void) { return 3; }")
    _, flags = parse_flags(["-xc", str(path)])
    assert "ret i32 3" in to_ir(path, flags, tmp_path, canonical=True)


def test_response_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("more").write_text("-O3 '-DNAME=\"a b\"'\n@rest")
    Path("rest").write_text("a.c -lm")
    assert parse_flags(["@more"]) == (["a.c"], Flags(("-O3", '-DNAME="a b"'), libraries=("m",)))
    Path("loop").write_text("@loop")
    with pytest.raises(UsageError, match="name each other"):
        parse_flags(["@loop"])
    with pytest.raises(SourceError, match="@gone: the response file cannot be read: No such file"):
        parse_flags(["@gone"])
    with pytest.raises(SourceError, match=r"more: a file of compiler options.*\nWrite @more"):
        parse_flags(["more"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Makefile", "a Makefile.*\n.*make -n"),
        ("sub/rules.mk", "a Makefile"),
        ("compile_commands.json", "a build description"),
        ("mesh.h", "a header"),
        ("mesh.f90", "ending in '.f90'"),
        ("program", "of unknown kind"),
        ("./not/built", "no such file"),
        ("-", "standard input"),
    ],
)
def test_other_files_are_called_what_they_are(name: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse_flags([name])


def compiled(text: str, folder: Path, *words: str, canonical: bool = False) -> str:
    path = folder / "program.c"
    path.write_text(text)
    _, flags = parse_flags([str(path), *words])
    return to_ir(path, flags, folder, canonical=canonical)


SUM = "double f(double a, double b, double c) { return a * b + c; }\nint main(void) { return 0; }"


@pytest.mark.parametrize("canonical", [True, False])
@pytest.mark.parametrize(
    ("words", "cpu", "features"),
    [
        ((), "x86-64", ""),
        (("-march=x86-64-v3",), "x86-64-v3", "+fma"),
        (("-march=x86-64-v3", "-mno-fma"), "x86-64-v3", "-fma"),
        (("-mtune=haswell",), "x86-64", ""),
        (("-mavx2",), "x86-64", "+avx2"),
    ],
)
def test_the_processor_is_the_users(
    words: tuple[str, ...], cpu: str, features: str, canonical: bool, tmp_path: Path
) -> None:
    found = compiled(SUM, tmp_path, *words, canonical=canonical)
    assert f'"target-cpu"="{cpu}"' in found and features in found
    assert features or "avx" not in found


@pytest.mark.parametrize("canonical", [True, False])
def test_the_users_level_and_mathematics_arrive(canonical: bool, tmp_path: Path) -> None:
    assert "fmul fast" in compiled(SUM, tmp_path, "-Ofast", canonical=canonical)
    assert "fmuladd" in compiled(SUM, tmp_path, canonical=canonical)
    assert "fmuladd" not in compiled(SUM, tmp_path, "-ffp-contract=off", canonical=canonical)
    root = "#include <math.h>\ndouble f(double x) { return pow(x, 0.5); }\nint main(void) { return 0; }"
    assert "@pow(" in compiled(root, tmp_path, "-O2", canonical=canonical)  # a square root would not set errno
    assert "sqrt" in compiled(root, tmp_path, "-O2", "-fno-math-errno", canonical=canonical)


def test_without_a_level_the_library_computes(tmp_path: Path) -> None:
    text = '#include <math.h>\n#include <stdio.h>\nint main(void) { printf("%a", sin(0.7) * 3); return 0; }'
    for canonical in (True, False):
        assert "call double @sin(" in compiled(text, tmp_path, canonical=canonical)
        assert "@sin(" not in compiled(text, tmp_path, "-O1", canonical=canonical)


OLD = """\
#include <stdio.h>
square(n) int n; { return n * n; }
main() { printf("%d\\n", square(7) + later(1)); return 0; }
int later(int n) { return n; }
"""


def test_old_c_is_compiled(tmp_path: Path) -> None:
    path = tmp_path / "old.c"
    path.write_text(OLD)
    for words in ((), ("-std=gnu89",)):
        _, flags = parse_flags([str(path), *words])
        program = executable([to_object(path, flags, tmp_path)[0]], flags, tmp_path / "old")
        assert subprocess.run([program], capture_output=True, check=True).stdout == b"50\n"
    _, flags = parse_flags([str(path), "-Werror=implicit-function-declaration"])
    with pytest.raises(SourceError) as caught:
        to_object(path, flags, tmp_path)
    assert "[-Wimplicit-function-declaration]" in caught.value.detail


def test_errors_come_before_warnings(tmp_path: Path) -> None:
    warnings = "#warning said before\n" * 60
    with pytest.raises(SourceError) as caught:
        compiled(f"{warnings}int main(void) {{ return nowhere; }}", tmp_path)
    lines = caught.value.detail.splitlines()
    assert "error: use of undeclared identifier 'nowhere'" in lines[0] and lines[-1] == "… and 60 warnings"


def test_what_leads_to_an_error_stays_with_it() -> None:
    before = "a.c:1:1: warning: w\n  1 | x\n"
    said = f"{before}In file included from a.c:2:\nb.h:1:1: error: e\na.c:3:1: note: n\n2 errors generated."
    assert first_lines(said).splitlines() == [
        "In file included from a.c:2:",
        "b.h:1:1: error: e",
        "a.c:3:1: note: n",
        "… and 1 warning",
    ]


def test_nothing_is_left_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    compiled(SUM, tmp_path, "-save-temps", "-MD", "-MMD", "-g", "-pipe")
    assert list(work.iterdir()) == []


def test_a_compiler_is_stopped_when_it_takes_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracecut.tracer.toolchain import clang

    monkeypatch.setattr(clang, "memory_limit", lambda: 64 << 20)
    grow = (
        "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\n"
        'char text[] = B(B("0123456789"));\nint main(void) { return 0; }'
    )
    with pytest.raises(SourceError) as caught:
        compiled(grow, tmp_path)
    assert re.search(r"more than the 0\.1 GB of memory", caught.value.detail), caught.value.detail
    endless = compiled('#include "/dev/zero"\nint main(void) { return 0; }', tmp_path)
    assert "define" in endless and "@main" in endless  # a device has no size: clang takes it for an empty file
    monkeypatch.undo()
    monkeypatch.setattr(clang, "SECONDS", 0.005)  # no compiler is that fast
    with pytest.raises(SourceError) as caught:
        compiled(grow, tmp_path)
    assert "ran longer than 0.005 s" in caught.value.detail


@pytest.mark.parametrize(
    ("words", "free"), [((), False), (("-Ofast",), True), (("-ffast-math",), True), (("-ffp-contract=fast",), True)]
)
def test_code_that_compilers_may_round_is_told_from_other(words: tuple[str, ...], free: bool, tmp_path: Path) -> None:
    assert rounds_freely(compiled(SUM, tmp_path, *words, canonical=True)) is free
    assert Flags(words).relaxed is free


RANGE = """define void @tc.loop.5(i64 %tc.k0, i64 %tc.k1, ptr noalias %tc.in, ptr noalias %tc.out) #0 {
  BODY
  ret void
}
"""


def versions(body: str, attributes: str = "nounwind", more: str = "", *, alone: bool = True) -> str:
    """The range function with that body, in its versions."""
    module = parse_module("attributes #0 = { " + attributes + " }\n" + more)
    module.items += parse_module(RANGE.replace("BODY", body)).items
    add_versions(module, alone=alone)
    return str(module)


def test_a_range_function_has_a_version_with_wider_vectors() -> None:
    text = versions("%x = fadd double 0.0, 1.0")
    assert "call i32 @tc_wide()" in text and "declare i32 @tc_wide()" in text
    assert re.search(r"define internal void @tc\.loop\.5\.plain\(.*\) #0 \{", text)
    group = re.search(r"define internal void @tc\.loop\.5\.wide\(.*\)\s+(#\d+) \{", text)
    assert group and f'"target-features"="{WIDE}"' in next(
        line for line in text.split("\n") if line.startswith(f"attributes {group[1]} =")
    )
    assert text.count("fadd double") == 2 and "fma" not in WIDE, "it would round once where the plain one rounds twice"


@pytest.mark.parametrize(
    ("body", "attributes"),
    [
        ("%x = fptoui double 1.0 to i32", "nounwind"),  # out of range it is what the instruction makes of it
        ("%x = fptosi double 1.0 to i8", "nounwind"),
        ("%x = fadd double 0.0, 1.0", 'nounwind "target-features"="+avx2,+fma"'),  # the user's own -march
    ],
)
def test_what_a_wider_version_could_change_has_none(body: str, attributes: str) -> None:
    assert "tc_wide" not in versions(body, attributes)


def test_square_roots_keep_errno_where_it_is_looked_at() -> None:
    root = "%x = call double @sqrt(double 4.0)"
    assert versions(root).count("call double @llvm.sqrt.f64(double") == 2
    assert "llvm.sqrt" not in versions(root, more="declare ptr @__errno_location()")
    assert "llvm.sqrt" not in versions(root, alone=False)
