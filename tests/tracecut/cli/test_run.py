"""`tracecut run OUT` in the place of the program: what the program does, and what is done to it, stays the same."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracecut.pipeline.output.folder import read_listing
from tracecut.pipeline.output.staging import seal

from ...waiting import HUNG

COMMAND = [sys.executable, "-P", "-m", "tracecut", "run"]
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(params=["optimized", "refused"])
def result(request: pytest.FixtureRequest) -> Path:
    """Both kinds of results: one whose loop is rescheduled, one in which the original program runs."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


def outcome(command: list[str], shell: Any, **options: Any) -> tuple[int, bytes, bytes]:
    settings = {"cwd": shell.folder, "env": shell.environment, "stdin": subprocess.DEVNULL, **options}
    done = subprocess.run(command, capture_output=True, timeout=HUNG, check=False, **settings)
    return done.returncode, done.stdout, done.stderr


def both(result: Path, shell: Any, *words: str, **options: Any) -> tuple[tuple[int, bytes, bytes], ...]:
    """Status, standard output and standard error of the program itself, and of `tracecut run`."""
    return (
        outcome([f"{result}/program", *words], shell, **options),
        outcome([*COMMAND, str(result), "--", *words], shell, **options),
    )


ENDS = {
    "by itself": [],
    "with a status": ["exit", "7"],
    "with too large a status": ["exit", "300"],
    "with a negative status": ["exit", "-1"],
    "by SIGTERM": ["raise", str(int(signal.SIGTERM))],
    "by SIGINT": ["raise", str(int(signal.SIGINT))],
    "by SIGABRT": ["raise", str(int(signal.SIGABRT))],
    "by SIGKILL": ["raise", str(int(signal.SIGKILL))],
    "by a real-time signal": ["raise", "40"],
    "by a crash": ["crash"],
    "with a complaint": ["complain", "möglich 程序"],
    "after a child": ["child"],
}


@pytest.mark.parametrize("end", ENDS)
def test_ends_as_the_program_does(end: str, result: Path, shell: Any) -> None:
    native, ours = both(result, shell, *ENDS[end])
    assert ours == native
    assert b"sum 1.596425000e+09" in native[1]


def test_arguments_arrive_untouched(result: Path, shell: Any) -> None:
    words = ["words", "", "--", "-v", "--threads", "x", "--help", "ein Wort ß", os.fsdecode(b"\xff\xfe"), "a\nb", "*"]
    native, ours = both(result, shell, *words)
    assert ours == native
    assert native[1].count(b"\n") == len(words) + 3  # the sum, the program's name, and a line break in a word


@pytest.mark.parametrize("kind", ["file", "pipe", "empty"])
def test_standard_input(kind: str, result: Path, shell: Any) -> None:
    data = {"empty": b""}.get(kind, b"one line\n" * 5000 + bytes(range(256)))
    if kind == "pipe":
        native, ours = both(result, shell, "cat", stdin=None, input=data)
    else:
        (shell.folder / "input").write_bytes(data)
        places = []
        answers = []
        for command in ([f"{result}/program", "cat"], [*COMMAND, str(result), "--", "cat"]):
            with open(shell.folder / "input", "rb") as file:
                os.lseek(file.fileno(), min(9, len(data)), os.SEEK_SET)
                answers.append(outcome(command, shell, stdin=file))
                places.append(os.lseek(file.fileno(), 0, os.SEEK_CUR))
        native, ours = answers
        assert places[0] == places[1] == len(data)
        data = data[9:]
    assert ours == native
    assert native[1].endswith(data)


def test_files_are_written_where_the_user_is(result: Path, shell: Any, contents: Any) -> None:
    for name, command in {"a": [f"{result}/program"], "b": [*COMMAND, str(result), "--"]}.items():
        folder = shell.folder / name
        folder.mkdir()
        assert outcome([*command, "write", "note"], shell, cwd=folder)[0] == 0
    assert contents(shell.folder / "a") == contents(shell.folder / "b") == {"note": b"written\n"}


def ignore_stops() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)


def other_limits() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
    resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, 6 << 20))
    os.umask(0o027)
    os.nice(3)


# What the caller can hand down: options of Popen, and changes of the environment.
SURROUNDINGS: dict[str, tuple[dict[str, Any], dict[str, str | None]]] = {
    "as they are": ({}, {}),
    "C locale": ({}, {"LC_ALL": None, "LC_CTYPE": None, "LANG": None}),
    "POSIX locale": ({}, {"LC_ALL": "POSIX"}),
    "locale of the user": ({}, {"LC_ALL": None, "LC_CTYPE": "C.UTF-8"}),
    "unknown locale": ({}, {"LC_ALL": "xx_YY"}),
    "Python's fault handler": ({}, {"PYTHONFAULTHANDLER": "1"}),
    "Python's development mode": ({}, {"PYTHONDEVMODE": "1"}),
    "strict Python": ({}, {"PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONUNBUFFERED": "1"}),
    "ignored signals": ({"preexec_fn": ignore_stops}, {}),
    "blocked signals": (
        {"preexec_fn": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGUSR2])},
        {},
    ),
    "other limits": ({"preexec_fn": other_limits}, {}),
    "a session of its own": ({"start_new_session": True}, {}),
    "one CPU": ({"preexec_fn": lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])}, {}),
    "no standard input": ({"stdin": None, "preexec_fn": lambda: os.close(0)}, {}),
    "no standard error": ({"preexec_fn": lambda: os.close(2)}, {}),
    "no input and no error": ({"stdin": None, "preexec_fn": lambda: (os.close(0), os.close(2))}, {}),
}


@pytest.mark.parametrize("case", SURROUNDINGS)
def test_surroundings(case: str, result: Path, shell: Any) -> None:
    """Folder, locale, descriptors, signals, CPUs, floating-point modes, limits, session, environment."""
    options, changes = SURROUNDINGS[case]
    given = {**shell.environment, **changes}
    env = {name: value for name, value in given.items() if value is not None}
    native, ours = both(result, shell, "surroundings", env=env, **options)
    assert ours[1].decode().splitlines() == native[1].decode().splitlines()
    assert ours == native
    assert f"leader {int(case == 'a session of its own')} of".encode() in native[1]
    assert b"TRACECUT_TEST_MARK=" in native[1]


def test_an_inherited_descriptor(result: Path, shell: Any) -> None:
    with open(shell.folder / "log", "w") as file:
        native, ours = both(result, shell, "surroundings", pass_fds=[file.fileno()])
    assert ours == native


def test_standard_output_is_closed(result: Path, shell: Any) -> None:
    native, ours = both(result, shell, "exit", "4", preexec_fn=lambda: os.close(1))
    assert ours == native == (4, b"", b"")


def test_standard_output_is_full(result: Path, shell: Any) -> None:
    codes = []
    for command in ([f"{result}/program"], [*COMMAND, str(result), "--"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*command, "pipe"], stdout=full, stderr=subprocess.PIPE, timeout=HUNG, check=False)
        codes.append((done.returncode, done.stderr))
    assert codes[0] == codes[1] == (5, b"")


def test_the_reader_leaves_early(result: Path, shell: Any) -> None:
    codes = []
    for command in ([f"{result}/program"], [*COMMAND, str(result), "--"]):
        process = subprocess.Popen([*command, "pipe"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(b"sum")
        process.stdout.close()
        codes.append((process.wait(timeout=HUNG), process.stderr.read()))
        process.stderr.close()
    assert codes[0] == codes[1] == (-signal.SIGPIPE, b"")


@pytest.fixture
def waiting(result: Path, shell: Any) -> Start:
    """Starts the program, and waits until it waits."""

    def start(*options: str) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = shell.start("run", result, *options, "--", "wait")
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"sum")
        assert process.stdout.readline() == b"ready\n"
        return process

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
def test_is_told_to_stop(number: signal.Signals, waiting: Start) -> None:
    process = waiting()
    process.send_signal(number)
    assert process.communicate(timeout=HUNG) == (b"", b"")
    assert process.returncode == -number


@pytest.mark.parametrize("loaded", ["_ctypes", "program.so"])
def test_is_interrupted_before_the_program_starts(loaded: str, optimized: Path, shell: Any) -> None:
    """It dies of the signal, as the program would, while its surroundings are still being loaded."""
    process = shell.start("run", optimized, "--", "wait")
    while loaded not in Path(f"/proc/{process.pid}/maps").read_text():
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=HUNG)[1] == b""
    assert process.returncode == -signal.SIGINT


def test_two_at_once_and_the_folder_goes_away(result: Path, shell: Any, waiting: Start) -> None:
    processes = [waiting(), waiting("--threads", "2")]
    assert shell("run", result).code == 0
    shutil.rmtree(result)
    for process in processes:
        process.terminate()
        process.communicate(timeout=HUNG)
        assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("name", ["moved", "mit Leerzeichen ✓", "a/b/c", "-o"])
def test_the_folder_was_moved(name: str, result: Path, shell: Any) -> None:
    expected = shell("run", result, "--", "exit", "3")
    target = shell.folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    result.rename(target)
    assert shell("run", target, "--", "exit", "3") == expected
    assert shell("run", f"./{name}", "--", "exit", "3") == expected
    assert expected.code == 3


def test_from_another_folder(result: Path, shell: Any) -> None:
    (shell.folder / "link").symlink_to(result)
    places = {result: ".", result.parent: f"{result.name}/", result / "..": result.name, Path("/"): str(result)}
    places[shell.folder] = "link"
    found = {outcome([*COMMAND, name, "--", "exit", "2"], shell, cwd=folder) for folder, name in places.items()}
    assert found == {(2, b"sum 1.596425000e+09\n", b"")}


def test_a_read_only_folder(result: Path, shell: Any) -> None:
    expected = shell("run", result)
    for path in (*result.rglob("*"), result):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        assert shell("run", result) == expected
        assert expected.code == 0
    finally:
        for path in (result, *result.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)


def test_says_which_schedules_are_used(optimized: Path, refused: Path, shell: Any) -> None:
    plain = shell("run", optimized)
    done = shell("run", optimized, "-v", "--threads", "2")
    assert (done.code, done.out) == (0, plain.out)
    lines = done.err.splitlines()
    assert lines[0].startswith("tracecut: rescheduled (rcm, 2 threads): ") and "probe.c:" in lines[0]
    assert lines[1].startswith("tracecut: threads on CPUs ")
    assert lines[2].startswith("tracecut: layout used in 1 of 1 entries, ")
    assert "8 sweeps in the new order, 0 in the original order" in lines[3]
    alone = shell("run", optimized, "-v", "--threads", "1")
    assert (alone.code, alone.out) == (0, plain.out) and "threads on" not in alone.err
    done = shell("run", optimized, "-v", "--original")
    assert (done.code, done.out) == (0, plain.out)
    assert done.err == "tracecut: the original program runs\n"
    done = shell("run", refused, "-v")
    assert (done.code, done.out) == (0, plain.out)
    assert done.err == "tracecut: nothing was optimized: the original program runs\n"
    assert plain.err == ""


def test_the_original_runs_where_it_was_faster(optimized: Path, shell: Any) -> None:
    listing = read_listing(optimized)
    seal(optimized, {**listing, "slower": {"argv": ["exit", "3"], "threads": [1]}})

    def says(*words: str) -> str:
        status, _, said = outcome([*COMMAND, "-v", str(optimized), *words, "3"], shell)
        assert status == 3
        return said.decode()

    remark = "on 1 thread the original program is faster: it runs"
    assert remark in says("--threads", "1", "--", "exit")
    assert remark not in says("--", "exit")  # on as many threads as were best
    assert remark not in says("--threads", "1", "--original", "--", "exit")
    seal(optimized, {**listing, "slower": {"argv": ["exit", "3", "4"], "threads": [1]}})
    assert remark not in says("--threads", "1", "--", "exit")  # other arguments were measured
    has = len(os.sched_getaffinity(0))
    seal(optimized, {**listing, "slower": {"argv": ["exit", "3"], "threads": [has]}})
    here = "1 thread" if has == 1 else f"{has} threads"
    assert f"on {here} the original program is faster" in says("--threads", "1000", "--", "exit")  # not on a thousand


@pytest.mark.parametrize("option", [["--threads", "1"], ["--threads=3"], ["--threads", "1000"], ["--original"]])
def test_options_do_not_change_what_is_printed(option: list[str], result: Path, shell: Any) -> None:
    assert outcome([*COMMAND, str(result), *option], shell) == (0, b"sum 1.596425000e+09\n", b"")


@pytest.mark.parametrize(
    "words",
    [[], ["--"], ["OUT", "argument"], ["OUT", "--what"], ["OUT", "--threads", "0"], ["OUT", "--threads"], ["-v"]],
)
def test_the_command_line_is_wrong(words: list[str], refused: Path, shell: Any) -> None:
    done = shell("run", *[str(refused) if word == "OUT" else word for word in words])
    assert (done.code, done.out) == (2, "")
    assert "tracecut" in done.err and "Traceback" not in done.err


@pytest.mark.parametrize("name", ["nowhere", "file", "empty", "file/below", ""])
def test_there_is_no_result(name: str, shell: Any) -> None:
    (shell.folder / "file").write_text("no folder")
    (shell.folder / "empty").mkdir()
    done = shell("run", name)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("tracecut: ") and "tracecut optimize SOURCE" in done.err
    assert "Traceback" not in done.err


def test_a_schedule_is_used_without_numpy(optimized: Path, shell: Any) -> None:
    command = [sys.executable, "-X", "importtime", *COMMAND[1:], str(optimized), "-v"]
    code, _, said = outcome(command, shell)
    loaded = {
        line.rpartition(b"|")[2].strip().decode() for line in said.splitlines() if line.startswith(b"import time")
    }
    assert code == 0 and b"layout used in 1 of 1 entries" in said
    assert "tracecut.codegen.runtime.saved_schedule" in loaded
    assert not loaded & {"numpy", "numba", "llvmlite", "zipfile", "tracecut.codegen.runtime.host"}
