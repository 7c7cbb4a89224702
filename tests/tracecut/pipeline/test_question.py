"""Which question a result answers: what changes it, and when an earlier result is taken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.errors import ArtefactError
from tracecut.support.file_kinds import digest_of_path
from tracecut.support.version import __version__
from tracecut.tracer.toolchain.flags import Flags

from tracecut.pipeline import question
from tracecut.pipeline.output.folder import opened
from tracecut.pipeline.output.folder_marks import RESULT, put_mark
from tracecut.pipeline.output.staging import seal
from tracecut.pipeline.question import QUESTION, answer_to, question_of, with_question
from tracecut.pipeline.stages.settings import Settings

pytestmark = pytest.mark.quick


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A program in LLVM IR, which no preprocessor reads."""
    monkeypatch.setattr(question, "_tools", lambda: iter(["compiler"]))
    source = tmp_path / "program.ll"
    source.write_text("define i32 @main() { ret i32 0 }\n")
    return Settings((str(source),), argv=("8",))


def number(settings: Settings, folder: Path, stdin: Path | None = None) -> str:
    return question_of(settings, stdin, folder)


def test_each_part_of_a_question_counts(asked: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = number(asked, tmp_path)
    assert len(first) == 64
    words, library = tmp_path / "words", tmp_path / "part.o"
    words.write_text("input")
    library.write_text("code")
    others = [
        number(replace(asked, argv=("9",)), tmp_path),
        number(replace(asked, threads=1), tmp_path),
        number(replace(asked, exact=True), tmp_path),
        number(replace(asked, budget=3.0), tmp_path),
        number(replace(asked, flags=Flags(compile=("-DN=1",))), tmp_path),
        number(replace(asked, flags=Flags(objects=(str(library),))), tmp_path),
        number(asked, tmp_path, words),
    ]
    library.write_text("other code")
    words.write_text("other input")
    others += [number(replace(asked, flags=Flags(objects=(str(library),))), tmp_path), number(asked, tmp_path, words)]
    monkeypatch.setenv("MESH_SIZE", "3")
    others.append(number(asked, tmp_path))
    monkeypatch.delenv("MESH_SIZE")
    assert number(asked, tmp_path) == first
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        others.append(number(asked, tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(question, "_tools", lambda: iter(["another compiler"]))
        others.append(number(asked, tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(question.os, "sched_getaffinity", lambda _: {0})
        patch.setattr(question.Machine, "detect", lambda: question.Machine.mesh(2, 2))
        others.append(number(asked, tmp_path))
    Path(asked.sources[0]).write_text("define i32 @main() { ret i32 1 }\n")
    others.append(number(asked, tmp_path))
    assert len({first, *others}) == 1 + len(others)


def test_what_does_not_count(asked: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = number(asked, tmp_path)
    monkeypatch.setenv("SHLVL", "7")
    assert number(replace(asked, fresh=True, output=tmp_path / "elsewhere"), tmp_path) == first


def test_a_source_that_cannot_be_read_is_no_question(asked: Settings, tmp_path: Path) -> None:
    assert number(replace(asked, flags=Flags(libraries=("no-such-library",))), tmp_path) == ""


def result(folder: Path, inputs: dict[str, str], *, asked: str = "7") -> dict[str, Any]:
    """An output folder in which nothing was optimized. Returns its manifest."""
    folder.mkdir()
    put_mark(folder, RESULT, __version__)
    (folder / "program").write_text("the program")
    manifest = {"made": "2026-01-02 03:04:05", "reused": False, "notes": ["a note"], "regions": []}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    plain = {"tracecut": __version__, "globals": [], "scopes": [], "threads": 1, "guards": []}
    seal(folder, with_question({**plain, "inputs": inputs, "unseen": ""}, asked, asked))
    return manifest


def test_a_result_answers_its_question_until_an_input_changes(tmp_path: Path) -> None:
    mesh, out = tmp_path / "mesh", tmp_path / "out"
    mesh.write_text("1 2 3")
    made = result(out, {str(mesh): digest_of_path(str(mesh)), str(tmp_path / "gone"): "nothing"})
    found = answer_to("7", out)
    assert found is not None
    assert found["reused"] is True
    assert "2026-01-02 03:04:05" in found["notes"][0]
    assert found["notes"][1:] == made["notes"]
    assert answer_to("8", out) is None
    assert answer_to("", out) is None
    mesh.write_text("1 2 4")
    assert answer_to("7", out) is None
    mesh.write_text("1 2 3")
    assert answer_to("7", out) == found
    (tmp_path / "gone").touch()
    assert answer_to("7", out) is None


@pytest.mark.parametrize("name", ["manifest.json", "program", "host.json", "tracecut-result"])
@pytest.mark.parametrize("damage", ["change", "remove"])
def test_a_result_that_was_changed_or_removed_is_no_answer(tmp_path: Path, name: str, damage: str) -> None:
    out = tmp_path / "out"
    result(out, {})
    assert answer_to("7", out) is not None
    if damage == "remove":
        (out / name).unlink()
    else:
        (out / name).write_text("other")
    assert answer_to("7", out) is None


def test_no_folder_is_no_answer(tmp_path: Path) -> None:
    assert answer_to("7", tmp_path / "out") is None
    with pytest.raises(ArtefactError), opened(tmp_path / "out") as listing:
        pytest.fail(f"a result was found where there is none: {listing}")


@pytest.mark.parametrize(
    ("before", "after", "unseen", "count"),
    [("7", "8", "", 1), ("", "", "", 1), ("7", "7", "it calls popen", 1), ("7", "7", "", question.MOST_INPUTS + 1)],
)
def test_a_question_that_is_not_known_is_not_kept(before: str, after: str, unseen: str, count: int) -> None:
    listing = {"threads": 1, "inputs": {str(place): "nothing" for place in range(count)}, "unseen": unseen}
    assert with_question(listing, before, after) == {"threads": 1}
    kept = with_question({"threads": 1, "inputs": {"a": "nothing"}, "unseen": ""}, "7", "7")
    assert kept == {"threads": 1, QUESTION: {"number": "7", "inputs": {"a": "nothing"}}}
