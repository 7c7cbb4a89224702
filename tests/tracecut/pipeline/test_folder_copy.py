"""Copies of the current folder that a program may change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tracecut.support.errors import OutputError

from tracecut.pipeline import folder_copy
from tracecut.pipeline.folder_copy import files_of, run_folder
from tracecut.pipeline.stages.settings import Settings

pytestmark = pytest.mark.quick


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    for name in ("mesh", "data/points", "out/program"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "link").symlink_to("data")
    (folder / "elsewhere").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").write_text("outside")
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    return folder


def test_each_run_has_a_copy_of_its_own(here: Path, tmp_path: Path) -> None:
    settings = Settings(("a.c",), output=Path("out"), in_copy=True)
    before = files_of(here)
    places = []
    for _ in range(2):
        with run_folder(settings, tmp_path / "work") as copy:
            assert copy is not None
            places.append(copy)
            assert files_of(copy).keys() == {"mesh", "data/points"}
            assert files_of(copy)["mesh"] == before["mesh"]
            assert (copy / "link" / "points").read_text() == "data/points"
            assert (copy / "elsewhere").read_text() == "outside"
            (copy / "mesh").write_text("changed")
            (copy / "new").touch()
    assert places[0] == places[1]
    assert not places[0].exists()
    assert files_of(here) == before


def test_the_folder_itself_is_the_default(tmp_path: Path) -> None:
    with run_folder(Settings(("a.c",)), tmp_path) as folder:
        assert folder is None


def test_a_large_folder_is_not_copied(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_copy, "MOST_FILES", 1)
    settings = Settings(("a.c",), output=Path("out"), in_copy=True)
    with pytest.raises(OutputError, match="too large to copy"), run_folder(settings, tmp_path / "work") as copy:
        pytest.fail(f"the program would run in {copy}")
    assert not (tmp_path / "work" / "copy" / "here").exists()
