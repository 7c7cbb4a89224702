"""The child runner on programs that behave: what they see, what is captured, what is refused."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.errors import ArgumentError, BackendError, OutputError, ProgramError
from tracecut.support.process.runner import Finished, Limits, describe, run

from ...waiting import HUNG, wait_until

pytestmark = pytest.mark.quick

PYTHON = (sys.executable, "-I", "-S", "-c")


def python(code: str, folder: Path, *words: str, **options: Any) -> Finished:
    return run([*PYTHON, code, *words], folder=folder, name="program", **options)


def test_status_output_and_use_of_resources(tmp_path: Path) -> None:
    code = """
import os, time
block = bytearray(64 << 20)
block[::4096] = bytes(len(block) // 4096)
end = time.process_time() + 0.1
while time.process_time() < end: pass
time.sleep(0.1)
os.write(2, b"err"); os.write(1, b"out"); os._exit(3)
"""
    finished = python(code, tmp_path)
    assert (finished.returncode, finished.ok) == (3, False)
    assert (finished.timed_out, finished.output_capped, finished.process_capped, finished.survivors) == (False,) * 3 + (
        0,
    )
    assert finished.stdout == tmp_path / "program.stdout"
    assert finished.stdout.read_bytes() == b"out"
    assert finished.stderr.read_bytes() == b"err"
    assert 0.2 <= finished.seconds < HUNG
    assert 0.1 <= finished.cpu_seconds <= finished.seconds
    assert 64 << 20 < finished.max_rss < 1 << 30
    assert finished.protection == "subreaper"
    assert describe(finished) == "left with status 3"


def test_waiting_for_a_processor_is_told_from_sleeping(tmp_path: Path) -> None:
    """Three of the same kind on one processor: each is delayed by the others, and none by its own sleep."""
    code = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for _ in range(OTHERS):
    if os.fork() == 0:
        break
end = time.process_time() + 0.2
while time.process_time() < end: pass
time.sleep(0.3)
os._exit(0)
"""
    alone = python(code.replace("OTHERS", "0"), tmp_path)
    beside = python(code.replace("OTHERS", "2"), tmp_path)
    assert 0 <= alone.delayed_seconds <= alone.seconds - 0.5
    assert 0 <= beside.delayed_seconds <= beside.seconds - 0.5
    if any(map(int, Path("/proc/self/schedstat").read_text().split())):  # this kernel counts it
        assert beside.delayed_seconds >= 0.2
    unknown = python(code.replace("OTHERS", "2"), tmp_path, limits=Limits(isolate=True))
    assert unknown.delayed_seconds == 0 or unknown.protection != "pid namespace"
    assert beside.undisturbed_seconds == beside.seconds - beside.delayed_seconds


def test_output_is_complete_and_in_order(tmp_path: Path) -> None:
    """Eight processes write to one file: nothing is lost, and the lines of each stay in order."""
    code = """
import os
for _ in range(3): os.fork()
me = os.getpid()
for number in range(5_000): os.write(1, b"%d %d\\n" % (me, number))
while True:
    try: os.wait()
    except ChildProcessError: break
"""
    finished = python(code, tmp_path)
    assert finished.ok
    seen: dict[str, int] = {}
    for writer, number in (line.split() for line in finished.stdout.read_text().splitlines()):
        assert int(number) == seen.get(writer, -1) + 1
        seen[writer] = int(number)
    assert list(seen.values()) == [4_999] * 8


def test_output_files_are_private_and_start_empty(tmp_path: Path) -> None:
    python("print('long ' * 100)", tmp_path)
    finished = python("print('short')", tmp_path)
    assert finished.stdout.read_text() == "short\n"
    assert finished.stdout.stat().st_mode & 0o777 == 0o600


def test_stdin_is_the_file_or_empty(tmp_path: Path) -> None:
    source = tmp_path / "input"
    source.write_bytes(b"some\0bytes")
    finished = run(["cat"], stdin=source, folder=tmp_path, name="cat")
    assert finished.stdout.read_bytes() == b"some\0bytes"
    assert run(["cat"], folder=tmp_path, name="cat").stdout.read_bytes() == b""
    with pytest.raises(ArgumentError, match=r"stdin cannot be read from .*nothing"):
        run(["cat"], stdin=tmp_path / "nothing", folder=tmp_path, name="cat")


def test_signals_are_default_whatever_the_caller_does(tmp_path: Path) -> None:
    previous = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})
    try:
        finished = run(["cat", "/proc/self/status"], folder=tmp_path, name="cat")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGUSR1, previous)
    state = dict(line.split(":\t", 1) for line in finished.stdout.read_text().splitlines())
    assert [int(state[key], 16) for key in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd")] == [0] * 5


def test_program_has_a_session_no_terminal_no_core_and_only_the_descriptors_it_should(tmp_path: Path) -> None:
    readable, writable = os.pipe()
    code = """
import os, resource
def is_open(descriptor):
    try: os.fstat(descriptor)
    except OSError: return False
    return True
print(os.getsid(0) == os.getpgrp() == os.getpid(), *map(os.isatty, range(3)))
print(resource.getrlimit(resource.RLIMIT_CORE)[0])
print(*filter(is_open, range(1024)))
"""
    with open(readable, "rb"), open(writable, "wb"), open(os.devnull) as extra:
        os.set_inheritable(extra.fileno(), True)
        finished = python(code, tmp_path, pass_fds=(writable,))
    session, core, descriptors = finished.stdout.read_text().splitlines()
    assert session == "True False False False"
    assert int(core) in (0, 1)
    assert descriptors == f"0 1 2 {writable}"


def test_environment_folder_and_words_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, sys; print(os.getcwd(), os.umask(0)); print(sys.argv[1:]); print(sorted(os.environ.items()))"
    words = ["$(touch pwned)", "a b", "ü\udcff", "", "-x"]
    monkeypatch.setenv("ONE", "1=2\n3")
    monkeypatch.chdir(tmp_path)
    where, argv, environment = python(code, tmp_path, *words).stdout.read_text(errors="surrogateescape").split("\n")[:3]
    umask = os.umask(0)
    os.umask(umask)
    assert where == f"{tmp_path} {umask}"
    assert argv == str(words)
    assert ("ONE", "1=2\n3") in eval(environment)
    assert {name for name, _ in eval(environment)} - {"LC_CTYPE"} == set(os.environ) - {"LC_CTYPE"}

    inner = tmp_path / "inner"
    inner.mkdir()
    given = python(code, tmp_path, env={"PATH": "/bin", "X": "é"}, cwd=inner).stdout.read_text().splitlines()
    assert given[0] == f"{inner} {umask}"
    assert dict(eval(given[2])).items() >= {"PATH": "/bin", "X": "é"}.items()
    assert "ONE" not in dict(eval(given[2]))
    assert not list(tmp_path.rglob("pwned"))


def test_relative_programs_and_the_given_path(tmp_path: Path) -> None:
    """As by hand after `cd`: a path is relative to `cwd`, a bare name is looked up in the program's own PATH."""
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    for command, env in ((["./tool"], None), (["tool"], {"PATH": f"/nowhere:{tmp_path}"})):
        finished = run(command, folder=tmp_path, name="tool", cwd=tmp_path, env=env)
        assert finished.stdout.read_text() == "found\n"


def test_memory_limit(tmp_path: Path) -> None:
    code = "import mmap, sys\ntry: mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE)\nexcept OSError: sys.exit(7)"
    assert python(code, tmp_path).returncode == 0
    assert python(code, tmp_path, limits=Limits(memory_bytes=256 << 20)).returncode == 7


def test_preloads_meant_for_the_program_do_not_reach_the_guardian(tmp_path: Path) -> None:
    finished = python("print('runs')", tmp_path, env={"LD_PRELOAD": "/no/such/library.so"})
    assert finished.stdout.read_text() == "runs\n"
    assert finished.stderr.read_text().count("/no/such/library.so") == 1


def test_pid_namespace_on_request_is_used_or_reported_as_missing(tmp_path: Path) -> None:
    code = "import os; print(os.getpid(), os.getuid(), os.getgid())"
    finished = python(code, tmp_path, limits=Limits(isolate=True))
    pid, *ids = finished.stdout.read_text().split()
    assert ids == [str(os.getuid()), str(os.getgid())]
    assert finished.protection == ("pid namespace" if int(pid) < 10 else "subreaper")


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.write_text("text"), "Permission denied"),
        (lambda path: (path.write_text("text"), path.chmod(0o755)), "Exec format error"),
        (lambda path: (path.write_text("#!/no/interpreter\n"), path.chmod(0o755)), "No such file"),
        (lambda path: path.mkdir(), "Permission denied"),
    ],
)
def test_what_can_not_be_run_is_named(tmp_path: Path, make: Any, message: str, isolate: bool) -> None:
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(ProgramError, match=f"cannot run {path}: {message}") as caught:
        run([path], folder=tmp_path, name="thing", limits=Limits(isolate=isolate))
    assert caught.value.hint


def test_other_refusals(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"cannot run true in the folder .*/none: No such file"):
        run(["true"], folder=tmp_path, name="true", cwd=tmp_path / "none")
    with pytest.raises(ProgramError, match="Argument list too long"):
        run(["true", "x" * (1 << 20)], folder=tmp_path, name="true")
    with pytest.raises(OutputError, match=r"cannot write .*/none/true\.stdout: No such file"):
        run(["true"], folder=tmp_path / "none", name="true")
    for command in ([], [""], ["a\0b"]):
        with pytest.raises(ArgumentError, match=r"command|NUL"):
            run(command, folder=tmp_path, name="true")
    with pytest.raises(ArgumentError, match=r"name is '../true'"):
        run(["true"], folder=tmp_path, name="../true")
    for bad in ({"seconds": 0}, {"seconds": float("nan")}, {"output_bytes": 0}, {"memory_bytes": -1}, {"processes": 0}):
        with pytest.raises(ArgumentError, match=f"limits.{next(iter(bad))} is"):
            Limits(**bad)


def test_output_is_never_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "true.stdout").symlink_to(victim)
    with pytest.raises(OutputError):
        run(["true"], folder=tmp_path, name="true")
    assert victim.read_text() == "kept"


def test_tick_sees_the_time_and_may_stop_the_program(tmp_path: Path) -> None:
    times: list[float] = []
    seen = tmp_path / "three ticks"

    def tick(elapsed: float) -> None:
        times.append(elapsed)
        if len(times) == 3:
            seen.touch()

    python(f"import os, time\nwhile not os.path.exists({str(seen)!r}): time.sleep(0.01)", tmp_path, tick=tick)
    assert len(times) >= 3
    assert times == sorted(times)

    def stop(elapsed: float) -> None:
        if elapsed > 0.2:
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        python("import time; time.sleep(3600)", tmp_path, tick=stop)
    assert time.monotonic() - start < HUNG


def test_programs_run_at_the_same_time_from_several_threads(tmp_path: Path) -> None:
    def one(number: int) -> str:
        words = [*PYTHON, "import sys; print(sys.argv[1])", str(number)]
        return run(words, folder=tmp_path, name=str(number)).stdout.read_text()

    before = threading.active_count(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count of names
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(16))) == [f"{number}\n" for number in range(16)]
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == before  # noqa: PTH208


def test_a_killed_guardian_is_an_error_and_takes_the_program_along(tmp_path: Path) -> None:
    code = "import os, time; print(os.getpid(), flush=True); os.kill(os.getppid(), 9); time.sleep(3600)"
    with pytest.raises(BackendError, match=r"guardian of .* was killed"):
        python(code, tmp_path)
    pid = int((tmp_path / "program.stdout").read_text())
    line = Path(f"/proc/{pid}/cmdline")
    wait_until(lambda: not (line.exists() and line.read_bytes()))


def test_descriptions() -> None:
    base = Finished(0, 1, 1, 0, 1, Path("o"), Path("e"), False, False, False, 0, "subreaper", Limits(seconds=10))
    phrases = {
        "left with status 0": base,
        "killed by SIGSEGV (segmentation fault)": replace(base, returncode=-signal.SIGSEGV),
        "killed by signal 40": replace(base, returncode=-40),
        "ran longer than 10 s and was stopped": replace(base, returncode=-9, timed_out=True),
        "wrote more than 64 MiB and was stopped": replace(base, returncode=-9, output_capped=True),
        "wrote more than 64 MiB (cut) and left with status 1": replace(base, returncode=1, output_capped=True),
        "started more than 1024 processes and was stopped": replace(base, returncode=-9, process_capped=True),
        "left with status 0; 1 process it left behind had to be killed": replace(base, survivors=1),
        "left with status 0; 2 processes it left behind had to be killed": replace(base, survivors=2),
    }
    assert phrases.keys() == {describe(finished) for finished in phrases.values()}
    assert all(describe(finished) == phrase for phrase, finished in phrases.items())
    assert [finished.ok for finished in phrases.values()] == [True, *[False] * 6, True, True]
