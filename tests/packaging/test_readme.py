"""The README tells the truth about commands, files and options."""

from __future__ import annotations

import json
import math
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from tracecut.support.tolerances import OUTPUT, RESULTS

import tracecut
from tracecut.cli.optimize import optimize_parser
from tracecut.cli.words import sort_words, split_words

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```", README, re.M | re.S)


def test_ci_runs_the_readme_command() -> None:
    command = (ROOT / ".ci" / "run").read_text().splitlines()[-1]
    assert command.endswith("pytest -n auto")
    assert f"\n{command}\n" in README


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w./-]+/[\w./-]*)`|\]\(([^)#:]+)\)", README))))
def test_named_files_exist(path: tuple[str, str]) -> None:
    name = (path[0] or path[1]).removesuffix("/")
    made = ("tracecut-out", "kernels")  # in a folder of results
    assert name.split("/")[0] in made or (ROOT / name).exists()


def test_the_commands_are_understood() -> None:
    lines = [line.split("#")[0].split(">")[0].strip() for block in BLOCKS for line in block.splitlines()]
    commands = [shlex.split(line)[2:] for line in lines if line.startswith("tracecut optimize ")]
    assert commands
    for words in commands:
        ours, _ = split_words(words)
        parser = optimize_parser()
        mine, _ = sort_words(parser, ours)
        parser.parse_args(mine)


def test_the_table_is_that_of_the_committed_rows() -> None:
    """Each ratio in the README's table stands in the results file, to the digits that are shown."""
    rows = json.loads((ROOT / "benchmarks" / "results" / "main_job.json").read_text())["rows"]
    table = [line for line in README.splitlines() if line.startswith("| ") and "×" in line]
    assert table
    ratios = [1 / row["ratio"] for row in rows if row["ratio"]]
    for line in table:
        ratios_shown = re.findall(r"([\d.]+)×", line)
        assert ratios_shown, line
        for shown in ratios_shown:
            digits = len(shown.partition(".")[2])
            assert any(f"{ratio:.{digits}f}" == shown for ratio in ratios), line


def test_the_package_has_the_version_that_is_built() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["project"]["version"] == tracecut.__version__


def test_the_changelog_knows_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "## Unreleased" in text or f"## {tracecut.__version__}" in text


def test_the_tolerances_are_those_that_are_enforced() -> None:
    powers = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    text = " ".join(README.split())
    shown = {name: f"10⁻{str(round(-math.log10(value))).translate(powers)}" for name, value in RESULTS.items()}
    assert f"to {shown['double']} (`double`) or {shown['float']} (`float`)" in text and set(shown) == {
        "double",
        "float",
    }
    assert f"agrees to 10⁻{str(round(-math.log10(OUTPUT))).translate(powers)} of each number" in text
