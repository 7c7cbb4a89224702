"""Edges, byte for byte, against a slow interpreter of the same IR: from its own stream, and from the traced run.

One program for each thing that a tracer easily gets wrong, in both forms; `SUITE` says by what its IR shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tracecut.ir.dependence_graph import KINDS, DependenceGraph
from tracecut.support.errors import ArtefactError
from tracecut.tracer.depgraph import builder as builder_module
from tracecut.tracer.depgraph.builder import Builder, dependence_graph

from .cases import FORMS, Case

FOLDER = Path(__file__).parent / "programs"
INDIRECT = r"(?:call|invoke) [^@\n]*%[\w.]+\("
# program: what its IR has to hold in both forms; what is marked with a form is there in that one alone
SUITE = {
    "unions.c": (r"store (?:double|i64) ", r"store i8 ", r"load i16"),
    "overlapping_copies.c": (r"@llvm\.memmove\.", r"@llvm\.memcpy\."),
    "partial_overwrites.c": (r"store i8 ", r"store i16 ", r"load i64"),
    "recursion.c": (r"call [^\n]*@ackermann\(", r"call [^\n]*@even\(", r"call [^\n]*@odd\("),
    "realloc.c": (r"call [^\n]*@realloc\(", r"call [^\n]*@calloc\(", r"call [^\n]*@free\("),
    "stack_reuse.c": (r"alloca [^\n]*, i64 %", r"@llvm\.stackrestore", r"O1: @llvm\.lifetime\.start"),
    "struct_copies.c": (r"@llvm\.memcpy\.", r"\bsret\("),
    "varargs.c": (r"@llvm\.va_start", r"@llvm\.va_copy", r", \.\.\.\)"),
    "function_pointers.c": (
        INDIRECT,
        r"\balias i32 \(i32\), ptr @twice",
        r"@qsort\([^\n]*@by_size",
        r"seed: @bsearch\([^\n]*@by_size",
    ),
    "callbacks.c": (r"@qsort\([^\n]*@by_key", r"@tsearch\(", r"@twalk\(", r"@lsearch\(", r"@lfind\("),
    "setjmp.c": (r"call [^\n]*@_setjmp\(", r"call [^\n]*@longjmp\("),
    "phi_cycles.c": (r"O1: = phi i32 ", r"seed: store i32 "),
    "switch.c": (r"icmp|switch", r"seed: switch i32 ", r"seed: switch i64 ", r"seed: i32 43, label"),
    "booleans.c": (r"<8 x i1>", r"\btrunc [^\n]* to i1\b", r"i19\b", r"i5\b"),
    "wide_integers.c": (r"load i128", r"[us]div i128|[us]rem i128", r"ret i128|ret \{ i64, i64 \}"),
    "vectors.c": (r"load <4 x i32>", r"shufflevector", r"<2 x double>", r"<16 x i8>"),
    "exceptions.cpp": (
        r"\binvoke ",
        r"landingpad .*\bcleanup\b",
        r"\bcatch ptr null",
        r"\bresume ",
        r"@__cxa_rethrow\(",
    ),
    "bad_alloc.cpp": (r" call [^\n]*@_Znam\(", r"invoke [^\n]*@operator\._Znam\(", r"landingpad .*\bcleanup\b"),
    "own_new.cpp": (
        r"define [^\n]*@_Znwm\(",
        r"invoke [^\n]*@operator\._Znam\(|invoke [^\n]*@_Z\w*fill",
        r"call [^\n]*@_Znam\(",
    ),
    "own_delete.cpp": (r"define [^\n]*@_ZdlPv\(", r"call [^\n]*@_ZdaPv\(", r"call [^\n]*@_ZdlPvm\("),
    "own_operators.cpp": (r"define [^\n]*@_Znwm\(", r"call [^\n]*@_Znam\(", r"call [^\n]*@_ZdaPv\("),
    "own_malloc.cpp": (r"define [^\n]*@malloc\(", r"call [^\n]*@strdup\(", r"call [^\n]*@_Znam\("),
    "virtual_calls.cpp": (INDIRECT, r"@_ZTV\w+ = .*constant", r"@__dynamic_cast\("),
    "atomics.c": (r"\batomicrmw ", r"\bcmpxchg ", r"load atomic"),
    "strings.c": (r"@strlen\(", r"@swab\("),
}
PROGRAMS = [FOLDER / name for name in SUITE]


def edges_of(graph: DependenceGraph) -> set[tuple[int, int, str]]:
    kinds = [KINDS[kind] for kind in graph.kind.tolist()]
    found = set(zip(graph.src.tolist(), graph.dst.tolist(), kinds, strict=True))
    assert len(found) == graph.m, "an edge stands twice"
    return found


@pytest.mark.parametrize("opt", FORMS)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_the_graph_of_the_interpreters_stream(case: Callable[[Path, str], Case], source: Path, opt: str) -> None:
    own = case(source, opt)
    graph = dependence_graph(own.static, [own.recorder.stream()], weights="unit")
    assert graph.instruction.tolist() == own.machine.executed
    assert edges_of(graph) == own.machine.edges


@pytest.mark.parametrize("opt", FORMS)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_the_graph_of_the_traced_run(case: Callable[[Path, str], Case], source: Path, opt: str) -> None:
    own = case(source, opt)
    assert own.built.trace.outcome == f"left with status {own.status}"
    assert own.built.graph.instruction.tolist() == own.machine.executed
    assert edges_of(own.built.graph) == own.machine.edges
    assert own.built.ending.complete and own.built.ending.lost == 0


@pytest.mark.parametrize(
    "source",
    [pytest.param(path, marks=pytest.mark.long) if path.stem == "unions" else path for path in PROGRAMS],
    ids=lambda path: path.stem,
)
def test_a_graph_does_not_depend_on_addresses_nor_on_chunks(
    case: Callable[[Path, str], Case], source: Path, tmp_path: Path
) -> None:
    own = case(source, "O1")
    files = []
    for number, moved in enumerate((0, 0x7_7531_2330)):
        recorder, _, _ = own.interpreted(moved)
        words, builder = recorder.stream(), Builder(own.static, narrow=50 if number else 2**31 - 2)
        cuts = recorder.borders[1 :: 5 + number]
        for part in np.split(words, cuts):
            builder.feed(part)
        files.append(builder.graph().save(tmp_path / f"{number}.npz").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("opt", FORMS)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_the_program_shows_what_it_is_named_after(case: Callable[[Path, str], Case], source: Path, opt: str) -> None:
    text = case(source, opt).static.text
    other = f"{FORMS[opt == 'O1']}: "
    wanted = [pattern.removeprefix(f"{opt}: ") for pattern in SUITE[source.name] if not pattern.startswith(other)]
    assert [pattern for pattern in wanted if not re.search(pattern, text)] == []


def test_values_go_round_in_the_phis(case: Callable[[Path, str], Case]) -> None:
    """Two phis of one block that are each other's value along the same way: they change places."""
    text = case(FOLDER / "phi_cycles.c", "O1").static.text
    found = set(re.findall(r"^ *(%\S+) = phi i32 .*?\[ (%[\w.]+), ", text, re.MULTILINE))
    assert any((b, a) in found for a, b in found if a != b)


def test_every_program_is_in_the_suite() -> None:
    assert set(SUITE) == {path.name for path in FOLDER.iterdir()}


def test_damaged_streams_are_refused_or_read(
    case: Callable[[Path, str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever words come, the answer is a graph or an error that says so."""
    monkeypatch.setattr(builder_module, "MOST_BYTES", 1 << 26)  # lengths that are damaged need not be walked through
    own = case(FOLDER / "recursion.c", "O1")
    words, random = own.recorder.stream(), np.random.default_rng(3)
    refused = 0
    for _ in range(100):
        damaged = words.copy()
        for place in random.integers(0, words.size, random.integers(1, 4)).tolist():
            small, large = random.integers(0, own.static.n_segments + 2), random.integers(0, 2**32)
            damaged[place] = (small, large, damaged[place] ^ (1 << random.integers(32)))[random.integers(3)]
        builder = Builder(own.static)
        try:
            builder.feed(damaged)
            builder.graph().verify()
        except (ArtefactError, MemoryError):
            refused += 1
    assert 20 < refused < 100
    with pytest.raises(ArtefactError, match="is cut off"):
        Builder(own.static).feed(words[:-1])


def test_no_events_make_an_empty_graph(case: Callable[[Path, str], Case]) -> None:
    static = case(FOLDER / "recursion.c", "O1").static
    assert dependence_graph(static, []).n == 0
