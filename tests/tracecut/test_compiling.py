"""Compiling takes seconds: whoever waits is told, once."""

from __future__ import annotations

import numba
import pytest

from tracecut.graph_command import COMPILING, told_of_compiling


def test_compiling_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (numba.njit(lambda x: x + 1) for _ in range(2))
    with told_of_compiling():
        assert capsys.readouterr().err == ""
        assert one(1) == 2 and other(1) == 2
        assert capsys.readouterr().err == f"tracecut: {COMPILING}\n"
        assert one(2) == 3
    assert one(1.5) == 2.5
    assert capsys.readouterr().err == ""


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with told_of_compiling(quiet=True):
        assert numba.njit(lambda x: x + 2)(1) == 3
    assert capsys.readouterr().err == ""
