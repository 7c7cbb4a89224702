"""Every command with words that nobody means: one clear line, a documented status, never a traceback, nothing lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ...waiting import HUNG

COMMANDS = (
    *("optimize", "run", "methods", "partition", "trace", "info", "annotate", "graph"),
    *("machine", "map", "simulate", "spmv", "pagerank", "hits", "rwr", "cg"),
)
COMPILING = ("optimize", "trace", "annotate", "graph")
SIMPLE = "int main(void) { return 0; }"
LONG = "x" * 5000
NUMBER = "9" * 30

# For every command: words behind it, and their status.
ANYWHERE: dict[str, list[str]] = {
    "an empty word": [""],
    "two empty words": ["", ""],
    "nothing but --": ["--"],
    "an unknown option": ["--nonsense"],
    "a folder": ["folder"],
    "a folder that looks like a file": ["folder.c"],
    "a device": ["/dev/null"],
    "a long word": [LONG],
    "a control character": ["a\x1b[2Jb"],
    "a new line": ["no\nsuch.c"],
    "a name that is not UTF-8": [os.fsdecode(b"\xff")],
    "another letter": ["☃"],
}
# For the commands that compile: words behind a source, and what the message says.
BEHIND_A_SOURCE: dict[str, tuple[list[str], str]] = {
    "no input": (["--stdin", ""], "--stdin : no such file"),
    "a folder as input": (["--stdin", "folder"], "--stdin folder: a folder, a file was expected"),
    "missing input": (["--stdin", "nowhere"], "--stdin nowhere: no such file"),
    "a long name as input": (["--stdin", LONG], "File name too long"),
    "no time": (["--timeout", ""], "a positive number of seconds"),
    "time that is no number": (["--timeout", "nan"], "a positive number of seconds"),
    "time without end": (["--timeout", "1e400"], "a positive number of seconds"),
}
# Words and what the message says, of single commands.
SINGLE: dict[str, tuple[list[str], str]] = {
    "region without a value": (["optimize", "program.c", "--region"], "--region needs a value"),
    "region, then arguments": (["trace", "program.c", "--region", "--", "x"], "--region needs a value"),
    "an empty region": (["optimize", "program.c", "--region", ""], "--region : FILE:LINE expected"),
    "no line": (["optimize", "program.c", "--region", "program.c:"], "FILE:LINE expected"),
    "a long line": (["optimize", "program.c", "--region", f"p.c:{NUMBER}"], "FILE:LINE expected"),
    "option of another command": (["optimize", "program.c", "--every", "2"], "--every: not an option of `tracecut opt"),
    "and of one more": (["trace", "program.c", "--threads", "2"], "--threads: not an option of `tracecut trace`"),
    "the root": (["optimize", "program.c", "-o", "/"], "/ is the root folder"),
    "a file for a folder": (["optimize", "program.c", "-o", "program.c"], "cannot write to the output folder"),
    "threads": (["run", "folder", "--threads", "0"], "a whole number of at least 1"),
    "no result": (["run", "folder"], "folder holds no result of tracecut"),
    "not a folder": (["run", "program.c"], "program.c: not a folder"),
    "k": (["partition", "graph.mtx", "-k", "0"], "k"),
    "a word for k": (["partition", "graph.mtx", "-k", "x"], "invalid int value: 'x'"),
    "a folder of numbers": (["partition", "graph.mtx", "-k", "2", "--coords", "folder"], "folder"),
    "an empty graph": (["partition", "empty.mtx", "-k", "2"], "empty.mtx"),
    "a folder for labels": (["partition", "graph.mtx", "-k", "2", "-o", "folder"], "-o folder: a folder"),
    "a damaged trace": (["info", "damaged.tct"], "damaged.tct"),
    "a damaged trace as a source": (["annotate", "damaged.tct"], "damaged.tct"),
    "a trace and options": (["graph", "damaged.tct", "-O3"], "takes no sources, compiler options or arguments"),
    "a source is not overwritten": (["trace", "program.c", "-o", "./program.c"], "program.c would be lost"),
    "not by its output": (["trace", "program.c", "--stdout", "link.c"], "program.c would be lost"),
    "a source given twice": (["trace", "program.c", "program.c"], "the sources cannot be linked"),
    "a command with a slip": (["optimise"], "invalid choice: 'optimise'"),
    "a line for a command": (["\n"], "invalid choice"),
}


@pytest.fixture
def place(shell: Any) -> Any:
    """A folder with a few things in it."""
    shell.source(SIMPLE)
    for name in ("folder", "folder.c"):
        (shell.folder / name).mkdir()
    (shell.folder / "link.c").symlink_to("program.c")
    (shell.folder / "damaged.tct").write_bytes(b"x" * 100)
    (shell.folder / "empty.mtx").touch()
    (shell.folder / "graph.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n3 1\n")
    return shell


def is_one_clear_line(done: Any, statuses: tuple[int, ...]) -> None:
    assert done.code in statuses, done
    assert done.err.startswith("tracecut: ") and done.out == "", done
    lines = done.err.splitlines()
    assert len(lines) <= 8 and max(map(len, lines)) <= 700, done
    assert "Traceback" not in done.err and "internal error" not in done.err and "\x1b" not in done.err


@pytest.mark.parametrize("command", COMMANDS)
def test_any_command(command: str, place: Any, contents: Any) -> None:
    before = contents(place.folder)
    for words in ANYWHERE.values():
        if command == "machine" and words == ["--"]:
            continue  # the machine at hand
        is_one_clear_line(place(command, *words), (1, 2))
    assert contents(place.folder) == before


@pytest.mark.parametrize("command", COMPILING)
def test_behind_a_source(command: str, place: Any, contents: Any) -> None:
    before = contents(place.folder)
    for words, message in BEHIND_A_SOURCE.values():
        done = place(command, "program.c", *words)
        is_one_clear_line(done, (2,))
        assert message in done.err
    assert contents(place.folder) == before


@pytest.mark.parametrize("case", SINGLE)
def test_one_command(case: str, place: Any, contents: Any) -> None:
    before = contents(place.folder)
    words, message = SINGLE[case]
    done = place(*words)
    is_one_clear_line(done, (1, 2))
    assert message in done.err, done
    assert contents(place.folder) == before


def test_a_region_of_a_program_without_loops(place: Any) -> None:
    done = place("optimize", "program.c", "-o", "out", "--region", "program.c:1")
    is_one_clear_line(done, (2,))
    assert done.err.endswith("No loop of the program was executed: omit the option.\n")


def test_streams_that_can_not_be_written(place: Any) -> None:
    """Closed and full ones, for the answer and for the message. 0 and 1 are all that is left to say then."""
    for words in (["methods"], ["--version"], ["partition", "graph.mtx", "-k", "2"]):
        for closed in (1, 2):
            process = place.start(*words, preexec_fn=lambda closed=closed: os.close(closed))
            out, err = process.communicate(timeout=HUNG)
            assert process.returncode == 0 and b"Traceback" not in out + err, (words, closed, err)
        with open("/dev/full", "w") as full:
            process = place.start(*words, stdout=full)
            _, err = process.communicate(timeout=HUNG)
            assert (process.returncode, err) == (1, b"tracecut: No space left on device\n")
    with open("/dev/full", "w") as full:
        for words in (["run", "nowhere"], ["optimize", "nowhere.c"], ["methods", "x"]):
            process = place.start(*words, stderr=full)
            assert process.communicate(timeout=HUNG)[0] == b""
            assert process.returncode in (1, 2), words


@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)], ids=str)
def test_a_program_is_run_with_streams_that_are_closed(closed: tuple[int, ...], place: Any) -> None:
    """No pipe or file of ours gets the number of a stream, and is then lost to the program."""

    def close() -> None:
        for number in closed:
            os.close(number)

    process = place.start("trace", "program.c", "-q", preexec_fn=close)
    assert process.communicate(timeout=HUNG) == (b"", b"") and process.returncode == 0
    assert (place.folder / "trace.tct").is_file()


def test_plain_and_narrow_terminals(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "20"}.items():
        monkeypatch.setenv(name, value)
    for words in (["--help"], ["optimize", "--help"], ["methods"], ["graph", "--help"]):
        done = place(*words)
        assert (done.code, done.err) == (0, "") and "\x1b" not in done.out


# Modules that are imported on the way, from the first of the command line on.
STARTING = ("tracecut.cli.main", "argparse", "tracecut.cli.words", "tracecut.support.errors", "gettext", "shutil")
INTERRUPT = """
import os, signal, sys
for name in [{module!r}, *(found for found in sys.modules if found.startswith({module!r} + "."))]:
    sys.modules.pop(name, None)
class Interrupting:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(Interrupting)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting)
from tracecut.__main__ import main
main({words!r})
"""


@pytest.mark.parametrize("words", [["--help"], ["methods"], ["trace", "program.c", "-q"]], ids=lambda words: words[0])
def test_interrupted_while_it_starts(words: list[str], place: Any) -> None:
    """A Ctrl-C while modules are imported ends the command without a word of Python's."""
    later = {"methods": ("tracecut.partition", "numpy"), "trace": ("tracecut.api.trace", "numpy", "llvmlite.binding")}
    for module in (*STARTING, *later.get(words[0], ())):
        script = INTERRUPT.format(module=module, words=words)
        done = subprocess.run(
            [sys.executable, "-P", "-c", script],
            cwd=place.folder,
            env=place.environment,
            capture_output=True,
            text=True,
            timeout=HUNG,
            check=False,
        )
        assert done.stderr in ("", "tracecut: interrupted\n"), (module, done.stderr)
        assert done.returncode in (-signal.SIGINT, 130) or (done.returncode == 0 and module in ("gettext", "shutil"))


def test_nothing_slow_stands_before_the_signals() -> None:
    """What is imported before the entry point has said what a Ctrl-C does is a handful of small modules."""
    script = (
        "import sys; before = set(sys.modules); import tracecut.__main__; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    found = {name for name in done.stdout.split() if not name.startswith("_")}
    assert found & {"argparse", "typing", "re", "pathlib", "numpy"} <= {"re"} and len(found) < 20, found


READER = r"""
#include <stdio.h>
int main(void) { int sum = 0, x; while (scanf("%d", &x) == 1) sum += x; printf("sum %d\n", sum); return sum != 60; }
"""


def test_input_from_anything_that_can_be_read(shell: Any) -> None:
    """A pipe is read once, the program gets it in each of its runs."""
    shell.source(READER)
    (shell.folder / "numbers").write_text("10 20 30\n")
    os.mkfifo(shell.folder / "fifo")
    writer = subprocess.Popen(["sh", "-c", "cat numbers > fifo"], cwd=shell.folder)
    done = shell("optimize", "program.c", "-o", "out", "--stdin", "fifo")
    assert (done.code, done.err, writer.wait()) == (0, "", 0)
    for command in (["optimize", "program.c", "-o", "out"], ["trace", "program.c", "-q"]):
        command = [*command, "--stdin", "/dev/stdin"]
        with open(shell.folder / "numbers", "rb") as file:
            process = shell.start(*command, stdin=file)
            assert process.communicate(timeout=HUNG)[1] == b"" and process.returncode == 0
        process = shell.start(*command, stdin=subprocess.PIPE)
        assert process.communicate(b"10\n20\n30\n", timeout=HUNG)[1] == b"" and process.returncode == 0
    shell.source(SIMPLE)
    assert shell("optimize", "program.c", "-o", "out", "--stdin", "/dev/null").code == 0


def test_input_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracecut.support.process import standard_input

    from tracecut.errors import ArgumentError

    monkeypatch.setattr(standard_input, "LIMIT", 3 << 20)
    with pytest.raises(ArgumentError, match=r"/dev/zero.*gives more than 3 MiB"):
        standard_input.kept_input(Path("/dev/zero"), tmp_path)


HOMES = {
    "no folder": {"HOME": "/dev/null"},
    "a file system of the kernel": {"HOME": "/proc"},
    "none": {"HOME": ""},
    "a cache in a file": {"XDG_CACHE_HOME": "/dev/null"},
    "a relative name": {"XDG_CACHE_HOME": "relative"},
}


@pytest.mark.parametrize("case", HOMES)
def test_without_a_cache(case: str, shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling goes on in a temporary cache, which is said once; a relative name is ignored, as XDG has it."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in HOMES[case].items():
        monkeypatch.setenv(name, value)
    shell.source(SIMPLE)
    traced, optimized = ["trace", "program.c", "-q"], ["optimize", "program.c", "-o", "out"]
    for words in [traced] if case != "no folder" else [traced, optimized]:
        done = shell.alone(*words)
        assert done.code == 0, done
        expected = 0 if case in ("none", "a relative name") else 1
        assert len(done.err.splitlines()) == done.err.count("no cache can be kept") == expected, done.err
    assert not (shell.folder / "relative").exists()


def test_a_read_only_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For root, whom no mode of a folder stops, too: what the system says of writing counts."""
    from tracecut.tracer.toolchain import find_compilers

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    find_compilers._usable_cache.cache_clear()
    try:
        monkeypatch.setattr(os, "access", lambda *words: False)
        assert re.search("tracecut cannot be written to", find_compilers.cache_note())
        assert not find_compilers.environment()["ZIG_GLOBAL_CACHE_DIR"].startswith(str(tmp_path))
    finally:
        find_compilers._usable_cache.cache_clear()
