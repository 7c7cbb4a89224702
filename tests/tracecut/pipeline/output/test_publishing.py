"""Where results are written: a result is replaced as a whole or not at all, and files of others stay."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracecut import __version__
from tracecut.errors import OutputError
from tracecut.pipeline.output.folder import NEXT, opened
from tracecut.pipeline.output.folder_marks import STAGING, put_mark
from tracecut.pipeline.output.staging import publish, staging

from ....waiting import HUNG

SMALL = "int main(void) { return 0; }"


@pytest.mark.parametrize("mode", ["killed", "ENOSPC", "EPERM"])
def test_every_step_of_publishing(mode: str, tmp_path: Path) -> None:
    """Stopped at any step, the old result is intact or the new one complete; the next run finds no trace of it."""
    script = Path(__file__).with_name("crash_steps.py")
    done = subprocess.run(
        [sys.executable, "-P", script, tmp_path, mode], capture_output=True, text=True, timeout=HUNG, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["old", "new"], ["new", "small"], ["small", "old"]]
    for _, _, steps, renewed in rows:
        assert 10 < int(renewed) < int(steps)  # both ends were seen


UNUSABLE = {
    "a file": lambda folder: folder.joinpath("out").write_text("mine"),
    "below a file": lambda folder: folder.joinpath("out").write_text("mine"),
    "a file system without files": lambda folder: None,
    "a loop of links": lambda folder: folder.joinpath("out").symlink_to("out"),
}
NAMES = {"below a file": "out/below/it", "a file system without files": "/proc/out"}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_output_folder_that_can_not_be(case: str, shell: Any, contents: Any) -> None:
    UNUSABLE[case](shell.folder)
    source = shell.source(SMALL)
    before = contents(shell.folder)
    done = shell("optimize", source.name, "-o", NAMES.get(case, "out"))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("tracecut: cannot write to the output folder ")
    assert "-o" in done.err and "Traceback" not in done.err
    assert contents(shell.folder) == before


FOREIGN: dict[str, list[str]] = {
    "a program": ["out/program"],
    "the manifest of a web page": ["out/manifest.json", "out/index.html"],
    "somebody's listing": ["out/host.json"],
    "a report": ["out/report.html"],
    "kernels": ["out/kernels/fast.cu"],
    "scopes": ["out/scopes"],
}


@pytest.mark.parametrize("case", FOREIGN)
def test_files_of_others_stay(case: str, shell: Any, contents: Any) -> None:
    for name in FOREIGN[case]:
        path = shell.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"name": "mine"}')
    source = shell.source(SMALL)
    before = contents(shell.folder)
    done = shell("optimize", source.name, "-o", "out")
    assert (done.code, done.out) == (1, "")
    taken = FOREIGN[case][0].replace("/fast.cu", "")
    assert f"{shell.folder / taken} is there already, and does not come from tracecut" in done.err
    assert contents(shell.folder) == before


def test_files_beside_the_result_stay(shell: Any) -> None:
    """The result may lie among sources; also in the folder where the user is."""
    source = shell.source(SMALL)
    (shell.folder / "kernels").mkdir()
    (shell.folder / "notes.txt").write_text("mine")
    for _ in range(2):
        assert shell("optimize", source.name, "-o", ".").code == 0
        assert (shell.folder / "notes.txt").read_text() == "mine"
        assert source.read_text() == SMALL
    assert shell("run", ".").code == 0


@pytest.mark.parametrize(("name", "what"), [("report.html", "folder"), ("program.so", "folder"), ("kernels", "file")])
def test_something_is_in_the_way(name: str, what: str, refused: Path, shell: Any, contents: Any) -> None:
    if what == "folder":
        (refused / name).unlink(missing_ok=True)
        (refused / name / "mine").mkdir(parents=True)
    else:
        (refused / name).write_text("mine")
    before = contents(refused)
    done = shell("optimize", shell.source(SMALL).name, "-o", refused)
    assert (done.code, done.out) == (1, "")
    expected = {"program.so": "there already", "report.html": "a folder", "kernels": "not a folder"}
    assert f"{refused / name} is {expected[name]}" in done.err
    assert contents(refused) == before
    assert shell("run", refused, "--", "exit", "3").code == 3


def test_a_kernel_is_in_the_way(optimized: Path, contents: Any) -> None:
    (optimized / "kernels" / "new.ptx").mkdir()
    before = contents(optimized)
    with pytest.raises(OutputError, match=r"new\.ptx is a folder"), staging(optimized) as folder:
        (folder / "kernels").mkdir()
        (folder / "kernels" / "new.ptx").write_text("new")
        (folder / "program").write_text("new")
        publish(folder, optimized, {"tracecut": __version__, "globals": [], "scopes": [], "threads": 1})
    assert contents(optimized) == before
    with opened(optimized) as listing:
        assert listing["tracecut"] == __version__


@pytest.mark.parametrize("limit", [5_000, 10_000, 40_000])
def test_files_can_not_grow(limit: int, refused: Path, shell: Any, contents: Any) -> None:
    """A full disk, as far as a limit on the size of files is one; it strikes in another stage each time."""
    before = contents(refused)

    def restrict() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    source = shell.source(SMALL)
    process = shell.start("optimize", source.name, "-o", refused, preexec_fn=restrict)
    out, err = process.communicate(timeout=HUNG)
    assert (process.returncode, out) == (1, b"")
    assert err.startswith(b"tracecut: ") and len(err.splitlines()) > 1
    assert b"Traceback" not in err and b"internal error" not in err
    assert contents(refused) == before


# Folders of the user, and the result's own when its mark is gone or damaged.
HIDDEN = {
    ".tracecut-notes/plan.txt": b"mine",
    ".tracecut-staging-abcdefgh/data": b"mine",
    ".tracecut-staging-abcdefgi/tracecut-staging": b"tracecut-staging 1 0.1.0 00\n",
    ".tracecut-next/mine.txt": b"mine",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_only_marked_folders_are_swept(name: str, shell: Any) -> None:
    """A hidden folder stays, whatever it is called, unless it carries the mark of a dead run."""
    path = shell.folder / "out" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(HIDDEN[name])
    dead = shell.folder / "out" / ".tracecut-staging-deadrun1"
    empty = shell.folder / "out" / ".tracecut-staging-deadrun2"
    for folder in (dead, empty):
        (folder / "kernels").mkdir(parents=True)
    put_mark(dead, STAGING, __version__)
    (empty / "kernels").rmdir()
    done = shell("optimize", shell.source(SMALL).name, "-o", "out")
    assert path.read_bytes() == HIDDEN[name]
    if path.parent.name == NEXT:  # the new result could not be called so
        assert done.code == 1 and f"{path.parent} is there already, and does not come from tracecut" in done.err
    else:
        assert done.code == 0, done
        assert not dead.exists() and not empty.exists()
        assert shell("run", "out").code == 0 and path.exists()


def test_a_printed_manifest_does_not_make_a_result(shell: Any, contents: Any) -> None:
    """`--json > manifest.json`, then `-o .`: the user's files of the names of results are not touched."""
    source = shell.source(SMALL)
    printed = shell("optimize", source.name, "-o", "first", "--json").out
    for name, text in {"manifest.json": printed, "program": "a", "report.html": "b", "canonical.ll": "c"}.items():
        (shell.folder / name).write_text(text)
    before = contents(shell.folder)
    done = shell("optimize", source.name, "-o", ".")
    assert (done.code, done.out) == (1, "")
    for name in ("manifest.json", "program", "report.html", "canonical.ll"):
        assert str(shell.folder / name) in done.err
    assert "are there already, and do not come from tracecut" in done.err
    assert contents(shell.folder) == before


def test_what_a_result_does_not_list_is_not_its_own(optimized: Path, shell: Any, contents: Any) -> None:
    """The user has put files beside those of a result, by names that the next one could want."""
    with opened(optimized) as listing:
        kernel = next(name for name in sorted(listing["files"]) if name.startswith("kernels/"))
    mine = optimized / "kernels" / "mine.cu"
    mine.write_text("mine")
    before = contents(optimized)
    with pytest.raises(OutputError, match=r"mine\.cu is there already"), staging(optimized) as folder:
        (folder / "kernels").mkdir()
        (folder / "kernels" / "mine.cu").write_text("new")
        (folder / kernel).write_text("new")
        (folder / "program").write_text("new")
        publish(folder, optimized, {"tracecut": __version__, "globals": [], "scopes": [], "threads": 1})
    assert contents(optimized) == before
    assert shell("optimize", shell.source(SMALL).name, "-o", optimized).code == 0
    assert mine.read_text() == "mine" and not (optimized / kernel).exists()


def test_killed_while_it_makes_its_folder(tmp_path: Path) -> None:
    """Stopped at any step of making the hidden folder and its marks, the next run finds no trace."""
    for step in range(1, 30):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        child = os.fork()
        if child == 0:
            left = step

            def watch(event: str, arguments: tuple[Any, ...]) -> None:
                nonlocal left
                if event in ("open", "os.mkdir", "os.remove", "os.rmdir") and str(tmp_path) in str(arguments[0]):
                    left -= 1
                    if left == 0:
                        os._exit(9)

            sys.addaudithook(watch)
            made = False
            try:
                with staging(tmp_path / "out") as folder:
                    made = folder.is_dir()
            finally:  # this copy of the tests goes no further, whatever was raised
                os._exit(0 if made else 1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with staging(tmp_path / "out") as folder:
            assert [path.name for path in (tmp_path / "out").iterdir()] == [folder.name], step
        assert status in (0, 9), step
        if status == 0:
            return
    raise AssertionError("it never came to its end")


PLACES = {
    "a link to a folder": lambda folder: (folder / "real").mkdir() or (folder / "out").symlink_to("real"),
    "the folder of another program": lambda folder: (folder / "out").mkdir() or (folder / "out" / "Makefile").touch(),
    "inside of a result": lambda folder: None,
}


@pytest.mark.parametrize("place", PLACES)
def test_unusual_places(place: str, shell: Any) -> None:
    PLACES[place](shell.folder)
    source = shell.source(SMALL).name
    if place == "inside of a result":
        assert shell("optimize", source, "-o", "out").code == 0
        assert shell("optimize", source, "-o", "out/kernels").code == 0
        assert shell("optimize", source, "-o", "out").code == 0
        assert shell("run", "out/kernels").code == 0
    assert shell("optimize", source, "-o", "out").code == 0
    assert shell("run", "out").code == 0
    if place == "the folder of another program":
        assert (shell.folder / "out" / "Makefile").exists()


def test_two_at_once_into_one_folder(shell: Any) -> None:
    for name, status in {"one": 0, "two": 0}.items():
        shell.source(f'#include <stdio.h>\nint main(void) {{ puts("{name}"); return {status}; }}', f"{name}.c")
    processes = [shell.start("optimize", f"{name}.c", "-o", "out") for name in ("one", "two", "one")]
    for process in processes:
        process.communicate(timeout=HUNG)
        assert process.returncode == 0
    manifest = json.loads((shell.folder / "out" / "manifest.json").read_bytes())
    assert shell("run", "out").out == manifest["source"][0].replace(".c", "\n")
    assert not [path for path in (shell.folder / "out").iterdir() if path.name.startswith(".")]
