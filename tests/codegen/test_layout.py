"""The static rule: what of a layout scope is moved, together with what, and why something stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tracecut.ir.loops.expressions import pointer_roots
from tracecut.support.errors import UnsupportedError

from .harness import Inspected, Program, trace
from .replays import check_replays, load
from .woven_programs import run_woven, woven

Catalogue = Callable[[str], dict[str, Inspected | str]]


def loop(inspected: Catalogue, name: str, mark: str) -> Inspected:
    item = inspected(name)[mark]
    assert not isinstance(item, str), item
    return item


# Arrays go by the bytes of their object, or by their name; `+n` behind it: from byte n on.
MOVED = [
    ("pairs", "pairs", {"2400": "direct", "1600": "moved"}),
    ("pairs", "records", {"9600": "direct", "4800": "moved"}),  # arrays of records, two indices in one of them
    ("pairs", "do_while", {"4800": "direct", "2400": "direct", "1600": "moved"}),
    ("pairs", "walking", {"4800": "direct", "1600": "moved"}),
    ("pairs", "inner_fixed", {"4800": "moved", "9600": "direct", "1600": "moved"}),
    ("pairs", "narrow_indices", {"600": "direct", "1200": "direct", "1600": "moved"}),
    ("pairs", "small_spaces", {"600": "direct", "1024": "moved"}),  # 128 data: an index of one byte is enough
    ("pairs", "sentinel", {"2400": "direct", "1600": "moved"}),  # −1 is no datum and stays −1
    ("pairs", "index_data", {"2400": "direct", "1600": "moved", "4800": "moved"}),  # compared, and used as a number
    ("pairs", "stored_index", {"800": "moved", "1600": "moved"}),
    ("pairs", "interior", {"2400": "direct", "4800": "moved", "4800+3200": "moved"}),
    ("rows", "record_rows", {"2404": "offsets", "28208": "segment", "4800": "moved", "1600": "moved"}),
    ("rows", "start_end", {"2400": "offsets", "14176": "segment", "7088": "segment", "4800": "moved", "1600": "moved"}),
    ("indirect", "two_levels", {"2400": "direct", "1200+8": "spaced", "1600": "moved", "2400+16": "moved"}),
    ("indirect", "members", {"2400": "direct", "1600": "moved"}),  # pointers that are loaded each time
    (
        "states",
        "lent",
        {"2400": "direct", "1600": "moved", "%arg": "old", "4800": "moved"},
    ),  # what they are members of is on the stack of other functions
    ("locals", "local_array", {"2400": "direct", "1600": "moved"}),
    ("pieces", "flat", {"2400": "direct", "4800": "moved"}),  # another loop walks its records piece by piece
    ("pieces", "flat_middle", {"2400": "direct", "6400": "moved"}),
    ("unrolled", "update_four", {"2400": "direct", "1592": "moved"}),  # another loop takes four records at a time
    ("unrolled", "sum_five", {"2400": "direct", "1584": "moved"}),
    ("unrolled", "take_away_two", {"2400": "direct", "1600": "moved"}),
    ("unrolled", "points_two", {"2400": "direct", "3200": "moved"}),
    ("unrolled", "fields_alike", {"2400": "direct", "3200": "moved"}),  # both fields of one
    ("unrolled", "field_by_field", {"2400": "direct", "1600": "moved", "4800": "moved"}),
    ("unrolled", "from_one", {"2400": "direct", "1576": "moved"}),
    ("unrolled", "flat_six", {"2400": "direct", "4800": "moved", "4808": "moved"}),
    ("pieces", "copied_rows", {"804": "offsets", "2480": "segment", "12800": "moved"}),
    (
        "ended",
        "ended",
        {"2400": "offsets", "9684": "segment", "4800": "moved", "1600": "moved"},
    ),  # lists that end by what stands in them
    (
        "ended",
        "ended_sometimes",
        {"2400": "offsets", "9568": "segment", "4800": "moved", "1600": "moved", "19136": "segment"},
    ),
    ("ended", "ended_nodes", {"4800": "moved", "tc.rows0+16": "segment", "1600": "moved"}),
    ("ended", "ended_count", {"4800": "moved", "tc.rows0+16": "segment", "1600": "moved", "2400": "moved"}),
    ("ended", "ended_zero", {"4800": "moved", "tc.rows1+16": "segment", "1600": "moved", "2400": "direct"}),
    ("ended", "ended_halves", {"4800": "moved", "tc.rows0+16": "segment", "1600": "moved"}),
    ("ended", "ended_missing", {"4800": "moved", "tc.rows1+16": "plain", "1600": "moved"}),
    ("ended", "ended_nothing", {"4800": "moved", "2400": "direct", "tc.rows1+16": "spaced", "1600": "moved"}),
    ("ended", "ended_late", {"2400": "offsets", "4800": "moved", "9280": "segment", "1600": "moved"}),
    ("ended", "ended_twice", {"2400": "offsets", "9780": "segment", "1600": "moved"}),  # two loops over a piece
    (
        "ended",
        "ended_values",  # each in pieces of its own lengths
        {"4800": "moved", "tc.rows1+16": "segment", "tc.rows2+16": "segment", "1600": "moved"},
    ),
    (
        "ended",
        "ended_and_not",
        {"2400": "offsets", "9664": "segment", "2404": "offsets", "4800": "moved", "1600": "moved", "10000": "segment"},
    ),
    ("ended", "rows_twice", {"2404": "offsets", "14848": "segment", "7424": "segment", "1600": "moved"}),
    ("pointers", "points", {"2400": "direct", "1600": "spaced", "4800": "moved", "tc.rows0+32": "moved"}),
    (
        "pointers",
        "own_and_others",  # the numbers of the rows follow the iterations and the index
        {"1600": "moved", "804": "offsets", "1608": "spaced", "2212": "segment", "tc.rows0+32": "moved"},
    ),
    (
        "pointers",
        "next_and_others",
        {"1600": "moved", "804": "offsets", "1608": "spaced", "tc.rows0+32": "moved", "2292": "segment"},
    ),
    (
        "pieces",
        "object_rows",  # pointers that every step loads
        {"32+8": "old", "32+16": "old", "32+24": "old", "804": "offsets", "3756": "segment", "1600": "moved"},
    ),
]


@pytest.mark.parametrize(("name", "mark", "modes"), MOVED, ids=[mark for _, mark, _ in MOVED])
def test_what_moves(inspected: Catalogue, name: str, mark: str, modes: dict[str, str]) -> None:
    item = loop(inspected, name, mark)
    assert item.inspection.verdicts[item.region].movable
    copied = "rows behind pointers are read from a copy"
    assert (item.modes, {name: why for name, why in item.kept.items() if why != copied}) == (modes, {})
    assert item.scope != item.region  # the layout holds for all sweeps


@pytest.mark.parametrize(
    ("mark", "tests", "old"),
    [
        ("ended", {("sgt", -1)}, True),  # numbers that are added up
        ("ended_count", {("sgt", -1)}, False),
        ("ended_zero", {("eq", 0)}, False),
        ("ended_halves", {("sgt", -1)}, True),
    ],
)
def test_ends_are_looked_for_in_what_is_followed(
    inspected: Catalogue, mark: str, tests: set[tuple[str, int]], old: bool
) -> None:
    """Not in another copy, with the old numbers; that one is there where they are asked for."""
    item = loop(inspected, "ended", mark)
    groups, outlined = item.cut_out
    found = {(test.predicate, test.constant) for group in groups[item.region] for test in group.tests}
    read = any(slot.kind == "data-base" for slot in outlined[item.region].slots)
    assert (found, read) == (tests, old)


def test_how_far_rows_are_from_each_other_is_not_asked(inspected: Catalogue) -> None:
    """Between two pointers to one row it is what it was (`ended_count`); copies of two rows lie anywhere."""
    for mark in ("ended_where", "ended_beside"):
        refused = inspected("ended")[mark]
        assert isinstance(refused, str) and refused.startswith("rows behind pointers of their own are reached at ")


KEPT = [
    ("pairs", "mixed_widths", "40000", "the index at", "cannot be renumbered"),  # 5000 data do not fit a byte
    ("pairs", "wrapping_index", "320000", "the index at", "cannot be renumbered"),
    ("pairs", "index_bound", "1600", "the index at", "cannot be renumbered"),  # an index that is a trip count too
    ("pairs", "triangle", "1600", "the index at", "cannot be renumbered"),
    ("pairs", "two_distances", "1600", "the index at", "reaches it at two distances"),
    ("pairs", "downwards", "4800", "the loop at", "reaches it at two distances"),
    ("rows", "column_major", "1600", "the index at", "cannot be renumbered"),
    ("locals", "hidden_in_choice", "%i", "every iteration", "has it for itself"),
    ("pieces", "staying", "1600", "the index at", "reaches it at two distances"),
    ("pointers", "two_and_others", "tc.rows0+32", "the index at", "cannot be renumbered"),
    ("pointers", "down_and_others", "tc.rows0+32", "the index at", "cannot be renumbered"),
]


# Loops beside the hot one that cannot run on another numbering: what they walk moves, and they look it up.
LOOKED_UP = [
    ("locals", "hidden_in_choice", "1600", "the index at", "is not one of a loop that could be rescheduled"),
    ("indirect", "swapping_and_kept", "1600", "the access at", "is not understood"),
    ("pieces", "flat_part", "4800", "the loop at", "walks a part of a record"),
    ("pieces", "flat_shifted", "4800", "the loop at", "walks a part of a record"),
    ("pieces", "two_sizes", "4800", "the loop at", "walks records of it in pieces, and others in other pieces"),
    ("unrolled", "flat_four", "4776", "the loop at", "walks a part of a record"),
    ("unrolled", "unlike", "1600", "it is accessed", "with different strides"),
    ("unrolled", "neighbour", "1608", "it is accessed", "with different strides"),
    ("unrolled", "shifted", "1616", "the loop at", "reaches it at two distances"),
    ("unrolled", "turned", "1600", "it is accessed", "with different strides"),
    ("unrolled", "signs", "1600", "it is accessed", "with different strides"),
    ("unrolled", "squares", "1600", "it is accessed", "with different strides"),
    ("unrolled", "two_counts", "1600", "it is accessed", "with different strides"),
]


@pytest.mark.parametrize(
    ("name", "mark", "array", "subject", "why"), LOOKED_UP, ids=[f"{k[1]}-{k[2]}" for k in LOOKED_UP]
)
def test_what_is_looked_up_and_why(
    inspected: Catalogue, name: str, mark: str, array: str, subject: str, why: str
) -> None:
    item = loop(inspected, name, mark)
    assert item.modes[array] == "moved" and array not in item.kept
    assert any(found.startswith(subject) and found.endswith(why) for found in item.looked_up[array])


@pytest.mark.parametrize(("name", "mark", "array", "subject", "why"), KEPT, ids=[f"{k[1]}-{k[2]}" for k in KEPT])
def test_what_stays_and_why(inspected: Catalogue, name: str, mark: str, array: str, subject: str, why: str) -> None:
    item = loop(inspected, name, mark)
    found = item.kept[array]
    assert found.startswith(subject) and found.endswith(why)
    assert item.modes.get(array, "old") == "old"
    schedule = item.schedule(item.random(1))
    stays = set(item.inspection.plan.kept)
    moved = {place for space in item.inspection.plan.spaces for place in space.arrays}
    assert not stays & moved
    assert len(schedule.moves) == len(moved)


BESIDE = [
    ("indirect", "index_in_companion", ["800 old", "1600 moved"]),  # the indices of the other loop, as numbers
    ("pieces", "cut_number", ["3200 moved", "3200 moved", "2048 old"]),  # it picks by the last bits of its number
    ("pieces", "masked_number", ["1600 moved", "64 old", "1600 moved"]),
]


@pytest.mark.parametrize(("name", "mark", "modes"), BESIDE, ids=[mark for _, mark, _ in BESIDE])
def test_a_loop_that_cannot_run_unchanged_is_a_region_too(
    inspected: Catalogue, name: str, mark: str, modes: list[str]
) -> None:
    """Else its data would stay, and what another loop reaches through an index with them."""
    item = loop(inspected, name, mark)
    plan = item.inspection.plan
    (other,) = plan.uses.keys() - {item.region}
    assert item.scope != item.region and plan.movable == {item.region, other}
    assert [f"{plan.arrays[use.array].object.size} {use.mode}" for use in plan.uses[other]] == modes
    assert item.inspection.gathered(item.region)[0] > 0


def test_an_index_array_that_is_written_limits_the_scope(program: Callable[[str], Program]) -> None:
    """Between two sweeps the indices change: the layout holds for one sweep, and is made anew for the next."""
    for mark in ("moving_indices", "swapping_indices", "varying_length"):
        item = program("indirect").inspect(mark, tuned=True)
        assert item.scope == item.region, mark
        assert item.inspection.verdicts[item.region].movable


def test_spaces_are_made_by_indices_not_by_lengths(inspected: Catalogue) -> None:
    """x and y of a square matrix have the same length: two spaces, until a loop over both ties them together."""
    apart = loop(inspected, "rows", "square").inspection.plan.spaces
    assert sorted(len(space.arrays) for space in apart) == [1, 1]
    assert sorted((len(space.fields), len(space.jobs)) for space in apart) == [(0, 1), (1, 0)]
    (tied,) = loop(inspected, "rows", "conjugate").inspection.plan.spaces
    assert (len(tied.arrays), len(tied.fields), len(tied.jobs)) == (3, 1, 1)
    (pairs,) = loop(inspected, "pairs", "pairs").inspection.plan.spaces
    assert (len(pairs.arrays), len(pairs.fields)) == (2, 2)


def test_data_beyond_a_loop_that_walks_them_stay_behind_its_end(inspected: Catalogue) -> None:
    """`for (v < DATA) x[v] += y[v] & 3` visits 200 of the 600 rows: a cut keeps them apart from the rest."""
    item = loop(inspected, "rows", "csr")
    (space,) = item.inspection.plan.spaces
    assert space.cuts == (0, 200, 600)
    for seed in range(5):
        order = item.schedule(item.random(seed)).spaces[0].order
        assert set(order[:200].tolist()) == set(range(200))


def test_shifted_parts_of_one_array_share_a_numbering(inspected: Catalogue) -> None:
    """x[2 a] and x[2 (b + 49) + 1]: two fields of the records, their indices 49 apart."""
    (space,) = loop(inspected, "pairs", "split_fields").inspection.plan.spaces
    assert (len(space.arrays), len(space.fields)) == (1, 2)
    assert max(space.fields.values()) - min(space.fields.values()) == 49


def test_only_jobs_move_when_data_must_not(program: Callable[[str], Program]) -> None:
    item = program("pairs").inspect("pairs", renumber=False)
    assert set(item.modes.values()) == {"direct", "old"}
    schedule = item.schedule(item.random(1))
    assert schedule.moves == ()


def test_what_may_depend_on_the_order_keeps_it(inspected: Catalogue) -> None:
    assert loop(inspected, "locals", "walked_globals").verdict == "parallel"  # each starts four further on
    item = loop(inspected, "locals", "walked_on")
    assert item.verdict == "ordered"
    assert "the loop carries a value across iterations" in item.inspection.verdicts[item.region].reason
    assert item.region not in item.inspection.plan.movable


def test_sums_into_one_of_two_arrays_may_be_in_any_order(inspected: Catalogue) -> None:
    """Whichever element it is: both arrays are summed up into alone, and stay where they are."""
    item = loop(inspected, "indirect", "chosen_arrays")
    assert item.verdict == "reduction"
    assert {*item.modes.values()} == {"direct", "old"}
    seen = check_replays(load([item]), seeds=(1, 2), threads=(1, 3))
    assert [found["wrong"] for found in seen.values()] == [""]


@pytest.mark.parametrize(("mark", "expected"), [("told_apart", {2}), ("filled_apart", {1, 2})])
def test_a_local_array_that_the_compiler_makes_two_variables_of_is_private(
    inspected: Catalogue, mark: str, expected: set[int]
) -> None:
    """Declared in the body, or filled anew there."""
    item = loop(inspected, "locals", mark)
    assert item.verdict == "parallel"
    roots = {
        len(pointer_roots(site.address))
        for site in item.inspection.accesses.nest.sites_in(item.region)
        if site.private is not None
    }
    assert roots == expected
    seen = check_replays(load([item]), seeds=(1, 2), threads=(1, 3))
    assert [found["wrong"] for found in seen.values()] == [""]


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("indirect", "ordered"),
        ("locals", "outliving_array"),
        ("locals", "half_filled"),
        ("locals", "table_with_gaps"),
        ("locals", "table_of_some"),
        ("locals", "table_read_between"),
        ("locals", "filled_late"),
        ("locals", "sometimes_filled"),
        ("locals", "read_behind"),
        ("locals", "local_or_shared"),
        ("locals", "left_apart"),
        ("locals", "one_apart"),
    ],
)
def test_loops_whose_iterations_depend_on_each_other_keep_their_order(
    inspected: Catalogue, name: str, mark: str
) -> None:
    item = loop(inspected, name, mark)
    assert item.verdict == "ordered"
    verdict = item.inspection.verdicts[item.region]
    assert len(verdict.places) == 2 and verdict.reason


def test_two_loops_over_the_same_starts_have_pieces_of_their_own(program: Callable[[str], Program]) -> None:
    """The first loop walks the first half of each piece, the second one all of it."""
    item = program("pieces").inspect("same_starts")
    schedule = item.schedule(item.random(1))
    half, whole = (region for region in schedule.regions if region.lengths.size)
    assert {copy.starts for copy in half.copies} & {copy.starts for copy in whole.copies} - {None}
    assert half.lengths.sum() < whole.lengths.sum()
    ran = run_woven(item.program, woven([item], [schedule], name="same-starts"))
    assert list(ran.used.values()) == [1]
    assert (ran.code, ran.stdout) == (0, item.program.native_output)


LENT = """
#include <stdio.h>
#include <stdlib.h>
typedef struct { int count, stride; double kept[60]; int *index; double *x; } Part;
__attribute__((noinline)) static void walk(Part *p, double *y, int from)
{
    for (int t = 0; t < 5; t++) {
        double third = p->kept[3];
        for (int e = 0; e < p->count; e++) // @edges
            y[p->index[2 * e]] += p->x[p->index[2 * e + 1]] + third;
        BETWEEN
    }
}
int main(int argc, char **argv)
{
    Part part = {150, 1, {0}, malloc(300 * sizeof(int)), malloc(60 * 8)};
    double *y = calloc(60, 8), sum = 0;
    for (int i = 0; i < 300; i++)
        part.index[i] = i * 37 % 60;
    for (int v = 0; v < 60; v++)
        part.x[v] = part.kept[v] = v;
    walk(&part, y, argc + 2);
    for (int v = 0; v < 60; v++)
        sum = 31 * sum / 32 + y[v] + part.x[v] + part.kept[v];
    printf("%.12g\\n", sum);
}
"""


@pytest.mark.parametrize(
    ("between", "moves"),
    [
        ("for (int v = 0; v < 60; v++) p->x[v] += 0.5 * y[v];", True),
        ("for (int v = 0; v < 60; v++) y[v] *= 0.5;", True),
        ("for (int v = 3; v < 60; v++) p->kept[v] += y[v];", False),  # an array of which one element is a member too
        ("for (int v = from; v < 60; v++) p->kept[v] += y[v];", False),
        ("for (int v = 59; v >= 3; v--) p->kept[v] += p->kept[v - 1];", False),
    ],
)
def test_members_on_a_callers_stack(tmp_path: Path, between: str, moves: bool) -> None:
    """Known are the members that are reached at fixed places, and no array that goes on from there."""
    program = trace(LENT.replace("BETWEEN", between), tmp_path)
    region = program.loop("edges")
    scope = program.scopes_of(region)[0]
    assert scope != region
    if not moves:
        with pytest.raises(UnsupportedError, match="it is not known which memory is"):
            program.inspect_in("edges", region, scope)
        return
    item = program.inspect_in("edges", region, scope)
    made = woven([item], [item.schedule(item.random(0))])
    ran = run_woven(program, made)
    assert (ran.code, list(ran.used.values())) == (0, [1])
    assert abs(float(ran.stdout) / float(program.native_output) - 1) < 1e-9
