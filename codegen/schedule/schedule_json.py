"""Schedules and range functions as plain dictionaries for JSON, and back. Light: `tracecut run` reads them.

What is read is checked as far as kinds and sizes go; whether it is sound is up to `checker.py`.
"""

from __future__ import annotations

from tracecut.codegen.schedule.plan.range_function import Group, IndexTest, Outlined, Reduction, Slot
from tracecut.tracer.runtime.binding import TYPES

from . import schedule as sc

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def outlined_out(found: Outlined) -> dict[str, Any]:
    return {
        "name": found.name,
        "slots": [[slot.kind, slot.name, slot.type, slot.group] for slot in found.slots],
        "groups": [_group_out(group) for group in found.groups],
        "reductions": [[item.phi, item.type, item.operator, item.slot, item.out] for item in found.reductions],
    }


def outlined_in(data: Mapping[str, Any]) -> Outlined:
    found = Outlined(
        str(data["name"]),
        None,
        tuple(Slot(str(kind), str(name), str(type), whole(group)) for kind, name, type, group in data["slots"]),
        tuple(_group_in(*group) for group in data["groups"]),
        tuple(Reduction(str(p), str(t), str(o), whole(slot), whole(out)) for p, t, o, slot, out in data["reductions"]),
    )
    if any(not 0 <= item.slot < len(found.slots) for item in found.reductions):
        raise ValueError("a reduction starts in a slot that does not exist")
    return found


def _group_out(group: Group) -> list[Any]:
    tests = [[test.load, test.predicate, test.constant] for test in group.tests]
    return [group.id, group.root, list(group.sites), group.view, tests]


def _group_in(number: Any, root: Any, sites: Any, view: Any, tests: Any) -> Group:
    asked = (IndexTest(str(load), str(predicate), whole(constant)) for load, predicate, constant in tests)
    return Group(whole(number), str(root), tuple(map(str, sites)), str(view), tuple(asked))


def schedule_out(schedule: sc.Schedule) -> dict[str, Any]:
    guard = schedule.guard
    return {
        "scope": schedule.scope,
        "method": schedule.method,
        "remark": schedule.remark,
        "spaces": [[space.low, space.high, list(space.cuts)] for space in schedule.spaces],
        "moves": [
            {**_fields_out(move), "renumber": [_fields_out(item) for item in move.renumber]} for move in schedule.moves
        ],
        "regions": [
            {
                "region": region.region,
                "copies": [_copy_out(copy) for copy in region.copies],
                "bases": {str(group): copy for group, copy in region.bases.items()},
                "privates": [_fields_out(item) for item in region.privates],
            }
            for region in schedule.regions
        ],
        "guard": guard_out(guard),
        "lookups": [_fields_out(item) for item in schedule.lookups],
    }


def _copy_out(copy: sc.Copy) -> dict[str, Any]:
    parts = {name: [_fields_out(item) for item in getattr(copy, name)] for name in ("renumber", "pieces")}
    return {**_fields_out(copy), **parts}


SCHEDULE_ARRAYS = {
    "space*_order": "int32",
    "region*_jobs": "int32",
    "region*_bounds": "int64",
    "region*_waves": "int32",
    "region*_lengths": "int32",
}


def schedule_arrays(schedule: sc.Schedule) -> dict[str, Any]:
    """The arrays of a schedule by their names in a file; SCHEDULE_ARRAYS has their dtypes."""
    arrays: dict[str, Any] = {f"space{number}_order": space.order for number, space in enumerate(schedule.spaces)}
    for region in schedule.regions:
        name = f"region{region.region}"
        arrays |= {f"{name}_jobs": region.jobs, f"{name}_lengths": region.lengths}
        arrays |= {f"{name}_bounds": region.blocks.bounds, f"{name}_waves": region.blocks.waves}
    return arrays


def schedule_in(data: Mapping[str, Any], arrays: Mapping[str, Any]) -> sc.Schedule:
    spaces = tuple(
        sc.SpaceOrder(whole(low), whole(high), tuple(map(whole, cuts)), arrays[f"space{number}_order"])
        for number, (low, high, cuts) in enumerate(data["spaces"])
    )
    return sc.Schedule(
        whole(data["scope"]),
        spaces,
        tuple(_move_in(move) for move in data["moves"]),
        tuple(_region_in(item, arrays) for item in data["regions"]),
        guard_in(data["guard"]),
        str(data["method"]),
        str(data["remark"]),
        tuple(_lookup_in(item) for item in data["lookups"]),
    )


def _lookup_in(data: Mapping[str, Any]) -> sc.Lookup:
    numbers = {name: whole(data[name]) for name in ("move", "stride", "align")}
    return sc.Lookup(tuple(map(str, data["sites"])), **numbers)


def _region_in(data: Mapping[str, Any], arrays: Mapping[str, Any]) -> sc.RegionSchedule:
    name = f"region{whole(data['region'])}"
    return sc.RegionSchedule(
        whole(data["region"]),
        arrays[f"{name}_jobs"],
        sc.Blocks(arrays[f"{name}_bounds"], arrays[f"{name}_waves"]),
        tuple(_copy_in(copy) for copy in data["copies"]),
        {int(group): whole(copy) for group, copy in data["bases"].items()},
        arrays[f"{name}_lengths"],
        tuple(_private_in(item) for item in data["privates"]),
    )


def _move_in(data: Mapping[str, Any]) -> sc.Move:
    numbers = {name: whole(value) for name, value in data.items() if name != "renumber"}
    return sc.Move(**numbers, renumber=_renumber_in(data["renumber"]))


def _renumber_in(data: Sequence[Mapping[str, Any]]) -> tuple[sc.Renumbering, ...]:
    return tuple(
        sc.Renumbering(tuple(map(whole, item["offsets"])), *(whole(item[name]) for name in ("width", "space", "shift")))
        for item in data
    )


def _copy_in(data: Mapping[str, Any]) -> sc.Copy:
    renumber = _renumber_in(data["renumber"])
    numbers = {name: whole(data[name]) for name in ("object", "origin", "stride", "first", "count", "space", "shift")}
    mode, reverse, ends = str(data["mode"]), bool(data["reverse"]), bool(data["ends"])
    pieces = tuple(
        sc.PieceField(whole(item["offset"]), whole(item["width"]), bool(item["ends"])) for item in data["pieces"]
    )
    numbers["cut"] = whole(data.get("cut", 0))
    starts = _starts_in(data["starts"])
    return sc.Copy(mode=mode, reverse=reverse, ends=ends, renumber=renumber, pieces=pieces, starts=starts, **numbers)


def _starts_in(data: Any) -> sc.Starts | None:
    if data is None:
        return None
    number, origin, stride, first, width = map(whole, data)
    if width not in (1, 2, 4, 8):
        raise ValueError(f"starts of pieces of {width} bytes")
    return number, origin, stride, first, width


def _private_in(data: Mapping[str, Any]) -> sc.Private:
    if data["type"] not in TYPES:
        raise ValueError(f"private slots of type {data['type']}")
    low, high = (tuple(map(whole, data[name])) for name in ("low", "high"))
    return sc.Private(whole(data["group"]), whole(data["object"]), data["type"], low, high)


def guard_out(guard: sc.Guard) -> dict[str, Any]:
    return {
        "numbers": dict(guard.numbers),
        "objects": [[ref.size, [list(pair) for pair in ref.pointers], int(ref.numbers)] for ref in guard.objects],
        "unplaced": list(guard.unplaced),
        "nulls": list(guard.nulls),
        "loads": [
            [load.object, load.offset, load.stride, load.width, load.count, *map(str, load.fingerprint)]
            for load in guard.loads
        ],
    }


def guard_in(data: Mapping[str, Any]) -> sc.Guard:
    for name, number in data["numbers"].items():
        if not isinstance(number, int | float):
            raise TypeError(f"the value {name} is {number!r}, a number was expected")
    return sc.Guard(
        dict(data["numbers"]),
        tuple(
            sc.ObjectRef(
                whole(size), tuple((whole(at), whole(offset)) for at, offset in pointers), bool(whole(numbers))
            )
            for size, pointers, numbers in data["objects"]
        ),
        tuple(map(whole, data["unplaced"])),
        tuple(map(whole, data["nulls"])),
        tuple(_load_in(load) for load in data["loads"]),
    )


def _load_in(data: list[Any]) -> sc.LoadGuard:
    number, offset, stride, width, count = map(whole, data[:5])
    first, second = map(int, data[5:])
    return sc.LoadGuard(number, offset, stride, width, count, (first, second))


def whole(value: Any) -> int:
    """A whole number as it is: no text, no fraction, and nothing that arithmetic on addresses would overflow with."""
    if type(value) is not int or not -(1 << 48) < value < 1 << 48:
        raise ValueError(f"{value!r} is no whole number of a sensible size")
    return value


def _fields_out(item: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(item).items()}
