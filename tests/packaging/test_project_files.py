"""The files that say what the project is, and how it is worked on."""

from __future__ import annotations

import re
import tomllib

from .imports import ROOT
from .sizes import sizes, table

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_citation_is_of_this_version_and_license() -> None:
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
    assert (fields["title"], fields["version"]) == (PROJECT["name"], PROJECT["version"])
    assert fields["license"] == PROJECT["license"]


def test_each_hook_runs_a_tool_of_the_test_extra() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    tools = set(re.findall(r"^        entry: (\w+)", hooks, re.MULTILINE))
    extra = {re.split(r"[^\w-]", item)[0] for item in PROJECT["optional-dependencies"]["test"]}
    assert tools == {"ruff", "mypy"} and tools <= extra
    assert hooks.count("- repo:") == hooks.count("- repo: local") == 1


def test_sizes_count_each_file_once() -> None:
    found = sizes(ROOT)
    counted = sum(lines for _, lines in found.values())
    folders = {room.split("/")[0] for room in found}
    files = [path for folder in folders for ending in ("*.py", "*.c", "*.h") for path in (ROOT / folder).rglob(ending)]
    assert counted == sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert table({"a": (1, 2)} | {"ir/llvm": (3, 4), "tests": (5, 6)}).splitlines()[-1].endswith("| 3 | 4 |")
