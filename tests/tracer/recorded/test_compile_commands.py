"""Programs from lists of compiler lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tracecut.support.errors import SourceError
from tracecut.tracer.recorded.command_line import command_line, recorded_program
from tracecut.tracer.recorded.compile_commands import read_entries


def listed(folder: Path, *lines: tuple[str, str]) -> Path:
    path = folder / "compile_commands.json"
    entries = [{"directory": str(folder), "command": command, "file": file} for file, command in lines]
    path.write_text(json.dumps(entries))
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "scale.h").write_text("double scale(double);\n")
    (tmp_path / "scale.c").write_text('#include "scale.h"\ndouble scale(double x) { return x * FACTOR; }\n')
    main = '#include "scale.h"\nint main(void) { return (int)scale(%d); }\n'
    (tmp_path / "one.c").write_text(main % 1)
    (tmp_path / "two.c").write_text(main % 2)
    return tmp_path


def test_a_program_of_two_sources(project: Path) -> None:
    path = listed(
        project,
        ("scale.c", "ccache cc -O3 -Iinc -DFACTOR=2.0 -c scale.c -o scale.o"),
        ("one.c", "/usr/bin/cc -O3 -g -Iinc -o one.o -c one.c"),
        ("boot.s", "cc -c boot.s"),
    )
    sources, flags = command_line(["-p", str(project), "-lm"])
    assert sources == [str(path)] and flags.libraries == ("m",) and flags.compile == ("-O3",)
    program = recorded_program(sources, flags)
    assert program is not None
    assert [unit.source for unit in program.units] == ["scale.c", "one.c"]
    assert "x * 2.0" in program.units[0].text and f'"{project}/scale.c"' in program.units[0].text
    assert program.flags is flags


def test_one_of_two_programs(project: Path) -> None:
    names = ("scale.c", "one.c", "two.c")
    path = listed(project, *((name, f"cc -O2 -Iinc -DFACTOR=1.0 -c {name}") for name in names))
    sources, flags = command_line([str(path)])
    with pytest.raises(SourceError, match=r"2 programs are listed.*one\.c, two\.c") as caught:
        recorded_program(sources, flags)
    assert f"-p {project}" in caught.value.hint
    sources, flags = command_line(["-p", str(project), str(project / "two.c")])
    program = recorded_program(sources, flags)
    assert program is not None and [unit.source for unit in program.units] == ["scale.c", "two.c"]
    with pytest.raises(SourceError, match=r"no line in it compiles .*three\.c"):
        recorded_program([str(path), str(project / "three.c")], flags)


def test_what_cannot_be_preprocessed_is_named(project: Path) -> None:
    path = listed(project, ("one.c", "cc -c one.c"))
    with pytest.raises(SourceError, match=r"one\.c cannot be read: .*scale\.h"):
        recorded_program([str(path)], command_line([str(path)])[1])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("{}", "a list of compiler lines was expected"),
        ("[]", "no line in it compiles C or C"),
        ('[{"directory": "/"}]', "entry 0 is no compiler line"),
        ('[{"directory": "/", "command": "cc \'a.c"}]', "entry 0 is no compiler line"),
        ("[3]", "entry 0 is no compiler line"),
    ],
)
def test_what_is_no_list(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=why):
        read_entries(path)


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        command_line(["-p", str(tmp_path)])
