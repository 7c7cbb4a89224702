"""Indices inside of records that move get new numbers where they lie, if nothing else is done with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.gpu.index_copies import moved_object, restored_object
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.schedule import Guard, Move, Renumbering, Schedule, SpaceOrder
from tracecut.ir.loops.expressions import Pool
from tracecut.support.errors import ScheduleError
from tracecut.tracer.loops.linear_forms import part_of_records

from .harness import Inspected

Catalogue = Callable[[str], dict[str, Inspected | str]]
FIELDS = {  # loops whose records move, and where these hold indices
    "near": [(20, 24, 28, 32, 36, 40)],
    "both_ends": [(0,), (4,)],
    "only_read": [(0, 2, 4, 6)],
    "one_after_another": [(0,)],
}
STAY = {  # loops that do something else with them, and what is told
    "numbers_count": "cannot be renumbered",
    "read_beside": "cannot be renumbered",
    "kept_whole": "cannot be renumbered",
}


def loop(inspected: Catalogue, mark: str) -> Inspected:
    item = inspected("nodes")[mark]
    assert not isinstance(item, str), item
    return item


@pytest.mark.parametrize("mark", FIELDS)
def test_records_move_with_their_indices(inspected: Catalogue, mark: str) -> None:
    item = loop(inspected, mark)
    made = item.schedule(item.random(1))
    assert not any(region.copies for region in made.regions)
    assert [field.offsets for move in made.moves for field in move.renumber] == FIELDS[mark]


@pytest.mark.parametrize("mark", STAY)
def test_records_stay(inspected: Catalogue, mark: str) -> None:
    item = loop(inspected, mark)
    assert not item.schedule(item.random(1)).moves
    assert any(STAY[mark] in why for why in item.inspection.plan.kept.values())


def test_the_checker_finds_what_is_wrong(inspected: Catalogue) -> None:
    item = loop(inspected, "near")
    made = item.schedule(item.random(1))
    (move,) = made.moves
    (field,) = move.renumber

    def check(*fields: Renumbering) -> None:
        changed = replace(made, moves=(replace(move, renumber=fields),))
        inspection = item.inspection
        check_schedule(changed, item.guarded[1], inspection.accesses, item.cut_out[0], inspection.plan.movable)

    check(field)
    for wrong, why in (
        ((), "keeps its old numbers"),
        ((replace(field, offsets=field.offsets[:-1]),), "used in another way"),
        ((replace(field, offsets=(16, *field.offsets)),), "used in another way"),
        ((replace(field, shift=1),), "keeps its old numbers"),
        ((replace(field, width=2),), "used in another way|keeps its old numbers|too narrow"),
        ((replace(field, offsets=(0,)),), "used in another way|keeps its old numbers"),
        ((field, field), "a field twice"),
        ((replace(field, space=7),), "in an unknown way"),
        ((replace(field, offsets=(46,)),), "outside of a record"),
    ):
        with pytest.raises(ScheduleError, match=why):
            check(*wrong)


@given(st.data())
def test_numbers_and_records_there_and_back(data: st.DataObject) -> None:
    """As on a card, against a slow reference."""
    count, shift = data.draw(st.integers(1, 9)), data.draw(st.integers(-3, 3))
    order = np.array(data.draw(st.permutations(range(count))), np.int32)
    values = data.draw(st.lists(st.integers(-5, 12), min_size=count, max_size=count))
    records = np.array([(v, 7 * i) for i, v in enumerate(values)], np.int32)
    move = Move(0, 0, 8, 0, count, 0, 0, (Renumbering((0,), 4, 0, shift),))
    space = SpaceOrder(0, count, (0, count), order)
    schedule = Schedule(1, (space,), (move,), (), Guard({}, (), (), (), ()), "random")
    raw = records.reshape(-1).view(np.uint8)
    found = moved_object(schedule, 0, raw).view(np.int32).reshape(-1, 2)
    rank = {int(old): new for new, old in enumerate(order)}
    for new, old in enumerate(order):
        value = int(records[old, 0])
        assert found[new].tolist() == [rank[value - shift] + shift if value - shift in rank else value, records[old, 1]]
    assert np.array_equal(restored_object(schedule, 0, found.reshape(-1).view(np.uint8).copy()), raw)


@given(
    st.lists(st.tuples(st.integers(-40, 40).filter(bool), st.integers(0, 3)), min_size=1, max_size=3),
    st.integers(1, 8),
    st.integers(0, 60),
)
def test_parts_of_records_hold_all_that_is_read(walks: list[tuple[int, int]], width: int, const: int) -> None:
    """Every byte that the loops read lies in a part; what is told is as tight as it was, or tighter."""
    pool = Pool()
    atoms = [pool.counter(number) for number in range(len(walks))]
    terms = {atom: factor for atom, (factor, _) in zip(atoms, walks, strict=True)}
    ranges = {atom: (0, most) for atom, (_, most) in zip(atoms, walks, strict=True)}
    places = np.array([const])
    for factor, most in walks:
        places = np.add.outer(places, factor * np.arange(most + 1)).reshape(-1)
    low, high, size = int(places.min()), int(places.max()) + width, 400
    if low < 0:
        return
    step = int(np.gcd.reduce([abs(factor) for factor in terms.values()]))
    first, last, step, part = part_of_records(terms, ranges, const, (low, high, step, width), size)
    assert 0 <= first <= low and high <= last <= size
    read = places[:, None] + np.arange(width)
    assert np.all((first <= read) & (read < last))
    if step > part:
        assert np.all((read - first) % step < part)
