"""The catalogue of loops: each program compiled, traced and inspected once for all tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tracecut.codegen.schedule.inspector import cut_into_blocks
from tracecut.ir.loops.refusals import refusal
from tracecut.support.errors import UnsupportedError

from .checking import Subject
from .harness import Inspected, Program, trace

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    """A program of the catalogue by name, traced."""

    @cache
    def found(name: str) -> Program:
        source = (PROGRAMS / "prelude.h").read_text() + (PROGRAMS / f"{name}.c").read_text()
        return trace(source, tmp_path_factory.mktemp(name))

    return found


@pytest.fixture(scope="session")
def inspected(program: Callable[[str], Program]) -> Callable[[str], dict[str, Inspected | str]]:
    """Mark → the inspected loop, or why it is left alone, for every loop of a program of the catalogue."""

    @cache
    def found(name: str) -> dict[str, Inspected | str]:
        made: dict[str, Inspected | str] = {}
        for mark in program(name).lines:
            try:
                made[mark] = program(name).inspect(mark)
            except UnsupportedError as error:
                made[mark] = error.message
        return made

    return found


@pytest.fixture
def few_jobs_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads get jobs however few there are: one block each if any of these meet. Ordered blocks have wavefronts."""
    monkeypatch.setattr(cut_into_blocks, "MIN_JOBS", 1)
    monkeypatch.setattr(cut_into_blocks, "WIDTH_A_THREAD", math.inf)


@pytest.fixture
def subject(inspected: Callable[[str], dict[str, Inspected | str]], few_jobs_a_thread: None) -> Subject:
    """A loop of a program of the catalogue, by the names of both."""

    def found(name: str, mark: str) -> Inspected:
        item = inspected(name)[mark]
        assert not isinstance(item, str), item
        return item

    return found


def apart(items: dict[str, Inspected | str]) -> list[Inspected]:
    """Those that can be in one library: range functions can be made of them, and no two share a region.

    The first ones are taken.
    """
    taken: set[int] = set()
    chosen = []
    for item in items.values():
        if isinstance(item, str) or refusal(item.inspection.accesses.nest, item.region) is not None:
            continue
        if item.inspection.accesses.size(item.region) is None:
            continue
        if not taken & item.cut_out[1].keys():
            taken |= item.cut_out[1].keys()
            chosen.append(item)
    return chosen
