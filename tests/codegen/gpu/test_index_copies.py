"""Copies of index arrays and moved objects, as arrays, are byte for byte those that the executor makes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from tracecut.codegen.gpu.index_copies import (
    Bytes,
    copied,
    index_fields,
    moved_object,
    old_offsets,
    renumbered,
    restored_object,
)
from tracecut.codegen.runtime.executor import Executor
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.runtime.buffers import Block

from ..children import in_child
from ..conftest import apart
from ..harness import Inspected
from ..replays import Loaded, load

Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.mark.parametrize("name", ["indirect", "rows", "pieces", "pairs", "states"])
def test_copies_are_the_executors(inspected: Catalogue, name: str) -> None:
    loaded = load(apart(inspected(name)))
    found = in_child(lambda: {item.mark: differences(loaded, item) for item in loaded.items})
    assert {mark: wrong for mark, wrong in found.items() if wrong} == {}
    assert any(item.inspection.plan.spaces for item in loaded.items)


def differences(loaded: Loaded, item: Inspected) -> list[str]:
    """What is not as the executor has it, in a random order."""
    native = loaded.native()
    try:
        schedule = item.schedule(item.random(3))
    except UnsupportedError:
        return []
    replay = item.replay(native)
    objects = item.guarded[1]
    empty = np.zeros(0, np.uint8)
    before = [replay.buffers.get(each.base, empty).copy() for each in objects]
    codes = {region.region: replay.code() for region in schedule.regions if region.region == item.region}
    if len(codes) < len(schedule.regions):
        return []  # another region of the scope has values of its own
    executor = Executor(native, schedule, replay.bases(objects), codes)
    executor.enter()
    wrong = []
    for number, data in enumerate(before):
        made = moved_object(schedule, number, data)
        if not np.array_equal(made, replay.buffers.get(objects[number].base, empty)):
            wrong.append(f"object {number}")
        if not np.array_equal(restored_object(schedule, number, made), data):
            wrong.append(f"object {number} restored")
    for region in schedule.regions:
        for number, copy in enumerate(region.copies):
            buffer = executor._buffers[region.region, number]
            data = copied(schedule, region, copy, before)
            new = renumbered(schedule, copy, data, index_fields(schedule, number, copy, data))
            if not np.array_equal(new, contents(buffer.data)):
                wrong.append(f"copy {number}, {copy.mode}")
            if buffer.old is not None:
                old = old_offsets(region, copy, before) if copy.mode == "offsets" else data
                if not np.array_equal(old, contents(buffer.old)):
                    wrong.append(f"copy {number}, {copy.mode}, old numbers")
    executor.leave()
    return wrong


def contents(block: Block) -> Bytes:
    return np.frombuffer((ctypes.c_uint8 * block.bytes).from_address(block.address), np.uint8)
