"""The part of the checker for pieces: an order keeps what a loop runs over from a start on together."""

from __future__ import annotations

import numpy as np
from tracecut.codegen.schedule.schedule import Copy, Move, RegionSchedule, Schedule
from tracecut.tracer.legality.accesses import Access, Accesses


def in_whole_pieces(
    schedule: Schedule, region: RegionSchedule, accesses: Accesses, access: Access, records: Move | Copy
) -> bool:
    """Whether what an access reaches from a loaded number on lies, in the new order, where the loop will go.

    True where no counter walks on from there. `records`: what it reaches, in the order of a space. Compares the new
    places of each datum and the next one in every piece, by the addresses of the run. O(iterations).
    """
    assert access.form is not None and access.object is not None
    inner = [
        atom
        for atom, step in access.form.terms.items()
        if atom.kind == "counter" and abs(step) == records.stride and atom.data[0] != region.region
    ]
    if not any(atom.kind == "load" for atom in access.form.terms) or not inner:
        return True
    loop = access.site.loop
    around = accesses.nest.loops[inner[0].data[0]].parent
    found = accesses.addresses(access)
    if around is None or found is None or len(inner) > 1 or access.form.terms[inner[0]] < 0:
        return False
    addresses, runs = (np.broadcast_to(part, accesses.size(loop) or 0) for part in found)
    entered = accesses.evaluation.jobs(loop, around)  # ascending: the iterations of an entry follow each other
    space = schedule.spaces[records.space]
    data = (addresses - access.object.base - records.origin) // records.stride - records.shift - space.low
    kept = np.flatnonzero(runs)
    data, entered = data[kept], entered[kept]
    if data.size and not (data.min() >= 0 and data.max() < space.order.size):
        return False
    places = np.empty(space.order.size, np.int64)
    places[space.order] = np.arange(space.order.size)
    same = entered[1:] == entered[:-1]
    return bool(np.all((np.diff(places[data]) == np.diff(data))[same]))
