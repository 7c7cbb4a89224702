"""What a program looked at: from the events of a run to the files that its answer depends on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tracecut.support.file_kinds import NOTHING, digest_of_path
from tracecut.tracer.capture.watch import RECORD, read_record, seen_inputs, state_of

pytestmark = pytest.mark.quick


def event(kind: str, path: str | Path, state: tuple[int, ...] | None = None) -> bytes:
    numbers = state_of(str(path)) if state is None else state
    return f"{kind} {' '.join(map(str, numbers))}\t{path}".encode() + b"\0"


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    path = tmp_path / "mesh"
    path.write_text("a mesh\n")
    return path


def record(folder: Path, *events: bytes) -> Path:
    path = folder / RECORD
    path.write_bytes(b"".join(events))
    return path


def test_files_folders_and_what_is_missing_are_inputs(tmp_path: Path, mesh: Path) -> None:
    gone = tmp_path / "gone"
    events = [event("r", mesh), event("r", mesh), event("r", gone), event("r", "/proc/self/stat")]
    assert read_record(record(tmp_path, *events)) == (
        {str(mesh): digest_of_path(str(mesh)), str(gone): NOTHING},
        "",
    )


def test_what_a_program_wrote_first_is_no_input(tmp_path: Path, mesh: Path) -> None:
    nothing = (0, 0, 0, 0, 0)
    assert read_record(record(tmp_path, event("w", mesh, nothing), event("r", mesh))) == ({}, "")
    found, why = read_record(record(tmp_path, event("r", mesh), event("w", mesh)))
    assert (set(found), why) == ({str(mesh)}, "")


def test_an_input_that_the_program_changes_is_not_known(tmp_path: Path, mesh: Path) -> None:
    before = event("r", mesh)
    mesh.write_text("another mesh\n")
    found, why = read_record(record(tmp_path, before))
    assert found == {}
    assert why == f"it changes {mesh}, which it looks at before"


def test_pipes_cannot_be_read_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert (
        read_record(record(tmp_path, event("r", pipe)))[1] == f"it reads {pipe}, which is neither a file nor a folder"
    )


def test_what_cannot_be_seen_is_said(tmp_path: Path, mesh: Path) -> None:
    assert read_record(record(tmp_path, event("!", "socket")))[1].startswith("it uses socket")
    record(tmp_path, event("r", mesh))
    assert seen_inputs(tmp_path, ["fopen", "popen"])[1].startswith("it calls popen")
    assert seen_inputs(tmp_path / "other", ["fopen"]) == ({}, "")


def test_files_of_the_run_itself_are_left_out(tmp_path: Path, mesh: Path) -> None:
    record(tmp_path, event("r", mesh))
    assert seen_inputs(tmp_path, ["fopen"]) == ({}, "")


def test_digests_tell_names_in_folders_and_bytes_in_files(tmp_path: Path, mesh: Path) -> None:
    folder, file = digest_of_path(str(tmp_path)), digest_of_path(str(mesh))
    mesh.write_text("A mesh\n")
    assert digest_of_path(str(mesh)) != file
    assert digest_of_path(str(tmp_path)) == folder
    (tmp_path / "more").touch()
    assert digest_of_path(str(tmp_path)) != folder
    assert digest_of_path("/dev/null") == ""
