"""Other input than the traced one: noticed before a schedule is used, or harmless. Never a wrong answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.runtime.reinspect import inspect_again
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run

from ....waiting import HUNG
from ...conftest import PROGRAMS
from ...harness import Inspected, Program, trace
from ...woven_programs import run_woven, woven

MARKS = ["update", "decided", "rows_of"]
Made = tuple[Path, list[ScopeFile], list[str]]

# What differs → loops that have to refuse their schedule, and why they say so.
NOTICED: dict[str, dict[str, str]] = {
    "index": {"update": "an index array of 600 entries has other values"},
    "last-index": {"update": "an index array of 600 entries has other values"},
    "shorter": dict.fromkeys(MARKS, "is 599, it was 600"),
    "stride": {"update": "is 1, it was 2"},
    "flag": {"update": "has other values"},
    "alias": {"update": "two pointers that were apart share an object"},
    "interior": dict.fromkeys(MARKS, "lies elsewhere in its object") | {"update": "parameter 7 of update lies"},
    "one-index-array": {"update": "share an object", "decided": ""},
    "shifted-index": {"update": "lies elsewhere in its object"},
    "longer": {"update": "bytes, it had", "decided": "bytes, it had"},
    "gate": {"decided": "has other values"},
    "gate-value": {"decided": "has other values"},
    "row": {"rows_of": "has other values"},
    "column": {"rows_of": "has other values"},
}
HARMLESS = ["same", "scale", "data", "column-beyond"]


@pytest.fixture(scope="module")
def loops(inspected: Callable[[str], dict[str, Inspected | str]]) -> list[Inspected]:
    found = [inspected("guards")[mark] for mark in MARKS]
    return [item for item in found if not isinstance(item, str)]


@pytest.fixture(scope="module")
def made(loops: list[Inspected]) -> Made:
    return woven(loops, [item.schedule(item.random(place)) for place, item in enumerate(loops)], name="guarded")


@pytest.fixture(scope="module")
def original(program: Callable[[str], Program]) -> Callable[[str], bytes]:
    """Output of the program as the user would have built it."""

    def output(mode: str) -> bytes:
        subject = program("guards")
        finished = run(
            [subject.compiled.native, mode], folder=subject.folder, name=f"native-{mode}", limits=Limits(HUNG)
        )
        assert finished.ok
        return finished.stdout.read_bytes()

    return output


def test_every_loop_is_rescheduled(loops: list[Inspected]) -> None:
    assert [item.mark for item in loops] == MARKS
    assert all(item.inspection.verdicts[item.region].movable for item in loops)
    assert [item.inspection.use_data for item in loops] == [False, True, False]


@pytest.mark.parametrize("mode", [*NOTICED, *HARMLESS])
def test_other_input(
    program: Callable[[str], Program],
    loops: list[Inspected],
    made: Made,
    original: Callable[[str], bytes],
    mode: str,
) -> None:
    ran = run_woven(program("guards"), made, argv=[mode])
    assert ran.code == 0
    assert ran.stdout == original(mode)
    if mode != "same":
        same = mode in ("column-beyond", "gate-value")
        assert (ran.stdout == program("guards").native_output) == same, "the input does not differ"
    refused = {item.mark: ran.report["scopes"][str(item.scope)]["refused"] for item in loops}
    expected = NOTICED.get(mode, {})
    for mark, why in refused.items():
        assert "%" not in why, "it names what only our form of the program knows"
        if mark in expected:
            assert expected[mark] in why and why, mark
            assert ran.used[str(loops[MARKS.index(mark)].scope)] == 0
            assert f"{why}; the original order runs" in ran.stderr
        else:
            assert why == "", mark
            assert ran.used[str(loops[MARKS.index(mark)].scope)] == 1


@pytest.mark.parametrize("mode", [*NOTICED, *HARMLESS])
def test_other_input_inspected_anew(
    program: Callable[[str], Program],
    loops: list[Inspected],
    made: Made,
    original: Callable[[str], bytes],
    mode: str,
) -> None:
    """A new schedule for the new input, or a reason why there is none; the answer stays."""

    def always(host: Any, state: Any, numbers: Any, memory: Any, why: str, per_call: float) -> Schedule | None:
        try:
            return inspect_again(host, state.file, numbers, memory)
        except UnsupportedError as error:
            host.say(f"not again: {error.message}")
            return None

    ran = run_woven(program("guards"), made, argv=[mode], inspect=always)
    assert ran.code == 0
    assert ran.stdout == original(mode)
    used = {item.mark: ran.used[str(item.scope)] for item in loops}
    if mode in ("alias", "gate"):
        assert "not again" in ran.stderr
        assert used["update" if mode == "alias" else "decided"] == 0
    elif mode not in ("one-index-array",):
        assert used == dict.fromkeys(MARKS, 1), ran.stderr


def test_without_schedules_the_original_runs(
    program: Callable[[str], Program], loops: list[Inspected], made: Made
) -> None:
    ran = run_woven(program("guards"), made, enabled=False)
    assert (ran.code, ran.stdout, ran.stderr) == (0, program("guards").native_output, "")
    assert sum(ran.used.values()) == 0
    assert all(ran.report["regions"][str(item.region)]["declined"] == 3 for item in loops)


BASES = """
    SHAPE shape(void)
    {
        int *a = ints(JOBS, DATA);
        long *x = longs(DATA, 100), *y = longs(DATA, 9), *volatile outside = WHERE, *from = outside;
        for (int t = 0; t < SWEEPS; t++)
            for (int e = 0; e < JOBS; e++) // @loop
                y[a[e]] += from[INDEX];
        show("y", y, DATA);
    }
    int main(void)
    {
        shape();
        return 0;
    }
"""


@pytest.mark.parametrize(("where", "index"), [("x - 1", "a[e] + 1"), ("x + DATA", "-1 - a[e]")])
def test_a_base_outside_of_its_object_is_refused(where: str, index: str, tmp_path: Path) -> None:
    """Where such a pointer leads the next time no guard could tell; nor does it bring down who tries."""
    source = (PROGRAMS / "prelude.h").read_text() + BASES.replace("WHERE", where).replace("INDEX", index)
    item = trace(source, tmp_path).inspect("loop")
    with pytest.raises(UnsupportedError, match="reached from a pointer that lies outside of it"):
        _ = item.guarded
