"""`pytest -m quick`: unit tests of every room, none of which builds or starts whole programs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ..long_cases import LongCases
from .imports import ROOT, modules

pytestmark = pytest.mark.quick
MARK = "pytestmark = pytest.mark.quick"
# What builds, traces or starts programs, module by module of the tests and of the package.
SLOW = {
    "subprocess",
    "tests.codegen.children",
    "tests.codegen.harness",
    "tests.codegen.replays",
    "tests.codegen.woven_programs",
    "tests.fuzz.pipeline",
    "tests.tracer.trace.recorded",
    "tracecut.api.optimize",
    "tracecut.pipeline.supervise",
    "tracecut.tracer.runtime.link",
}


def quick_files(root: Path) -> Iterator[Path]:
    """Files whose tests are all quick."""
    for path in sorted((root / "tests").rglob("test_*.py")):
        if MARK in path.read_text().splitlines():
            yield path


def files_with_quick_tests(root: Path) -> Iterator[Path]:
    for path in sorted((root / "tests").rglob("test_*.py")):
        if {MARK, "@pytest.mark.quick"} & set(path.read_text().splitlines()):
            yield path


def rooms(files: Iterable[str]) -> set[str]:
    """The first two folders of each path: `partition/api.py` lies in the room `partition`."""
    return {"/".join(Path(name).parts[:-1][:2]) for name in files if Path(name).name != "__init__.py"}


def imports(path: Path, root: Path) -> set[str]:
    """Dotted names of what a file of tests imports."""
    found = set()
    package = path.relative_to(root).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def test_every_room_has_quick_tests() -> None:
    tested = rooms(str(path.relative_to(ROOT / "tests")) for path in files_with_quick_tests(ROOT))
    tested |= {room.split("/")[0] for room in tested}
    assert sorted(rooms(modules(ROOT).values()) - tested) == []


def test_no_quick_test_starts_programs() -> None:
    found = {str(path.relative_to(ROOT)): sorted(imports(path, ROOT) & SLOW) for path in quick_files(ROOT)}
    assert len(found) > 50
    assert {name: slow for name, slow in found.items() if slow} == {}


def test_no_quick_test_is_long() -> None:
    """`-m quick` takes the place of `-m "not long"`."""
    both = [str(path) for path in files_with_quick_tests(ROOT) if "pytest.mark." + "long" in path.read_text()]
    assert both == []


def test_long_cases_of_quick_files_are_not_quick(request: pytest.FixtureRequest) -> None:
    """The marker of the file is not all."""

    def collected(words: str) -> list[pytest.Item]:
        items, gone = [request.node, long], list[pytest.Item]()
        option, hook = (
            SimpleNamespace(markexpr=words),
            SimpleNamespace(pytest_deselected=lambda items: gone.extend(items)),
        )
        config = cast(pytest.Config, SimpleNamespace(option=option, hook=hook, args=["tests/x.py::test_long"]))
        LongCases().pytest_collection_modifyitems(config, items)
        assert not set(items) & set(gone) and len(items) + len(gone) == 2
        return items

    long = pytest.Function.from_parent(request.node.parent, name="test_long", callobj=lambda: None)
    long.add_marker("long")
    assert collected("quick") == [request.node]
    assert collected("long") == collected("not long") == [request.node, long]  # pytest itself chooses among these


def test_what_starts_programs_is_found(tmp_path: Path) -> None:
    path = tmp_path / "tests" / "codegen" / "test_some.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        f"import subprocess\nfrom .woven_programs import run_woven\nfrom tracecut.pipeline import supervise\n{MARK}\n"
    )
    assert list(quick_files(tmp_path)) == [path]
    assert imports(path, tmp_path) & SLOW == {
        "subprocess",
        "tests.codegen.woven_programs",
        "tracecut.pipeline.supervise",
    }
