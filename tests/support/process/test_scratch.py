"""Private temporary folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tracecut.support.errors import OutputError
from tracecut.support.process.runner import private_folder


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_folder_is_private_and_goes_away(base: Path) -> None:
    with private_folder("tracecut") as folder, private_folder("tracecut") as second:
        assert folder.parent == base
        assert folder != second
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "inner").mkdir()
        (folder / "inner" / "file").write_text("x")
    assert not list(base.iterdir())


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, ValueError])
def test_folder_goes_away_with_exceptions(base: Path, exception: type[BaseException]) -> None:
    with pytest.raises(exception), private_folder("tracecut"):
        raise exception
    assert not list(base.iterdir())


def test_locked_folders_and_links_inside(base: Path) -> None:
    outside = base / "outside"
    outside.mkdir(mode=0o755)
    with private_folder("tracecut") as folder:
        locked = folder / "locked" / "more"
        locked.mkdir(parents=True)
        (folder / "locked" / "link").symlink_to(outside)
        locked.chmod(0)
        locked.parent.chmod(0)
    assert list(base.iterdir()) == [outside]
    assert outside.stat().st_mode & 0o777 == 0o755


def test_removed_by_the_user_meanwhile(base: Path) -> None:
    with private_folder("tracecut") as folder:
        folder.rmdir()
    assert not list(base.iterdir())


def test_what_a_killed_process_left_is_swept_and_nothing_else(base: Path) -> None:
    code = f"""
import os, pathlib, signal, tempfile
tempfile.tempdir = {str(base)!r}
from tracecut.support.process.runner import private_folder
with private_folder("tracecut") as folder:
    (folder / "file").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == -signal.SIGKILL
    (stale,) = base.iterdir()
    namespace, pid, start = stale.name.split("-")[1:4]
    kept = [
        base / f"tracecut-{int(namespace) + 1}-{pid}-{start}-other_namespace",
        base / f"else-{namespace}-{pid}-{start}-other_prefix",
        base / "tracecut-by-hand",
    ]
    for path in kept:
        path.mkdir()
    link = base / f"tracecut-{namespace}-{pid}-{start}-link"
    link.symlink_to(kept[0])
    with private_folder("tracecut") as mine, private_folder("tracecut"):
        assert mine.exists()
        assert not stale.exists()
        assert all(path.exists() for path in [*kept, link])
        assert str(os.getpid()) in mine.name


def test_reused_pid_is_told_by_its_start_time(base: Path) -> None:
    with private_folder("tracecut") as mine:
        words = mine.name.split("-")
        words[3] = str(int(words[3]) - 1)
        earlier = base / "-".join(words)
        earlier.mkdir()
        with private_folder("tracecut"):
            assert not earlier.exists()
            assert mine.exists()


def test_no_room_for_the_folder(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(base / "none"))
    folder = private_folder("x")
    with pytest.raises(OutputError, match=r"cannot make a temporary folder in .*/none: No such file"):
        folder.__enter__()
