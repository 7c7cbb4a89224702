"""Lint, format and types of the tree; and that the type checker really looks at every file."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("tracecut", "support", "ir", "tracer", "partition", "mapping", "codegen")


def tool(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [("check",), ("format", "--check")])
def test_ruff(words: tuple[str, ...]) -> None:
    done = tool("ruff", *words, "--no-cache", *FOLDERS, "tests", "benchmarks", "docs")
    assert done.returncode == 0, done.stdout[-3000:]


def types() -> Path:
    """The cache of mypy, which finds no error in the tree and has looked at every file."""
    cache = ROOT / ".mypy_cache"
    done = tool("mypy", f"--cache-dir={cache}")
    assert done.returncode == 0, done.stdout[-3000:]
    checked = re.search(r"in (\d+) source files", done.stdout)
    assert checked and int(checked[1]) == sum(len(list((ROOT / folder).rglob("*.py"))) for folder in FOLDERS)
    return cache


def test_types() -> None:
    types()


@pytest.mark.long
def test_an_error_of_types_is_found(tmp_path: Path) -> None:
    """One that is planted deep inside of a copy of the tree, with what mypy knows of the tree by then."""
    cache = types()
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in (*FOLDERS, ".links", "pyproject.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / name)
    with (tree / "ir" / "llvm" / "control_flow.py").open("a") as file:
        file.write("\nCANARY: int = 'not a number'\n")
    copy = shutil.copytree(cache, tmp_path / "cache")
    done = tool("mypy", f"--cache-dir={copy}", folder=tree)
    assert done.returncode == 1 and "control_flow.py" in done.stdout, done.stdout[-3000:]
