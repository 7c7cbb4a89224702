"""Writing a file is all or nothing, whatever fails; JSON is taken on no trust."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tracecut.support.errors import ArtefactError, OutputError
from tracecut.support.file_kinds import descriptor_of, is_folder, is_special
from tracecut.support.files import (
    load_json,
    parse_json,
    write_atomic,
    write_json,
    write_text,
)


class TestWriting:
    def test_text_json_and_folders(self, tmp_path: Path) -> None:
        assert write_text(tmp_path / "a" / "b" / "text", "ü\n").read_bytes() == "ü\n".encode()
        assert json.loads(write_json(tmp_path / "json", {"x": [1, None]}).read_text()) == {"x": [1, None]}

    def test_mode_is_kept_or_follows_the_umask(self, tmp_path: Path) -> None:
        old = os.umask(0o027)
        try:
            fresh = write_text(tmp_path / "fresh", "1")
        finally:
            os.umask(old)
        assert fresh.stat().st_mode & 0o777 == 0o640
        fresh.chmod(0o604)
        assert write_text(fresh, "2").stat().st_mode & 0o777 == 0o604

    def test_a_link_at_the_target_is_replaced_and_not_followed(self, tmp_path: Path) -> None:
        victim = tmp_path / "victim"
        victim.write_text("kept")
        link = tmp_path / "link"
        link.symlink_to(victim)
        write_text(link, "new")
        assert (victim.read_text(), link.read_text(), link.is_symlink()) == ("kept", "new", False)


FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES, errno.EROFS)
SITES = ("tempfile.mkstemp", "os.fsync", "os.fchmod", "os.replace", "write", "partial write")


@pytest.mark.parametrize("number", FAILURES, ids=errno.errorcode.get)
@pytest.mark.parametrize("site", SITES)
def test_every_failing_step_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: str, number: int
) -> None:
    target = tmp_path / "target"
    target.write_text("old")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    def write(file: BinaryIO) -> None:
        file.write(b"n" if site == "partial write" else b"new" * 100_000)
        if site in ("write", "partial write"):
            fail()

    if site.startswith(("os.", "tempfile.")):
        monkeypatch.setattr(site, fail)
    with pytest.raises(OutputError) as caught:
        write_atomic(target, write)
    monkeypatch.undo()
    assert f"cannot write {target}: {os.strerror(number)}" in caught.value.message
    assert (" free)" in caught.value.message) == (number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "labels\n")
        assert os.read(reader, 100) == b"labels\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="directory"):
        write_text(tmp_path, "labels\n")


@pytest.mark.parametrize("amount", [1, 100_000_000], ids=["at flush", "at write"])
def test_a_device_that_is_really_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, amount: int) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    stray = tmp_path / "stray"

    def full(**_: Any) -> tuple[int, str]:
        stray.touch()
        return os.open("/dev/full", os.O_WRONLY), str(stray)

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_text(target, "x" * amount)
    assert target.read_text() == "old"
    assert not stray.exists()


def test_a_limit_on_file_sizes(tmp_path: Path) -> None:
    """The kernel cuts the write short in the middle; in a process of its own, since the limit cannot be lifted."""
    code = """
import resource, sys
from tracecut.support.errors import OutputError
from tracecut.support.files import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try: write_text(sys.argv[1], "x" * 1_000_000)
except OutputError as error: print(error.message)
"""
    target = tmp_path / "target"
    target.write_text("old")
    done = subprocess.run([sys.executable, "-P", "-c", code, target], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"cannot write {target}: File too large (")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "file" / "inner", tmp_path / "folder", Path("/proc/none/file"), tmp_path / ("n" * 300)):
        with pytest.raises(OutputError, match=f"cannot write {place}: "):
            write_text(place, "new")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    """One process forks writers, kills each at a random moment after some files and looks at the one that is left."""
    code = """
import os, random, signal, sys, time
from pathlib import Path
from tracecut.support.files import write_text
target, choose = Path(sys.argv[1]), random.Random(7)
write_text(target, "0" * 1_000_000)
for _ in range(60):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            for letter in "abc":
                write_text(target, letter * 1_000_000, sync=False)
                os.write(theirs, b".")
    os.close(theirs)
    for _ in range(choose.randrange(5)): os.read(ours, 1)
    time.sleep(choose.uniform(0, 0.002))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ours)
    text = target.read_text()
    print(len(text), len(set(text)), text[0])
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, tmp_path / "target"], capture_output=True, text=True, check=True
    )
    states = [line.split() for line in done.stdout.splitlines()]
    assert len(states) == 60
    assert {(length, letters) for length, letters, _ in states} == {("1000000", "1")}
    assert len({letter for *_, letter in states}) > 1, "no writer came far enough to be killed at its work"


class TestJson:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "[1,]",
            '{"a": 1} x',
            '{"a": NaN}',
            "[-Infinity]",
            "[1e999]",
            '{"a": 1, "a": 2}',
            '{"x": {"a": 1, "a": 1}}',
            "[" * 100_000 + "]" * 100_000,
            "9" * 100_000,
            "'a'",
        ],
    )
    def test_refused(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(ArtefactError, match=r"x\.json is not valid JSON"):
            load_json(path)

    def test_bytes_that_are_no_text(self) -> None:
        with pytest.raises(ArtefactError, match="somewhere is not valid JSON"):
            parse_json(Path("somewhere"), b'{"\xff": 1}')

    def test_accepted(self, tmp_path: Path) -> None:
        value = {"a": [1, -2.5, 1e300, None, True, "ü"], "b": {"a": {}}}
        path = write_json(tmp_path / "x.json", value)
        assert load_json(path) == value

    def test_size_limit(self, tmp_path: Path) -> None:
        path = write_json(tmp_path / "x.json", ["x" * 100])
        with pytest.raises(ArtefactError, match="larger than 99 bytes"):
            load_json(path, limit=99)

    def test_not_a_number_is_not_written(self, tmp_path: Path) -> None:
        path = write_json(tmp_path / "x.json", 1)
        with pytest.raises(ValueError, match="not JSON compliant"):
            write_json(path, float("inf"))
        assert load_json(path) == 1


def test_a_descriptor_of_a_plain_file_is_written_to_and_stays(tmp_path: Path) -> None:
    """As `/dev/stdout` where output goes to a file: the link stays, and text comes behind what is there."""
    with open(tmp_path / "target", "wb") as target:
        link = tmp_path / "link"
        link.symlink_to(f"/proc/self/fd/{target.fileno()}")
        os.write(target.fileno(), b"before\n")
        for name in (link, Path(f"/dev/fd/{target.fileno()}")):
            assert descriptor_of(name) == target.fileno() and is_special(name)
            write_text(name, "labels\n")
        os.write(target.fileno(), b"after\n")
    assert (tmp_path / "target").read_text() == "before\nlabels\nlabels\nafter\n"
    assert link.is_symlink() and sorted(tmp_path.iterdir()) == [link, tmp_path / "target"]


def test_links_to_plain_files_are_no_descriptors(tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "round").symlink_to("round")
    for name in ("target", "link", "round", "none", "x" * 5000):
        assert descriptor_of(tmp_path / name) is None and not is_special(tmp_path / name)
        assert not is_folder(tmp_path / name)
    assert is_folder(tmp_path) and is_special(tmp_path)


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="File name too long"):
        write_text(tmp_path / ("x" * 300), "labels\n")
