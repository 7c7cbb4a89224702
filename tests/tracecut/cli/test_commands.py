"""The commands are listed once; the options that the compiler never gets are those of the commands that call it."""

from __future__ import annotations

import contextlib
import importlib
import io
import re

import pytest

from tracecut.cli.main import COMMANDS, MODULES
from tracecut.cli.words import OPTIONS


def help_of(command: str) -> str:
    module = importlib.import_module(f"tracecut.cli.{MODULES.get(command, command)}")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        getattr(module, f"run_{command}")(["--help"])
    return shown.getvalue()


def test_each_command_has_its_help() -> None:
    for command in COMMANDS:
        assert help_of(command).startswith(f"usage: tracecut {command} "), command


def test_no_long_option_of_ours_goes_to_the_compiler() -> None:
    compiling = ("optimize", "run", "trace", "annotate", "graph")
    found = {name for command in compiling for name in re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_of(command))}
    assert found - {"--help"} == OPTIONS


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["map"], "bytes as vertexcut counts"),
        (["simulate"], "bytes as vertexcut counts"),
        (["partition"], "oversized share is"),
        (["machine"], "tree:4x4x4@100,10,1 also states"),
        (["machine"], "topo2:96:8:2:files"),
        (["machine"], "topo1:96:8:2 has 96 units, of which 8 are fast"),
        (["machine", "show"], "tracecut machine show MACHINE [options]"),
        (["machine", "detect"], "It takes no MACHINE"),
    ],
)
def test_the_help_explains(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"tracecut.cli.{words[0]}")
    with pytest.raises(SystemExit):
        getattr(module, f"run_{words[0]}")([*words[1:], "--help"])
    assert told in " ".join(capsys.readouterr().out.split())
