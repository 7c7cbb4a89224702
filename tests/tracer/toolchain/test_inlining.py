"""Inlining before loops are read: bounded by what a module really grows to, and linear in that."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.llvm import parse_module
from tracecut.tracer.toolchain.inlining import (
    INLINE_SHARE,
    INLINE_TOTAL,
    Growth,
    _recursive,
    choose_inline,
    mark_inline,
)


def tower(floors: int, calls: int, leaf: int) -> str:
    """A function of `leaf` additions, called some times from a loop of a function that is called so, and so on."""
    lines = ["define i32 @f0(i32 %x) {", "entry:"]
    lines += [f"  %a{n} = add i32 %x, {n}" for n in range(leaf)]
    lines += [f"  ret i32 %a{leaf - 1}", "}"]
    for floor in range(1, floors):
        lines += [f"define i32 @f{floor}(i32 %x, i1 %c) {{", "entry:", "  br label %loop", "loop:"]
        more = ", i1 %c" if floor > 1 else ""
        lines += [f"  %r{n} = call i32 @f{floor - 1}(i32 %x{more})" for n in range(calls)]
        lines += ["  br i1 %c, label %loop, label %end", "end:", "  ret i32 %r0", "}"]
    return "\n".join(lines)


def expanded(text: str) -> int:
    """Instructions of a module with each marked function put where it is called."""
    functions = parse_module(text).functions
    sizes: dict[str, int] = {}
    for name, function in functions.items():  # callees come first
        sizes[name] = sum(
            1 + (sizes[item.word] if item.op == "call" and "alwaysinline" in functions[item.word].header else 0)
            for _, item in function.instructions()
        )
    return sum(sizes.values())


def test_what_a_function_brings_along_counts() -> None:
    text = tower(12, 10, 30)
    before = expanded(text)
    after = expanded(str(mark_inline(parse_module(text))))
    assert before < after <= max(INLINE_TOTAL, before + before // INLINE_SHARE)


def test_a_large_module_grows_by_a_share() -> None:
    text = tower(2, 1_500, 8)
    before = expanded(text)
    assert before < expanded(str(mark_inline(parse_module(text)))) <= INLINE_TOTAL + 8
    text = tower(2, 30_000, 8)
    assert expanded(str(mark_inline(parse_module(text)))) == expanded(text)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_growth_is_what_inlining_makes(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 7))
    sizes = {f"f{n}": data.draw(st.integers(1, 9)) for n in range(count)}
    calls: dict[str, Counter[str]] = {name: Counter() for name in sizes}
    for low, high in itertools.combinations(range(count), 2):
        found = data.draw(st.integers(0, 2))
        if found:
            calls[f"f{high}"][f"f{low}"] = found
    growth = Growth(sizes, calls)
    chosen: set[str] = set()

    def total() -> int:
        whole: dict[str, int] = {}
        for name in sizes:
            whole[name] = sizes[name] + sum(n * whole[callee] for callee, n in calls[name].items() if callee in chosen)
        return sum(whole.values())

    for name in data.draw(st.permutations(list(sizes))):
        before, expected = total(), growth.of(name)
        chosen.add(name)
        assert total() - before == expected
        growth.choose(name)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.integers(0, 7), st.sets(st.integers(0, 7), max_size=3), min_size=8))
def test_recursive_functions_are_those_that_reach_themselves(graph: dict[int, set[int]]) -> None:
    calls = {str(name): {str(callee) for callee in callees} for name, callees in graph.items()}
    reached = {name: set(callees) for name, callees in calls.items()}
    for _ in calls:
        reached = {name: found.union(*(reached[other] for other in found)) for name, found in reached.items()}
    assert _recursive(calls) == {name for name, found in reached.items() if name in found}


STACK = """define void @solve(ptr %s, i1 %c) {words} {{
entry:
  br label %loop
loop:
  br i1 %c, label %loop, label %end
end:
  ret void
}}
define void @set(ptr %s) {{
  ret void
}}
define void @caller(i1 %c) {{
  %s = alloca i64
  call void @set(ptr %s)
  call void @solve(ptr {argument}, i1 %c)
  {more}
  ret void
}}"""


def test_a_solver_on_the_stack_of_its_caller() -> None:
    """Inlined if it has loops, gets the variable's address, and is called there alone; not where that is forbidden."""

    def chosen(words: str = "", argument: str = "%s", more: str = "", with_stack: bool = True) -> set[str]:
        text = STACK.format(words=words, argument=argument, more=more)
        return set(choose_inline(parse_module(text), with_stack=with_stack).chosen)

    assert chosen() == {"@solve"}
    assert chosen(with_stack=False) == chosen(words="noinline") == chosen(argument="null") == set()
    assert chosen(more="call void @solve(ptr %s, i1 %c)") == set()
