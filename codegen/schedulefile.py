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

from ..ir.errors import ArtefactError
from ..ir.files import read_arrays, write_arrays
from ..tracer.nest import Nest
from ..tracer.nestfile import from_json, to_json
from .grouping import Group
from .outline import Outlined, Reduction, Slot
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


@dataclass(frozen=True, eq=False)
class ScopeFile:
    """All that the host of a running program needs for one layout scope.

    Attributes:
        number: the scope's number in the woven program. `numbers`: region loop id → its number there.
        nest: description of the scope. values: (name, type) of what its hook hands over.
        regions: loops that are rescheduled; movable: those whose iterations may be reordered.
        outlined: region → its range function.
        schedule: made for the traced input. key: of its fingerprints.
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
    key: int
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
            "key": str(self.key),
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
            return cls(
                number=int(meta["number"]),
                numbers={int(loop): int(number) for loop, number in meta["numbers"].items()},
                nest=from_json(meta["nest"]),
                values=[(str(name), str(type)) for name, type in meta["values"]],
                regions=[int(loop) for loop in meta["regions"]],
                movable=frozenset(int(loop) for loop in meta["movable"]),
                outlined={int(loop): _outlined_in(found) for loop, found in meta["outlined"].items()},
                schedule=_schedule_in(meta["schedule"], arrays),
                key=int(meta["key"]),
                costs={str(name): float(cost) for name, cost in meta["costs"].items()},
                options=dict(meta["options"]),
            )
        except ArtefactError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ArtefactError(
                f"{path} is not a valid schedule: {error}", hint="Run tracecut optimize again."
            ) from error


def _outlined_out(found: Outlined) -> dict[str, Any]:
    return {
        "name": found.name,
        "slots": [[slot.kind, slot.name, slot.type, slot.group] for slot in found.slots],
        "groups": [[group.id, group.root, list(group.sites), group.view] for group in found.groups],
        "reductions": [[item.phi, item.type, item.operator, item.slot, item.out] for item in found.reductions],
        "index_bases": dict(found.index_bases),
    }


def _outlined_in(data: Mapping[str, Any]) -> Outlined:
    return Outlined(
        str(data["name"]),
        "",
        tuple(Slot(str(kind), str(name), str(type), int(group)) for kind, name, type, group in data["slots"]),
        tuple(Group(int(n), str(root), tuple(map(str, sites)), str(view)) for n, root, sites, view in data["groups"]),
        tuple(Reduction(str(p), str(t), str(o), int(slot), int(out)) for p, t, o, slot, out in data["reductions"]),
        {str(name): int(group) for name, group in data["index_bases"].items()},
    )


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
    guard = data["guard"]
    spaces = tuple(
        SpaceOrder(int(low), int(high), tuple(map(int, cuts)), arrays[f"space{number}_order"])
        for number, (low, high, cuts) in enumerate(data["spaces"])
    )
    regions = []
    for item in data["regions"]:
        name = f"region{int(item['region'])}"
        copies = tuple(
            Copy(**{**copy, "renumber": tuple(_renumbering_in(found) for found in copy["renumber"])})
            for copy in item["copies"]
        )
        regions.append(
            RegionSchedule(
                int(item["region"]),
                arrays[f"{name}_jobs"],
                arrays[f"{name}_bounds"],
                int(item["threads"]),
                copies,
                {int(group): int(copy) for group, copy in item["bases"].items()},
                arrays.get(f"{name}_lengths", np.zeros(0, np.int32)),
                None if item["starts"] is None else tuple(map(int, item["starts"])),  # type: ignore[arg-type]
                tuple(
                    Private(int(p["group"]), int(p["object"]), str(p["type"]), tuple(p["low"]), tuple(p["high"]))
                    for p in item["privates"]
                ),
            )
        )
    return Schedule(
        int(data["scope"]),
        spaces,
        tuple(Move(**move) for move in data["moves"]),
        tuple(regions),
        Guard(
            {str(name): number for name, number in guard["numbers"].items()},
            tuple(
                ObjectRef(int(size), tuple((int(a), int(b)) for a, b in pointers))
                for size, pointers in guard["objects"]
            ),
            tuple(map(int, guard["strangers"])),
            tuple(_load_in(load) for load in guard["loads"]),
        ),
        str(data["method"]),
        str(data["remark"]),
    )


def _load_in(data: list[Any]) -> LoadGuard:
    number, offset, stride, width, count, first, second = (int(value) for value in data)
    return LoadGuard(number, offset, stride, width, count, (first, second))


def _renumbering_in(data: Mapping[str, Any]) -> Renumbering:
    return Renumbering(tuple(map(int, data["offsets"])), int(data["width"]), int(data["space"]), int(data["shift"]))


def _fields_out(item: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(item).items()}
