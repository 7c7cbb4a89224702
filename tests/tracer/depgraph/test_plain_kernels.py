"""Short traces are walked through without Numba: the same numbers as by the compiled walk, and nothing is compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.support import plain_kernels as plain_module
from tracecut.support.plain_kernels import FEW, FEW_BYTES
from tracecut.tracer.depgraph.builder import Builder
from tracecut.tracer.depgraph.loops.iteration_dependences import LoopFollower
from tracecut.tracer.depgraph.loops.job_graph import JobFollower
from tracecut.tracer.trace.events.event_words import Mark
from tracecut.tracer.trace.tables.static_tables import Static, static_of

from tracecut.api.loop_summaries import hottest_loops

from ...waiting import HUNG
from .cases import FORMS, Case
from .test_edges import PROGRAMS
from .test_totals import long, state_of
from .walk.test_templates import assert_same

ALL = ("raw", "war", "waw", "control")


def parts_of(own: Case) -> list[np.ndarray]:
    """The first records of a run, as many as a plain walk takes, in two chunks."""
    borders = np.array(own.recorder.borders)
    end = borders[np.searchsorted(borders, FEW // 2)] if borders[-1] > FEW // 2 else own.recorder.stream().size
    return np.split(own.recorder.stream()[:end], [int(borders[np.searchsorted(borders, end // 2)])])


@pytest.mark.parametrize("kinds", [("raw",), ALL])
@pytest.mark.parametrize("opt", FORMS)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_plain_and_compiled_walks_agree(
    case: Callable[[Path, str], Case],
    source: Path,
    opt: str,
    kinds: tuple[str, ...],
) -> None:
    """All that is kept for later, too; and a walk that begins plain goes on compiled."""
    own = case(source, opt)
    parts = parts_of(own)
    both = [Builder(own.static, kinds=kinds, few=few, simple=False) for few in (0, FEW, parts[0].size)]
    for part in parts:
        for builder in both:
            builder.feed(part)
    compiled, plain, changed = both
    assert plain.few and not changed.few
    assert state_of(compiled) == state_of(plain) == state_of(changed)
    for name in ("heads", "reads", "owners", "objects", "globals"):
        size = plain.followed[name].capacity
        np.testing.assert_array_equal(compiled.followed[name].array[:size], plain.followed[name].array, err_msg=name)
    graph = compiled.graph()
    assert_same(graph, plain.graph())
    assert_same(graph, changed.graph())


@pytest.mark.long  # both are plain otherwise: see `tests/plain_rooms.py`
@pytest.mark.parametrize("source", PROGRAMS[:12], ids=lambda path: path.stem)
def test_plain_and_compiled_walks_over_loops_agree(case: Callable[[Path, str], Case], source: Path) -> None:
    own = case(source, "seed")
    parts, static = parts_of(own), own.static
    for name in hottest_loops(static, np.full(static.n_segments, 2), 3):
        found: list[Any] = []
        for few in (False, True):
            loop, jobs = LoopFollower(static, *name, few=few), JobFollower(static, *name, few=few)
            for part in parts:
                loop.feed(part)
                jobs.feed(part)
            assert loop.few == jobs.few == few
            graph = jobs.region().graph
            found.append((repr(loop.summary()), loop.units.array.tolist(), graph.data.tolist(), graph.offsets.tolist()))
        assert found[0] == found[1]


COPY = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i32 @main(ptr %p, i64 %n) {
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %m, %loop ]
  call void @llvm.memset.p0.i64(ptr %p, i8 1, i64 %n, i1 false)
  %m = add i64 %k, 1
  %go = icmp ult i64 %m, %n
  br i1 %go, label %loop, label %done
done:
  ret i32 0
}
"""


def cleared(length: int, times: int) -> tuple[Static, np.ndarray]:
    static = static_of(COPY)
    segments = np.flatnonzero(static.segment_words == 4).tolist()
    return static, np.array([1, *(segments[0], *long(0x5000), *long(length)) * times], np.uint32)


@pytest.mark.parametrize(("length", "times", "few"), [(FEW_BYTES // 64, 8, True), (FEW_BYTES // 64, 128, False)])
def test_few_records_that_touch_much_memory_are_compiled_for(length: int, times: int, few: bool) -> None:
    static, words = cleared(length, times)
    builder, compiled = Builder(static, few=FEW), Builder(static)
    builder.feed(words)
    compiled.feed(words)
    assert bool(builder.few) == few
    assert_same(builder.graph(), compiled.graph())


def test_few_records_of_many_instructions_are_compiled_for() -> None:
    steps = "\n".join(f"  %v{place} = add i64 %v{place - 1}, %m" for place in range(1, 600))
    text = COPY.replace("  %go =", f"  %v0 = add i64 %m, 3\n{steps}\n  %go =")
    static = static_of(text.replace("  call void @llvm.memset.p0.i64(ptr %p, i8 1, i64 %n, i1 false)\n", ""))
    loop = int(np.argmax(static.segment_end - static.segment_first))
    words = np.array([1, *(30 * [loop])], np.uint32)
    builder = Builder(static, few=FEW)
    builder.feed(words)
    assert not builder.few and builder.n > FEW


PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  double *x = malloc(40 * sizeof *x), sum = 0;
  for (int i = 0; i < 40; i++) x[i] = i * argc;
  for (int i = 1; i < 40; i++) x[i] += x[i - 1] * .5, sum += x[i];
  char text[64];
  memset(text, 'a', 30);
  text[30] = 0;
  printf("%s %g\\n", text, sum);
  free(x);
  return 0;
}
"""
WORDS = [
    ["graph"],
    ["graph", "--kinds", "war,waw,control", "-o", "graph.npz"],
    ["graph", "--loops", "-o", "graph.graphml"],
    ["graph", "--totals"],
    ["graph", "--opt", "seed", "-o", "graph.graph"],
    ["graph", "-o", "graph.dot"],
    ["graph", "-o", "graph.txt"],
    ["graph", "--weights", "seed"],
    ["annotate"],
    ["annotate", "--cycles"],
    ["trace", "-o", "short.tct"],
]


ALL_OF_THEM = """
import json, sys
from pathlib import Path
from tracecut.cli.main import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as done:
        assert done.code == 0, (words, done.code)
    assert not list(Path("code").rglob("*.nb?")), words
print("all of them")
"""


def test_nothing_is_compiled_for_a_short_run(tmp_path: Path) -> None:
    """Right after installation: the folder of compiled code is empty, and stays so."""
    (tmp_path / "short.c").write_text(PROGRAM)
    (tmp_path / "code").mkdir()
    commands = [*([command, "short.c", *rest] for command, *rest in WORDS), ["graph", "short.tct"]]
    done = subprocess.run(
        [sys.executable, "-P", "-c", ALL_OF_THEM, json.dumps(commands)],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "code")},
        capture_output=True,
        text=True,
        check=False,
        timeout=HUNG,
    )
    assert done.returncode == 0 and done.stdout.endswith("all of them\n"), done.stderr
    assert "compiling" not in done.stderr


def test_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a twin calls is a twin, numbers wrap around without a word, and other functions stay as they are."""
    from tracecut.tracer.depgraph.state import shadow_memory

    twin = plain_module.plain(shadow_memory.find)
    assert twin is not shadow_memory.find and twin is plain_module.plain(shadow_memory.find)
    assert plain_module.plain(long) is long
    keys = np.full(8, -1, np.int64)
    assert shadow_memory.find.py_func.__globals__["slot_of"] is shadow_memory.slot_of
    with np.errstate(all="raise"):
        slots = [int(plain_module.plain(shadow_memory.slot_of)(keys, page)) for page in (1, 2, 1 << 35, -1)]
    assert slots == [int(shadow_memory.slot_of(keys, page)) for page in (1, 2, 1 << 35, -1)]
    assert plain_module.fitting(shadow_memory.find, FEW) is twin
    assert plain_module.fitting(shadow_memory.find, FEW + 1) is shadow_memory.find


def test_damage_is_refused_alike() -> None:
    static, words = cleared(64, 3)
    for damaged in ([*words, 0], [*words, int(Mark.END), 1], [*words, 99], [int(Mark.GLOBAL)]):
        said = []
        for few in (0, FEW):
            with pytest.raises(Exception, match="the event stream is damaged") as caught:
                Builder(static, few=few).feed(np.array(damaged, np.uint32))
            said.append(str(caught.value))
        assert said[0] == said[1]
