"""What an inspection beside the program was refused for, or made for in vain, is not asked for again at each sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.runtime import light_host
from tracecut.codegen.runtime.coming_schedule import ComingSchedule
from tracecut.codegen.runtime.reinspect import inspect_beside
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.beside import Beside
from tracecut.support.process.runner import Limits, run

from ...waiting import HUNG
from ..harness import Inspected, trace
from ..woven_programs import run_woven, woven
from .test_coming_schedule import FREE, by, waits

__all__ = ["by"]

STEPS = 30
# A loop that is its own scope: each step is an entry. What changes is how often it runs, or where it leads.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { DATA = 200, JOBS = 600, STEPS = 30 };
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "same";
    int *a = malloc(JOBS * sizeof *a), *b = malloc(JOBS * sizeof *b), less = 0;
    long *x = calloc(DATA, sizeof *x), *y = calloc(DATA, sizeof *y);
    for (int e = 0; e < JOBS; e++)
        a[e] = e * 7 % DATA, b[e] = e * 13 % DATA, x[e % DATA] = e;
    a[77] += !strcmp(what, "other");
    for (int t = 0; t < STEPS; t++) {
        for (long e = 0; e < JOBS - less; e++) // @edges
            y[a[e]] += x[b[e]] + e;
        x[t] += y[t + 1] & 7;
        less += !strcmp(what, "fewer");
        a[5] = (a[5] + !strcmp(what, "rewritten")) % DATA;
    }
    unsigned long sum = 0;
    for (int v = 0; v < DATA; v++)
        sum = sum * 31 + (unsigned long)(x[v] + 7 * y[v]);
    printf("%lu\n", sum);
    return 0;
}
"""
Made = tuple[Path, list[ScopeFile], list[str]]


@pytest.fixture(scope="module")
def item(tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    return trace(SOURCE, tmp_path_factory.mktemp("settled")).inspect("edges", "edges")


@pytest.fixture(scope="module")
def made(item: Inspected) -> Made:
    library, scopes, names = woven([item], [item.schedule(item.random(1))], name="settled")
    return library, [replace(scope, costs={**FREE, "sweeps": 1e9}) for scope in scopes], names


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every inspection seems to pay, and its result is waited for at the next entry."""
    monkeypatch.setattr(light_host, "LOADING", 0.0)
    monkeypatch.setattr(light_host, "PRICES", 0.0)
    monkeypatch.setattr(Beside, "poll", waits(Beside.poll))


def inspections(item: Inspected, made: Made, what: str, work: Callable[..., Iterable[bytes]]) -> tuple[int, str, int]:
    """How many were begun while the program ran as it should, what was said, and how many entries used a layout."""
    begun = item.program.folder / "begun"
    begun.write_text("")

    def counted(*given: Any) -> Iterable[bytes]:
        with begun.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return work(*given)

    ran = run_woven(item.program, made, argv=[what], beside=counted)
    native = run([item.program.compiled.native, what], folder=item.program.folder, name="native", limits=Limits(HUNG))
    assert (ran.code, ran.stdout) == (0, native.stdout.read_bytes()), ran.stderr
    (used,) = ran.used.values()
    return len(begun.read_text().splitlines()), ran.stderr, used


def refused(*_: object) -> Iterable[bytes]:
    raise UnsupportedError("nothing is known of it")


@pytest.mark.parametrize("what", ["other", "fewer", "rewritten"])
def test_a_refusal_settles_for_good(item: Inspected, made: Made, waited: None, by: str, what: str) -> None:
    count, said, used = inspections(item, made, what, refused)
    assert count == 1 and said.count("it was not inspected anew: nothing is known of it") == 1
    assert used == (0 if what == "other" else 1), "the first entry is as it was traced"


@pytest.mark.parametrize("what", ["fewer", "rewritten"])
def test_what_the_guard_refuses_is_not_made_again(
    item: Inspected, made: Made, waited: None, by: str, what: str
) -> None:
    count, said, used = inspections(item, made, what, inspect_beside)
    assert count == 1 and said.count("inspected anew beside the program") == 1
    assert said.count("when its new schedule is there; the original order runs from now on") == 1 and used == 1


def test_what_the_guard_takes_stays(item: Inspected, made: Made, waited: None, by: str) -> None:
    count, said, used = inspections(item, made, "other", inspect_beside)
    assert count == 1 and "the original order runs" not in said and used == STEPS - 2


def test_what_is_settled() -> None:
    said: list[str] = []
    coming = ComingSchedule(4, 0, True, [0], said.append)
    assert coming.settle("n is 3") and not coming.settle("n is 3")
    assert coming.settled("n is 3") and not coming.settled("n is 4")
    coming.unfit("n is 4")
    assert coming.settled("n is 5") and len(said) == 1
