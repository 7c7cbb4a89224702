"""What of a schedule can be judged without loading it: a part of the listing that `front.py` reads.

Everything in here is a necessary condition that the guard (`guards.py`) checks again, so that a mistake could cost a
schedule that is not used, never a wrong one that is.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from .guards import pointers_of
from .schedulefile import ScopeFile


def first_look(file: ScopeFile, name: str) -> dict[str, Any]:
    """The listing's entry for a schedule. `name`: of its file in the folder.

    `numbers`: slot, value. `objects`: slot of a pointer into each guarded object, its offset there and the object's
    size, or null where no pointer is handed over. `loads`: as in the guard.
    """
    places = {name: place for place, (name, _) in enumerate(file.values)}
    nest, guard = file.nest, file.schedule.guard
    pointers = pointers_of(nest)
    objects: list[list[int] | None] = []
    for ref in guard.objects:
        known = [
            [places[pointers[pointer].data[0]], offset, ref.size]
            for pointer, offset in ref.pointers
            if pointers[pointer].kind == "live" and pointers[pointer].data[0] in places
        ]
        objects.append(known[0] if known else None)
    trip = nest.loops[nest.root].trip if file.options["single"] else None
    return {
        "file": name,
        "number": file.number,
        "root": nest.root,
        "regions": {str(loop): number for loop, number in file.numbers.items()},
        "main": file.numbers[int(file.options["region"])],
        "single": bool(file.options["single"]),
        "method": str(file.options["method"]),
        "threads": int(file.options["threads"]),
        "places": sorted({str(nest.loops[loop].place) for loop in file.regions}),
        "values": [list(value) for value in file.values],
        "numbers": [
            [places[name], number] for name, number in guard.numbers.items() if name in places and isfinite(number)
        ],
        "stack": [[places[name], size] for name, size in nest.stack.items() if name in places],
        "objects": objects,
        "loads": [
            [load.object, load.offset, load.stride, load.width, load.count, *map(str, load.fingerprint)]
            for load in guard.loads
        ],
        "secret": file.key.seed.hex(),
        "sweeps": places[trip.data[0]] if trip is not None and trip.kind == "live" and trip.data[0] in places else None,
        "traced_sweeps": file.costs["sweeps"] if trip is None else None,
    }
