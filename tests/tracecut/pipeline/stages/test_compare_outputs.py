"""Two outputs of one program: which numbers may differ, and by how much."""

from __future__ import annotations

import pytest
from tracecut.support.tolerances import OUTPUT

from tracecut.pipeline.stages.compare_outputs import compare_outputs, unstable_tokens

pytestmark = pytest.mark.quick

RESIDUALS = b"Initial residual = 1020.4\nIteration = 15 Residual = 9.6162\nFinal residual: 1.5172e-14\n"


@pytest.mark.parametrize(
    ("reference", "other", "equal"),
    [
        (b"x 1.0000000", b"x 1.00000001", True),
        (b"x 1.0000000", b"x 1.0010000", False),
        (b"x 5", b"x 6", False),
        (b"left 1.5", b"right 1.5", False),
        (RESIDUALS, RESIDUALS.replace(b"1.5172e-14", b"1.51088e-14"), True),  # of 1020.4: rounding
        (RESIDUALS, RESIDUALS.replace(b"1.5172e-14", b"1.0e-9"), True),
        (RESIDUALS, RESIDUALS.replace(b"1.5172e-14", b"1.1e-9"), False),
        (RESIDUALS, RESIDUALS.replace(b"9.6162", b"9.6262"), False),
        (b"norm 1000.5\nerror 1.500e-14\n", b"norm 1000.5\nerror 1.600e-14\n", False),  # another name
        (b"1000.5\n1.500e-14\n", b"1000.5\n1.600e-14\n", False),  # no name
        (b"error 1000.5 then\n1.500e-14\n", b"error 1000.5 then\n1.600e-14\n", False),  # not in the same line
    ],
)
def test_numbers(reference: bytes, other: bytes, equal: bool) -> None:
    assert compare_outputs(reference, other, tolerance=OUTPUT).equal is equal


def test_nothing_is_allowed_where_nothing_may_differ() -> None:
    other = RESIDUALS.replace(b"1.5172e-14", b"1.5173e-14")
    assert not compare_outputs(RESIDUALS, other.replace(b"1.5173e-14", b"1.61e-14"), tolerance=0.0).equal


def _timed(seconds: float, width: str = "8", total: int = 4) -> bytes:
    return f"time = {seconds:{width}.2f} (s)\nsum {total}\n".encode()


@pytest.mark.parametrize("width", ["8", "<8"])
def test_times_that_differ_between_runs_may_fill_other_columns(width: str) -> None:
    once = _timed(9.5, width)
    unstable = unstable_tokens(once, _timed(9.75, width))
    assert unstable is not None
    other = _timed(10.25, width)  # one blank less than in those two
    assert compare_outputs(once, other, tolerance=OUTPUT, unstable=unstable).equal
    for wrong in (
        _timed(10.25, width, total=5),
        other.replace(b"sum 4", b"sum  4"),
        other.replace(b"time =", b"time  ="),
    ):
        assert not compare_outputs(once, wrong, tolerance=OUTPUT, unstable=unstable).equal


@pytest.mark.parametrize(
    ("other", "rounding"), [(b"sum 1.02", True), (b"sum 1.2", False), (b"sum 1", False), (b"sum x", False)]
)
def test_what_rounding_may_have_done(other: bytes, rounding: bool) -> None:
    found = compare_outputs(b"sum 1.00", other, tolerance=OUTPUT)
    assert not found.equal and found.may_be_rounding is rounding
