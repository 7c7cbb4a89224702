"""The import contract, and the size of files and folders. An arrow that breaks it is named."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from .imports import FOLDERS, PAGE, ROOT, arrows, circle, forbidden, joined, modules, own_arrows, with_picture

pytestmark = pytest.mark.quick


def test_no_arrow_is_forbidden() -> None:
    assert forbidden(own_arrows()) == []


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_circle_between_rooms(depth: int) -> None:
    assert circle(joined(own_arrows(), depth)) == []


def test_no_circle_between_files() -> None:
    assert circle(own_arrows()) == []


def test_folders_are_small() -> None:
    folders = [path for folder in FOLDERS for path in (ROOT / folder, *(ROOT / folder).rglob("*")) if path.is_dir()]
    folders = [path for path in folders if path.name != "__pycache__"]
    sizes = {str(path.relative_to(ROOT)): sum(item.is_file() for item in path.iterdir()) for path in folders}
    assert {name: size for name, size in sizes.items() if size > 20} == {}
    assert all((path / "__init__.py").exists() for path in folders)


def test_files_are_short() -> None:
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in modules(ROOT).values()}
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_functions_take_few_arguments() -> None:
    """`self` aside. Each of the exceptions is a list of options that users, and tests of the emulator, set by name."""
    many = {}
    for path in modules(ROOT).values():
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if sum(item.arg != "self" for item in given) > 12:
                    many[node.name] = str(path)
    assert many == {
        "trace": "tracecut/api/trace.py",
        "optimize": "tracecut/api/optimize.py",
        "partition": "partition/api.py",
        "run_kernel": "codegen/emulation/run_kernel.py",
    }


def planted(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_a_planted_arrow_is_named(tmp_path: Path) -> None:
    planted(
        tmp_path,
        {
            "ir/graph.py": "def f():\n    from ..tracer.loops import trip\n",
            "tracer/loops/trip.py": "if TYPE_CHECKING:\n    from ..legality.judge import judge\n",
            "tracer/legality/judge.py": "",
            "tracer/loops/__init__.py": "",
        },
    )
    assert forbidden(arrows(tmp_path)) == [
        "ir/graph.py imports tracer/loops/trip.py",
        "tracer/loops/trip.py imports tracer/legality/judge.py",
    ]


def test_a_planted_circle_is_found(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    files = {f"ir/{a}.py": f"import tracecut.ir.{b}\n" for a, b in pairwise((*names, "one"))}
    assert sorted(circle(arrows(planted(tmp_path, files)))) == ["ir/one.py", "ir/three.py", "ir/two.py"]
    rooms = {"codegen/a/x.py": "from ..b.y import y\n", "codegen/b/y.py": "", "codegen/b/z.py": "from ..a.x import x\n"}
    found = arrows(planted(tmp_path / "more", rooms))
    assert circle(found) == [] and sorted(circle(joined(found, 2))) == ["codegen/a", "codegen/b"]


def test_the_picture_is_that_of_the_imports() -> None:
    assert PAGE.read_text() == with_picture(PAGE.read_text()), "python -m tests.packaging.imports"


def test_concepts_stand_where_the_page_says() -> None:
    """Every path of the page exists, and the path of a concept holds a word of it."""
    page = PAGE.read_text()
    paths = re.findall(r"`([a-z]+/[a-z_0-9/]+(?:\.py|\.c|/)?)`", page)
    assert len(paths) > 60 and [path for path in paths if not (ROOT / path).exists()] == []
    rows = re.findall(r"^\| (.+) \| `(\S+)` \|$", page, re.MULTILINE)
    assert len(rows) >= 40
    for concept, path in rows:
        words = {word[:4] for word in re.findall(r"[a-z0-9]+", concept.lower().replace("-", "")) if len(word) > 2}
        assert words & {word[:4] for word in re.findall(r"[a-z0-9]+", path)}, (concept, path)
