"""What the code of a region has to see in an entry of its scope: pointers that moved, numbers that are expected."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tracecut.codegen.schedule.guards.make_guard import loaded_root
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import Memory
from tracecut.tracer.loops.row_numbers import BEHIND, is_number

from .executor import RegionCode
from .schedule_file import ScopeFile


def region_codes(
    library: ctypes.CDLL,
    file: ScopeFile,
    memory: Memory,
    numbers: Mapping[str, int | float],
    regions: Sequence[Any],
) -> dict[int, RegionCode]:
    """Code of each region with the pointers and numbers that it has to see in this entry of the scope."""
    evaluation = Evaluation(file.nest, memory, numbers, single=True)
    deciding = file.nest.deciding()
    codes = {}
    for region in regions:
        outlined = file.outlined[region.region]
        names: dict[str, int] = {}
        expected: dict[int, int] = {}
        for place, slot in enumerate(outlined.slots):
            if slot.kind != "live":
                continue
            number = _expected(evaluation, file, numbers, slot.name)
            if number is None:
                continue
            names[slot.name] = number
            matters = slot.type == "ptr" or slot.name in deciding or slot.name in file.nest.values
            if matters and slot.type in ("ptr", "i64", "i32", "i16", "i8"):
                expected[place] = number
        fixed, roots = {}, {}
        for group in outlined.groups:
            if group.root in names:
                roots[group.id] = names[group.root]
            elif group.root.startswith("%") and any(site.key == group.root for site in file.nest.sites):
                fixed[group.id] = roots[group.id] = loaded_root(evaluation, group.root)
            elif group.root.startswith("@"):
                item, start = memory.named(group.root), memory.rows.own.get(group.root)
                roots[group.id] = start or (item.base if item is not None else 0)
                if item in memory.rows or start is not None:
                    fixed[group.id] = roots[group.id]
            if is_number(group.sites[0]):  # read from the copy of its table
                behind = int(numbers[BEHIND + group.sites[0]])
                fixed[group.id] = roots[group.id] = roots[group.id] + behind
        chosen = file.options.get("variant") if region.region == file.options.get("region") else ""
        address = ctypes.cast(getattr(library, chosen or outlined.name), ctypes.c_void_p).value
        assert address is not None
        codes[region.region] = RegionCode(address, outlined, fixed, expected, roots)
    return codes


def _expected(evaluation: Evaluation, file: ScopeFile, numbers: Mapping[str, int | float], name: str) -> int | None:
    if name in file.nest.values:
        value = evaluation.at(file.nest.values[name], file.nest.root)
        if value.all_known and np.ndim(value.data) == 0 and value.data.dtype.kind in "iu":
            return int(value.data)
        return None
    number = numbers.get(name)
    return number if isinstance(number, int) else None
