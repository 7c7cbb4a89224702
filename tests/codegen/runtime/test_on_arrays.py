"""Schedules on arrays of this process: no program, no capture, no hooks."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numba import carray, cfunc
from tracecut.codegen.runtime.on_arrays import Kernel, in_force
from tracecut.codegen.schedule.schedule import (
    Blocks,
    Copy,
    Guard,
    Move,
    ObjectRef,
    RegionSchedule,
    Renumbering,
    Schedule,
    SpaceOrder,
)
from tracecut.support.errors import ArgumentError, ScheduleError
from tracecut.tracer.runtime.context import Context

pytestmark = pytest.mark.quick

NODES, EDGES = 60, 200
RANGE = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64)
)
CPU = min(os.sched_getaffinity(0))
Arrays = list[npt.NDArray[Any]]


def mesh(seed: int = 0) -> Arrays:
    """x, y of the nodes; ends and weights of the edges. Whole numbers: every order of sums gives the same."""
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, NODES, (EDGES, 2)).astype(np.int32)
    return [draw.integers(0, 9, NODES) * 1.0, np.zeros(NODES), ends, draw.integers(1, 9, EDGES) * 1.0]


def wavefronts(ends: npt.NDArray[np.int32], jobs: npt.NDArray[np.int32], blocks: int) -> Blocks:
    """Blocks of equal size, each in the first wavefront where it shares no node with another."""
    bounds = np.linspace(0, EDGES, blocks + 1).astype(np.int64)
    nodes = [set(ends[jobs[low:high]].ravel().tolist()) for low, high in itertools.pairwise(bounds)]
    waves: list[int] = []
    for block, mine in enumerate(nodes):
        taken = {waves[other] for other in range(block) if nodes[other] & mine}
        waves.append(next(wave for wave in range(blocks) if wave not in taken))
    return Blocks(bounds, np.array(waves, np.int32))


def schedule(arrays: Arrays, seed: int = 1, blocks: int = 40) -> Schedule:
    """Nodes and edges in random order: x and y moved, copies of the edges with new numbers and of the weights."""
    draw = np.random.default_rng(seed)
    space = SpaceOrder(0, NODES, (0, NODES), draw.permutation(NODES).astype(np.int32))
    jobs = draw.permutation(EDGES).astype(np.int32)
    copies = (
        Copy("direct", 2, 0, 8, 0, EDGES, renumber=(Renumbering((0, 4), 4, 0, 0),)),
        Copy("direct", 3, 0, 8, 0, EDGES),
    )
    region = RegionSchedule(7, jobs, wavefronts(arrays[2], jobs, blocks), copies, {2: 0, 3: 1}, np.zeros(0, np.int32))
    guard = Guard({}, tuple(ObjectRef(array.nbytes, ()) for array in arrays), (), (), ())
    moves = (Move(0, 0, 8, 0, NODES, 0, 0), Move(1, 0, 8, 0, NODES, 0, 0))
    return Schedule(7, (space,), moves, (region,), guard, "random")


def reference(arrays: Arrays, scale: float) -> tuple[npt.NDArray[np.float64], float]:
    x, y, ends, weights = (array.copy() for array in arrays)
    flow = scale * weights * (x[ends[:, 1]] - x[ends[:, 0]])
    np.add.at(y, ends[:, 0], flow)
    np.add.at(y, ends[:, 1], -flow)
    return y, float(flow.sum())


def _double(raw: int) -> float:
    return ctypes.c_double.from_buffer(ctypes.c_uint64(raw)).value


def _at(address: int, shape: tuple[int, ...], dtype: type) -> npt.NDArray[Any]:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(shape)


def edges(first: int, end: int, given: Any, taken: Any) -> None:
    """`y` of both ends += scale · w · (x1 − x0), and the sum of all flows."""
    x, y = (_at(given[place], (NODES,), np.float64) for place in (0, 1))
    ends, weights = _at(given[2], (EDGES, 2), np.int32), _at(given[3], (EDGES,), np.float64)
    scale, total = _double(given[4]), _double(given[5])
    for position in range(first, end):
        a, b = ends[position]
        flow = scale * weights[position] * (x[b] - x[a])
        y[a] += flow
        y[b] -= flow
        total += flow
    taken[0] = ctypes.c_uint64.from_buffer(ctypes.c_double(total)).value


def kernel(code: Callable[..., None] = edges) -> Kernel:
    function = RANGE(code)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    places = tuple((number, 0) for number in range(4))
    return Kernel(address, places, {"scale": "double"}, reductions=(("total", "fadd", "double"),), owner=function)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_arrays_are_updated_in_another_order(threads: int) -> None:
    arrays = mesh()
    before = [array.copy() for array in arrays]
    y, total = reference(arrays, 2.0)
    made = schedule(arrays)
    assert int(made.regions[0].blocks.waves.max()) > 0 and made.regions[0].blocks.widest() > 1
    with Context([CPU] * threads) as context, in_force(made, arrays, {7: kernel()}, context) as running:
        assert context.threads == threads
        assert np.array_equal(arrays[0], before[0][made.spaces[0].order])
        assert running.run(7, {"scale": 2.0, "total": 5.0}) == (total + 5.0,)
    assert np.array_equal(arrays[1], y)
    assert all(np.array_equal(arrays[place], before[place]) for place in (0, 2, 3))


def test_sweeps_in_one_entry_see_what_those_before_them_left() -> None:
    arrays = mesh()
    with Context([CPU]) as context, in_force(schedule(arrays), arrays, {7: kernel()}, context) as running:
        for _ in range(3):
            running.run(7, {"scale": 1.0, "total": 0.0})
    assert np.array_equal(arrays[1], 3 * reference(mesh(), 1.0)[0])


def test_a_numba_function_is_a_kernel() -> None:
    """Jobs by their number: nothing is copied, and the kernel asks the order."""

    @cfunc("void(int64, int64, CPointer(voidptr), CPointer(uint64))")
    def doubled(first: int, end: int, given: Any, taken: Any) -> None:
        data = carray(given[0], NODES, np.float64)
        order = carray(given[1], NODES, np.int32)
        for position in range(first, end):
            data[order[position]] *= 2.0

    jobs = np.random.default_rng(3).permutation(NODES).astype(np.int32)
    blocks = Blocks(np.array([0, 20, NODES]), np.zeros(2, np.int32))
    region = RegionSchedule(0, jobs, blocks, (), {}, np.zeros(0, np.int32))
    made = Schedule(0, (), (), (region,), Guard({}, (ObjectRef(8 * NODES, ()),), (), (), ()), "random")
    data = np.arange(float(NODES))
    code = Kernel(doubled.address, ((0, 0),), order=True, owner=doubled)
    with Context([CPU, CPU]) as context, in_force(made, [data], {0: code}, context) as running:
        assert running.run(0) == ()
    assert np.array_equal(data, 2.0 * np.arange(NODES))


def test_contexts_are_used_beside_each_other() -> None:
    """Four threads of the caller, two contexts: those that find one busy do their work alone."""
    cases = [mesh(seed) for seed in range(4)]
    expected = [reference(arrays, 1.0)[0] for arrays in cases]
    with Context([CPU, CPU]) as one, Context([CPU, CPU, CPU]) as other:

        def work(place: int) -> None:
            arrays, context = cases[place], (one, other)[place % 2]
            with in_force(schedule(arrays, place), arrays, {7: kernel()}, context) as running:
                for _ in range(5):
                    running.run(7, {"scale": 1.0, "total": 0.0})

        threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(np.array_equal(arrays[1], 5 * y) for arrays, y in zip(cases, expected, strict=True))


@pytest.mark.parametrize("same", [True, False])
def test_a_job_may_run_a_schedule_itself(same: bool) -> None:
    """Within a block another schedule runs: on threads of its own, or alone where the context is the busy one."""
    outer, inner = mesh(1), [mesh(seed) for seed in range(2, 6)]
    expected = [reference(arrays, 1.0)[0] for arrays in inner]
    with Context([CPU, CPU]) as context, Context([CPU, CPU]) as other:
        chosen = context if same else other

        def nested(first: int, end: int, given: Any, taken: Any) -> None:
            for position in range(first, end):
                arrays = inner[position]
                with in_force(schedule(arrays), arrays, {7: kernel()}, chosen) as running:
                    running.run(7, {"scale": 1.0, "total": 0.0})

        blocks = Blocks(np.array([0, 1, 2, 3, 4]), np.zeros(4, np.int32))
        region = RegionSchedule(0, np.arange(4, dtype=np.int32), blocks, (), {}, np.zeros(0, np.int32))
        guard = Guard({}, (ObjectRef(outer[0].nbytes, ()),), (), (), ())
        made = Schedule(0, (), (), (region,), guard, "four")
        code = replace(kernel(nested), arrays=((0, 0),), values={}, reductions=())
        with in_force(made, outer[:1], {0: code}, context) as running:
            running.run(0)
    assert all(np.array_equal(arrays[1], y) for arrays, y in zip(inner, expected, strict=True))


def test_a_child_process_runs_what_its_parent_has_threads_for() -> None:
    arrays = mesh()
    with Context([CPU, CPU]) as context, in_force(schedule(arrays), arrays, {7: kernel()}, context) as running:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                (total,) = running.run(7, {"scale": 1.0, "total": 0.0})
                code = 0 if total == reference(mesh(), 1.0)[1] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_arrays_are_put_back_after_an_exception() -> None:
    arrays = mesh()
    before = [array.copy() for array in arrays]
    with (
        pytest.raises(KeyError),
        Context([CPU]) as context,
        in_force(schedule(arrays), arrays, {7: kernel()}, context),
    ):
        raise KeyError
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


def test_what_does_not_fit_is_refused() -> None:
    arrays, made = mesh(), schedule(mesh())
    other = [*arrays[:3], np.zeros(EDGES + 1)]
    frozen = arrays[0].copy()
    frozen.flags.writeable = False
    with Context([CPU]) as context:
        for given, code, said in (
            (arrays[:3], kernel(), "4 arrays, 3 were given"),
            (other, kernel(), "array 3 has 1608 bytes, the schedule is for 1600"),
            ([frozen, *arrays[1:]], kernel(), "array 0 has to be C-contiguous and writable"),
            ([arrays[0], arrays[0], *arrays[2:]], kernel(), "array 1 overlaps"),
            (arrays, replace(kernel(), arrays=((4, 0),)), "byte 0 of array 4"),
        ):
            with pytest.raises(ArgumentError, match=said), in_force(made, given, {7: code}, context):
                pytest.fail("it was accepted")
        with pytest.raises(ArgumentError, match="region 7 has no kernel"), in_force(made, arrays, {}, context):
            pytest.fail("it was accepted")
        twice = replace(made.regions[0], jobs=np.zeros(EDGES, np.int32))
        wrong = replace(made, regions=(twice,))
        with pytest.raises(ScheduleError, match="leaves out"), in_force(wrong, arrays, {7: kernel()}, context):
            pytest.fail("it was accepted")
        with in_force(made, arrays, {7: kernel()}, context) as running:
            for values, said in (
                ({"scale": 1.0}, r"takes the values \['scale', 'total'\], it was given \['scale'\]"),
                ({"scale": "1", "total": 0.0}, "scale = '1' is no double"),
            ):
                with pytest.raises(ArgumentError, match=said):
                    running.run(7, values)  # type: ignore[arg-type]
            with pytest.raises(ArgumentError, match="region 8 is not scheduled"):
                running.run(8)
    for cpus, said in (([], "0 CPUs"), ([CPU] * 65, "65 CPUs"), ([1 << 20], "may use")):
        with pytest.raises(ArgumentError, match=said):
            Context(cpus)


def test_threads_end_with_their_context() -> None:
    def count() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    before = count()
    context = Context([CPU] * 5)
    assert count() == before + 4
    context.close()
    context.close()
    assert count() == before


def test_threads_are_bound_to_the_cpus_that_were_asked_for() -> None:
    """All but the first, which is that of whoever calls."""

    def bound() -> dict[str, set[int]]:
        return {path.name: os.sched_getaffinity(int(path.name)) for path in Path("/proc/self/task").iterdir()}

    before, cpus = bound(), sorted(os.sched_getaffinity(0))
    asked = [cpus[place % len(cpus)] for place in range(40)]
    with Context(asked):
        new = [places for name, places in bound().items() if name not in before]
    assert sorted(min(places) for places in new) == sorted(asked[1:]) and all(len(places) == 1 for places in new)
