"""Addresses as the captured memory has them, though the nest may change what they are computed of.

They say where jobs go at the time of the capture. An order may be made of that, for it is right whatever they are; a
verdict, a plan or a guard may not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.evaluate import Evaluation


def guess_addresses(
    accesses: Accesses, access: Access, region: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(jobs of `region`, addresses) of an access where it runs inside of its object; none where they cannot be told.

    O(iterations of the access's loop · nodes of its address). Nothing that is looked up here is relied on.
    """
    nothing = np.zeros(0, np.int64)
    own, site = accesses.evaluation, access.site
    asked = Evaluation(own.nest, own.memory, own.lives, own.single, limit=own.room.left, steps=own.steps)
    domain, jobs = asked.domain(site.loop), asked.domain(region)
    if domain is None or jobs is None or jobs.size != accesses.size(region) or access.object is None:
        return nothing, nothing
    found = asked.at(accesses.address(access), site.loop)
    runs = np.broadcast_to(found.known & asked.truth(site.reach, site.loop), domain.size)
    data = np.broadcast_to(found.data, domain.size)
    runs = runs & (data >= access.object.base) & (data + max(1, access.width) <= access.object.end)
    return asked.jobs(site.loop, region)[runs], data[runs].astype(np.int64)
