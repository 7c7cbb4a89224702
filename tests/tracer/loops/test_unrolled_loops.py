"""Loops unrolled by hand, put to the test: may the records that their parts are for change places?"""

from __future__ import annotations

import ctypes
import random

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.llvm import parse_module
from tracecut.tracer.loops.linear_forms import linear_form
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain.passes import parse, target_machine

pytestmark = pytest.mark.quick

ROOM = 40  # numbers of each array
BINARY = ("add", "sub", "mul", "xor", "and")
Part = list[
    tuple[str, ...]
]  # lines: ("load", array, place), (operation, a, b), ("store", array, place, value), ("sum", v)


def text_of(parts: list[Part], trips: int, step: int = 0, *, nested: bool = False) -> str:
    """A function of two arrays that runs the parts in each iteration, and returns the sum of what they hand out."""
    step = step or len(parts)
    body, handed = [], []
    for number, part in enumerate(parts):
        for place, line in enumerate(part):
            name = f"%v{number}_{place}"
            words = [f"%v{number}_{word}" if word.isdigit() else word.lstrip("=") for word in line[1:]]
            if line[0] in ("load", "store"):
                body.append(f"{name}.at = getelementptr i64, ptr %{line[1]}, i64 %i")
                body.append(f"{name}.to = getelementptr i8, ptr {name}.at, i64 {8 * int(line[2])}")
            if line[0] == "load":
                body.append(f"{name} = load i64, ptr {name}.to")
            elif line[0] == "store":
                body.append(f"store i64 {words[2]}, ptr {name}.to")
            elif line[0] == "sum":
                handed.append(words[0])
            else:
                body.append(f"{name} = {line[0]} i64 {words[0]}, {words[1]}")
    last = "%s"
    if nested and handed:  # s + (a + b)
        handed = [handed[0], *handed[1:]]
        inner = handed[0]
        for place, value in enumerate(handed[1:]):
            body.append(f"%t{place} = add i64 {inner}, {value}")
            inner = f"%t{place}"
        handed = [inner]
    for place, value in enumerate(handed):
        body.append(f"%s{place} = add i64 {last}, {value}")
        last = f"%s{place}"
    head = [
        "define i64 @f(ptr noalias %x, ptr noalias %y, i64 %a) {\nentry:\n  br label %loop\nloop:",
        f"%i = phi i64 [ {0 if step > 0 else -step * trips}, %entry ], [ %next, %loop ]",
        f"%s = phi i64 [ 0, %entry ], [ {last}, %loop ]",
    ]
    end = step * trips if step > 0 else 0
    tail = [f"%next = add i64 %i, {step}", f"%done = icmp eq i64 %next, {end}"]
    return "\n  ".join([*head, *body, *tail, "br i1 %done, label %end, label %loop\nend:"]) + f"\n  ret i64 {last}\n}}"


def parts_in(text: str) -> dict[str, int]:
    nest = Analysis(parse_module(text)).nest(0)
    return dict(nest.loops[0].parts)


def first_records(text: str) -> dict[str, set[int]]:
    """Array → the records that its accesses take in part 0 of the first iteration, if that took all of them."""
    nest = Analysis(parse_module(text)).nest(0)
    info, found = nest.loops[0], dict[str, set[int]]()
    for site in nest.sites:
        form = linear_form(site.address, {})
        (base,) = [str(atom.data[0]) for atom in form.terms if atom.kind == "live"]
        step = next(factor for atom, factor in form.terms.items() if atom.kind == "counter")
        own = step // info.unrolled
        found.setdefault(base, set()).add((form.const - own * info.parts[site.key]) // 8)
    return found


def run(text: str, x: list[int], y: list[int]) -> tuple[list[int], list[int], int]:
    with llvm.create_mcjit_compiler(parse(text), target_machine()) as engine:
        engine.finalize_object()
        left, right = (ctypes.c_int64 * ROOM)(*x), (ctypes.c_int64 * ROOM)(*y)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        given = call(engine.get_function_address("f"))(ctypes.addressof(left), ctypes.addressof(right), 3)
        return [*left], [*right], given


def shuffled(values: list[int], first: int, order: list[int], down: bool) -> list[int]:
    """Records from `first` on in another order; downwards, to there."""
    found, sign = list(values), -1 if down else 1
    for place, other in enumerate(order):
        found[first + sign * place] = values[first + sign * other]
    return found


@st.composite
def bodies(draw: st.DrawFn) -> tuple[list[Part], bool]:
    """Parts of one pattern, and whether something was changed in one of them."""
    count, down = draw(st.integers(2, 4)), draw(st.booleans())
    pattern = [("load", "x", "0"), ("load", "y", "0")]
    for place in range(draw(st.integers(1, 3))):
        operands = [draw(st.sampled_from([*map(str, range(place + 2)), "=%a", "=7"])) for _ in range(2)]
        pattern.append((draw(st.sampled_from(BINARY)), *operands))
    last = str(len(pattern) - 1)
    pattern += draw(
        st.sampled_from([[("store", "y", "0", last)], [("sum", last)], [("store", "y", "0", last), ("sum", "0")]])
    )
    sign = -1 if down else 1
    parts = [
        [(*line[:2], str(sign * c), *line[3:]) if line[0] in ("load", "store") else line for line in pattern]
        for c in range(count)
    ]
    if not draw(st.booleans()):
        return parts, down
    part, line = draw(st.integers(0, count - 1)), draw(st.integers(0, len(pattern) - 1))
    old = parts[part][line]
    if old[0] in ("load", "store"):
        parts[part][line] = (*old[:2], str(int(old[2]) + draw(st.sampled_from([-1, 1]))), *old[3:])
    elif old[0] in BINARY:
        parts[part][line] = draw(st.sampled_from([("or", *old[1:]), (old[0], "=5", old[2]), (old[0], old[2], old[1])]))
    return parts, down


@settings(max_examples=150, deadline=None)
@given(made=bodies(), nested=st.booleans(), seed=st.integers(0, 1000))
def test_records_of_parts_may_change_places(made: tuple[list[Part], bool], nested: bool, seed: int) -> None:
    parts, down = made
    trips, source = 4, random.Random(seed)
    text = text_of(parts, trips, -len(parts) if down else len(parts), nested=nested)
    found = parts_in(text)
    if not found:
        return
    count = 1 + max(found.values())
    records = first_records(text)
    if any(len(where) > 1 for where in records.values()):
        return  # the plan refuses: parts meet in a record
    x, y = ([source.randrange(100) for _ in range(ROOM)] for _ in range(2))
    order = source.sample(range(count * trips), count * trips)
    first = {f"%{name}": 5 for name in "xy"} | {name: where.pop() for name, where in records.items()}
    start = len(parts) * trips if down else 0

    def moved(x: list[int], y: list[int]) -> tuple[list[int], list[int]]:
        return tuple(shuffled(values, start + first[name], order, down) for name, values in (("%x", x), ("%y", y)))

    plain = run(text, x, y)
    other = run(text, *moved(x, y))
    assert other == (*moved(*plain[:2]), plain[2])


EASY: list[Part] = [
    [("load", "x", str(c)), ("mul", "0", "=%a"), ("store", "y", str(c), "1"), ("sum", "0")] for c in range(4)
]


def changed(part: int, line: int, to: tuple[str, ...]) -> list[Part]:
    parts = [list(lines) for lines in EASY]
    parts[part][line] = to
    return parts


UNLIKE = {
    "another number": changed(2, 1, ("mul", "0", "=5")),
    "another operation": changed(1, 1, ("add", "0", "=%a")),
    "the record of another part": changed(3, 0, ("load", "x", "2")),
    "a record of no part": changed(3, 0, ("load", "x", "4")),
    "another array": changed(3, 0, ("load", "y", "3")),
    "not handed on": changed(3, 3, ("xor", "0", "=1")),
    "handed on twice": [*EASY[:3], [*EASY[3], ("sum", "0")]],
    "stored twice": [*EASY[:3], [*EASY[3], ("store", "y", "3", "0")]],
    "its counter": changed(3, 1, ("mul", "0", "=%i")),
    "the sum so far": changed(3, 1, ("mul", "0", "=%s")),
}


@pytest.mark.parametrize("nested", [False, True])
def test_parts_that_do_the_same_are_found(nested: bool) -> None:
    found = parts_in(text_of(EASY, 5, nested=nested))
    assert sorted(found.values()) == [0, 0, 1, 1, 2, 2, 3, 3]
    down = [
        [(*line[:2], str(-int(line[2])), *line[3:]) if line[0] in ("load", "store") else line for line in part]
        for part in EASY
    ]
    assert sorted(parts_in(text_of(down, 5, -4, nested=nested)).values()) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("parts", UNLIKE.values(), ids=UNLIKE)
def test_parts_that_do_not_are_none(parts: list[Part]) -> None:
    assert parts_in(text_of(parts, 5)) == {}


def test_a_loop_that_leaves_records_out_is_none() -> None:
    assert parts_in(text_of(EASY, 3, 5)) == {}
    assert parts_in(text_of(EASY, 3, 8)) == {}
    assert parts_in(text_of(EASY[:1], 3, 1)) == {}


def test_one_base_is_another_with_a_constant() -> None:
    """`x - 1` is made in front of the loop, as for arrays that are counted from one."""
    first, second = "%v1_0.at = getelementptr i64, ptr %x, i64 %i", "%v1_0.to = getelementptr i8, ptr %v1_0.at, i64 "
    text = text_of(EASY, 5).replace(first, first.replace("%x", "%ahead"))
    text = text.replace("entry:\n", "entry:\n  %ahead = getelementptr i8, ptr %x, i64 -8\n")
    assert parts_in(text) == {}
    assert parts_in(text.replace(f"{second}8\n", f"{second}16\n")) == parts_in(text_of(EASY, 5))
