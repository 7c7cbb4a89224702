"""Control flow on random graphs: dominators, loops, reach conditions and merged values against walks over the graph."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tracecut.ir.llvm import Block, Function, Instruction, TypeTable, parse_module
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.tracer.legality.evaluation.memory import Memory
from tracecut.tracer.loops.reach_conditions import reach_conditions
from tracecut.tracer.loops.scalar_evolution import ScalarView

from ...tracer.reference import interpret

pytestmark = pytest.mark.quick

Graph = Mapping[int, tuple[int, ...]]


def function_of(graph: Graph) -> Function:
    """A function with these edges; block 0 is the entry."""
    lines = ["define void @f(i1 %c, i32 %s) {"]
    for block, targets in graph.items():
        lines.append(f"b{block}:")
        if not targets:
            lines.append("  ret void")
        elif len(targets) == 1:
            lines.append(f"  br label %b{targets[0]}")
        elif len(targets) == 2:
            lines.append(f"  br i1 %c, label %b{targets[0]}, label %b{targets[1]}")
        else:
            cases = " ".join(f"i32 {place}, label %b{target}" for place, target in enumerate(targets[1:]))
            lines.append(f"  switch i32 %s, label %b{targets[0]} [ {cases} ]")
    return parse_module("\n".join([*lines, "}"])).functions["@f"]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 9))
    target = st.integers(1, count - 1) if count > 1 else st.nothing()
    return {block: tuple(draw(st.lists(target, max_size=3))) if count > 1 else () for block in range(count)}


def reachable(graph: Graph, start: int, without: int | None = None) -> set[int]:
    found: set[int] = set()
    stack = [start]
    while stack:
        block = stack.pop()
        if block != without and block not in found:
            found.add(block)
            stack.extend(graph[block])
    return found


def dominates(graph: Graph, above: int, below: int) -> bool:
    """By definition: without `above`, `below` cannot be reached."""
    return below in reachable(graph, 0) and (above == below or below not in reachable(graph, 0, without=above))


@settings(max_examples=200, deadline=None)
@given(graphs())
@example({0: (1, 2), 1: (2,), 2: (1,)})  # entered in two places
def test_dominators(graph: Graph) -> None:
    flow = ControlFlow(function_of(graph))
    for above, below in itertools.product(graph, graph):
        if above in reachable(graph, 0):
            assert flow.dominates(f"b{above}", f"b{below}") == dominates(graph, above, below)
    for name, above in flow.idom.items():
        strict = [b for b in graph if dominates(graph, b, int(name[1:])) and f"b{b}" != name]
        assert above == name if not strict else all(dominates(graph, b, int(above[1:])) for b in strict)


@settings(deadline=None)
@given(graphs())
@example({0: (1,), 1: (2, 3), 2: (2, 1), 3: ()})
def test_blocks_of_a_loop_and_of_none_inside_of_it(graph: Graph) -> None:
    view = FunctionView(function_of(graph), TypeTable({}))
    for loop in view.flow.loops:
        own = [name for name in view.flow.order if view.flow.innermost(name) is loop]
        assert view.own_blocks(loop) == own and loop.header in own


@settings(max_examples=200, deadline=None)
@given(graphs())
@example({0: (1,), 1: (2, 3), 2: (1, 1), 3: ()})
def test_natural_loops(graph: Graph) -> None:
    flow = ControlFlow(function_of(graph))
    alive = reachable(graph, 0)
    edges = {(a, b) for a in alive for b in graph[a]}
    back = {(a, b) for a, b in edges if dominates(graph, b, a)}
    headers = {b for _, b in back}
    assert {loop.header for loop in flow.loops} == {f"b{header}" for header in headers}
    bodies: dict[int, set[int]] = {}
    for header in headers:
        tails = {a for a, b in back if b == header}
        # What reaches a tail without passing the header.
        bodies[header] = {header} | {
            b for b in alive if b != header and tails & reachable({a: graph[a] for a in graph}, b, without=header)
        }
    for loop in flow.loops:
        header = int(loop.header[1:])
        body = bodies[header]
        assert loop.blocks == {f"b{b}" for b in body}
        assert set(loop.latches) == {f"b{a}" for a, b in back if b == header}
        assert set(loop.exits) == {(f"b{a}", f"b{b}") for a, b in edges if a in body and b not in body}
        outside = {a for a, b in edges if b == header and a not in body}
        single = len(outside) == 1 and len(set(graph[next(iter(outside))])) == 1
        assert loop.preheader == (f"b{next(iter(outside))}" if single else None)
        around = [other for other in headers if other != header and header in bodies[other] and body < bodies[other]]
        parent = min(around, key=lambda other: len(bodies[other]), default=None)
        assert (loop.parent.header if loop.parent else None) == (None if parent is None else f"b{parent}")
        assert loop.depth == len(around) + 1
        assert [other.header for other in loop.ancestors()] == sorted(
            (f"b{other}" for other in around), key=lambda name: len(bodies[int(name[1:])])
        )
    order = [flow.rank(f"b{b}") for b in alive]
    assert sorted(order) == list(range(len(alive)))
    reducible = not has_cycle({a: tuple(b for b in graph[a] if (a, b) not in back) for a in alive})
    rising = (flow.rank(b) > flow.rank(a) or flow.dominates(b, a) for a in flow.order for b in flow.successors[a])
    assert all(rising) == reducible


def has_cycle(graph: Graph) -> bool:
    return any(any(block in reachable(graph, target) for target in graph[block]) for block in graph)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]], list[dict[int, str]]]:
    """A loop whose body is a random acyclic graph, with values that merge: (text, targets, phis).

    Block i is left by condition %ci; phis[i]: predecessor → operand of %vi.
    """
    count = draw(st.integers(2, 6))
    targets: list[tuple[int, ...]] = []
    for block in range(count):
        later = st.integers(block + 1, count)
        pair = draw(st.one_of(st.tuples(later), st.tuples(later, later)))
        targets.append(pair if len(pair) == 2 and pair[0] != pair[1] else pair[:1])
    alive = {0}
    for block in range(count):
        if block in alive:
            alive |= set(targets[block])
    phis: list[dict[int, str]] = []
    lines = ["define void @f(" + ", ".join(f"i1 %c{b}" for b in range(count)) + ", i64 %n, ptr %p) {", "entry:"]
    lines += ["  br label %b0"]
    for block in range(count + 1):
        lines.append(f"b{block}:")
        if block == 0:
            lines.append(f"  %k = phi i64 [ 0, %entry ], [ %next, %b{count} ]")
        above = [a for a in range(block) if a in alive and block in targets[a]]
        phis.append({})
        if len(above) > 1:
            earlier = [str(place) for place in range(4)] + [
                f"%v{a}" for a in range(block) if phis[a] and dominating(targets, a, block)
            ]
            phis[block] = {a: draw(st.sampled_from(earlier)) for a in above}
            arms = ", ".join(f"[ {value}, %b{a} ]" for a, value in phis[block].items())
            lines.append(f"  %v{block} = phi i64 {arms}")
        if block == count:
            lines += ["  %next = add i64 %k, 1", "  %more = icmp slt i64 %next, %n"]
            lines += ["  br i1 %more, label %b0, label %end", "end:", "  ret void", "}"]
        elif len(targets[block]) == 1:
            lines.append(f"  br label %b{targets[block][0]}")
        else:
            lines.append(f"  br i1 %c{block}, label %b{targets[block][0]}, label %b{targets[block][1]}")
    return "\n".join(lines), targets, phis


def dominating(targets: list[tuple[int, ...]], above: int, below: int) -> bool:
    graph = dict(enumerate(targets)) | {len(targets): ()}
    return dominates(graph, above, below)


DIAMOND_WITH_TWO_TESTS = (  # if (c0 || c1) … else …
    "define void @f(i1 %c0, i1 %c1, i1 %c2, i1 %c3, i64 %n, ptr %p) {\nentry:\n  br label %b0\n"
    "b0:\n  %k = phi i64 [ 0, %entry ], [ %next, %b4 ]\n  br i1 %c0, label %b2, label %b1\n"
    "b1:\n  br i1 %c1, label %b2, label %b3\n"
    "b2:\n  br label %b4\nb3:\n  br label %b4\n"
    "b4:\n  %v4 = phi i64 [ 1, %b2 ], [ 2, %b3 ]\n  %next = add i64 %k, 1\n"
    "  %more = icmp slt i64 %next, %n\n  br i1 %more, label %b0, label %end\nend:\n  ret void\n}",
    [(2, 1), (2, 3), (4,), (4,)],
    [{}, {}, {}, {}, {2: "1", 3: "2"}],
)


@settings(max_examples=300, deadline=None)
@given(bodies())
@example(DIAMOND_WITH_TWO_TESTS)
def test_merged_values_and_reach_follow_every_path(
    body: tuple[str, list[tuple[int, ...]], list[dict[int, str]]],
) -> None:
    """For every outcome of the branches: which blocks run, and what the phis in them are."""
    text, targets, phis = body
    view = FunctionView(parse_module(text).functions["@f"], TypeTable({}))
    (loop,) = view.flow.loops
    scalars = ScalarView(view, loop, Pool())
    reach = reach_conditions(scalars, loop)
    count = len(targets)
    merged = {block: scalars.value(f"%v{block}", "i64") for block in range(count + 1) if phis[block]}
    for outcome in itertools.product((0, -1), repeat=count):
        lives = {f"%c{block}": taken for block, taken in enumerate(outcome)}
        visited, values = follow(targets, phis, outcome)
        for block in range(count + 1):
            condition = reach.get(f"b{block}", frozenset())
            if condition is not None:
                holds = any(all(bool(value(expr, lives)) == wanted for expr, wanted in term) for term in condition)
                assert holds == (block in visited), f"b{block} for {outcome}"
        for block, expected in values.items():
            assert expected in possible(merged[block], lives), f"%v{block} for {outcome}: {merged[block]}"


def follow(
    targets: list[tuple[int, ...]], phis: list[dict[int, str]], outcome: tuple[int, ...]
) -> tuple[set[int], dict[int, int]]:
    """Blocks and values of one way through the body."""
    block, before = 0, -1
    visited, values = set(), {}
    while True:
        visited.add(block)
        if phis[block]:
            operand = phis[block][before]
            values[block] = values[int(operand[2:])] if operand.startswith("%") else int(operand)
        if block == len(targets):
            return visited, values
        before, block = block, targets[block][0 if len(targets[block]) == 1 or outcome[block] else 1]


def value(expr: Expr, lives: Mapping[str, int]) -> int | float | None:
    return interpret(expr, {0: 0}, lives, Memory([], {}))


def possible(expr: Expr, lives: Mapping[str, int]) -> set[int | float | None]:
    """Values that an expression admits."""
    if expr.kind == "any":
        return set().union(*(possible(arg, lives) for arg in expr.args))
    if expr.kind == "choice":
        return possible(expr.args[1 if value(expr.args[0], lives) else 2], lives)
    return {value(expr, lives)}


def test_a_plain_diamond_stays_a_choice() -> None:
    """What can be told apart by one condition is told apart."""
    text = (
        "define void @f(i1 %c, i64 %n) {\nentry:\n  br label %b0\n"
        "b0:\n  %k = phi i64 [ 0, %entry ], [ %next, %b3 ]\n  br i1 %c, label %b1, label %b2\n"
        "b1:\n  br label %b3\nb2:\n  br label %b3\n"
        "b3:\n  %v = phi i64 [ 5, %b2 ], [ 7, %b1 ]\n  %next = add i64 %k, 1\n"
        "  %more = icmp slt i64 %next, %n\n  br i1 %more, label %b0, label %end\nend:\n  ret void\n}"
    )
    view = FunctionView(parse_module(text).functions["@f"], TypeTable({}))
    expr = ScalarView(view, view.flow.loops[0], Pool()).value("%v", "i64")
    assert str(expr) == "(%c ? 7 : 5)"


@pytest.mark.parametrize("entries", [1, 2, 3])
def test_a_header_with_several_entries_has_no_preheader(entries: int) -> None:
    graph: dict[int, tuple[int, ...]] = {0: tuple(range(2, 2 + entries)), 1: (1, 5), 5: ()}
    graph |= dict.fromkeys(range(2, 2 + entries), (1,))
    (loop,) = ControlFlow(function_of(dict(sorted(graph.items())))).loops
    assert (loop.preheader is not None) == (entries == 1)


@settings(max_examples=100, deadline=None)
@given(graphs(), st.data())
def test_what_an_edit_changes_is_found_anew(graph: Graph, data: st.DataObject) -> None:
    """Flows of one function share what they find until an edge changes; a copy has its own from then on."""
    function = function_of(graph)
    before = ControlFlow(function)
    known = flow_of(before)
    assert ControlFlow(function).loops is before.loops
    function.blocks[0].instructions.insert(0, Instruction("call void @g()"))
    assert ControlFlow(function).loops is before.loops  # no edge has changed
    copy = function.copy()
    assert ControlFlow(copy).loops is before.loops
    block = data.draw(st.sampled_from(copy.blocks))
    target = data.draw(st.sampled_from(copy.blocks[1:] or [None]))
    block.instructions[-1] = Instruction("ret void" if target is None else f"br label %{target.name}")
    copy.blocks.append(Block.of("fresh", ["ret void"]))
    fresh = Function(copy.name, copy.header, copy.blocks)  # of which nothing is known
    assert flow_of(ControlFlow(copy)) == flow_of(ControlFlow(fresh))
    assert flow_of(before) == flow_of(ControlFlow(function)) == known


def flow_of(flow: ControlFlow) -> tuple[object, ...]:
    """All that a flow says of its function."""
    loops = [(loop.header, loop.latches, loop.blocks, loop.preheader, loop.exits, loop.depth) for loop in flow.loops]
    return flow.successors, flow.predecessors, flow.order, dict(flow.idom), loops, [*flow.blocks]
