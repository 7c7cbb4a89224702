"""The child runner on programs that do not behave, and when tracecut dies: the right report, and nothing left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.errors import BackendError
from tracecut.support.process.runner import Finished, Limits, describe, run

from ...waiting import HUNG, longer_and_longer, wait_until

HEAD = """
import ctypes, os, signal, sys, threading, time
def forever():
    while True: time.sleep(60)
def daemon(body=forever):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            body()
        os._exit(0)
    os.wait()
"""
SECOND = Limits(seconds=1)  # for programs that never end by themselves
ENOUGH = Limits(seconds=HUNG)

# name: program, limits, expected return code, expected phrase
ENDINGS: dict[str, tuple[str, Limits, int, str]] = {
    "abort": ("os.abort()", ENOUGH, -6, "killed by SIGABRT (aborted)"),
    "segmentation fault": ("ctypes.string_at(8)", ENOUGH, -11, "killed by SIGSEGV (segmentation fault)"),
    # The expression compiler of the C library recurses once for each parenthesis.
    "stack overflow": (
        "ctypes.CDLL(None).regcomp(ctypes.create_string_buffer(256), b'(' * 9_000_000, 1)",
        Limits(seconds=HUNG),
        -11,
        "killed by SIGSEGV (segmentation fault)",
    ),
    "illegal instruction": (
        "os.kill(os.getpid(), signal.SIGILL)",
        ENOUGH,
        -4,
        "killed by SIGILL (illegal instruction)",
    ),
    "real-time signal": ("os.kill(os.getpid(), 40)", ENOUGH, -40, "killed by signal 40"),
    "kills its whole group": ("os.kill(0, signal.SIGTERM); forever()", ENOUGH, -15, "killed by SIGTERM (terminated)"),
    "exit in atexit": (
        "import atexit; atexit.register(lambda: os._exit(5)); sys.exit(1)",
        ENOUGH,
        5,
        "left with status 5",
    ),
    "status 255": ("os._exit(-1)", ENOUGH, 255, "left with status 255"),
    "thread that outlives main": (
        "threading.Thread(target=forever).start(); ctypes.CDLL(None).pthread_exit(None)",
        SECOND,
        -9,
        "ran longer than 1 s and was stopped",
    ),
    "closed descriptors": ("os.closerange(0, 1 << 16); os._exit(4)", ENOUGH, 4, "left with status 4"),
    "endless loop": ("while True: pass", SECOND, -9, "ran longer than 1 s and was stopped"),
    "stops itself": ("os.kill(os.getpid(), signal.SIGSTOP)", SECOND, -9, "ran longer than 1 s and was stopped"),
    "ignores every signal": (
        "for n in signal.valid_signals() - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)\nforever()",
        SECOND,
        -9,
        "ran longer than 1 s and was stopped",
    ),
    "ignores every signal in a stopped daemon": (
        "def body():\n  os.kill(os.getpid(), signal.SIGSTOP)\ndaemon(body); forever()",
        SECOND,
        -9,
        "ran longer than 1 s and was stopped",
    ),
    "daemon": ("daemon(); os._exit(0)", ENOUGH, 0, "left with status 0; 1 process it left behind had to be killed"),
    "daemons": (
        "for _ in range(3): daemon()\nos._exit(2)",
        ENOUGH,
        2,
        "left with status 2; 3 processes it left behind had to be killed",
    ),
    "flood of output": (
        "while True: os.write(1, b'x' * 65536)",
        Limits(seconds=HUNG, output_bytes=1 << 20),
        -9,
        "wrote more than 1 MiB and was stopped",
    ),
    "flood of errors": (
        "while True: os.write(2, b'x' * 65536)",
        Limits(seconds=HUNG, output_bytes=3000),
        -9,
        "wrote more than 2.93 KiB and was stopped",
    ),
    "too much output, quickly": (
        "os.write(1, b'x' * 5000); os._exit(0)",
        Limits(seconds=HUNG, output_bytes=1000),
        0,
        "wrote more than 0.977 KiB (cut) and left with status 0",
    ),
    "output far away": (
        "os.lseek(1, 1 << 40, 0); os.write(1, b'x'); forever()",
        Limits(seconds=HUNG),
        -9,
        "wrote more than 64 MiB and was stopped",
    ),
    "fork storm": (
        "for _ in range(8): os.fork()\nforever()",
        Limits(seconds=HUNG, processes=40),
        -9,
        "started more than 40 processes and was stopped",
    ),
    "fork storm, each in a session of its own": (
        "for _ in range(7):\n  if os.fork() == 0: os.setsid()\nforever()",
        SECOND,
        -9,
        "ran longer than 1 s and was stopped",
    ),
}


def alive(marker: str) -> list[int]:
    """Processes (not zombies) with the marker in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


@pytest.fixture
def marker() -> Iterator[str]:
    """A word for the command lines of one test; whatever carries it is killed in the end."""
    word = f"marker-{uuid.uuid4().hex}"
    yield word
    for pid in alive(word):
        os.kill(pid, signal.SIGKILL)


def python(code: str, folder: Path, marker: str, **options: Any) -> Finished:
    return run([sys.executable, "-I", "-S", "-c", HEAD + code, marker], folder=folder, name=marker, **options)


@pytest.mark.parametrize("ending", ENDINGS)
def test_ending(tmp_path: Path, marker: str, ending: str) -> None:
    code, limits, returncode, phrase = ENDINGS[ending]
    start = time.monotonic()
    finished = python(code, tmp_path, marker, limits=limits)
    assert time.monotonic() - start < HUNG
    assert not alive(marker)
    assert (finished.returncode, describe(finished)) == (returncode, phrase)
    if finished.output_capped:
        sizes = [path.stat().st_size for path in (finished.stdout, finished.stderr)]
        assert max(sizes) == limits.output_bytes


def test_what_was_written_before_the_end_is_kept(tmp_path: Path, marker: str) -> None:
    written = tmp_path / "written"
    code = f"os.write(1, b'early'); os.write(2, b'why'); open({str(written)!r}, 'w'); forever()"
    for limit in longer_and_longer():
        finished = python(code, tmp_path, marker, limits=Limits(limit))
        if written.exists():
            break
    assert (finished.stdout.read_bytes(), finished.stderr.read_bytes()) == (b"early", b"why")
    assert finished.timed_out


def test_processes_about_to_end_are_waited_for(tmp_path: Path, marker: str) -> None:
    code = "me = os.getpid()\nif os.fork() == 0:\n  while os.getppid() == me: pass\n  os.write(1, b'last words')\n"
    finished = python(code + "os._exit(0)", tmp_path, marker)
    assert (finished.stdout.read_bytes(), finished.survivors) == (b"last words", 0)


@pytest.mark.parametrize("isolate", [False, True])
def test_daemon_that_hops_from_process_to_process(tmp_path: Path, marker: str, isolate: bool) -> None:
    """Each incarnation lives for a moment, in a session of its own: there is no group to kill at once."""
    code = f"""
def body():
    end = time.monotonic() + {2 * HUNG}
    while time.monotonic() < end:
        if os.fork(): os._exit(0)
        os.setsid()
daemon(body); os._exit(0)
"""
    finished = python(code, tmp_path, marker, limits=Limits(isolate=isolate))
    assert finished.seconds < HUNG  # by itself it lives for twice as long
    assert finished.survivors in (1, 2)  # the last one, and its parent if that was caught between fork and exit
    assert not alive(marker)


def test_a_stopped_guardian_is_an_error_and_takes_the_program_along(
    tmp_path: Path, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracecut.support.process.runner.OVERDUE", 0.5)
    begun = tmp_path / "begun"
    code = f"open({str(begun)!r}, 'w'); os.kill(os.getppid(), signal.SIGSTOP); forever()"
    for limit in longer_and_longer():
        try:
            python(code, tmp_path, marker, limits=Limits(limit))
        except BackendError as error:
            assert "guardian process is stuck: no answer 0.5 s after the time limit" in error.message
            break
        assert not begun.exists()  # its time was over before it had stopped anybody
    wait_for(marker, 0)


def test_storm_in_a_namespace(tmp_path: Path, marker: str) -> None:
    code = "for _ in range(7):\n  if os.fork() == 0: os.setsid()\nforever()"
    finished = python(code, tmp_path, marker, limits=Limits(seconds=HUNG, processes=40, isolate=True))
    assert finished.process_capped
    assert not alive(marker)


DRIVER = """
import pathlib, signal, sys
from tracecut.support.errors import BackendError
from tracecut.support.process.runner import Limits, run
def stop(*_): raise SystemExit("stopped")
folder, marker, how, isolate, *command = sys.stdin.read().split("\\x01")
if how == "handled": signal.signal(signal.SIGTERM, stop)
run([*command, marker], folder=pathlib.Path(folder), name=marker, limits=Limits(isolate=bool(isolate)))
"""
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); daemon(); daemon(); forever()"


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[bytes]]:
    """A tracecut that can be killed; it reads what to run from stdin."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", DRIVER], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("isolate", ["", "1"], ids=["subreaper", "namespace"])
@pytest.mark.parametrize(
    ("number", "how"),
    [(signal.SIGKILL, ""), (signal.SIGTERM, ""), (signal.SIGTERM, "handled"), (signal.SIGINT, "")],
    ids=["SIGKILL", "SIGTERM", "SIGTERM-handled", "SIGINT"],
)
def test_nothing_outlives_tracecut(
    tmp_path: Path, marker: str, driver: subprocess.Popen[bytes], number: signal.Signals, how: str, isolate: str
) -> None:
    probe = run(["true"], folder=tmp_path, name="probe", limits=Limits(isolate=bool(isolate)))
    waiter = probe.protection == "pid namespace"
    words = [str(tmp_path), marker, how, isolate, sys.executable, "-I", "-S", "-c", HEAD + DEAF]
    assert driver.stdin is not None
    assert driver.stderr is not None
    driver.stdin.write("\x01".join(words).encode())
    driver.stdin.close()
    wait_for(marker, 4 + waiter)  # the guardian (and its waiter), the program and two daemons
    driver.send_signal(number)
    wait_until(lambda: not alive(marker), lambda: alive(marker))
    driver.wait(timeout=HUNG)
    error = driver.stderr.read().decode()
    if how:
        assert (driver.returncode, error.strip()) == (1, "stopped")
    else:
        assert driver.returncode == -number
        assert ("KeyboardInterrupt" in error) == (number == signal.SIGINT)


def wait_for(marker: str, count: int) -> None:
    """Wait until so many processes carry the marker, and not just on the way to another number."""
    for _ in range(5):
        wait_until(lambda: len(alive(marker)) == count, lambda: f"{len(alive(marker))} processes, not {count}")
        time.sleep(0.02)
