"""tracecut is told to stop, or dies, in each of its stages: the right status, and nothing left."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from typing import Any

import pytest

from ..waiting import HUNG, wait_until

# Programs that take for ever in one stage. The number of the run is the size of the file `runs`.
COUNT = r"""
#include <stdio.h>
#include <unistd.h>
static int run_number(void) {
    FILE *file = fopen("runs", "a");
    fputc('x', file);
    int number = (int)ftell(file);
    fclose(file);
    return number;
}
"""
HANG = COUNT + "int main(void) { if (run_number() == %d) for (;;) pause(); return 0; }"
DAEMON = (
    COUNT
    + "int main(void) { run_number(); if (fork() == 0) { setsid(); if (fork() == 0) for (;;) sleep(1); _exit(0); }"
    " for (;;) pause(); }"
)
COMPILE = (
    "#if __INCLUDE_LEVEL__ < 60\n#include __FILE__\n#include __FILE__\n#endif\n"
    "#if __INCLUDE_LEVEL__ == 0\nint main(void) { return 0; }\n#endif\n"
)
TUNE = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    int n = 1 << 20;
    int *source = malloc(n * sizeof *source);
    double *from = calloc(n, sizeof *from), *to = calloc(n, sizeof *to);
    unsigned state = 1;
    for (int i = 0; i < n; i++) from[i] = i, source[i] = (int)((state = state * 1664525u + 1013904223u) >> 12);
    for (int step = 0; step < 20; step++)
        for (int i = 0; i < n; i++) to[i] += from[source[i]];
    printf("%g\n", to[n / 2]);
    return 0;
}
"""

# stage: program, what runs then (a pattern for a command line).
STAGES = {
    "compiling": (COMPILE, r"zig|clang"),
    "native run": (HANG % 1, r"/program $"),
    "native run with a daemon": (DAEMON, r"/program $"),
    "traced run": (HANG % 2, r"tracer\.capture\.child"),
    "inspection": (TUNE, r"codegen\.tuning\.worker"),
}
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}


def start(shell: Any, stage: str) -> subprocess.Popen[bytes]:
    """Start tracecut and wait until it has reached the stage."""
    text, pattern = STAGES[stage]
    process: subprocess.Popen[bytes] = shell.start("optimize", shell.source(text).name, "-o", "out")

    def reached() -> bool:
        assert process.poll() is None, process.communicate()
        return any(re.search(pattern, line) for line in shell.processes())

    wait_until(reached, shell.processes)
    if stage == "native run with a daemon":
        wait_until(lambda: sum("/program" in line for line in shell.processes()) >= 2, shell.processes)
    return process


def wait_for_the_end(shell: Any) -> None:
    """The programs take for ever: they are gone once they have been stopped."""
    wait_until(lambda: not shell.processes(), shell.processes)


@pytest.mark.parametrize("number", STATUS)
@pytest.mark.parametrize("stage", STAGES)
def test_leaves_nothing(stage: str, number: signal.Signals, shell: Any) -> None:
    process = start(shell, stage)
    process.send_signal(number)
    _, err = process.communicate(timeout=HUNG)
    wait_for_the_end(shell)
    assert process.returncode == STATUS[number]
    assert b"Traceback" not in err
    if number != signal.SIGKILL:
        assert list(shell.temporary.iterdir()) == []
        assert not (shell.folder / "out").exists()
        return
    # Nobody was there to tidy up; the next one does.
    shell.source("int main(void) { return 0; }")
    assert shell("optimize", "program.c", "-o", "out").code == 0
    assert list(shell.temporary.iterdir()) == []
    assert not [path for path in (shell.folder / "out").iterdir() if path.name.startswith(".")]


def test_signals_in_quick_succession(shell: Any) -> None:
    process = start(shell, "native run")
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.005)
    process.communicate(timeout=HUNG)
    assert process.returncode in (130, 143)
    wait_for_the_end(shell)


def test_what_was_ignored_stays_ignored(shell: Any) -> None:
    """As under nohup, or in the background of a script."""
    text, _ = STAGES["native run"]
    shell.source(text)
    process = shell.start(
        "optimize", "program.c", "-o", "out", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    wait_until(lambda: any("/program" in line for line in shell.processes()), shell.processes)
    process.send_signal(signal.SIGHUP)  # which comes first where both are waiting: its number is the lower one
    process.terminate()
    process.communicate(timeout=HUNG)
    assert process.returncode == 143


def test_the_old_result_survives(shell: Any, contents: Any) -> None:
    shell.source("int main(void) { return 0; }")
    assert shell("optimize", "program.c", "-o", "out").code == 0
    before = contents(shell.folder / "out")
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = start(shell, "native run")
        process.send_signal(number)
        process.communicate(timeout=HUNG)
        wait_for_the_end(shell)
        found = contents(shell.folder / "out")
        assert {name: data for name, data in found.items() if not name.startswith(".")} == before
        (shell.folder / "runs").unlink(missing_ok=True)  # it may have ended before it counted itself
    shell.source("int main(void) { return 0; }")
    assert shell("optimize", "program.c", "-o", "out").code == 0


def test_the_output_is_closed(shell: Any) -> None:
    """A reader that leaves early (`| head`) is no error."""
    process = shell.start("methods")
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=HUNG), err) == (0, b"")


def test_the_output_is_a_full_disk(shell: Any) -> None:
    with open("/dev/full", "w") as full:
        process = shell.start("methods", stdout=full)
        _, err = process.communicate(timeout=HUNG)
    assert (process.returncode, err) == (1, b"tracecut: No space left on device\n")
