"""A folder of results: damage is recognised and named, nothing of it runs, and it can be made again."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracecut import __version__
from tracecut.errors import ArtefactError
from tracecut.pipeline.output.folder import MAX_LISTING, NEXT, fingerprint, opened, read_listing
from tracecut.pipeline.output.folder_marks import RESULT, STAGING, is_marked, put_mark
from tracecut.pipeline.output.staging import publish, staging

SMALL = "int main(void) { return 0; }"


def visit(folder: Path) -> None:
    """Open a result, and leave it again."""
    with opened(folder) as listing:
        assert listing["tracecut"] == __version__


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def become_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path: os.truncate(path, 0),
    "longer": lambda path: os.truncate(path, path.stat().st_size + 1),
    "flipped": flip,
    "removed": Path.unlink,
    "a folder": become_folder,
    "a pipe": become_pipe,
    "a link into nowhere": lambda path: (path.unlink(), path.symlink_to("nowhere")),  # type: ignore[func-returns-value]
}
NEEDED = {"refused": ["host.json", "program"], "optimized": ["host.json", "program", "program.so", "scopes/scope0.npz"]}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", NEEDED)
def test_a_damaged_file_is_named(
    kind: str, damage: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result: Path = request.getfixturevalue(kind)
    monkeypatch.chdir(tmp_path)
    for name in NEEDED[kind]:
        shutil.copytree(result, "spoilt", symlinks=True)
        DAMAGE[damage](Path("spoilt", name))
        with pytest.raises(ArtefactError) as caught:
            visit(Path("spoilt"))
        assert caught.value.message.startswith("spoilt")
        assert name in caught.value.message or "is incomplete" in caught.value.message
        assert "tracecut optimize" in caught.value.hint
        shutil.rmtree("spoilt")


@pytest.mark.parametrize("name", NEEDED["optimized"])
def test_nothing_runs_when_a_file_is_damaged(name: str, optimized: Path, shell: Any) -> None:
    flip(optimized / name)
    done = shell("run", optimized)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"tracecut: {optimized}/{name} is damaged")
    assert "Traceback" not in done.err and "internal error" not in done.err


@pytest.mark.parametrize("kind", NEEDED)
def test_what_only_people_read_may_be_damaged(kind: str, request: pytest.FixtureRequest, shell: Any) -> None:
    result: Path = request.getfixturevalue(kind)
    others = [path for path in result.rglob("*") if path.is_file()]
    others = [path for path in others if str(path.relative_to(result)) not in NEEDED[kind]]
    assert {path.name for path in others} >= {"manifest.json", "report.html", "remarks.yaml", "canonical.ll"}
    for path in others:
        path.unlink()
    done = shell("run", result, "--", "exit", "5")
    assert (done.code, done.out, done.err) == (5, "sum 1.596425000e+09\n", "")


def forge(folder: Path, **changes: Any) -> None:
    """Change a listing, with a valid check; a value of None removes the key."""
    listing = read_listing(folder) | changes
    listing = {key: value for key, value in listing.items() if value is not None}
    (folder / "host.json").write_text(json.dumps({**listing, "check": fingerprint(listing)}, indent=1) + "\n")


LISTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "of another version": ({"tracecut": "0.0.9"}, f"was made by tracecut 0.0.9, this is {__version__}"),
    "without a version": ({"tracecut": None}, "is damaged: KeyError: 'tracecut'"),
    "without threads": ({"threads": None}, "is damaged: KeyError: 'threads'"),
    "without globals": ({"globals": None}, "is damaged: KeyError: 'globals'"),
    "without scopes": ({"scopes": None}, "is damaged: KeyError: 'scopes'"),
    "without files": ({"files": None}, "is damaged: KeyError: 'files'"),
    "no files": ({"files": {}}, "does not list program"),
    "files are a list": ({"files": []}, "is damaged"),
    "threads are a word": ({"threads": "two"}, "is damaged"),
    "a number for a name": ({"scopes": [1]}, "is damaged"),
    "scopes that are not there": ({"scopes": ["scopes/scope7.npz"]}, "does not list scopes/scope7.npz"),
    "a way up": ({"scopes": ["../scope0.npz"]}, "is damaged"),
    "a way up, inside": ({"scopes": ["scopes/../../x"]}, "is damaged"),
    "a way up, short": ({"scopes": ["scopes/.."]}, "is damaged"),
    "the root": ({"scopes": ["/etc/passwd"]}, "is damaged"),
    "the root, inside": ({"files": {"scopes//etc": [1, "x"]}}, "is damaged"),
    "a file of others": ({"files": {"passwd": [1, "x"]}}, "is damaged"),
    "a deep file": ({"files": {"kernels/a/b": [1, "x"]}}, "is damaged"),
    "nothing about a file": ({"files": {"program": None, "program.so": None, "scopes/scope0.npz": None}}, "is damaged"),
}


@pytest.mark.parametrize("case", LISTINGS)
def test_a_listing_that_is_not_ours(case: str, optimized: Path) -> None:
    changes, message = LISTINGS[case]
    forge(optimized, **changes)
    with pytest.raises(ArtefactError) as caught:
        visit(optimized)
    assert message in caught.value.message and str(optimized) in caught.value.message


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"null", b'"x"', b"1e999", b"{" * 100_000, b"[" * 100_000, b"\xff\xfe", b'{"check": NaN}'],
    ids=lambda data: repr(data[:12]),
)
def test_a_listing_that_is_no_listing(data: bytes, refused: Path) -> None:
    (refused / "host.json").write_bytes(data)
    with pytest.raises(ArtefactError, match="is damaged"):
        visit(refused)


def test_a_huge_listing(refused: Path, shell: Any) -> None:
    os.truncate(refused / "host.json", 100 * MAX_LISTING)
    done = shell("run", refused)
    assert done.code == 1 and "host.json is damaged" in done.err and "Traceback" not in done.err


def test_every_bit_of_the_listing_matters(refused: Path) -> None:
    path = refused / "host.json"
    data = path.read_bytes()
    for place in range(0, len(data), 7):
        spoilt = bytearray(data)
        spoilt[place] ^= 1 << place % 8
        path.write_bytes(spoilt)
        with pytest.raises(ArtefactError, match=re.escape(str(refused))):
            visit(refused)


def test_a_damaged_result_is_replaced(refused: Path, shell: Any) -> None:
    source = shell.source(SMALL).name
    for name in ("host.json", "manifest.json", "program"):
        os.truncate(refused / name, 40)
        assert shell("optimize", source, "-o", refused).code == 0
        with opened(refused) as listing:
            assert json.loads((refused / "manifest.json").read_bytes())["source"] == [source]
        assert set(listing["files"]) | {"host.json"} == {path.name for path in refused.iterdir()}


def test_a_damaged_next_result_is_dropped(refused: Path) -> None:
    (refused / NEXT).mkdir()
    put_mark(refused / NEXT, STAGING, __version__)
    (refused / NEXT / "host.json").write_text("{")
    with pytest.raises(ArtefactError, match="is damaged"):
        visit(refused)
    with staging(refused) as folder:
        (folder / "program").write_text("new")
        publish(folder, refused, {"tracecut": __version__, "globals": [], "scopes": [], "threads": 1})
    with opened(refused):
        assert (refused / "program").read_text() == "new"
    assert not (refused / NEXT).exists()


def test_a_result_of_the_first_version_is_replaced(refused: Path, shell: Any) -> None:
    """It has no mark: its listing, which carries a digest of itself, says what it is. To run, it is made again."""
    listing = read_listing(refused)
    (refused / RESULT).unlink()
    del listing["files"][RESULT]
    forge(refused, tracecut="0.0.1", files=listing["files"])
    done = shell("run", refused)
    assert done.code == 1 and "was made by tracecut 0.0.1" in done.err and "Run tracecut optimize again" in done.err
    assert shell("optimize", shell.source(SMALL).name, "-o", refused).code == 0
    assert is_marked(refused, RESULT) and shell("run", refused).code == 0
