"""Builds with `tracecut-cc` and `tracecut-c++`: what the system's compiler makes, and the sources in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.errors import SourceError
from tracecut.tracer.recorded import wrapper
from tracecut.tracer.recorded.command_line import command_line, recorded_program
from tracecut.tracer.recorded.elf_sections import section
from tracecut.tracer.recorded.read_program import read_program
from tracecut.tracer.recorded.records import SECTION, LinkLine, Unit, decode
from tracecut.tracer.recorded.wrapper import compile_recorded

import tracecut

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the system has no compiler for tracecut-cc to call")
TOTAL = "double total(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n"
MAIN = """#include <stdio.h>
#include <stdlib.h>
#include "total.h"
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 10;
    double *x = malloc(sizeof *x * n);
    for (int i = 0; i < n; i++) x[i] = i * WEIGHT;
    printf("%g\\n", total(x, n));
    return 0;
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"total.c": TOTAL, "total.h": "double total(const double *, int);\n", "main.c": MAIN}.items():
        Path(name).write_text(text)
    return tmp_path


def cc(line: str, cxx: bool = False) -> int:
    return compile_recorded(line.split(), cxx=cxx)


def records(path: str) -> list[Unit | LinkLine]:
    return decode(section(Path(path).read_bytes(), SECTION))


def test_objects_and_programs_carry_their_sources(project: Path) -> None:
    assert cc("-O3 -c total.c") == cc("-O2 -DWEIGHT=0.5 -MD -c main.c -o m.o") == cc("m.o total.o -lm -o prog") == 0
    assert Path("m.d").exists() and subprocess.check_output(["./prog"]) == b"22.5\n"
    assert records("total.o") == [item for item in records("prog") if getattr(item, "source", "") == "total.c"]
    sources, flags = command_line(["prog", "-DMORE"])
    program = recorded_program(sources, flags)
    assert sources == ["prog"] and program is not None and flags.libraries == ("m",)
    assert [(unit.source, unit.folder) for unit in program.units] == [
        ("main.c", str(project)),
        ("total.c", str(project)),
    ]
    assert flags.compile[0] in ("-O2", "-O3") and flags.compile[-1] == "-DMORE"
    assert "i * 0.5" in program.units[0].text


def test_programs_of_archives_have_the_members_that_are_linked(project: Path) -> None:
    Path("other.c").write_text("int unused;\n")
    assert cc("-O2 -c total.c") == cc("-O2 -c other.c") == 0
    subprocess.run(["ar", "rcs", "libtotal.a", "total.o", "other.o"], check=True)
    assert cc("-O2 -DWEIGHT=1.0 main.c -L. -ltotal -o prog") == 0
    program = read_program(Path("prog"))
    assert sorted(unit.source for unit in program.units) == ["main.c", "total.c"]
    assert program.flags.libraries == () and program.flags.compile == ("-O2",)


def test_shared_libraries_stay_libraries(project: Path) -> None:
    assert cc("-O2 -shared -fPIC total.c -o libtotal.so") == cc("-O2 -DWEIGHT=1.0 main.c -L. -ltotal -o prog") == 0
    assert [item.source for item in records("libtotal.so") if isinstance(item, Unit)] == ["total.c"]
    program = read_program(Path("prog"))
    assert [unit.source for unit in program.units] == ["main.c"]
    assert (program.flags.libraries == ("total",) and program.flags.library_folders == (f"{project}/.",)) or (
        program.flags.library_folders == (str(project),)
    )


@pytest.mark.parametrize("name", ["libtotal.so", "libtotal.so.1.2"])
def test_shared_libraries_that_are_named_by_their_file_stay_libraries(project: Path, name: str) -> None:
    """CMake does so; the program finds them by the name that they have of themselves."""
    assert (
        cc(f"-O2 -shared -fPIC -Wl,-soname,{name} total.c -o {name}")
        == cc(f"-O2 -DWEIGHT=1.0 main.c ./{name} -o prog")
        == 0
    )
    program = read_program(Path("prog"))
    assert [unit.source for unit in program.units] == ["main.c"]
    assert program.flags.objects == (str(project / name),)
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    assert tracecut.optimize("../prog", ["11"]).run(["11"]).stdout == b"55\n"


def test_objects_without_sources_are_linked_as_they_are(project: Path) -> None:
    Path("total.s").write_text(subprocess.check_output(["cc", "-O2", "-S", "-o", "-", "total.c"], text=True))
    subprocess.run(["cc", "-c", "total.s"], check=True)
    assert cc("-O2 -DWEIGHT=1.0 main.c total.o -o prog") == 0
    assert read_program(Path("prog")).flags.objects == (str(project / "total.o"),)


def test_objects_that_replace_what_allocates_are_seen(project: Path) -> None:
    """As sources that do: a rescheduled program would call another function."""
    Path("own.c").write_text("int freed;\nvoid free(void *p) { freed += p != 0; }\n")
    subprocess.run(["cc", "-fPIC", "-O2", "-c", "own.c"], check=True)
    result = tracecut.optimize(["main.c", "total.c", "own.o", "-DWEIGHT=1.0"], ["11"])
    assert not result.improved and "it defines free for the libraries" in str(result.manifest)


ASSEMBLY = """#if WAYS != 2
#error WAYS
#endif
    .text
    .globl half
half:
    movsd halves(%rip), %xmm1
    mulsd %xmm1, %xmm0
    ret
    .data
halves: .double 0.5
    .section .note.GNU-stack,"",@progbits
"""


def test_assembly_is_linked_as_it_is(project: Path) -> None:
    Path("half.S").write_text(ASSEMBLY)
    Path("total.s").write_text(subprocess.check_output(["cc", "-O2", "-S", "-o", "-", "total.c"], text=True))
    Path("main.c").write_text("double half(double);\n" + MAIN.replace("total(x, n))", "half(total(x, n)))"))
    assert cc("-O2 -DWEIGHT=1.0 -DWAYS=2 main.c half.S total.s -o prog") == 0
    program = read_program(Path("prog"))
    assert program.flags.objects == (str(project / "half.S"), str(project / "total.s"))
    result = tracecut.optimize("prog", ["11"])
    assert result.run(["11"]).stdout == b"27.5\n"
    Path("total.s").write_text("    nonsense\n")
    with pytest.raises(SourceError, match=r"total\.s does not compile"):
        tracecut.optimize("prog", ["11"])


def test_members_that_cannot_be_read_are_linked_from_their_archive(project: Path) -> None:
    """The others are compiled anew; a program that names the machine code of its own alone cannot be had in parts."""
    Path("half.c").write_text("#if __clang__\n#error gcc only\n#endif\ndouble half(double x) { return 0.5 * x; }\n")
    Path("main.c").write_text("double half(double);\n" + MAIN.replace("total(x, n))", "half(total(x, n)))"))
    assert cc("-O2 -c total.c") == cc("-O2 -c half.c") == cc("-O2 -DWEIGHT=1.0 -c main.c") == 0
    subprocess.run(["ar", "rcs", "libboth.a", "total.o", "half.o"], check=True)
    for line in ("main.o libboth.a -o prog", "main.o -L. -lboth -o prog"):
        assert cc(line) == 0
        program = read_program(Path("prog"))
        assert sorted(unit.source for unit in program.units) == ["main.c", "total.c"]
        assert program.flags.objects == ((str(project / "libboth.a"),) if "libboth" in line else ())
        assert [remark[:6] for remark in program.flags.remarks] == ["half.c"]
        assert tracecut.optimize("prog", ["11"]).run(["11"]).stdout == b"27.5\n"
    assert cc("-O2 -DWEIGHT=1.0 main.c half.c total.c -o whole") == 0
    with pytest.raises(SourceError, match=r"^half\.c cannot be read: .*gcc only"):
        read_program(Path("whole"))


def test_machine_code_of_openmp_finds_its_library(project: Path) -> None:
    Path("total.c").write_text(
        "#if __clang__\n#error gcc only\n#endif\n"
        + TOTAL.replace("for (", "\n#pragma omp parallel for reduction(+ : s)\nfor (")
    )
    if cc("-O2 -fopenmp -c total.c") or b"GOMP_" not in Path("total.o").read_bytes():
        pytest.skip("the system's compiler has no OpenMP of GCC")
    assert cc("-O2 -DWEIGHT=1.0 -c main.c") == cc("-fopenmp main.o total.o -o prog") == 0
    assert tracecut.optimize("prog", ["11"]).run(["11"]).stdout == b"55\n"
    Path("other.c").write_text("void GONE_there(void); int other(void) { GONE_there(); return 0; }\n")
    assert cc("-c other.c") == 0
    with pytest.raises(SourceError, match="defined nowhere: GONE_there"):
        tracecut.optimize(["main.c", "-DWEIGHT=1.0", "other.c", "total.o"])


def test_what_clang_refuses_is_compiled_plainly_and_said(project: Path) -> None:
    Path("total.c").write_text("#if __clang__\n#error gcc only\n#endif\n" + TOTAL)
    assert cc("-O2 -c total.c") == cc("-O2 -DWEIGHT=1.0 main.c total.o -o prog") == 0
    program = read_program(Path("prog"))
    assert [unit.source for unit in program.units] == ["main.c"] and program.flags.objects == (
        str(project / "total.o"),
    )
    assert any("gcc only" in remark for remark in program.flags.remarks)


def test_warnings_of_another_compiler_are_no_errors(project: Path) -> None:
    Path("main.c").write_text(MAIN.replace("    int n", "    double self = self;\n    int n"))
    strict = "-Werror=uninitialized -Werror=parentheses -pedantic-errors"
    assert cc(f"-O2 -Wall -Wno-all -Werror {strict} -DWEIGHT=1.0 main.c total.c -o prog") == 0
    program = read_program(Path("prog"))
    assert [unit.why for unit in program.units] == ["", ""]
    assert program.flags.compile == ("-Wall", "-Wno-all", "-O2")


def test_a_program_of_which_nothing_can_be_read_says_why(project: Path) -> None:
    assert cc("-fplan9-extensions -DWEIGHT=1.0 -c main.c") == cc("-mpc64 -c total.c") == 0
    assert cc("main.o total.o -o prog") == 0
    with pytest.raises(SourceError, match=r"^prog: none of its sources can be read; main.c: .*-fplan9-extensions"):
        read_program(Path("prog"))


def test_the_compiler_has_the_last_word(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("bad.c").write_text("int main(void) { return x; }\n")
    status = subprocess.run(["cc", "-c", "bad.c"], check=False, capture_output=True, text=True)
    capfd.readouterr()
    assert cc("-c bad.c") == status.returncode != 0
    assert capfd.readouterr().err == status.stderr and not Path("bad.o").exists()
    assert cc("-c total.c -o /dev/null") == 0


def test_other_lines_become_the_compiler(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []

    def become(command: Any) -> None:
        called.append(list(command))
        raise SystemExit(0)

    monkeypatch.setattr(wrapper, "_become", become)
    for line in ("-E main.c", "--version", "-S main.c"):
        with pytest.raises(SystemExit):
            cc(line)
    assert [words[1:] for words in called] == [["-E", "main.c"], ["--version"], ["-S", "main.c"]]


def test_the_compiler_is_the_one_that_was_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine").write_text(f"#!{sys.executable}\nimport sys\nsys.exit(len(sys.argv))\n")
    Path("mine").chmod(0o755)
    monkeypatch.setenv("TRACECUT_REAL_CC", f"{project}/mine -first")
    assert cc("-c main.c") == 4
    monkeypatch.setenv("TRACECUT_REAL_CC", "nowhere-to-be-found")
    with pytest.raises(SystemExit) as caught:
        cc("-c main.c")
    assert caught.value.code == 127


def test_programs_that_say_nothing_are_refused(project: Path) -> None:
    subprocess.run(["cc", "-DWEIGHT=1.0", "main.c", "total.c", "-o", "plain"], check=True)
    with pytest.raises(SourceError, match="does not say what it was made of") as caught:
        command_line(["plain"])
    assert "CC=tracecut-cc" in caught.value.hint
    assert cc("-DWEIGHT=1.0 main.c total.c -o prog") == 0
    with pytest.raises(SourceError, match="a program or sources were expected, not both"):
        command_line(["prog", "main.c"])
    with pytest.raises(SourceError, match="one program was expected"):
        command_line(["prog", "plain"])
    data = Path("prog").read_bytes()
    at = data.index(b"tracecut record 2\n") + 40
    Path("prog").write_bytes(data[:at] + bytes(20) + data[at + 20 :])
    with pytest.raises(SourceError, match="its record cannot be read: a damaged record"):
        command_line(["prog"])


def test_link_time_optimisation_takes_what_the_line_names(project: Path) -> None:
    assert cc("-O2 -flto -c total.c") == cc("-O2 -flto -DWEIGHT=1.0 -c main.c") == 0
    assert cc("-O2 -flto main.o total.o -o prog") == 0
    assert sorted(unit.source for unit in read_program(Path("prog")).units) == ["main.c", "total.c"]


def test_a_program_is_optimized_by_its_name(project: Path, commands: Path) -> None:
    """Built by make, run with its own arguments; there is no loop in it that could gain."""
    Path("Makefile").write_text("CFLAGS = -O2 -DWEIGHT=0.25\nprog: main.o total.o\n\t$(CC) -o $@ main.o total.o -lm\n")
    subprocess.run(["make", f"CC={commands / 'tracecut-cc'}"], check=True, env={**os.environ, "MAKEFLAGS": ""})
    shutil.rmtree(project / "gone", ignore_errors=True)
    for name in ("main.c", "total.c", "total.h"):
        os.unlink(name)
    result = tracecut.optimize("prog", ["2000"], output="out", loop_budget=1.0)
    assert result.manifest["source"] == ["prog"] and not result.improved
    assert {Path(item["file"]).name for item in result.manifest["regions"]} <= {"main.c", "total.c"}


def with_nested_functions(options: str) -> None:
    """Compile total.c, which has some."""
    if cc(f"{options} -c total.c"):
        pytest.skip("the system's compiler has no nested functions")


def test_what_clang_does_not_compile_is_linked_as_it_was_compiled(project: Path) -> None:
    """Nested functions are GCC's own: the preprocessor has nothing against them."""
    Path("total.c").write_text(
        "static int calls;\ndouble total(const double *x, int n) {\n"
        "    double at(int i) { calls++; return x[i]; }\n"
        "    double s = 0; for (int i = 0; i < n; i++) s += at(i); return calls == n ? s : 0;\n}\n"
    )
    with_nested_functions("-O2")
    assert cc("-O2 -DWEIGHT=0.5 -c main.c") == cc("main.o total.o -lm -o prog") == 0
    result = tracecut.optimize("prog", ["10"])
    (note,) = result.manifest["notes"]
    assert note.startswith("total.c: taken as it was compiled, ") and "total.c:3:" in note and "error" in note
    assert result.run(["10"]).stdout == b"22.5\n"
    assert cc("-O2 -DWEIGHT=0.5 main.c total.c -o whole") == 0
    with pytest.raises(SourceError, match=r"^total\.c cannot be read: .*total\.c:3:"):
        tracecut.optimize("whole", ["10"])
    Path("main.c").write_text(MAIN.replace("printf(", "int one(void) { return 1; }\n    printf("))
    assert cc("-O2 -DWEIGHT=0.5 -c main.c") == 0
    Path("total.c").write_text(TOTAL)
    assert cc("-O2 -c total.c") == cc("main.o total.o -lm -o prog") == 0
    with pytest.raises(SourceError, match=r"^main\.c does not compile"):
        tracecut.optimize("prog", ["10"])


def test_what_clang_does_not_compile_may_write_to_stderr(project: Path) -> None:
    """What is compiled for programs alone reaches that variable as no shared library can."""
    Path("total.c").write_text(
        "#include <stdio.h>\ndouble total(const double *x, int n) {\n    double at(int i) { return x[i]; }\n"
        '    double s = 0; for (int i = 0; i < n; i++) s += at(i); fprintf(stderr, "total\\n"); return s;\n}\n'
    )
    with_nested_functions("-O2 -fPIE -MD -MF total.d")
    assert cc("-O2 -DWEIGHT=0.5 -c main.c") == cc("main.o total.o -lm -o prog") == 0
    before = Path("total.d").stat().st_mtime_ns
    result = tracecut.optimize("prog", ["10"])
    assert result.run(["10"]).stdout == b"22.5\n" and result.run(["10"]).stderr == b"total\n"
    assert Path("total.d").stat().st_mtime_ns == before
    with open("total.c", "a") as file:
        file.write("int more;\n")
    with pytest.raises(SourceError, match=r"reaches stderr in a way that no shared library can"):
        tracecut.optimize("prog", ["10"])
