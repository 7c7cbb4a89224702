"""The locality graph of a scope, against the index values of the run, job by job."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tracecut.codegen.schedule.plan.scope_plan import ScopePlan, Space
from tracecut.partition import order

from ...conftest import apart
from ...harness import Inspected

Catalogue = Callable[[str], dict[str, Inspected | str]]


def brute_force(item: Inspected) -> list[set[int]]:
    """Data that each job of the graph touches: by the address of every access, without any of the graph's code."""
    plan, graph = item.inspection.plan, item.graph
    found: list[set[int]] = [set() for _ in range(graph.graph.n_jobs)]
    for region, first in graph.job_starts.items():
        for access in plan.accesses.inside(region):
            home = _home(plan, access.object, access.low)
            if not access.runs or home is None or home[1] not in graph.data_starts or access.site.private is not None:
                continue
            place, space, shift = home
            array = plan.arrays[place]
            addresses, runs = plan.accesses.addresses(access) or (np.zeros(0), np.zeros(0))
            jobs = plan.accesses.evaluation.jobs(access.site.loop, region)
            for job, address, runs_then in zip(jobs, addresses, runs, strict=True):
                if runs_then:
                    record = (int(address) - array.object.base - array.origin) // array.stride
                    found[first + int(job)].add(graph.data_starts[space] + record - shift - space.low)
        for space, start in graph.data_starts.items():  # a record that is moved with its job counts in any case
            for job in range(plan.accesses.size(region) or 0) if region in space.jobs else ():
                found[first + job].add(start + job - space.jobs[region] - space.low)
    return found


def _home(plan: ScopePlan, item: object, low: int) -> tuple[int, Space, int] | None:
    """(array, space, shift) of what lies at a byte of an object and is renumbered."""
    for space in plan.spaces:
        for place, shift in (*space.arrays.items(), *space.copies.items()):
            array = plan.arrays[place]
            if array.object is item and array.low <= low < array.high:
                return place, space, shift
    return None


@pytest.mark.parametrize(
    ("name", "least"), [("pairs", 5), ("rows", 5), ("indirect", 5), ("locals", 5), ("edges", 5), ("pieces", 3)]
)
def test_pins_are_what_jobs_touch(inspected: Catalogue, name: str, least: int) -> None:
    checked = 0
    for item in apart(inspected(name)):
        graph = item.graph.graph
        if not graph.n_pins or item.graph.line_spaces or not item.inspection.verdicts[item.region].movable:
            continue
        expected = brute_force(item)
        offsets = graph.offsets
        for job in range(graph.n_jobs):
            pins = set(graph.data[offsets[job] : offsets[job + 1]].tolist())
            assert pins == expected[job], (item.mark, job)
        checked += 1
    assert checked >= least


def test_jobs_with_one_of_two_data_have_two_pins(inspected: Catalogue) -> None:
    """Graphs are ordered faster than hypergraphs: where jobs have two data at most, all of them have two pins."""
    item = inspected("pairs")["pairs"]
    assert not isinstance(item, str)
    assert set(np.diff(item.graph.graph.offsets).tolist()) == {2}


def test_rows_without_entries_have_few_pins(inspected: Catalogue) -> None:
    item = inspected("edges")["empty_updates"]
    assert not isinstance(item, str)
    pins = np.diff(item.graph.graph.offsets)
    assert pins[:3].sum() == pins[-3:].sum() == 0 < pins.max()


def test_jobs_whose_data_stay_touch_lines(inspected: Catalogue) -> None:
    """Two jobs meet in the graph exactly when their indices pick the same line; arrays of one index share lines."""
    item = inspected("pieces")["staying"]
    assert not isinstance(item, str)
    graph = item.graph.graph
    assert item.graph.line_spaces == 1 and not item.graph.data_starts
    (cell,) = (
        np.frombuffer(item.capture.memory.contents[array.object.base], np.int32)
        for array in item.inspection.plan.arrays
        if array.object.size == 2400
    )
    lines = cell // 8  # eight numbers of eight bytes to a line
    np.testing.assert_array_equal(np.diff(graph.offsets), 1)
    np.testing.assert_array_equal(graph.data - graph.data.min(), lines - lines.min())


def test_lines_far_apart_are_packed(inspected: Catalogue) -> None:
    """No more lines than are touched, where an index reaches far."""
    item = inspected("pieces")["far_apart"]
    assert not isinstance(item, str)
    graph = item.graph.graph
    assert item.graph.line_spaces == 1
    assert graph.n_data == np.unique(graph.data).size == 50


def test_lines_decide_the_order_of_jobs(inspected: Catalogue) -> None:
    """Jobs of one line follow each other."""
    item = inspected("pieces")["staying"]
    assert not isinstance(item, str)
    graph = item.graph.graph
    made = order(graph, "rcm")
    lines = graph.data[made.jobs]
    assert np.count_nonzero(np.diff(lines)) == np.unique(lines).size - 1


def test_renumbered_data_have_no_lines(inspected: Catalogue) -> None:
    item = inspected("pieces")["flat"]
    assert not isinstance(item, str)
    assert item.graph.line_spaces == 0 and item.graph.graph.n_data == 200
