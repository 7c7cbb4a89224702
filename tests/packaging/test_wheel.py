"""The wheel and the sdist hold every module and data file of the folders, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("support", "ir", "tracer", "partition", "mapping", "codegen")
DATA = (".c", ".h", ".html", ".css", ".toml")


def expected() -> set[str]:
    """Files of the packages as they are on disk, by their name in the wheel."""
    found = {}
    for folder in ("tracecut", *FOLDERS):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and (path.suffix in (".py", *DATA) or path.name == "py.typed"):
                name = path.relative_to(ROOT).as_posix()
                found[name if folder == "tracecut" else f"tracecut/{name}"] = path
    return set(found)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with an sdist of a copy of the tree, and the wheel that is made from that sdist."""
    folder = tmp_path_factory.mktemp("build")
    tree = folder / "tree"
    skip = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "results")
    shutil.copytree(ROOT, tree, ignore=skip)
    code = "import sys, setuptools.build_meta as b; print(b.build_sdist(sys.argv[1]))"
    sdist = _run([sys.executable, "-c", code, str(folder)], tree).splitlines()[-1]
    with tarfile.open(folder / sdist) as archive:
        archive.extractall(folder / "sdist", filter="data")
    (unpacked,) = (folder / "sdist").iterdir()
    code = code.replace("build_sdist", "build_wheel")
    _run([sys.executable, "-c", code, str(folder)], unpacked)
    return folder


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_wheel_holds_what_the_folders_hold(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    scripts = {name.rsplit("/", 1)[1] for name in names if ".data/scripts/" in name}
    assert scripts == {"tracecut-cc", "tracecut-c++"}
    assert {name for name in names if ".data/scripts/" not in name} == expected()
    assert "tracecut/py.typed" in names


def test_each_nested_package_is_listed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(settings["tool"]["setuptools"]["packages"])
    on_disk = {name.rsplit("/", 1)[0].replace("/", ".") for name in expected() if name.endswith(".py")}
    assert listed == on_disk


def test_the_wheel_names_licence_and_command(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    info = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")).rsplit("/", 1)[0]
    assert "License-Expression: MIT" in archive.read(f"{info}/METADATA").decode()
    assert "tracecut = tracecut.__main__:main" in archive.read(f"{info}/entry_points.txt").decode()
    assert any(name.endswith("LICENSE") for name in archive.namelist())
