"""Data on their way to a card: machine code and its slow reference make the same of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tracecut.codegen.gpu.index_copies import (
    copied,
    index_fields,
    moved_object,
    old_offsets,
    renumbered,
    restored_object,
)
from tracecut.codegen.kernels.device_memory import captured_bytes
from tracecut.codegen.offload.host_layout import HostLayout, bytes_of
from tracecut.codegen.runtime.executor import RegionCode
from tracecut.codegen.schedule.plan.range_function import OLD
from tracecut.tracer.runtime.binding import support

from ..conftest import apart
from ..harness import Inspected
from ..kernels.running import source_of

Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.mark.parametrize("name", ["edges", "rows", "pieces", "odd", "states", "indirect"])
def test_copies_and_objects(inspected: Catalogue, name: str) -> None:
    looked = old = moves = 0
    for item in apart(inspected(name)):
        schedule = item.schedule(item.random(2))
        source, outlined = source_of(item), item.cut_out[1][item.region]
        data = [array.copy() for array in captured_bytes(source.captured(outlined), source.objects)]
        layout = HostLayout(support(), schedule)
        layout.rebind([int(array.ctypes.data) for array in data], {item.region: RegionCode(0, outlined)})
        for number, array in enumerate(data):
            moved = layout.moved(number, array)
            assert np.array_equal(moved, moved_object(schedule, number, array))
            back = np.zeros_like(array)
            layout.restore(number, moved, back)
            assert np.array_equal(back, array) and np.array_equal(restored_object(schedule, number, moved), array)
            moves += moved is not array
        region = next(region for region in schedule.regions if region.region == item.region)
        for number, copy in enumerate(region.copies):
            made = copied(schedule, region, copy, data)
            expected = renumbered(schedule, copy, made, index_fields(schedule, number, copy, made))
            found = layout.copy(region, number, old=False)
            assert np.array_equal(bytes_of(found), expected), copy
            assert layout.copy(region, number, old=False) is found, "nothing has changed"
            looked += 1
            if any(slot.kind == "data-base" and region.bases.get(slot.group) == number for slot in outlined.slots):
                other = old_offsets(region, copy, data) if copy.mode == "offsets" else made
                assert np.array_equal(bytes_of(layout.copy(region, number, old=True)), other), (copy, OLD)
                old += 1
    assert looked > 3 and moves > 0, (looked, old, moves)
