"""Recording of one loop, and of some of its iterations."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.support.errors import ArgumentError
from tracecut.tracer.depgraph.builder import dependence_graph
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import parse_flags
from tracecut.tracer.trace.events.event_words import Kind, Mark
from tracecut.tracer.trace.instrument.compile import traced_objects
from tracecut.tracer.trace.instrument.region_switch import selected
from tracecut.tracer.trace.record.record import Recorded, record
from tracecut.tracer.trace.tables.static_tables import Static, static_of

from ..recorded import LIMITS, module_text
from ..replay import Replay, Words, joined, replay

FORMS = pytest.mark.parametrize("opt", ["O1", "seed"])


class Chosen:
    """What a run recorded whose module was changed by `selected`. `body` begins on line 1."""

    def __init__(self, source: str, folder: Path, region: str, *, every: int = 1, opt: str = "O1") -> None:
        text = selected(module_text(source, folder, "-pthread", opt=opt), region, every)
        self.static: Static = static_of(text)
        _, flags = parse_flags(["-pthread"])
        program = executable(traced_objects(text), flags, folder / "traced-program")
        chunks: list[tuple[int, Words]] = []
        self.recorded: Recorded = record(
            [program],
            self.static,
            lambda stream, words: chunks.append((stream, words.copy())),
            folder=folder,
            limits=LIMITS,
            memory=1 << 20,
        )
        self.words = joined(chunks)
        self.streams: dict[int, Replay] = {
            stream: replay(self.static, words, windows=True) for stream, words in self.words.items()
        }
        self.main = next(ran for ran in self.streams.values() if any(mark is Mark.GLOBAL for mark, _ in ran.marks))
        self.stdout = (folder / "traced.stdout").read_text()

    def stores(self, name: str) -> list[int]:
        """Offsets of the writes to a global, in order."""
        index = [known for known, _ in self.static.globals].index(f"@{name}")
        size = self.static.globals[index][1]
        base = next(
            words[1] | words[2] << 32 for mark, words in self.main.marks if mark is Mark.GLOBAL and words[0] == index
        )
        found = [
            access.values[0] - base for access in self.main.accesses if access.kind is Kind.ADDR and access.access & 2
        ]
        return [offset for offset in found if 0 <= offset < size]

    def switches(self) -> str:
        names = {Mark.RESUMED: "R", Mark.PAUSED: "P"}
        return "".join(names.get(mark, "") for mark, _ in self.main.marks)


NESTED = """#include <stdio.h>
int a[100], b[100], c[100];
__attribute__((noinline)) int sum(int x) { int s = 0; for (int i = 0; i < x; i++) s += a[i]; b[x] = s; return s; }
int main(void) {
  for (int i = 0; i < 100; i++) a[i] = i;
  int t = 0;
  for (int k = 0; k < 40; k++) {
    t += sum(k);
    c[k] = t;
  }
  for (int i = 0; i < 100; i++) t += b[i];
  printf("%d\\n", t);
  return 0;
}
"""


@FORMS
def test_only_the_loop_and_what_it_calls(tmp_path: Path, opt: str) -> None:
    ran = Chosen(NESTED, tmp_path, "prog.c:7", opt=opt)
    assert ran.stdout == f"{2 * sum(k * (k - 1) // 2 for k in range(40))}\n" and ran.switches() == "RP"
    assert ran.stores("a") == [] and ran.main.calls("main") == 0
    assert ran.main.calls("sum") == (40 if opt == "seed" else 0)  # otherwise it is inlined
    assert ran.stores("c") == ran.stores("b") == list(range(0, 160, 4))
    assert ran.main.instructions == ran.recorded.totals.instructions
    inner = Chosen(NESTED, tmp_path, "3", opt=opt)
    assert inner.stores("b") == inner.stores("c") == [] and inner.main.calls("sum") == 0
    assert inner.switches() == "RP" * (39 if opt == "O1" else 40)  # optimised, no iteration is known before the loop
    graph = dependence_graph(inner.static, [inner.words[0]], weights="unit")
    assert graph.n == inner.main.instructions


@FORMS
@pytest.mark.parametrize("every", [2, 7, 40, 1000])
def test_some_iterations(tmp_path: Path, every: int, opt: str) -> None:
    ran = Chosen(NESTED, tmp_path, "prog.c:7", every=every, opt=opt)
    kept = list(range(0, 160, 4 * every))
    assert ran.stores("c") == ran.stores("b") == kept
    assert ran.main.calls("sum") == (len(kept) if opt == "seed" else 0)
    assert ran.switches().count("R") in (len(kept), len(kept) + 1)
    assert ran.switches().replace("RP", "") == ""


def test_inlined_and_repeated_loops_count_too(tmp_path: Path) -> None:
    source = """#include <stdio.h>
int a[50];
static inline void fill(int from, int to) {
  for (int i = from; i < to; i++) a[i] = i;
}
int main(int argc, char **argv) {
  fill(0, argc * 10);
  a[49] = 1;
  fill(20, argc * 25);
  printf("%d\\n", a[22]);
  return 0;
}
"""
    ran = Chosen(source, tmp_path, "4")
    assert ran.stdout == "22\n" and ran.switches() == "RPRP"
    assert ran.stores("a") == [*range(0, 40, 4), *range(80, 100, 4)]


def test_ways_out_of_a_loop(tmp_path: Path) -> None:
    source = """#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
int a[50], b[50]; jmp_buf place; volatile int go = 3;
__attribute__((noinline)) int leave(int k) { if (k == go) longjmp(place, 1); return k; }
__attribute__((noinline)) int work(int how) {
  for (int k = 0; k < 9; k++) {
    a[k] = how;
    if (how == 1 && k == go) return k;
    if (how == 2 && k == go) break;
    if (how == 3 && leave(k) == 7) goto out;
    if (how == 4) b[k] = setjmp(place);
  }
out:
  b[40] = how;
  return 0;
}
int main(void) {
  work(1); b[30] = 1; work(2); b[31] = 1;
  if (!setjmp(place)) work(3);
  b[32] = 1; work(4); b[33] = 1;
  work(5);
  return 0;
}
"""
    for opt in ("O1", "seed"):
        ran = Chosen(source, tmp_path, "7", opt=opt)
        assert ran.recorded.finished is not None and ran.recorded.finished.ok
        assert ran.stores("a") == [
            *(4 * k for _ in range(3) for k in range(4)),
            *(4 * k for _ in range(2) for k in range(9)),
        ]
        assert ran.stores("b") == list(range(0, 36, 4)) and ran.switches() == "RP" * 5


def test_threads_and_handlers_switch_for_themselves(tmp_path: Path) -> None:
    source = """#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int a[64]; volatile int hits;
static void on_signal(int n) { hits++; }
__attribute__((noinline)) void work(int from) {
  for (int i = from; i < from + 8; i++) { a[i] = i; raise(SIGUSR1); }
}
static void *other(void *p) { hits++; work(32); hits++; return p; }
int main(void) {
  pthread_t thread;
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  work(0);
  pthread_create(&thread, 0, other, 0);
  pthread_join(thread, 0);
  if (fork() == 0) { work(8); _exit(0); }
  wait(0);
  raise(SIGUSR1);
  printf("%d\\n", hits);
  return 0;
}
"""
    ran = Chosen(source, tmp_path, "9")
    assert ran.stdout == "20\n" and ran.switches() == "RP" and ran.recorded.forks == 1
    assert ran.stores("a") == list(range(0, 32, 4))
    handled = sum(stream.calls("on_signal") for stream in ran.streams.values())
    assert handled == 16 and len(ran.streams) == 4  # two threads, and the handlers of both
    assert all(stream.calls("other") == stream.calls("main") == 0 for stream in ran.streams.values())


def test_small_buffers_and_a_crash(tmp_path: Path) -> None:
    source = """#include <stdlib.h>
int a[1024], *volatile gone;
int main(void) {
  unsigned at = 1;
  for (int k = 0; k < 40; k++) for (int i = 0; i < 9000; i++) a[(at = at * 1103515245u + 12345u) >> 22] += i;
  for (int k = 0; k < 200; k++) {
    for (int i = 0; i < 9000; i++) a[(at = at * 1103515245u + 12345u) >> 22] += i;
    if (k == 150) *gone = 1;
  }
  return 0;
}
"""
    ran = Chosen(source, tmp_path, "6", every=50)
    assert ran.switches() == "RPRPRPR" and not ran.recorded.damaged
    assert len(ran.stores("a")) == 4 * 9000


@pytest.mark.parametrize(
    ("region", "words"), [("6", "no loop"), ("x.c:7", "no loop"), ("prog.c", "FILE:LINE"), ("", "LINE")]
)
def test_places_without_a_loop(tmp_path: Path, region: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        selected(module_text(NESTED, tmp_path), region)


def test_the_choices_of_the_front_door(tmp_path: Path) -> None:
    import tracecut

    path = tmp_path / "prog.c"
    path.write_text(NESTED)
    trace = tracecut.trace(path, region="prog.c:7", every=4)
    assert trace.ok and any("prog.c:7" in note and "4 iterations" in note for note in trace.notes)
    assert trace.meta["region"] == "prog.c:7" and trace.meta["every"] == 4
    for wrong in ({"every": 2}, {"region": "7", "every": 0}):
        with pytest.raises(ArgumentError):
            tracecut.trace(path, **wrong)
