"""Figures that the manifest is made of."""

from __future__ import annotations

import pytest

from tracecut.pipeline.stages.manifest import break_even

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("before", "after", "costs", "sweeps"),
    [
        (10.0, 5.0, {"inspect_ms": 600.0, "copy_ms": 5.0}, 121.0),  # pays off after 121 sweeps with the inspection
        (10.0, 5.0, {"inspect_ms": None, "copy_ms": 5.0}, 1.0),
        (10.0, 8.0, {"copy_ms": 5.0}, 2.5),
        (10.0, 10.0, {"copy_ms": 5.0}, None),  # never
        (5.0, 10.0, {"copy_ms": 5.0}, None),
        (None, 5.0, {"copy_ms": 5.0}, None),
        (5.0, None, {"copy_ms": 5.0}, None),
    ],
)
def test_sweeps_until_the_costs_are_paid(
    before: float | None, after: float | None, costs: dict[str, float | None], sweeps: float | None
) -> None:
    assert break_even(before, after, costs, ("inspect_ms", "copy_ms")) == sweeps


def test_a_run_of_the_result_pays_for_its_copies_alone() -> None:
    assert break_even(10.0, 5.0, {"inspect_ms": 600.0, "copy_ms": 5.0}, ("copy_ms",)) == 1.0
