"""Control dependences against their definition, on random graphs of blocks and on a program that runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.dependence_graph import CONTROL
from tracecut.ir.llvm import Function, parse_module
from tracecut.tracer.depgraph.builder import dependence_graph
from tracecut.tracer.depgraph.state.control_dependence import controllers_of
from tracecut.tracer.trace.tables.static_tables import Static

from tracecut.api.dependence_graph import build_graph

from ..interpreter import Frame, Interpreter, Line
from ..stream import Recorder


def function_of(targets: list[list[int]]) -> Function:
    """Blocks b0, b1, …, each with its successors; none means that it returns."""
    lines = []
    for number, to in enumerate(targets):
        names = [f"label %b{target}" for target in to]
        end = "ret void" if not to else f"br {names[0]}" if len(to) == 1 else f"br i1 %c, {names[0]}, {names[1]}"
        lines.append(f"b{number}:\n  {end}")
    return parse_module("define void @f(i1 %c) {\n" + "\n".join(lines) + "\n}\n").functions["@f"]


def reaches(targets: dict[int, list[int]], start: int, goal: int, without: int | None) -> bool:
    if start == without:
        return False
    seen, stack = {start}, [start]
    while stack:
        here = stack.pop()
        if here == goal:
            return True
        for other in targets.get(here, []):
            if other not in seen and other != without:
                seen.add(other)
                stack.append(other)
    return False


def slow_controllers(targets: list[list[int]]) -> dict[str, set[str]]:
    """B depends on A: it lies on every way from a successor of A, and not, or only as A itself, on every way from A."""
    end = len(targets)
    whole = {number: to or [end] for number, to in enumerate(targets)}
    alive = [number for number in range(end) if reaches(whole, 0, number, None)]
    found: dict[str, set[str]] = {}
    for a in alive:
        for b in alive:
            always = a != b and not reaches(whole, a, end, b)
            several = len(set(targets[a])) > 1
            if several and not always and any(not reaches(whole, s, end, b) for s in set(targets[a])):
                found.setdefault(f"b{b}", set()).add(f"b{a}")
    return found


@st.composite
def blocks(draw: st.DrawFn) -> list[list[int]]:
    """Blocks from which all lead to the end."""
    n = draw(st.integers(1, 7))
    found = [draw(st.lists(st.integers(1, n - 1), max_size=2)) if n > 1 else [] for _ in range(n)]
    whole = {number: to or [n] for number, to in enumerate(found)}
    return [to if reaches(whole, number, n, None) else [] for number, to in enumerate(found)]


@settings(deadline=None, max_examples=200)
@given(blocks())
def test_controllers_equal_their_definition(targets: list[list[int]]) -> None:
    assert controllers_of(function_of(targets)) == slow_controllers(targets)


def test_endless_loops_have_an_answer() -> None:
    assert controllers_of(function_of([[1, 2], [1], []]))["b1"] == {"b0"}


class Branches(Recorder):
    """Notes for each instruction which branch of its frame let it run."""

    def __init__(self, static: Static) -> None:
        super().__init__(static)
        functions = static.module.functions
        self.deciders = {name: controllers_of(function) for name, function in functions.items()}
        sizes = np.diff(static.block_first)
        self.block = np.repeat(np.array(static.block_names, object), sizes).tolist()
        self.last: dict[int, dict[str, int]] = {}
        self.control: set[tuple[int, int]] = set()

    def executed(self, vertex: int, line: Line, frame: Frame) -> None:
        own = self.last.setdefault(id(frame), {})
        if line.op != "phi":
            names = self.deciders[frame.function].get(self.block[line.number], set())
            latest = max((own.get(name, -1) for name in names), default=-1)
            if latest >= 0:
                self.control.add((latest, vertex))
        super().executed(vertex, line, frame)

    def done(self, vertex: int, line: Line, frame: Frame) -> None:
        super().done(vertex, line, frame)
        if line.op in ("br", "switch"):
            self.last[id(frame)][self.block[line.number]] = vertex
        if line.op == "ret":
            del self.last[id(frame)]  # the number may be given to another frame


def test_the_branches_of_a_running_program(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "programs" / "function_pointers.c"
    static = build_graph(source, weights="unit", output=tmp_path / "trace.tct").trace.static
    watch = Branches(static)
    machine = Interpreter(static.text, watch=watch)
    watch.begin(machine)
    machine.run()
    plain = dependence_graph(static, [watch.stream()], weights="unit")
    graph = dependence_graph(static, [watch.stream()], weights="unit", kinds=("raw", "control"))
    control = graph.kind == CONTROL
    assert set(zip(graph.src[control].tolist(), graph.dst[control].tolist(), strict=True)) == watch.control
    assert graph.m - int(control.sum()) == plain.m and watch.control
