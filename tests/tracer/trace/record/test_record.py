"""Whole runs: windows, small buffers, slow readers, programs that end badly."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.support.errors import ArgumentError
from tracecut.support.process.runner import Limits
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags
from tracecut.tracer.trace.events.event_words import End, Kind, Mark
from tracecut.tracer.trace.instrument.compile import traced_objects
from tracecut.tracer.trace.record.record import Window, record
from tracecut.tracer.trace.tables.static_tables import static_of

from ....waiting import HUNG, longer_and_longer
from ..recorded import LIMITS, module_text, recorded

LOOP = """
#include <stdio.h>
#include <stdlib.h>
int data[64];
int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000;
  unsigned at = 1;
  for (long i = 0; i < n; i++) { at = at * 1103515245u + 12345u; data[at >> 26] += (int)i; }
  printf("%d\\n", data[5]);
  return 0;
}
"""

# name → (body of main, reason and status of END, what has to be recorded)
ENDS = {
    "exit": ("stage(1); exit(3);", End.EXIT, 3),
    "_exit": ("stage(1); _exit(4);", End.EXIT, 4),
    "abort": ("stage(1); abort();", End.SIGNAL, signal.SIGABRT),
    "segfault": ("stage(1); *gone = 1;", End.SIGNAL, signal.SIGSEGV),
    "kill": ("stage(1); kill(getpid(), SIGKILL);", End.SIGNAL, signal.SIGKILL),
    "trap": ("stage(1); __builtin_trap();", End.SIGNAL, signal.SIGILL),
    "division": ("stage(1); return 5 / (argc - 1);", End.SIGNAL, signal.SIGFPE),
    "overflow": ("stage(1); return deep(argc);", End.SIGNAL, signal.SIGSEGV),
    "atexit": ("atexit(last); stage(1); return 6;", End.EXIT, 6),
    "exit in atexit": ("atexit(leave); stage(1); return 6;", End.EXIT, 7),
    "thread": (
        "stage(1); pthread_create(&other, 0, forever, 0); while (rounds < 40) usleep(9); return 8;",
        End.EXIT,
        8,
    ),
    "thread exits": ("stage(1); pthread_create(&other, 0, leaver, 0); for (;;) pause();", End.EXIT, 7),
    "closed": ("for (int i = 0; i < 100; i++) close(i); stage(1); return 9;", End.EXIT, 9),
    "daemon": ("stage(1); if (fork() == 0) { setsid(); sleep(100); } return 10;", End.EXIT, 10),
    "environment": ('stage(1); return clearenv() || getenv("TRACECUT_RING") ? 1 : 11;', End.EXIT, 11),
}
HEAD = """
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int cells[8], *volatile gone;
pthread_t other;
volatile int go = 1, rounds;
__attribute__((noinline)) void stage(int n) { cells[n] = n; }
__attribute__((noinline)) int deep(int n) { volatile char room[1000]; room[n] = 1; return deep(n + 1) + room[n]; }
void last(void) { stage(2); }
void leave(void) { stage(3); exit(7); }
void *forever(void *p) { while (go) { stage(4); rounds++; usleep(50); } return p; }
void *leaver(void *p) { leave(); return p; }
int main(int argc, char **argv) {
"""


@pytest.mark.parametrize("name", ENDS)
def test_everything_up_to_the_end_is_there(tmp_path: Path, name: str) -> None:
    body, reason, status = ENDS[name]
    ran = recorded(f"{HEAD} {body} }}", tmp_path, flags=("-pthread",), opt="seed")
    assert ran.main.calls("stage") >= 1
    assert all(stream.marks[-1] == (Mark.END, (reason, status)) for stream in ran.streams.values())
    if "atexit" in name:
        assert ran.main.calls("stage") == 2
    if name == "thread":
        assert ran.streams[1].calls("stage") > 20
    if name == "overflow":
        assert ran.main.depth > 1000


@pytest.mark.parametrize(
    ("body", "limits", "count"),
    [
        (
            "signal(SIGTERM, SIG_IGN); stage(1); for (int i = 0;; i++) { stage(2); if (i > 100) usleep(50); }",
            Limits(seconds=0.5),
            100,
        ),
        ("stage(1); kill(getpid(), SIGSTOP);", Limits(seconds=0.5), 1),
        (
            "for (;;) { stage(1); if (write(1, cells, 32) < 0) return 1; }",
            Limits(seconds=HUNG, output_bytes=1 << 16),
            100,
        ),
        ("stage(1); for (;;) if (fork() == 0) pause();", Limits(seconds=HUNG, processes=20), 1),
    ],
    ids=["ignored SIGTERM", "stops itself", "output flood", "fork storm"],
)
def test_a_program_that_has_to_be_stopped(tmp_path: Path, body: str, limits: Limits, count: int) -> None:
    assert limits.seconds is not None
    for seconds in longer_and_longer(limits.seconds):
        allowed = replace(limits, seconds=seconds)
        ran = recorded(f"{HEAD} {body} }}", tmp_path, flags=("-pthread",), limits=allowed, opt="seed")
        finished = ran.recorded.finished
        assert finished is not None and (finished.timed_out or finished.output_capped or finished.process_capped)
        if ran.streams and ran.main.calls("stage") >= count:
            break
    assert ran.main.marks[-1][1][0] == End.STOPPED


def test_memory_is_bounded_and_nothing_is_lost(tmp_path: Path) -> None:
    text = module_text(LOOP, tmp_path)
    static = static_of(text)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    seen: list[int] = []

    def slow(stream: int, words: np.ndarray) -> None:
        seen.append(words.size)
        time.sleep(0.005)

    result = record([program, "2000000"], static, slow, folder=tmp_path, limits=LIMITS, memory=1)
    assert result.finished is not None and result.finished.ok
    assert sum(seen) > result.totals.words > 2_000_000
    assert result.waited > 0
    assert result.finished.max_rss < 40 << 20
    loop = max(range(1, static.n_segments), key=lambda segment: static.segment_words[segment])
    assert result.totals.records > 2_000_000 and static.segment_words[loop] >= 2


def test_windows_keep_whole_records_and_count_the_rest(tmp_path: Path) -> None:
    whole = recorded(LOOP, tmp_path)
    part = recorded(LOOP, tmp_path, start=500, most=3000)
    totals = part.recorded.totals
    assert totals.records == whole.recorded.totals.records
    assert totals.instructions == whole.recorded.totals.instructions
    assert 3000 <= totals.kept_instructions == part.main.instructions < 3100
    assert part.recorded.truncated and not whole.recorded.truncated
    marks = dict(part.main.marks)
    assert Mark.RESUMED in marks and Mark.END in marks
    static, segments = whole.static, whole.main.segments
    before = np.cumsum([0, *(int(static.segment_end[k] - static.segment_first[k]) for k in segments)])
    place = int(np.searchsorted(before, 500))
    assert part.main.segments == segments[place : place + len(part.main.segments)]
    dropped = totals.records - place - len(part.main.segments)
    assert marks[Mark.TRUNCATED] == (dropped, 0)


def test_nothing_in_the_window(tmp_path: Path) -> None:
    ran = recorded(LOOP, tmp_path, start=10**9)
    assert ran.main.segments == [] and ran.recorded.totals.instructions > 1000
    none = recorded(LOOP, tmp_path, most=0)
    assert none.main.segments == [] and none.recorded.truncated


def test_a_program_is_stopped_when_enough_is_kept(tmp_path: Path) -> None:
    text = module_text(LOOP, tmp_path)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    result = record(
        [program, "100000000000"],
        static_of(text),
        lambda stream, words: None,
        folder=tmp_path,
        limits=LIMITS,
        window=Window(size=10_000, stop=True),
    )
    assert result.finished is None and 10_000 <= result.totals.kept_instructions < 10_100


def test_what_the_sink_raises_stops_the_program(tmp_path: Path) -> None:
    text = module_text(LOOP, tmp_path)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")

    calls: list[int] = []

    def full(stream: int, words: np.ndarray) -> None:
        calls.append(stream)
        raise OSError("no room")

    started = time.monotonic()
    with pytest.raises(OSError, match="no room"):
        record([program, "1000000000000"], static_of(text), full, folder=tmp_path, limits=Limits())
    assert time.monotonic() - started < HUNG  # the program would count for an hour
    assert len(calls) == 1


def test_addresses_are_those_of_the_program(tmp_path: Path) -> None:
    ran = recorded(LOOP, tmp_path)
    listed = {
        ran.static.globals[words[0]][0]: words[1] | words[2] << 32
        for mark, words in ran.main.marks
        if mark is Mark.GLOBAL
    }
    base = listed["@data"]
    expected, at = [], 1
    for _ in range(1000):
        at = (at * 1103515245 + 12345) % 2**32
        expected.append(base + 4 * (at >> 26))
    stores = [access.values[0] for access in ran.main.accesses if access.kind is Kind.ADDR and access.access == 2]
    assert stores[:1000] == expected


def test_arguments(tmp_path: Path) -> None:
    text = module_text(LOOP, tmp_path)
    wrong: list[dict[str, Any]] = [{"window": Window(start=-1)}, {"window": Window(size=-1)}, {"memory": 0}]
    for options in wrong:
        with pytest.raises(ArgumentError):
            record(["none"], static_of(text), lambda stream, words: None, folder=tmp_path, **options)


def test_the_program_also_runs_by_itself(tmp_path: Path) -> None:
    from tracecut.support.process.runner import run

    text = module_text(LOOP, tmp_path)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    done = run([program], folder=tmp_path, name="alone", limits=LIMITS)
    assert done.ok and done.stdout.read_text() == recorded(LOOP, tmp_path).stdout
