"""How much of a load each unit of a heterogeneous machine should get: Hetero §IV, Algorithm 1."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats, Longs
from tracecut.support.errors import ArgumentError

MOST = 2**53  # integers up to this are exact as floats
ROUND = 1 + 1e-12  # of sums that are compared with bounds
SLOWEST = 2.0**-1000  # speed over that of the fastest unit


def target_sizes(total: int, speeds: npt.ArrayLike, capacities: npt.ArrayLike | None = None) -> Longs:
    """Whole target sizes that balance load over speed and keep every memory (Hetero §II-B, Eqs. 2 and 3).

    Sizes are those of `optimal_sizes` for capacities rounded down, rounded themselves by largest remainder (ties to the
    first unit): none is a whole unit of load away from the optimum, and their largest load over speed is at most
    one unit of load over the slowest speed above it.

    Args:
        total: the load, such as the number of vertices; a whole number of at least 0.
        speeds: float (k), operations in a time, positive; only their ratios matter.
        capacities: float (k), the memory of each unit in units of load, at least 0; `inf` and None: unlimited.
            Fractions of a unit of load are ignored.

    Returns:
        int64 (k), summing to `total`, none above its capacity. O(k log k).

    Raises:
        ArgumentError: an argument is out of its domain, or the load does not fit: the message states the shortfall.
    """
    load, speed, room = _checked(total, speeds, capacities)
    exact = _optimal(float(load), speed, room)
    sizes = np.minimum(np.floor(exact), room).astype(np.int64)
    by_remainder = np.argsort(sizes - exact, kind="stable")
    while left := load - int(sizes.sum()):  # one pass suffices, except for rounding errors of the sums
        able = sizes < room if left > 0 else sizes > 0
        ranked = by_remainder[able[by_remainder]]
        if left > 0:
            sizes[ranked[:left]] += 1
        else:
            sizes[ranked[left:]] -= 1
    return sizes


def optimal_sizes(total: float, speeds: npt.ArrayLike, capacities: npt.ArrayLike | None = None) -> Floats:
    """Real target sizes: the optimum of Hetero Eq. 2 under Eq. 3 (Theorem 1); float64 (k). O(k log k).

    Arguments and errors are those of `target_sizes`; `total` may be any number, and fractions of capacities count.
    """
    speed = _numbers("speeds", speeds)
    room = np.full(speed.size, np.inf) if capacities is None else _numbers("capacities", capacities)
    _check(speed, room)
    if not 0 <= total <= MOST:
        raise ArgumentError(f"total = {total!r}, a number from 0 to 2**53 was expected")
    load = float(total)
    room = np.minimum(room, load)
    _check_fits(load, room)
    return _optimal(load, speed, room)


def relative_size(sizes: npt.ArrayLike, speeds: npt.ArrayLike) -> float:
    """Largest size over speed, Hetero Eq. 2: of planned sizes, or of the loads that a partition achieved. O(k)."""
    return float(np.max(np.asarray(sizes, np.float64) / _numbers("speeds", speeds)))


def scaled_memory(total: float, memories: npt.ArrayLike, slack: float = 1.2) -> Floats:
    """Capacities in units of load from relative memory sizes: their sum is `slack` times the load.

    Hetero states memories without a unit. A total of 1.2 n reproduces its experiments (Table III within 0.1).
    """
    memory = _numbers("memories", memories)
    if not (np.isfinite(memory) & (memory > 0)).all():
        raise ArgumentError("memories must be positive and finite")
    return memory * (slack * float(total) / float(memory.sum()))


def _optimal(load: float, speed: Floats, room: Floats) -> Floats:
    """Algorithm 1. By Lemma 1 the saturated units come first in the order by ratio, so that one search finds the last
    of them.

    A unit with zero capacity has an infinite ratio and is saturated at load 0.
    """
    # By a power of two, which rounds nothing: sums and products of speeds stay finite. What is more than
    # 2**1000 times slower than the fastest counts as that slow: it gets nothing as long as others have room.
    speed = np.maximum(np.ldexp(speed, -int(np.frexp(speed.max())[1])), SLOWEST)
    with np.errstate(divide="ignore", over="ignore"):
        order = np.argsort(-(speed / room), kind="stable")
    fast, full = speed[order], room[order]
    finite = np.where(np.isfinite(full), full, 0.0)
    before = np.concatenate([[0.0], np.cumsum(finite)[:-1]])  # load of the preceding units if all of them are saturated
    speeds_left = np.cumsum(fast[::-1])[::-1]
    free = fast * (load - before) <= full * speeds_left
    first = int(np.argmax(free)) if free.any() else full.size
    sizes = full.copy()
    if first < full.size:
        sizes[first:] = np.minimum(fast[first:] * ((load - before[first]) / speeds_left[first]), full[first:])
    found = np.empty_like(sizes)
    found[order] = sizes
    return found


def _checked(total: Any, speeds: npt.ArrayLike, capacities: npt.ArrayLike | None) -> tuple[int, Floats, Floats]:
    try:
        load = operator.index(total)
    except TypeError:
        load = -1
    if not 0 <= load <= MOST:
        raise ArgumentError(f"total = {total!r}, a whole number from 0 to 2**53 was expected")
    speed = _numbers("speeds", speeds)
    room = np.full(speed.size, np.inf) if capacities is None else _numbers("capacities", capacities)
    _check(speed, room)
    whole = np.minimum(np.floor(room), float(load))
    _check_fits(float(load), whole)
    return load, speed, whole


def _check(speed: Floats, room: Floats) -> None:
    bad = np.flatnonzero(~(np.isfinite(speed) & (speed > 0)))
    if bad.size:
        raise ArgumentError(f"speeds[{bad[0]}] = {speed[bad[0]]:g}, a positive finite number was expected")
    if room.size != speed.size:
        raise ArgumentError(f"{room.size} capacities for {speed.size} speeds; as many were expected")
    bad = np.flatnonzero(~(room >= 0))
    if bad.size:
        raise ArgumentError(f"capacities[{bad[0]}] = {room[bad[0]]:g}, at least 0 was expected")


def _check_fits(load: float, room: Floats) -> None:
    held = float(room.sum())
    if held < load:
        raise ArgumentError(
            f"a load of {load:.17g} does not fit: the capacities of {room.size} units add up to {held:.17g}, "
            f"{load - held:.17g} too few",
            hint="Larger capacities, more units, or a smaller load.",
        )


def _numbers(name: str, values: npt.ArrayLike) -> Floats:
    try:
        found = np.asarray(values, np.float64)
    except OverflowError:
        raise ArgumentError(
            f"{name} holds a whole number that is too large, at most {np.finfo(np.float64).max:.2g} was expected",
            hint="Only ratios of speeds matter; a capacity without a limit is math.inf.",
        ) from None
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers, one for each unit") from None
    if found.ndim != 1 or not found.size:
        raise ArgumentError(f"{name} has shape {found.shape}, (k,) with k of at least 1 was expected")
    return found
