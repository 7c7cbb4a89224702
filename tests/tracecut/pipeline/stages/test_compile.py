"""Compiling takes seconds: whoever waits is told, once; and what the user's compiler warns of is passed on."""

from __future__ import annotations

import math
from pathlib import Path

import numba
import pytest
from tracecut.support import progress

from tracecut.cli.graph import COMPILING, told_of_compiling
from tracecut.cli.main import main

pytestmark = pytest.mark.quick


def test_compiling_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (numba.njit(lambda x: x + 1) for _ in range(2))
    with told_of_compiling():
        assert capsys.readouterr().err == ""
        assert one(1) == 2 and other(1) == 2
        assert capsys.readouterr().err == f"tracecut: {COMPILING}\n"
        assert one(2) == 3
    assert one(1.5) == 2.5
    assert capsys.readouterr().err == ""


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with told_of_compiling(quiet=True):
        assert numba.njit(lambda x: x + 2)(1) == 3
    assert capsys.readouterr().err == ""


OLD = "".join(f"f{number}() {{ return g{number}(); }} g{number}() {{ return {number}; }}\n" for number in range(7))
OLD += "int main(void) { return f0() * 0; }\n"


@pytest.mark.parametrize(("options", "lines"), [([], 6), (["-v"], 14), (["-w"], 0), (["-q"], 0)])
def test_warnings_of_the_compiler_are_passed_on(
    options: list[str],
    lines: int,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of old C there are many: some lines say that, and how to see all of them."""
    monkeypatch.setattr(progress, "EVERY", math.inf)  # however busy the machine is, nothing else is said
    source = tmp_path / "old.c"
    source.write_text(OLD)
    with pytest.raises(SystemExit) as done:
        main(["optimize", str(source), "-o", str(tmp_path / "out"), *options])
    said = [line for line in capfd.readouterr().err.splitlines() if line]
    assert done.value.code == 0
    warned = [line for line in said if ": warning: " in line]
    if options == ["-v"]:
        assert len(warned) >= lines and any(line.lstrip().startswith("1 |") for line in said), (
            "with the lines of the source"
        )
    else:
        assert len(said) == lines, said
        assert not lines or (len(warned) == 5 and warned[0].startswith(f"{source}:1:") and "-v shows all" in said[-1])


@pytest.mark.parametrize(
    ("command", "options", "lines"),
    [
        *((command, options, lines) for command in ("trace", "graph") for options, lines in (([], 6), (["-q"], 0))),
        *(("annotate", options, lines) for options, lines in (([], 6), (["-w"], 0))),
    ],
)
def test_traces_pass_them_on_as_well(
    command: str, options: list[str], lines: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All of them are to be seen nowhere: nothing says where."""
    source = tmp_path / "old.c"
    source.write_text(OLD)
    with pytest.raises(SystemExit) as done:
        main([command, str(source), *(["--totals"] if command == "trace" else []), *options])
    said = capfd.readouterr().err.splitlines()
    assert done.value.code == 0
    assert len([line for line in said if ": warning: " in line]) == max(0, lines - 1), said
    assert not lines or any(line.startswith("… and ") and line.endswith(" more warnings") for line in said)
