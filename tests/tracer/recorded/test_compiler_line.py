"""What the lines of builds do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.tracer.recorded.compiler_line import COMPILE, LIBRARY, LINK, OTHER, read_line

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("words", "action", "sources", "objects"),
    [
        ("-c a.c", COMPILE, ["a.c"], []),
        ("-O2 -MD -MF deps/a.c.d -c -o out/a.o src/a.c", COMPILE, ["src/a.c"], []),
        ("-c a.c b.c", COMPILE, ["a.c", "b.c"], []),
        ("a.c b.o -o prog -lm", LINK, ["a.c"], ["b.o"]),
        ("a.o libx.a -L. -lx -o prog", LINK, [], ["a.o", "libx.a"]),
        ("-shared -fPIC a.c -o liba.so", LIBRARY, ["a.c"], []),
        ("-shared a.o -o liba.so", LIBRARY, [], ["a.o"]),
        ("-x c a.txt -c", COMPILE, ["a.txt"], []),
        ("-E a.c", OTHER, ["a.c"], []),
        ("-S a.c", OTHER, ["a.c"], []),
        ("-MM a.c", OTHER, ["a.c"], []),
        ("-fsyntax-only a.c", OTHER, ["a.c"], []),
        ("-r a.o b.o -o c.o", OTHER, [], ["a.o", "b.o"]),
        ("-x c - -c -o a.o", OTHER, [], []),
        ("-print-search-dirs", OTHER, [], []),
        ("--version", OTHER, [], []),
        ("-v", OTHER, [], []),
        ("", OTHER, [], []),
        ("-c", OTHER, [], []),
        ("@nowhere.rsp -c a.c", OTHER, [], []),
        ("-c boot.S", OTHER, [], ["boot.S"]),
        ("-c boot.s -o boot.o", OTHER, [], ["boot.s"]),
    ],
)
def test_lines(words: str, action: str, sources: list[str], objects: list[str]) -> None:
    line = read_line(words.split())
    assert line.action == action
    assert [source for source, _ in line.sources] == sources and list(line.objects) == objects


def test_where_objects_go_and_which_language_they_are() -> None:
    line = read_line(["-c", "src/a.c", "-o", "out/b.o"])
    assert line.target("src/a.c") == Path("out/b.o") and line.words == ("-c",)
    line = read_line(["-c", "src/a.c", "b.cpp"])
    assert line.target("src/a.c") == Path("a.o") and [language for _, language in line.sources] == ["c", "c++"]
    assert read_line(["-c", "a.c"], cxx=True).sources == (("a.c", "c++"),)
    assert read_line(["-oprog", "-xc++", "a.c", "-xnone", "b.c"]).sources == (("a.c", "c++"), ("b.c", "c"))


def test_response_files(tmp_path: Path) -> None:
    (tmp_path / "line.rsp").write_text("-c 'a b.c'\n-DX=1")
    line = read_line([f"@{tmp_path / 'line.rsp'}", "-O3"])
    assert line.sources == (("a b.c", "c"),) and line.words == ("-c", "-DX=1", "-O3")
