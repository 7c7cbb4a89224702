"""What of a schedule can be judged without loading it: a part of the listing that `front.py` reads.

Everything in here is a necessary condition that the guard (`guards.py`) checks again, so that a mistake could cost a
schedule that is not used, never a wrong one that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from ..tracer.expr import Expr
from .guards import pointers_of
from .schedulefile import ScopeFile


def _sweeps(trip: Expr, places: Mapping[str, int]) -> list[list[int]] | None:
    """[first value, step, bound] of a trip count, each as [slot, 0] or [−1, number]; None when it is made otherwise."""
    found = (
        [_term(part, places) for part in trip.args] if trip.kind == "trip" else [[-1, 0], [-1, 1], _term(trip, places)]
    )
    return [part for part in found if part is not None] if None not in found else None


def _term(expr: Expr, places: Mapping[str, int]) -> list[int] | None:
    while expr.kind == "cast" and expr.data[0] in ("sext", "zext"):
        expr = expr.args[0]
    if expr.kind == "const" and isinstance(expr.data[0], int):
        return [-1, expr.data[0]]
    return [places[expr.data[0]], 0] if expr.kind == "live" and expr.data[0] in places else None


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
        "sweeps": None if trip is None else _sweeps(trip, places),
        "traced_sweeps": file.costs["sweeps"] if trip is None else None,
    }
