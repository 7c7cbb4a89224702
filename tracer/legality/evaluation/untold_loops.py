"""Inner loops that nothing tells the number of iterations of: what they reach all the same."""

from __future__ import annotations

import numpy as np

from .early_exits import Leaving
from .iteration_domains import Domain, inner_domain


def one_for_all(asked: Leaving, loop: int) -> Domain | None:
    """One iteration, which may run, wherever an inner loop may be entered: nothing tells how many there are.

    `do { t[v] -= step; } while (fabs(step) > eps)`: each takes the same places, but for those that depend on its number
    or on what one iteration hands to the next, neither of which is known. None of the outermost loop.
    """
    info = asked.nest.loops[loop]
    around = None if info.parent is None else asked.domain(info.parent)
    if around is None:
        return None
    may = np.broadcast_to(asked.truth(info.reach, around.loop), around.size)
    return inner_domain(loop, may.astype(np.int64), sure=False)
