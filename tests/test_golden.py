"""The comparison with golden files: what differs is shown, and how the file is written anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import same_as_golden

pytestmark = pytest.mark.quick


def test_a_missing_file_explains_itself(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"there is no .*none\.txt\. .*--update-golden"):
        same_as_golden(tmp_path / "none.txt", "text\n", update=False)
    assert not (tmp_path / "none.txt").exists()


@pytest.mark.parametrize("made", ["one\nthree\n", "one\ntwo", ""])
def test_another_text_is_shown_and_left_alone(tmp_path: Path, made: str) -> None:
    path = tmp_path / "held.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(AssertionError, match=r"held\.txt differs:[\s\S]*--update-golden"):
        same_as_golden(path, made, update=False)
    assert path.read_text() == "one\ntwo\n"


def test_an_update_writes_the_file_and_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "new.txt"
    same_as_golden(path, "× and µ\n", update=True)
    assert path.read_bytes() == "× and µ\n".encode()
    same_as_golden(path, "× and µ\n", update=False)
