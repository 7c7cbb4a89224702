"""Loop summaries against all pairs of jobs, on random loops; reductions and private data on loops that have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.tracer.depgraph.loops.iteration_dependences import LoopFollower, LoopSummary
from tracecut.tracer.depgraph.loops.reductions import carried_values, updates_of
from tracecut.tracer.trace.tables.static_tables import Static, static_of

from ..interpreter import Frame, Interpreter, Line
from ..stream import Recorder

JOBS, RUNS, BYTES = 7, 2, 48


@dataclass(frozen=True)
class Statement:
    """`what` is load, store, an operation that updates, or copy; `places` the byte that each job touches."""

    what: str
    bits: int
    places: tuple[int, ...]


def program(statements: list[Statement]) -> str:
    """Two runs of a loop over the statements, in LLVM IR."""
    tables, body = [], []
    for number, statement in enumerate(statements):
        kind = f"i{statement.bits}"
        row = ", ".join(f"i64 {place}" for place in statement.places)
        tables.append(f"@t{number} = constant [{JOBS} x i64] [{row}]")
        body += [
            f"%q{number} = getelementptr [{JOBS} x i64], ptr @t{number}, i64 0, i64 %k",
            f"%i{number} = load i64, ptr %q{number}, align 8",
            f"%p{number} = getelementptr i8, ptr @data, i64 %i{number}",
        ]
        if statement.what == "store":
            body.append(f"store {kind} 3, ptr %p{number}, align 1")
        elif statement.what == "copy":
            length = statement.bits // 8
            body.append(f"%o{number} = getelementptr i8, ptr %p{number}, i64 {length // 2}")
            body.append(f"call void @llvm.memmove.p0.p0.i64(ptr %o{number}, ptr %p{number}, i64 {length}, i1 false)")
        else:
            body.append(f"%v{number} = load {kind}, ptr %p{number}, align 1")
            if statement.what != "load":
                body.append(f"%w{number} = {statement.what} {kind} %v{number}, 5")
                body.append(f"store {kind} %w{number}, ptr %p{number}, align 1")
    lines = "\n  ".join(body)
    return f"""
@data = global [{BYTES + 16} x i8] zeroinitializer
{chr(10).join(tables)}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @main() {{
entry:
  br label %outer
outer:
  %r = phi i64 [ 0, %entry ], [ %s, %done ]
  br label %loop
loop:
  %k = phi i64 [ 0, %outer ], [ %n, %loop ]
  {lines}
  %n = add i64 %k, 1
  %c = icmp ult i64 %n, {JOBS}
  br i1 %c, label %loop, label %done
done:
  %s = add i64 %r, 1
  %d = icmp ult i64 %s, {RUNS}
  br i1 %d, label %outer, label %end
end:
  ret i32 0
}}
"""


class Witness(Recorder):
    """Records the stream, and each access with the job that makes it."""

    def __init__(self, static: Static) -> None:
        super().__init__(static)
        self.job = self.run = 0
        self.accesses: list[tuple[int, int, int, bool]] = []  # run, job, byte, whether it is written

    def begin(self, machine: Interpreter) -> None:
        super().begin(machine)
        reads, writes = machine.reads, machine.writes

        def read(vertex: int, address: int, length: int) -> bytes:
            self.accesses += [(self.run, self.job, address + place, False) for place in range(length)]
            return reads(vertex, address, length)

        def write(vertex: int, address: int, data: bytes) -> None:
            self.accesses += [(self.run, self.job, address + place, True) for place in range(len(data))]
            writes(vertex, address, data)

        machine.reads, machine.writes = read, write  # type: ignore[method-assign]

    def executed(self, vertex: int, line: Line, frame: Frame) -> None:
        self.run += line.result == "%r"
        self.job += line.result == "%k"
        super().executed(vertex, line, frame)


def all_pairs(accesses: list[tuple[int, int, int, bool]]) -> dict[str, dict[int, int]]:
    """The definition: the history of each byte, and the pairs of jobs that it makes."""
    pairs: dict[str, set[tuple[int, int]]] = {"flow": set(), "anti": set(), "output": set()}
    history: dict[int, list[tuple[int, int, bool]]] = {}
    for run, job, byte, writes in accesses:
        past = history.setdefault(byte, [])
        stores = [place for place, item in enumerate(past) if item[2]]
        last = past[stores[-1]] if stores else None
        if last and last[0] == run and last[1] != job:
            pairs["output" if writes else "flow"].add((last[1], job))
        if writes:
            readers = [item[1] for item in past[stores[-1] + 1 if stores else 0 :] if item[0] == run and item[1] != job]
            if readers:
                pairs["anti"].add((readers[-1], job))
        past.append((run, job, writes))
    found = {}
    for kind, some in pairs.items():
        counts: dict[int, int] = {}
        for early, late in some:
            counts[late - early] = counts.get(late - early, 0) + 1
        found[kind] = counts
    return found


def loop_summary(static: Static, chunks: Iterable[Any], function: str, header: str) -> LoopSummary:
    follower = LoopFollower(static, function, header)
    for chunk in chunks:
        follower.feed(chunk)
    return follower.summary()


def followed(text: str, chunks: int = 3) -> tuple[LoopSummary, Witness]:
    static = static_of(text)
    witness = Witness(static)
    machine = Interpreter(text, watch=witness)
    witness.begin(machine)
    assert machine.run() == 0
    parts = np.split(witness.stream(), witness.borders[1::chunks])
    return loop_summary(static, parts, "main", "loop"), witness


def statements() -> st.SearchStrategy[Statement]:
    places = st.one_of(
        st.integers(0, BYTES - 8).map(lambda place: (place,) * JOBS),
        st.tuples(st.integers(0, 8), st.integers(0, 5)).map(lambda ab: tuple(ab[0] + ab[1] * k for k in range(JOBS))),
        st.lists(st.integers(0, BYTES - 8), min_size=JOBS, max_size=JOBS).map(tuple),
    )
    what = st.sampled_from(["load", "store", "add", "mul", "copy"])
    return st.builds(Statement, what, st.sampled_from([8, 16, 32, 32, 64]), places)


@settings(deadline=None, max_examples=80)
@given(st.lists(statements(), min_size=1, max_size=4))
def test_pairs_of_jobs_equal_brute_force(some: list[Statement]) -> None:
    summary, witness = followed(program(some))
    assert {"flow": summary.flow, "anti": summary.anti, "output": summary.output} == all_pairs(witness.accesses)
    assert (summary.runs, summary.jobs) == (RUNS, RUNS * JOBS)
    assert summary.parallel == (not any(all_pairs(witness.accesses).values()))


def datum(summary: LoopSummary) -> Any:
    """The one datum that jobs conflict on."""
    (found,) = [item for item in summary.data if item.conflicts]
    return found


ONE, EACH = (8,) * JOBS, tuple(4 * k for k in range(JOBS))


@pytest.mark.parametrize(("what", "operator"), [("add", "+"), ("mul", "*"), ("sub", "+"), ("xor", "^"), ("shl", "")])
def test_updates_of_one_place_are_reductions(what: str, operator: str) -> None:
    found, _ = followed(program([Statement(what, 32, ONE)]))
    assert datum(found).reduction == operator and not datum(found).private
    assert found.flow == {1: RUNS * (JOBS - 1)}


def test_a_second_reader_makes_a_reduction_none() -> None:
    found, _ = followed(program([Statement("add", 32, ONE), Statement("load", 32, ONE)]))
    assert datum(found).reduction == ""


def test_what_is_written_before_it_is_read_is_private() -> None:
    found, _ = followed(program([Statement("store", 32, ONE), Statement("load", 32, ONE), Statement("store", 8, EACH)]))
    assert datum(found).private and not datum(found).copied_in
    assert not found.parallel and not found.flow
    later, _ = followed(program([Statement("load", 32, ONE), Statement("store", 32, ONE)]))
    assert not datum(later).private


def test_separate_places_are_parallel() -> None:
    found, _ = followed(program([Statement("add", 32, EACH)]))
    assert found.parallel and found.carried == {"%k": "counter"}


def test_loops_that_are_not_there_and_damaged_streams() -> None:
    text = program([Statement("load", 8, ONE)])
    static = static_of(text)
    with pytest.raises(ArgumentError, match="no loop that begins at 'end'"):
        loop_summary(static, [], "main", "end")
    with pytest.raises(ArgumentError, match="no function 'other'"):
        loop_summary(static, [], "other", "loop")
    for words in ([0], [9999], [0xFFFFFF01, 0, 0]):
        with pytest.raises(ArtefactError, match="damaged"):
            loop_summary(static, [np.array(words, np.uint32)], "main", "loop")


FUSED = """
define double @f(ptr %sums, ptr %x, i64 %n, i1 %way) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %dot = phi double [ 0.0, %entry ], [ %more, %loop ]
  %power = phi double [ 1.0, %entry ], [ %higher, %loop ]
  %from = getelementptr double, ptr %x, i64 %i
  %value = load double, ptr %from
  %old = load double, ptr %sums
  %new = call double @llvm.fmuladd.f64(double %value, double 0.5, double %old)
  store double %new, ptr %sums
  %side = getelementptr double, ptr %sums, i64 1
  %factor = load double, ptr %side
  %scaled = call double @llvm.fmuladd.f64(double %factor, double 0.5, double %value)
  store double %scaled, ptr %side
  %more = tail call double @llvm.fma.f64(double %value, double %value, double %dot)
  %higher = call double @llvm.fma.f64(double %power, double %value, double 1.0)
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %n
  br i1 %again, label %loop, label %done
done:
  %result = fadd double %more, %higher
  ret double %result
}
declare double @llvm.fmuladd.f64(double, double, double)
declare double @llvm.fma.f64(double, double, double)
"""


def test_a_product_that_is_added_is_an_addition_to_its_last_operand_only() -> None:
    function = parse_module(FUSED).functions["@f"]
    (loop,) = ControlFlow(function).loops
    assert carried_values(function, loop) == {"%i": "counter", "%dot": "+", "%power": "value"}
    base = len(function.blocks[0].instructions)
    places = {place + base for place, line in enumerate(function.blocks[1].instructions) if "ptr %sums" in str(line)}
    load, store = sorted(places)[0], sorted(places)[1]
    assert updates_of(function, loop, 0) == {load: "+", store: "+"}
