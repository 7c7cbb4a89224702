"""One guardian for several programs: each has its own streams and limits, and none what another left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tracecut.support.errors import BackendError
from tracecut.support.process import runner
from tracecut.support.process.runner import Guardian, Limits, run

from tracecut.api.trace import trace

PYTHON = (sys.executable, "-I", "-S", "-c")


def test_programs_of_one_guardian_have_streams_folders_and_environments_of_their_own(tmp_path: Path) -> None:
    code = "import os; print(os.getppid(), os.getcwd(), os.environ.get('WHICH'), input())"
    guardians = set()
    with Guardian() as guardian:
        for number in range(4):
            own = tmp_path / f"place{number}"
            own.mkdir()
            words = tmp_path / "words"
            words.write_text(f"line {number}\n")
            finished = run(
                [*PYTHON, code],
                stdin=words,
                folder=tmp_path,
                name=f"program{number}",
                cwd=own,
                env={"WHICH": str(number)},
                guardian=guardian,
            )
            assert finished.ok, finished.stderr.read_text()
            parent, place, which, line = finished.stdout.read_text().split(maxsplit=3)
            assert (place, which, line) == (str(own), str(number), f"line {number}\n")
            assert finished.stderr.read_bytes() == b""
            guardians.add(int(parent))
    assert len(guardians) == 1
    assert not Path(f"/proc/{guardians.pop()}").exists()


def test_what_a_program_leaves_behind_is_gone_before_the_next_one_starts(tmp_path: Path) -> None:
    leaving = "import os, time\nprint(os.getpid(), flush=True)\nif os.fork(): os._exit(0)\nos.setsid(); time.sleep(60)"
    with Guardian() as guardian:
        finished = run([*PYTHON, leaving], folder=tmp_path, name="leaving", guardian=guardian)
        assert (finished.returncode, finished.survivors) == (0, 1)
        slow = run(
            [*PYTHON, "import time; time.sleep(60)"],
            folder=tmp_path,
            name="slow",
            limits=Limits(seconds=0.2),
            guardian=guardian,
        )
        assert slow.timed_out
        capped = run(
            [*PYTHON, "print('x' * 10_000)"],
            folder=tmp_path,
            name="capped",
            limits=Limits(output_bytes=100),
            guardian=guardian,
        )
        assert capped.output_capped and capped.stdout.stat().st_size == 100
        last = run([*PYTHON, "print('whole')"], folder=tmp_path, name="last", guardian=guardian)
        assert last.ok and last.survivors == 0 and last.stdout.read_text() == "whole\n"


def test_a_program_that_can_not_be_started_leaves_the_guardian_as_it_was(tmp_path: Path) -> None:
    with Guardian() as guardian:
        for name in ("first", "second"):
            with pytest.raises(runner.ProgramError, match="cannot run"):
                run([tmp_path / "nothing"], folder=tmp_path, name=name, guardian=guardian)
        assert run(["/bin/true"], folder=tmp_path, name="true", guardian=guardian).ok


def test_after_a_guardian_that_was_killed_there_is_another(tmp_path: Path) -> None:
    with Guardian() as guardian:
        killing = "import os, time; os.kill(os.getppid(), 9); time.sleep(60)"
        with pytest.raises(BackendError, match=r"guardian of .* was killed"):
            run([*PYTHON, killing], folder=tmp_path, name="killing", guardian=guardian)
        assert run([*PYTHON, "print(1)"], folder=tmp_path, name="after", guardian=guardian).ok


def test_an_isolated_program_has_a_guardian_that_ends_with_it(tmp_path: Path) -> None:
    with Guardian() as guardian:
        isolated = run(["/bin/true"], folder=tmp_path, name="isolated", limits=Limits(isolate=True), guardian=guardian)
        assert isolated.ok
        after = run([*PYTHON, "print(1)"], folder=tmp_path, name="after", guardian=guardian)
        assert after.ok and after.protection == "subreaper"


def test_all_sources_are_compiled_under_one_guardian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    start = runner._start_guardian
    monkeypatch.setattr(runner, "_start_guardian", lambda name, *rest: started.append(name) or start(name, *rest))
    for number in range(3):
        (tmp_path / f"part{number}.c").write_text(f"int part{number}(int x) {{ return x + {number}; }}\n")
    (tmp_path / "main.c").write_text("int part2(int); int main(void) { return part2(-2); }\n")
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    assert trace([str(path) for path in sorted(tmp_path.glob("*.c"))], keep=False).ok
    assert len([name for name in started if name != "tool"]) == 2  # one for all sources, one for the program
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before
