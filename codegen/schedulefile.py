"""A scope's schedule on disk: its arrays, what it assumes, and the description of its loops and code.

The file holds data only. The code that it belongs to is in the program's library beside it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..ir.errors import ArtefactError, ScheduleError
from ..ir.files import read_arrays, write_arrays
from ..tracer.memory import HEAP, Object
from ..tracer.nest import Nest
from ..tracer.nestfile import from_json, to_json
from .checker import check_schedule
from .grouping import Group
from .native import TYPES
from .rangefunction import Outlined, Reduction, Slot
from .schedule import (
    Copy,
    Guard,
    LoadGuard,
    Move,
    ObjectRef,
    Private,
    RegionSchedule,
    Renumbering,
    Schedule,
    SpaceOrder,
)
from .secret import Secret

MAX_NUMBER = 4096  # scopes and regions of one program, as in runtime.c
OPTIONS = {"method", "threads", "single", "renumber", "region", "seed"}
COSTS = {"original", "optimized", "inspect", "copy", "sweeps"}


@dataclass(frozen=True, eq=False)
class ScopeFile:
    """All that the host of a running program needs for one layout scope.

    Attributes:
        number: the scope's number in the woven program. `numbers`: region loop id → its number there.
        nest: description of the scope. values: (name, type) of what its hook hands over.
        regions: loops that are rescheduled; movable: those whose iterations may be reordered.
        outlined: region → its range function.
        schedule: made for the traced input. key: the secret of its fingerprints.
        costs: nanoseconds a job: `original`, `optimized`, `inspect`, `copy`, and `sweeps` an entry.
        options: how it was made: method, threads, use_data, renumber, seed.
    """

    number: int
    numbers: Mapping[int, int]
    nest: Nest
    values: Sequence[tuple[str, str]]
    regions: Sequence[int]
    movable: frozenset[int]
    outlined: Mapping[int, Outlined]
    schedule: Schedule
    key: Secret
    costs: Mapping[str, float]
    options: Mapping[str, Any]

    def save(self, path: str | os.PathLike[str]) -> Path:
        schedule = self.schedule
        arrays: dict[str, Any] = {}
        for number, space in enumerate(schedule.spaces):
            arrays[f"space{number}_order"] = space.order
        for region in schedule.regions:
            arrays[f"region{region.region}_jobs"] = region.jobs
            arrays[f"region{region.region}_bounds"] = region.bounds
            arrays[f"region{region.region}_lengths"] = region.lengths
        meta = {
            "number": self.number,
            "numbers": {str(loop): number for loop, number in self.numbers.items()},
            "nest": to_json(self.nest),
            "values": [list(value) for value in self.values],
            "regions": list(self.regions),
            "movable": sorted(self.movable),
            "outlined": {str(loop): _outlined_out(found) for loop, found in self.outlined.items()},
            "schedule": _schedule_out(schedule),
            "key": self.key.seed.hex(),
            "costs": dict(self.costs),
            "options": dict(self.options),
        }
        return write_arrays(path, "ScopeFile", arrays, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ScopeFile:
        members = {
            "space*_order": "int32",
            "region*_jobs": "int32",
            "region*_bounds": "int64",
            "region*_lengths": "int32",
        }
        arrays, meta = read_arrays(path, "ScopeFile", {f"{name}?": dtype for name, dtype in members.items()})
        try:
            found = cls(
                number=_whole(meta["number"]),
                numbers={int(loop): _whole(number) for loop, number in meta["numbers"].items()},
                nest=from_json(meta["nest"]),
                values=[(str(name), str(type)) for name, type in meta["values"]],
                regions=[_whole(loop) for loop in meta["regions"]],
                movable=frozenset(_whole(loop) for loop in meta["movable"]),
                outlined={int(loop): _outlined_in(found) for loop, found in meta["outlined"].items()},
                schedule=_schedule_in(meta["schedule"], arrays),
                key=Secret(bytes.fromhex(meta["key"])),
                costs={str(name): float(cost) for name, cost in meta["costs"].items()},
                options=dict(meta["options"]),
            )
            found.verify()
            return found
        except ArtefactError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, ScheduleError) as error:
            raise ArtefactError(
                f"{path} is not a valid schedule: {error}", hint="Run tracecut optimize again."
            ) from error

    def verify(self) -> None:
        """Raise ScheduleError or ValueError unless the parts fit each other, and the schedule the objects it names.

        The host hands all of it to machine code that checks nothing. O(jobs + data).
        """
        regions = {region.region for region in self.schedule.regions}
        if not regions <= self.numbers.keys() or not regions <= self.outlined.keys():
            raise ValueError("a region has no code")
        if not all(0 <= number < MAX_NUMBER for number in (self.number, *self.numbers.values())):
            raise ValueError("a number of a scope or region is out of range")
        if len(set(self.numbers.values())) < len(self.numbers) or self.options.get("region") not in self.numbers:
            raise ValueError("regions and their numbers do not fit")
        if not self.options.keys() >= OPTIONS or not self.costs.keys() >= COSTS:
            raise ValueError("it does not say how it was made")
        check_schedule(self.schedule, [Object(0, ref.size, HEAP) for ref in self.schedule.guard.objects])


def _outlined_out(found: Outlined) -> dict[str, Any]:
    return {
        "name": found.name,
        "slots": [[slot.kind, slot.name, slot.type, slot.group] for slot in found.slots],
        "groups": [[group.id, group.root, list(group.sites), group.view] for group in found.groups],
        "reductions": [[item.phi, item.type, item.operator, item.slot, item.out] for item in found.reductions],
        "index_bases": dict(found.index_bases),
    }


def _outlined_in(data: Mapping[str, Any]) -> Outlined:
    found = Outlined(
        str(data["name"]),
        "",
        tuple(Slot(str(kind), str(name), str(type), _whole(group)) for kind, name, type, group in data["slots"]),
        tuple(
            Group(_whole(n), str(root), tuple(map(str, sites)), str(view)) for n, root, sites, view in data["groups"]
        ),
        tuple(
            Reduction(str(p), str(t), str(o), _whole(slot), _whole(out)) for p, t, o, slot, out in data["reductions"]
        ),
        {str(name): _whole(group) for name, group in data["index_bases"].items()},
    )
    if any(not 0 <= item.slot < len(found.slots) for item in found.reductions):
        raise ValueError("a reduction starts in a slot that does not exist")
    return found


def _schedule_out(schedule: Schedule) -> dict[str, Any]:
    guard = schedule.guard
    return {
        "scope": schedule.scope,
        "method": schedule.method,
        "remark": schedule.remark,
        "spaces": [[space.low, space.high, list(space.cuts)] for space in schedule.spaces],
        "moves": [_fields_out(move) for move in schedule.moves],
        "regions": [
            {
                "region": region.region,
                "threads": region.threads,
                "copies": [
                    {**_fields_out(copy), "renumber": [_fields_out(item) for item in copy.renumber]}
                    for copy in region.copies
                ],
                "bases": {str(group): copy for group, copy in region.bases.items()},
                "starts": None if region.starts is None else list(region.starts),
                "privates": [_fields_out(item) for item in region.privates],
            }
            for region in schedule.regions
        ],
        "guard": {
            "numbers": dict(guard.numbers),
            "objects": [[ref.size, [list(pair) for pair in ref.pointers]] for ref in guard.objects],
            "strangers": list(guard.strangers),
            "loads": [
                [load.object, load.offset, load.stride, load.width, load.count, *map(str, load.fingerprint)]
                for load in guard.loads
            ],
        },
    }


def _schedule_in(data: Mapping[str, Any], arrays: Mapping[str, Any]) -> Schedule:
    spaces = tuple(
        SpaceOrder(_whole(low), _whole(high), tuple(map(_whole, cuts)), arrays[f"space{number}_order"])
        for number, (low, high, cuts) in enumerate(data["spaces"])
    )
    return Schedule(
        _whole(data["scope"]),
        spaces,
        tuple(Move(**{name: _whole(value) for name, value in move.items()}) for move in data["moves"]),
        tuple(_region_in(item, arrays) for item in data["regions"]),
        _guard_in(data["guard"]),
        str(data["method"]),
        str(data["remark"]),
    )


def _region_in(data: Mapping[str, Any], arrays: Mapping[str, Any]) -> RegionSchedule:
    name = f"region{_whole(data['region'])}"
    starts = None if data["starts"] is None else tuple(map(_whole, data["starts"]))
    if starts is not None and (len(starts) != 5 or starts[4] not in (1, 2, 4, 8)):
        raise ValueError(f"the pieces of {name} start at {starts}")
    return RegionSchedule(
        _whole(data["region"]),
        arrays[f"{name}_jobs"],
        arrays[f"{name}_bounds"],
        _whole(data["threads"]),
        tuple(_copy_in(copy) for copy in data["copies"]),
        {int(group): _whole(copy) for group, copy in data["bases"].items()},
        arrays.get(f"{name}_lengths", np.zeros(0, np.int32)),
        starts,
        tuple(_private_in(item) for item in data["privates"]),
    )


def _copy_in(data: Mapping[str, Any]) -> Copy:
    renumber = tuple(
        Renumbering(tuple(map(_whole, item["offsets"])), *(_whole(item[name]) for name in ("width", "space", "shift")))
        for item in data["renumber"]
    )
    whole = {name: _whole(data[name]) for name in ("object", "origin", "stride", "first", "count", "space", "shift")}
    mode, reverse, ends = str(data["mode"]), bool(data["reverse"]), bool(data["ends"])
    return Copy(mode=mode, reverse=reverse, ends=ends, renumber=renumber, **whole)


def _private_in(data: Mapping[str, Any]) -> Private:
    if data["type"] not in TYPES:
        raise ValueError(f"private slots of type {data['type']}")
    low, high = (tuple(map(_whole, data[name])) for name in ("low", "high"))
    return Private(_whole(data["group"]), _whole(data["object"]), data["type"], low, high)


def _guard_in(data: Mapping[str, Any]) -> Guard:
    for name, number in data["numbers"].items():
        if not isinstance(number, int | float):
            raise TypeError(f"the value {name} is {number!r}, a number was expected")
    return Guard(
        dict(data["numbers"]),
        tuple(
            ObjectRef(_whole(size), tuple((_whole(pointer), _whole(offset)) for pointer, offset in pointers))
            for size, pointers in data["objects"]
        ),
        tuple(map(_whole, data["strangers"])),
        tuple(_load_in(load) for load in data["loads"]),
    )


def _load_in(data: list[Any]) -> LoadGuard:
    number, offset, stride, width, count = map(_whole, data[:5])
    first, second = map(int, data[5:])
    return LoadGuard(number, offset, stride, width, count, (first, second))


def _whole(value: Any) -> int:
    """A whole number as it is: no text, no fraction, and nothing that arithmetic on addresses would overflow with."""
    if type(value) is not int or not -(1 << 48) < value < 1 << 48:
        raise ValueError(f"{value!r} is no whole number of a sensible size")
    return value


def _fields_out(item: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(item).items()}
