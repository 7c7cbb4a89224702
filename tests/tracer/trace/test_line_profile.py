"""Places of instructions are those that the source itself tells, and the work of a program adds up over its lines."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import canonical
from tracecut.tracer.trace.line_profile import (
    HotLine,
    SegmentCounter,
    annotate,
    hot_lines,
    instruction_counts,
    places_of,
)
from tracecut.tracer.trace.tables.static_tables import Static, static_of

# Every call says where it stands, and where the calls stand that it is inlined through.
WITNESS = r"""
void mark(int here, int one, int two);
static inline __attribute__((always_inline)) void inner(int one, int two) {
    mark(__LINE__, one, two);
    if (two > 0)
        mark(__LINE__, one, two);
}
static inline __attribute__((always_inline)) void middle(int two) {
    inner(__LINE__, two);

    inner(__LINE__, two); mark(__LINE__, two, 0);
}
int main(void) {
    mark(__LINE__, 0, 0);
    for (int i = 0; i < 3; i++) {
        middle(__LINE__);
    }
    middle(
        __LINE__
    );
    return 0;
}
"""


@pytest.fixture(scope="module", params=[".c", ".cpp"])
def witness(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Static:
    folder = tmp_path_factory.mktemp("witness")
    path = folder / f"witness{request.param}"
    path.write_text(WITNESS)
    return static_of(str(canonical([to_ir(path, Flags(), folder, canonical=True)])))


def test_every_place_is_what_the_source_says(witness: Static) -> None:
    seen = 0
    for instruction, place in zip(witness.instructions, places_of(witness), strict=True):
        if instruction.op != "call" or "mark" not in instruction.word:
            continue
        told = [int(operand.text) for operand in instruction.operands]
        assert place is not None and place.column > 0 and place.file.endswith(("witness.c", "witness.cpp"))
        chain = place.chain()
        lines = [at.line for at in chain]
        # `middle(` … `)` over three lines: __LINE__ is that of the argument, the call stands two lines above.
        assert [*lines, 0, 0][:3] == [line - 1 if line == 19 else line for line in told]
        assert [at.function for at in chain] == [["main"], ["middle", "main"], ["inner", "middle", "main"]][
            len(chain) - 1
        ]
        seen += 1
    assert seen == 11


def test_what_has_no_place_gets_that_of_its_neighbour(witness: Static) -> None:
    own, near = places_of(witness), places_of(witness, nearest=True)
    assert None in own and None not in near
    for block in range(witness.n_blocks):
        numbers = range(witness.block_first[block], witness.block_first[block + 1])
        located = [number for number in numbers if own[number] is not None and own[number].line]
        for number in numbers:
            before = [other for other in located if other <= number]
            assert near[number] == own[(before or located)[-1 if before else 0]]


def test_unit_work_is_a_histogram_of_places(witness: Static) -> None:
    counts = np.arange(witness.n_instructions)
    found = {(item.file, item.line): item for item in hot_lines(witness, counts)}
    assert sum(item.count for item in found.values()) == counts.sum()
    for number, place in enumerate(places_of(witness, nearest=True)):
        if number and place is not None:
            assert found[place.file, place.line].count >= number
    texts = [re.search(r"line: (\d+)", line) for line in witness.text.splitlines() if "DILocation(" in line]
    assert {line for _, line in found if line} <= {int(match.group(1)) for match in texts if match}


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_work_adds_up(witness: Static, data: st.DataObject) -> None:
    size = witness.n_instructions
    counts = np.array(data.draw(st.lists(st.integers(0, 10**6), min_size=size, max_size=size)))
    weights = counts * np.array(data.draw(st.lists(st.integers(0, 300), min_size=size, max_size=size)))
    found = hot_lines(witness, counts, weights)
    assert sum(item.count for item in found) == counts.sum()
    assert sum(item.weight for item in found) == pytest.approx(weights.sum())
    assert not weights.any() or sum(item.share for item in found) == pytest.approx(1)
    assert [item.weight for item in found] == sorted((item.weight for item in found), reverse=True)
    # What was inlined at a line is the work of all instructions with that line further up in their chain.
    for item in found:
        inside = 0
        for number, place in enumerate(places_of(witness, nearest=True)):
            above = [] if place is None else place.chain()[1:]
            inside += int(weights[number]) * any((at.file, at.line) == (item.file, item.line) for at in above)
        assert item.inlined == pytest.approx(inside)


def test_segments_are_counted_record_by_record(witness: Static) -> None:
    choose = np.random.default_rng(3)
    ran = choose.integers(1, witness.n_segments, 500)
    records = [[segment, *choose.integers(0, 2**32, witness.segment_words[segment])] for segment in ran]
    counter = SegmentCounter(witness)
    marks = [[0xFFFFFFFB, 0, 0], [0xFFFFFFFD]]
    for part in (records[:200], marks, records[200:]):
        counter.take(0, np.array([word for record in part for word in record], np.uint32))
    assert counter.counts.tolist() == np.bincount(ran, minlength=witness.n_segments).tolist()
    for bad in ([0], [0xFFFFFF00], [0xF0000000], [0xFFFFFFFB, 0], [witness.n_segments]):
        with pytest.raises(ArtefactError, match="a chunk of stream 4 does not hold whole records"):
            counter.take(4, np.array(bad, np.uint32))


def test_counts_of_segments_reach_their_instructions(witness: Static) -> None:
    segments = np.arange(witness.n_segments) * 10
    counts = instruction_counts(witness, segments)
    for segment in range(1, witness.n_segments):
        for number in range(witness.segment_first[segment], witness.segment_end[segment]):
            assert counts[number] == 10 * segment
    with pytest.raises(ArgumentError, match=r"segments has the shape \(3,\)"):
        instruction_counts(witness, np.zeros(3, np.int64))


@pytest.mark.parametrize("bad", [np.zeros(2), np.zeros((3, 1))])
def test_work_of_another_module_is_refused(witness: Static, bad: np.ndarray) -> None:
    with pytest.raises(ArgumentError, match="was expected"):
        hot_lines(witness, bad)
    with pytest.raises(ArgumentError, match="weights has the shape"):
        hot_lines(witness, np.zeros(witness.n_instructions, np.int64), bad)


def test_impossible_work_is_refused(witness: Static) -> None:
    for value in (-1.0, np.nan, np.inf):
        with pytest.raises(ArgumentError, match="negative or not finite"):
            hot_lines(witness, np.full(witness.n_instructions, value))


HOT = [
    HotLine("a.c", 3, ("f",), 1_234_567, 80.0, 0.8, 0.0),
    HotLine("a.c", 7, ("main",), 42, 15.0, 0.15, 80.0),
    HotLine("b.c", 1, ("g",), 5, 5.0, 0.05, 0.0),
]
SOURCE = ["#include <x.h>", "static int f(void) {", "\treturn 1;", "}", "", "int main(void) {", "    f();", "}"]


def test_a_listing() -> None:
    assert annotate("a.c", SOURCE, HOT) == (
        "  share inlined executed  line  a.c\n"
        "                          1  #include <x.h>\n"
        "                          2  static int f(void) {\n"
        " 80.0 %           1.23 M  3      return 1;\n"
        "                          4  }\n"
        "                          5\n"
        "                          6  int main(void) {\n"
        " 15.0 %  80.0 %       42  7      f();\n"
        "                          8  }\n"
    )


def test_a_listing_of_what_ran() -> None:
    rows = annotate("a.c", SOURCE, HOT, around=0, width=60).splitlines()
    assert [row.split() for row in rows[1:]] == [
        ["80.0", "%", "1.23", "M", "3", "return", "1;"],
        ["…"],
        ["15.0", "%", "80.0", "%", "42", "7", "f();"],
    ]
    assert annotate("c.c", SOURCE, HOT, around=3).count("\n") == 1  # nothing of this file ran


def test_lines_that_the_file_does_not_have_are_named() -> None:
    rows = annotate("a.c", SOURCE[:5], HOT).splitlines()
    assert rows[-1] == " 15.0 % without a line here: the file has changed, it has no line 7"
    long = annotate("a.c", ["x" * 500] * 8, HOT, width=60).splitlines()
    assert all(len(row) <= 60 for row in long) and long[1].endswith("x…")


@pytest.mark.parametrize(
    ("count", "text"), [(999, "999"), (1000, "1 k"), (12_345, "12.3 k"), (999_499, "999 k"), (5 * 10**15, "5e+03 T")]
)
def test_large_counts_are_short(count: int, text: str) -> None:
    hot = [HotLine("a.c", 1, ("f",), count, 1.0, 1.0, 0.0)]
    assert text in annotate("a.c", ["x"], hot)
