"""Union-find with shifts, against a search through all relations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.schedule.plan.offset_union_find import Shifts

pytestmark = pytest.mark.quick

RELATIONS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(-3, 3)), max_size=25)


def known(relations: list[tuple[int, int, int]], start: int) -> dict[int, int]:
    """node → value(node) − value(start), of all nodes that are related to `start`."""
    found = {start: 0}
    stack = [start]
    while stack:
        node = stack.pop()
        for a, b, shift in relations:
            for here, there, step in ((a, b, -shift), (b, a, shift)):
                if here == node and there not in found:
                    found[there] = found[node] + step
                    stack.append(there)
    return found


@given(RELATIONS)
def test_classes_and_shifts_are_those_of_a_search(relations: list[tuple[int, int, int]]) -> None:
    shifts = Shifts()
    accepted: list[tuple[int, int, int]] = []
    for a, b, shift in relations:
        before = known(accepted, b)
        fits = a not in before or before[a] == shift
        assert shifts.relate(a, b, shift) == fits
        if fits:
            accepted.append((a, b, shift))
    for node in range(8):
        expected = known(accepted, node)
        root, mine = shifts.find(node)
        for other in range(8):
            other_root, theirs = shifts.find(other)
            assert (root == other_root) == (other in expected)
            if other in expected:
                assert theirs - mine == expected[other]
    members = [member for found in shifts.classes(range(8)).values() for member, _ in found]
    assert sorted(members) == list(range(8))


def test_a_contradiction_changes_nothing() -> None:
    shifts = Shifts()
    assert shifts.relate("a", "b", 2) and shifts.relate("b", "c", 3)
    assert shifts.relate("a", "c", 5)
    assert not shifts.relate("a", "c", 4)
    assert not shifts.relate("a", "a", 1)
    assert shifts.relate("c", "a", -5)
    assert shifts.classes(["a", "b", "c", "d"]).keys() == {shifts.find("a")[0], "d"}
