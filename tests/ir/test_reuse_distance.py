"""Reuse distances against a list used as a stack; profiles against a simulated cache."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Cache, LocalityGraph, Ordering
from tracecut.ir.reuse_distance import (
    LocalityProfile,
    locality_profile,
    predicted_misses,
    reuse_histogram,
    stack_distances,
)
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

SMALL = (Cache(1, 4 * 64), Cache(2, 16 * 64))


def slow_distances(lines: list[int], turns: int) -> list[int]:
    stack: list[int] = []
    found: list[int] = []
    for _ in range(turns):
        found = []
        for line in lines:
            found.append(stack.index(line) if line in stack else -1)
            if line in stack:
                stack.remove(line)
            stack.insert(0, line)
    return found


def simulated_misses(lines: list[int], capacity: int) -> int:
    cache: OrderedDict[int, None] = OrderedDict()
    misses = 0
    for line in lines:
        misses += line not in cache
        cache[line] = None
        cache.move_to_end(line)
        if len(cache) > capacity:
            cache.popitem(last=False)
    return misses


def touched_lines(
    graph: LocalityGraph, ordering: Ordering, arrays: list[list[int]], per_job: int, line: int = 64
) -> list[int]:
    """Line numbers in the order of execution, each array on its own lines, the jobs' records behind them."""
    place = {int(v): i for i, v in enumerate(ordering.data)}
    heads: list[list[int]] = []
    top = 0
    for space, sizes in enumerate(arrays):
        heads.append([])
        count = int(graph.space_offsets[space + 1] - graph.space_offsets[space])
        for size in sizes:
            heads[-1].append(top)
            top += -(-count * size // line) * line
    lines: list[int] = []
    for position, job in enumerate(ordering.jobs.tolist()):
        for v in graph.data[graph.offsets[job] : graph.offsets[job + 1]].tolist():
            space = int(np.searchsorted(graph.space_offsets, v, side="right")) - 1
            index = place[v] - int(graph.space_offsets[space])
            for head, size in zip(heads[space], arrays[space], strict=True):
                lines += range((head + index * size) // line, (head + index * size + size - 1) // line + 1)
        if per_job:
            lines += range((top + position * per_job) // line, (top + (position + 1) * per_job - 1) // line + 1)
    return lines


@settings(deadline=None, max_examples=150)
@given(lines=st.lists(st.integers(-3, 9), max_size=60), repeated=st.booleans(), far=st.booleans())
def test_distances_equal_a_stack(lines: list[int], repeated: bool, far: bool) -> None:
    named = [line * 10**12 if far else line for line in lines]
    found = stack_distances(np.array(named, np.int64), repeated=repeated)
    assert found.tolist() == slow_distances(lines, 2 if repeated else 1)


@pytest.mark.parametrize("repeated", [False, True])
def test_distances_after_the_slots_ran_out_often(repeated: bool) -> None:
    lines = np.random.default_rng(3).zipf(1.3, 30_000) % 50
    assert stack_distances(lines, repeated=repeated).tolist() == slow_distances(lines.tolist(), 1 + repeated)


def test_histogram_by_powers_of_two() -> None:
    counts, cold = reuse_histogram(np.array([-1, 0, 0, 1, 2, 3, 4, 7, 8, -1], np.int64))
    assert cold == 2 and counts.sum() == 8
    assert counts[:6].tolist() == [2, 1, 2, 2, 1, 0]


@settings(deadline=None, max_examples=100)
@given(lines=st.lists(st.integers(0, 12), max_size=60), capacity=st.integers(1, 14))
def test_misses_equal_a_simulated_cache(lines: list[int], capacity: int) -> None:
    found = predicted_misses(stack_distances(np.array(lines, np.int64)), [capacity])
    assert found.tolist() == [simulated_misses(lines, capacity)]


def test_a_capacity_of_nothing_is_refused() -> None:
    with pytest.raises(ArgumentError, match="at least one line each"):
        predicted_misses(np.zeros(1, np.int64), [4, 0])


def scattered(n_data: int, n_jobs: int, seed: int = 0) -> tuple[LocalityGraph, Ordering]:
    draw = np.random.default_rng(seed)
    sizes = draw.integers(0, 4, n_jobs)
    graph = LocalityGraph(
        np.concatenate([[0], np.cumsum(sizes)]),
        draw.integers(0, n_data, sizes.sum()),
        n_data,
        space_offsets=[0, n_data // 3, n_data],
    )
    low = draw.permutation(n_data // 3)
    high = n_data // 3 + draw.permutation(n_data - n_data // 3)
    return graph, Ordering(draw.permutation(n_jobs).astype(np.int32), np.concatenate([low, high]), "shuffled")


@pytest.mark.parametrize("per_job", [0, 12])
@pytest.mark.parametrize("arrays", [[[32], [32]], [[8, 4], [24]], [[100], [8, 8, 8]]])
def test_a_profile_equals_simulated_caches(arrays: list[list[int]], per_job: int) -> None:
    graph, ordering = scattered(60, 80)
    lines = touched_lines(graph, ordering, arrays, per_job)
    once = locality_profile(graph, ordering, arrays, SMALL, bytes_per_job=per_job, repeated=False)
    assert once.rate == 1.0
    assert (once.misses_per_job * 80).tolist() == pytest.approx(
        [simulated_misses(lines, 4), simulated_misses(lines, 16)]
    )
    assert once.accesses_per_job * 80 == pytest.approx(len(lines))
    assert once.cold_per_job * 80 == pytest.approx(len(set(lines)))
    assert once.histogram.sum() + once.cold_per_job == pytest.approx(once.accesses_per_job)

    later = locality_profile(graph, ordering, arrays, SMALL, bytes_per_job=per_job)
    expected = [simulated_misses(lines * 2, size) - simulated_misses(lines, size) for size in (4, 16)]
    assert (later.misses_per_job * 80).tolist() == pytest.approx(expected)
    assert later.cold_per_job == 0.0


def test_one_size_stands_for_every_space() -> None:
    graph, ordering = scattered(60, 80)
    short, long = (locality_profile(graph, ordering, sizes, SMALL) for sizes in (32, [[32], [32]]))
    assert short.misses_per_job.tolist() == long.misses_per_job.tolist()


def test_a_set_that_fits_misses_nothing_in_later_sweeps() -> None:
    graph, ordering = scattered(60, 80)
    profile = locality_profile(graph, ordering, 8, [Cache(1, 64 * 64)])
    assert profile.misses_per_job.tolist() == [0.0]


def test_a_sample_predicts_the_whole() -> None:
    graph, ordering = scattered(60_000, 120_000)
    caches = (Cache(1, 32 << 10), Cache(2, 1 << 20))
    exact = locality_profile(graph, ordering, 64, caches, sample=1 << 40)
    sampled = locality_profile(graph, ordering, 64, caches, sample=20_000)
    assert exact.rate == 1.0 and sampled.rate <= 0.125
    assert sampled.misses_per_job == pytest.approx(exact.misses_per_job, rel=0.03)
    assert sampled.accesses_per_job == exact.accesses_per_job
    again = locality_profile(graph, ordering, 64, caches, sample=20_000)
    assert again.misses_per_job.tolist() == sampled.misses_per_job.tolist()


def test_a_better_order_has_fewer_misses() -> None:
    size = 20_000
    names = np.random.default_rng(1).permutation(size).astype(np.int32)
    path = LocalityGraph.from_edges(names[:-1], names[1:])
    jobs = np.arange(size - 1, dtype=np.int32)
    given_order = locality_profile(path, Ordering(jobs, np.arange(size, dtype=np.int32), "original"), 16, SMALL)
    straight = locality_profile(path, Ordering(jobs, names, "straight"), 16, SMALL)
    assert straight.misses_per_job[0] == pytest.approx(0.25, rel=0.01)
    assert given_order.misses_per_job[1] > 1.0 - 0.01
    assert "L1 0.25" in repr(straight)


def test_graphs_without_jobs() -> None:
    empty = LocalityGraph([0], [], 0)
    profile = locality_profile(empty, Ordering([], [], "none"), 8, SMALL)
    assert isinstance(profile, LocalityProfile) and profile.misses_per_job.tolist() == [0.0, 0.0]
    idle = LocalityGraph([0, 0, 0], [], 2)
    assert locality_profile(idle, Ordering([1, 0], [0, 1], "none"), 8, SMALL).accesses_per_job == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bytes_per_datum": [8]}, "bytes_per_datum has 1 entries for 2 index spaces"),
        ({"bytes_per_datum": 0}, "bytes_per_datum = 0, sizes of at least 1"),
        ({"bytes_per_datum": [[8, 0], 8]}, "sizes of at least 1"),
        ({"machine_caches": ()}, r"the caches have lines of \[\] bytes, one length was expected"),
        ({"machine_caches": (Cache(1, 4096), Cache(2, 4096, 128))}, r"lines of \[64, 128\] bytes"),
        ({"machine_caches": (Cache(1, 4800, 48),)}, "lines of 48 bytes, a power of two"),
        ({"sample": 0}, "sample = 0"),
        ({"bytes_per_job": -1}, "bytes_per_job = -1"),
        ({"ordering": Ordering([0], [0], "other")}, "the ordering is of 1 jobs and 1 data"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    graph, ordering = scattered(30, 20)
    call = {"graph": graph, "ordering": ordering, "bytes_per_datum": 8, "machine_caches": SMALL, **arguments}
    with pytest.raises(ArgumentError, match=message):
        locality_profile(**call)  # type: ignore[arg-type]
