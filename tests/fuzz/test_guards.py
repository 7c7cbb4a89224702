"""Some hundred changed inputs: none gives another result. More: `python -m tests.fuzz.guards --inputs 100000`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.tracer.runtime.binding import Native

from .guards import LOOPS, SOON, check


@pytest.mark.parametrize(
    "program", [one if one in SOON else pytest.param(one, marks=pytest.mark.long) for one in LOOPS]
)
def test_changed_inputs(program: str, tmp_path: Path) -> None:
    found = check(program, 600, tmp_path)
    assert found.wrong == []
    assert found.used > 100 and found.noticed > 100, found.line()


def test_a_fingerprint_that_sees_nothing_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs tell when the guards are broken."""
    monkeypatch.setattr(Native, "fingerprint", lambda self, address, count, stride, width, secret: (count, 0))
    assert len(check("own", 200, tmp_path).wrong) > 10
