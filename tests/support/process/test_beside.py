"""Work in a child beside a program: its memory as it was, and nothing that the program could notice."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from tracecut.support.process import beside
from tracecut.support.process.beside import HEAD, Beside

from ...waiting import HUNG

CPUS = os.sched_getaffinity(0)


def result(work: Beside) -> bytes | str:
    end = time.monotonic() + HUNG
    while (found := work.poll()) is None:
        assert time.monotonic() < end
        time.sleep(0.005)
    return found


def started(work: object) -> Beside:
    found = Beside.start(work, CPUS)  # type: ignore[arg-type]
    assert found is not None
    return found


def forever() -> Iterable[bytes]:
    while True:
        time.sleep(1)


def test_it_sees_the_memory_as_it_was() -> None:
    data = bytearray(b"before")

    def work() -> Iterable[bytes]:
        time.sleep(0.1)
        yield bytes(data)
        yield b"" if os.getpid() == own else b", elsewhere"

    own = os.getpid()
    made = started(work)
    data[:] = b"behind"
    assert result(made) == b"before, elsewhere"


def test_a_result_of_many_megabytes_comes_whole() -> None:
    part = bytes(range(256)) * 4096
    assert result(started(lambda: [part] * 40)) == part * 40


def test_the_program_has_no_child_and_no_descriptor_and_no_signal_more() -> None:
    got: list[int] = []
    before = signal.signal(signal.SIGCHLD, lambda number, _: got.append(number))
    try:
        files = set(Path("/proc/self/fd").iterdir())
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        made = started(lambda: [b"done"])
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        assert set(Path("/proc/self/fd").iterdir()) == files
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
        assert result(made) == b"done"
        assert got == []
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_signal_to_the_whole_group_runs_no_handler_beside(tmp_path: Path) -> None:
    def work() -> Iterable[bytes]:
        os.kill(os.getpid(), signal.SIGUSR1)  # as one to the group would come
        time.sleep(0.05)
        yield b"whole"

    before = signal.signal(signal.SIGUSR1, lambda *_: (tmp_path / "handled").touch())
    try:
        assert result(started(work)) == b"whole"
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not (tmp_path / "handled").exists()


def test_pipes_of_the_program_end_when_it_closes_them() -> None:
    reader, writer = os.pipe()
    made = started(forever)
    os.close(writer)
    assert os.read(reader, 1) == b""  # nobody else holds the other end
    os.close(reader)
    made.stop()


def test_what_goes_wrong_is_told() -> None:
    def raises() -> Iterable[bytes]:
        raise ValueError("not today")

    def crashes() -> Iterable[bytes]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []

    assert result(started(raises)) == "ValueError: not today"
    assert result(started(crashes)) == "it was ended"


def test_a_result_that_does_not_fit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "ROOMS", (2 * HEAD,))
    assert "does not fit into 4096 bytes" in str(result(started(lambda: [bytes(HEAD + 1)])))


def test_without_memory_or_processes_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_clone", lambda: -1)
    assert Beside.start(forever, CPUS) is None

    def none(*_: object, **__: object) -> mmap.mmap:
        raise OSError("no address space")

    monkeypatch.setattr(mmap, "mmap", none)
    assert Beside.start(forever, CPUS) is None


def test_with_little_address_space_less_is_reserved() -> None:
    def work() -> Iterable[bytes]:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + (2 << 30), resource.getrlimit(resource.RLIMIT_AS)[1]))
        inner = beside._reserve()
        assert inner is not None
        yield str(len(inner)).encode()

    found = result(started(work))
    assert isinstance(found, bytes) and int(found) in beside.ROOMS[1:]


def test_it_can_be_stopped() -> None:
    made = started(forever)
    made.stop()
    assert not Path(f"/proc/{made._child}").exists()


@pytest.mark.parametrize("end", ["sys.exit(0)", "os.kill(os.getpid(), 9)", "os.execvp('sleep', ['sleep', '30'])"])
def test_it_ends_with_the_program(end: str) -> None:
    """However that ends, and also when another program takes its place."""
    text = f"""
import os, sys, time
from tracecut.support.process.beside import Beside

def forever():
    while True:
        time.sleep(1)

made = Beside.start(forever, os.sched_getaffinity(0))
print(made._child, flush=True)
time.sleep(0.2)
{end}
"""
    with subprocess.Popen([sys.executable, "-P", "-c", text], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        child = int(program.stdout.readline())
        end_of_test = time.monotonic() + HUNG
        try:
            while _alive(child):
                assert time.monotonic() < end_of_test
                time.sleep(0.02)
        finally:
            program.kill()


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_child_costs_more_the_more_memory_the_program_has(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    assert beside.price() > 0
    monkeypatch.setattr(beside, "_fresh_page", iter([300.0, 100.0, 200.0, 900.0]).__next__)
    assert 0.5 * pages < beside.price() / 100.0 < 2 * pages, "the quickest of its looks counts"
