"""Checks of indices that end the program or the loop: legal where no iteration of the run fails one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .harness import Inspected, Program

Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.mark.parametrize(
    ("mark", "scope_is_wider", "use_data"),
    [
        ("checked_edges", True, False),
        ("checked_rows", True, False),
        ("checked_values", False, True),
        ("checked_laws", False, False),
    ],
)
def test_checks_that_hold(inspected: Catalogue, mark: str, scope_is_wider: bool, use_data: bool) -> None:
    """Values decide on a check that looks at them: only then are they guarded."""
    item = inspected("checks")[mark]
    assert not isinstance(item, str), item
    assert item.inspection.verdicts[item.region].movable
    assert (item.scope != item.region, item.inspection.use_data) == (scope_is_wider, use_data)
    assert item.inspection.accesses.nest.loops[item.region].ends_early


@pytest.mark.parametrize("name", ["checked_sums", "checked_and_wrong"])
def test_checks_that_may_fail(program: Callable[[str], Program], name: str) -> None:
    """One looks at a sum, which is known afterwards; one fails. The rows alone can be run as they are."""
    found, analysis = program("checks"), program("checks").compiled.analysis
    nests = {record.id: analysis.nest(record.id).loops[record.id] for record in analysis.records if record.indirect}
    (rows,) = [number for number, info in nests.items() if info.place.function == name and info.through]
    assert nests[rows].why == "may be left early"
    assert rows not in found.traced.profile.captures
