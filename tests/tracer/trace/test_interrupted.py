"""Compact records that are cut: by their limit, by windows, by crashes and by signals."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags
from tracecut.tracer.trace.compact.loop_runs import RUN_LIMIT
from tracecut.tracer.trace.events.event_words import End, Kind, Mark
from tracecut.tracer.trace.instrument.compile import traced_objects
from tracecut.tracer.trace.record.record import Window, record
from tracecut.tracer.trace.tables.expand import Expander
from tracecut.tracer.trace.tables.records import OK, Lengths, walk
from tracecut.tracer.trace.tables.static_tables import static_of

from .recorded import HEAD, LIMITS, module_text, recorded
from .replay import Words

LONG = (
    HEAD
    + """
int a[1024];
int main(int argc, char **argv) {
  long n = atol(argv[1]);
  unsigned at = 1;
  if (argc > 2) for (long i = 0; i < n; i++) { at = at * 1103515245u + 12345u; a[at >> 22] += (int)i; }
  else for (long i = 0; i < n; i++) *(volatile int *)(a + 5) += (int)i;
  return 0;
}
"""
)


@pytest.mark.parametrize("form", ["fixed", "free"])
def test_more_iterations_than_a_record_holds(tmp_path: Path, form: str) -> None:
    text = module_text(LONG, tmp_path)
    static = static_of(text)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    count = 5 * RUN_LIMIT // 2 if form == "fixed" else 300_000
    seen: list[tuple[int, int]] = []
    lengths = Lengths.of(static)

    def sink(stream: int, words: Words) -> None:
        _, _, records, instructions, why = walk(words, lengths, 1 << 62)
        assert why == OK
        seen.append((records, instructions))

    for runs in (False, True):
        seen.clear()
        done = record(
            [program, str(count), *(["free"] if form == "free" else [])],
            static,
            sink,
            folder=tmp_path,
            limits=LIMITS,
            memory=1,
            runs=runs,
        )
        assert done.finished is not None and done.finished.ok
        assert count < done.totals.records < count + 20
        assert sum(records for records, _ in seen) == done.totals.records
        assert sum(instructions for _, instructions in seen) == done.totals.instructions
        assert done.totals.words < (200 if form == "fixed" else 2 * count + 200)
        assert len(seen) >= (3 if runs else 4)


def test_an_endless_loop_is_stopped_when_enough_is_kept(tmp_path: Path) -> None:
    text = module_text(LONG, tmp_path)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    kept: list[int] = []
    done = record(
        [program, str(10**13)],
        static_of(text),
        lambda stream, words: kept.append(words.size),
        folder=tmp_path,
        limits=LIMITS,
        window=Window(size=1000, stop=True),
    )
    assert done.finished is None and done.truncated and 1000 <= done.totals.kept_instructions < 1020
    assert done.totals.instructions >= RUN_LIMIT and sum(kept) < 2000


def test_windows_that_begin_and_end_in_runs(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    int a[64];
    int main(void) {
      for (int k = 0; k < 9; k++) for (int i = 0; i < 64; i++) a[i] += a[(i * 7 + k) & 63];
      return 0;
    }
    """
    )
    whole = recorded(source, tmp_path)
    static = whole.static
    assert static.n_runs
    lengths = (static.segment_end - static.segment_first)[np.array(whole.main.segments)]
    before = np.concatenate([[0], np.cumsum(lengths)])
    for start, most in ((0, 100), (333, 700), (1000, 1), (2001, 10**6)):
        part = recorded(source, tmp_path, start=start, most=most)
        first = int(np.searchsorted(before, start))
        last = int(np.searchsorted(before, before[first] + most))
        assert part.main.segments == whole.main.segments[first:last]
        assert part.recorded.totals.records == len(whole.main.segments)
        assert part.recorded.totals.kept_records == len(part.main.segments)


CRASHES = {
    # body of work(n), iterations that have to be there, whether the last one was begun but is not whole
    "last access of a free run": ("for (int i = 0;; i++) { int k = index_of[i]; a[k] = i; }", 100, False),
    "first access of two": ("for (long i = 0;; i++) { g[i] = 1; a[i & 63] = 2; }", None, True),
    "only access": ("for (long i = 0;; i++) g[i] = 1;", None, False),
    "stored last in a region": ("for (int i = 0;; i++) if (a[i] == 0) { int k = index_of[i]; a[k] = i; }", 100, False),
    "linear in a region": ("for (long i = 0;; i++) if (a[i & 63] == 0) { g[i] = 1; g[0] = 2; }", None, True),
    "division": ("for (int i = 0;; i++) a[i] = 1000 / (100 - i);", 100, False),
}


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_inside_of_a_run(tmp_path: Path, name: str) -> None:
    body, expected, begun = CRASHES[name]
    source = (
        HEAD
        + """
    #include <sys/mman.h>
    int a[4096], index_of[4096]; volatile char *g;
    NOINLINE void work(void) { """
        + body
        + """ }
    int main(void) {
      g = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      munmap((char *)g + 4096, 4096);
      index_of[100] = 1 << 29;
      work();
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path)
    work = ran.static.functions.index("@work")
    end = int(ran.static.block_segment[ran.static.function_block[work + 1]])
    compact = ran.static.run_segment.tolist() + ran.static.short_segment.tolist()
    segment = max(segment for segment in compact if segment < end and ran.static.segment_words[segment] >= 2)
    ended = (Mark.END, (End.SIGNAL, signal.SIGFPE if name == "division" else signal.SIGSEGV))
    assert ran.main.marks[-1] == ended
    times = ran.main.segments.count(segment)
    whole = 4096 if expected is None else expected
    assert times == (whole if begun else whole + 1)
    assert ran.recorded.crashed == (((0, segment),) if begun else ())
    assert ran.main.instructions == ran.recorded.totals.instructions
    accesses = [access.values[0] for access in ran.main.accesses if access.kind is Kind.ADDR and access.access == 2]
    if name in ("last access of a free run", "stored last in a region"):
        assert accesses[-1] - accesses[-2] == 4 * 2**29
    if name == "only access":
        assert accesses[-1] - accesses[-4096] == 4095


@pytest.mark.parametrize("how", ["killed", "handler", "longjmp"])
def test_a_signal_inside_of_a_run(tmp_path: Path, how: str) -> None:
    """The iterations until then are there; what the handler does is a stream of its own."""
    source = (
        HEAD
        + """
    #include <sys/time.h>
    int a[64]; volatile int hits; volatile long turns; jmp_buf place;
    static void on_alarm(int number) { hits++; HANDLER }
    NOINLINE void work(long n) { for (long i = 0; i < n; i++) turns = i; }
    int main(void) {
      signal(SIGALRM, ACTION);
      struct itimerval often = {{0, 3000}, {0, 3000}};
      setitimer(ITIMER_REAL, &often, 0);
      if (!setjmp(place)) for (int k = 0; hits < 3; k++) work(10000000);
      printf("%ld\\n", turns);
      return 0;
    }
    """
    )
    source = source.replace("ACTION", "SIG_DFL" if how == "killed" else "on_alarm")
    source = source.replace("HANDLER", "if (hits == 3) longjmp(place, 1);" if how == "longjmp" else "")
    text = module_text(source, tmp_path)
    static = static_of(text)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    segments: dict[int, int] = {}
    marks: list[tuple[int, int]] = []
    expander = Expander(static)
    lengths = Lengths.of(static)
    work = [int(segment) for segment in static.run_segment]  # of the function, and of its body in `main`

    def sink(stream: int, words: Words) -> None:
        for part in expander.pieces(words, stream):
            _, _, records, _, why = walk(part, lengths, 1 << 62)
            assert why == OK
            segments[stream] = segments.get(stream, 0) + records
        marks.append((stream, int(words[0])))

    done = record([program], static, sink, folder=tmp_path, limits=LIMITS, runs=True)
    assert done.finished is not None and not done.damaged and static.n_runs == 2
    if how == "killed":
        assert done.finished.returncode == -signal.SIGALRM and segments[0] > 10_000 and list(segments) == [0]
    else:
        assert done.finished.ok and segments[1] >= 3
        turns = int((tmp_path / "traced.stdout").read_text())
        assert segments[0] > turns
    assert done.crashed in ((), *(((0, segment),) for segment in work))
    assert marks[-1][1] == Mark.END
