"""Anti and output dependences against a slow reference: who read and wrote each byte in its present life."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.dependence_graph import ANTI, KINDS, OUTPUT
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.tracer.depgraph.builder import Builder, TooLarge, dependence_graph
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.walk.anti_output import NEXT_BITS, NEXT_MASK, compact
from tracecut.tracer.trace.tables.static_tables import Static, static_of

from tracecut.api.dependence_graph import build_graph

from ..cases import Case
from ..interpreter import Interpreter
from ..stream import Recorder

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.c*"))
ALL = ("raw", "war", "waw", "control")


class Witness(Recorder):
    """Records the stream, and by the definition each pair of a write with what read or wrote one of its bytes."""

    def __init__(self, static: Static) -> None:
        super().__init__(static)
        self.readers: dict[int, set[int]] = {}
        self.anti: set[tuple[int, int]] = set()
        self.output: set[tuple[int, int]] = set()

    def begin(self, machine: Interpreter) -> None:
        super().begin(machine)
        reads, writes, forget = machine.reads, machine.writes, machine.forget

        def read(vertex: int, address: int, length: int) -> bytes:
            for byte in range(address, address + length):
                self.readers.setdefault(byte, set()).add(vertex)
            return reads(vertex, address, length)

        def write(vertex: int, address: int, data: bytes) -> None:
            for byte in range(address, address + len(data)):
                self.anti |= {(reader, vertex) for reader in self.readers.pop(byte, ()) if reader != vertex}
                if machine.writers.get(byte, vertex) != vertex:
                    self.output.add((machine.writers[byte], vertex))
            writes(vertex, address, data)

        def free(address: int, length: int) -> None:
            for byte in range(address, address + length):
                self.readers.pop(byte, None)
            forget(address, length)

        machine.reads, machine.writes, machine.forget = read, write, free  # type: ignore[method-assign]


def witnessed(static: Static) -> Witness:
    watch = Witness(static)
    machine = Interpreter(static.text, watch=watch)
    watch.begin(machine)
    machine.run()
    return watch


def pairs(graph: object, kind: int) -> list[tuple[int, int]]:
    found = graph.kind == kind  # type: ignore[attr-defined]
    return sorted(zip(graph.src[found].tolist(), graph.dst[found].tolist(), strict=True))  # type: ignore[attr-defined]


@pytest.mark.parametrize("opt", ["O1", "seed"])
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_both_kinds_equal_the_reference(case: Callable[[Path, str], Case], source: Path, opt: str) -> None:
    built = build_graph(case(source, opt).built.trace, weights="unit", kinds=ALL)
    watch = witnessed(built.trace.static)
    graph = dependence_graph(built.trace.static, [watch.stream()], weights="unit", kinds=ALL)
    assert pairs(graph, ANTI) == sorted(watch.anti)
    assert pairs(graph, OUTPUT) == sorted(watch.output)
    assert pairs(built.graph, ANTI) == sorted(watch.anti)
    assert pairs(built.graph, OUTPUT) == sorted(watch.output)
    assert source.stem != "realloc" or (watch.anti and watch.output)
    plain = dependence_graph(built.trace.static, [watch.stream()], weights="unit", kinds=("raw", "control"))
    rest = ~np.isin(graph.kind, (ANTI, OUTPUT))
    assert graph.m - len(watch.anti) - len(watch.output) == plain.m
    assert graph.src[rest].tolist() == plain.src.tolist() and graph.time.tolist() == plain.time.tolist()
    assert (graph.weight[~rest] == 1).all()


STEPS = st.tuples(
    st.sampled_from(("load", "store", "copy", "fill", "add")), st.sampled_from((8, 16, 32, 64, 128)), st.integers(0, 30)
)


def program(steps: list[tuple[str, int, int]], times: int) -> str:
    """A loop over accesses of one array, at any place in it and of any width."""
    body = []
    for number, (what, bits, place) in enumerate(steps):
        body.append(f"%p{number} = getelementptr i8, ptr @data, i64 {place}")
        if what in ("load", "add"):
            body.append(f"%v{number} = load i{bits}, ptr %p{number}, align 1")
        if what in ("store", "add"):
            value = 3 if what == "store" else f"%v{number}"
            body.append(f"store i{bits} {value}, ptr %p{number}, align 1")
        if what == "copy":
            body.append(f"%o{number} = getelementptr i8, ptr @data, i64 {30 - place}")
            body.append(f"call void @llvm.memmove.p0.p0.i64(ptr %o{number}, ptr %p{number}, i64 {bits // 8}, i1 false)")
        if what == "fill":
            body.append(f"call void @llvm.memset.p0.i64(ptr %p{number}, i8 1, i64 {bits // 8}, i1 false)")
    lines = "\n  ".join(body)
    return f"""
@data = global [64 x i8] zeroinitializer
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i32 @main() {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %n, %loop ]
  {lines}
  %n = add i64 %k, 1
  %c = icmp ult i64 %n, {times}
  br i1 %c, label %loop, label %done
done:
  ret i32 0
}}
"""


@settings(deadline=None, max_examples=100)
@given(steps=st.lists(STEPS, min_size=1, max_size=8), times=st.integers(1, 4), cut=st.integers(1, 5))
def test_random_accesses_equal_the_reference(steps: list[tuple[str, int, int]], times: int, cut: int) -> None:
    static = static_of(program(steps, times))
    watch = witnessed(static)
    words = watch.stream()
    builder = Builder(static, weights="unit", kinds=ALL, narrow=20)
    for part in np.split(words, watch.borders[1::cut]):
        builder.feed(part)
    graph = builder.graph()
    assert pairs(graph, ANTI) == sorted(watch.anti) and pairs(graph, OUTPUT) == sorted(watch.output)
    for kinds, kind in ((("raw", "war"), ANTI), (("raw", "waw"), OUTPUT)):
        alone = dependence_graph(static, [words], weights="unit", kinds=kinds)
        assert set(np.unique(alone.kind)) <= {1, 2, kind} and pairs(alone, kind) == pairs(graph, kind)
    sums = Builder(static, weights="model", kinds=ALL, totals=True)
    for part in np.split(words, watch.borders[1::cut]):
        sums.feed(part)
    found, whole = sums.totals(), dependence_graph(static, [words], kinds=ALL)
    assert (found.nodes, found.edges, found.time) == (whole.n, whole.m, int(whole.time.sum()))
    assert found.weight == int(whole.weight.sum()) and found.bytes == whole.n * 8 + whole.m * 13
    assert found.kinds == {name: int((whole.kind == kind).sum()) for kind, name in KINDS.items()}


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40), st.integers(0, 9))
def test_what_no_word_leads_to_is_swept_out(pushes: list[tuple[int, bool]], dropped: int) -> None:
    """Lists that share their ends read the same before and after."""
    heads, reads, used = np.zeros(10, np.int32), np.zeros(64, np.int64), 1
    for vertex, (place, shared) in enumerate(pushes):
        reads[used] = (vertex << NEXT_BITS) | int(heads[place])
        heads[place] = used
        if shared:
            heads[(place + 1) % 10] = used
        used += 1
    heads[dropped] = sh.SPLIT

    def lists() -> list[list[int]]:
        found = []
        for head in heads.tolist():
            row = []
            while head > 0:
                row.append(int(reads[head]) >> NEXT_BITS)
                head = int(reads[head]) & NEXT_MASK
            found.append(row)
        return found

    before = lists()
    left = compact(heads, heads.size, reads, used)
    assert lists() == before
    assert left == 1 + len({vertex for row in before for vertex in row})


def test_readers_of_a_word_that_is_written_again_and_again_take_bounded_memory() -> None:
    static = static_of(program([("load", 64, 0), ("load", 64, 8), ("store", 64, 0)], 1))
    watch = witnessed(static)
    words, first = watch.stream(), watch.borders[2]
    again = np.tile(words[first : watch.borders[3]], 20_000)  # one word that is read and written, one that is only read
    builder = Builder(static, weights="unit", kinds=("raw", "war"))
    builder.feed(np.concatenate([words[:first], again]))
    assert builder.counts[sh.N_READS] > 20_000
    assert builder.followed["reads"].capacity <= 1 << 17
    graph = builder.graph()
    assert np.count_nonzero(graph.kind == ANTI) == 20_000


def test_kinds_that_are_not_there() -> None:
    static = static_of(program([("load", 8, 0)], 1))
    for wrong in ("raw", ("war",), ("raw", "rar")):
        with pytest.raises(ArgumentError, match="with 'raw' among them expected"):
            Builder(static, kinds=wrong)


def test_damaged_streams_are_refused_or_read() -> None:
    source = Path(__file__).parents[1] / "programs" / "realloc.c"
    static = build_graph(source, weights="unit").trace.static
    words, random = witnessed(static).stream(), np.random.default_rng(5)
    refused = 0
    for _ in range(100):
        damaged = words.copy()
        for place in random.integers(0, words.size, random.integers(1, 4)).tolist():
            small, large = random.integers(0, static.n_segments + 2), random.integers(0, 2**32)
            damaged[place] = (small, large, damaged[place] ^ (1 << random.integers(32)))[random.integers(3)]
        builder = Builder(static, kinds=ALL)
        try:
            builder.feed(damaged)
            builder.graph().verify()
        except (ArtefactError, MemoryError):
            refused += 1
    assert 10 < refused < 100


def test_a_graph_that_is_too_large_is_not_built() -> None:
    static = static_of(program([("load", 8, 0), ("store", 8, 0)], 4))
    words = witnessed(static).stream()
    size = dependence_graph(static, [words]).n * 8
    with pytest.raises(TooLarge) as refused:
        Builder(static, most=size).feed(words)
    assert refused.value.bytes > size
    Builder(static, most=4 * size).feed(words)
