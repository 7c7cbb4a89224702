"""Validates the arguments of `partition` and `order`."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.partition.balance.target_sizes import ROUND, optimal_sizes
from tracecut.support.argument_checks import MAX_SEED
from tracecut.support.arrays import Floats, Ints, check_permutation, frozen
from tracecut.support.arrays import check_weights as check_each
from tracecut.support.errors import ArgumentError

from .machine_arguments import loads_for

# None where they are not given.
OPTIONAL = ("targets", "capacities", "weights", "coords", "order", "refine", "hierarchy")
# Accepted by all methods, even if they do not use them; capacities are enforced after every method.
SHARED = frozenset({"seed", "threads", "balance", "capacities"})


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of one `partition` call, validated and with defaults filled in.

    Attributes:
        k, balance, passes, seed, threads, refine, hierarchy: as given.
        of: "jobs" or "data", what is to be labelled.
        targets: float64 (k), shares summing to 1.
        capacities: float64 (k), loads that no cluster may exceed, or None.
        own_weights: float64, one per job or per datum as `of` says; None where all weigh 1.
        more_weights: float64 (size, loads): further loads of each, to be balanced one by one beside these.
        size: number of jobs or of data.
        coords: float64 (data, dimensions) or None.
        order: int32 permutation of the jobs, or None.
        given: names of the arguments that differ from their defaults.
    """

    k: int
    of: str
    balance: float
    targets: Floats
    capacities: Floats | None
    own_weights: Floats | None
    more_weights: Floats
    size: int
    coords: Floats | None
    order: Ints | None
    passes: int
    refine: Any
    hierarchy: Any
    seed: int
    threads: int | None
    given: frozenset[str]

    @cached_property
    def weights(self) -> Floats:
        """float64 (size), made on first use: streaming takes little longer than writing it."""
        return np.ones(self.size) if self.own_weights is None else self.own_weights


def check_request(
    graph: LocalityGraph,
    k: int,
    *,
    of: str = "jobs",
    balance: float = 1.03,
    passes: int = 1,
    seed: int = 0,
    threads: int | None = None,
    machine: Machine | None = None,
    memory: float | None = None,
    **optional: Any,
) -> Request:
    """The request of a call; of the arguments in `OPTIONAL` those that are given, and not None.

    A `machine` of k cores gives targets and capacities that are not given, `memory` the scale of its memories.

    Raises ArgumentError naming the argument, what it was and what was expected.
    """
    if not isinstance(graph, LocalityGraph):
        raise ArgumentError(f"graph is a {type(graph).__name__}, a LocalityGraph was expected")
    if of not in ("jobs", "data"):
        raise ArgumentError(f"of = {of!r}, 'jobs' or 'data' expected")
    check_whole("k", k, 1, 2**31 - 1)
    check_whole("passes", passes, 1, 2**31 - 1)
    check_whole("seed", seed, 0, MAX_SEED)
    if threads is not None:
        check_whole("threads", threads, 1, 2**16)
    check_number("balance", balance, 1.0)
    if memory is not None:
        check_number("memory", memory, 0.0)
        if machine is None:
            raise ArgumentError(f"memory = {memory!r} scales the memories of a machine, none was given")
    own = graph.job_weights if of == "jobs" else graph.data_weights
    size = graph.n_jobs if of == "jobs" else graph.n_data
    default = own if own.size else None
    loads, more = default, graph.more_data_weights if of == "data" else np.zeros((0, 0))
    given = {name: optional.get(name) for name in OPTIONAL}
    if given["weights"] is not None:
        loads, more = _loads(given["weights"], size)
    nothing = loads is not None and not loads.any()
    if nothing:  # what weighs nothing at all is balanced by numbers, and fits everywhere
        loads = None
    total = float(size) if loads is None else float(loads.sum())
    if machine is not None:
        given |= loads_for(machine, total, memory, whole=loads is None and not more.size, given=given)
    if nothing and given["capacities"] is not None:
        _room(given["capacities"], int(k), 0.0, more)
        given["capacities"] = None
    room = None if given["capacities"] is None else _room(given["capacities"], int(k), total, more)
    if room is not None and size:
        _check_members(room, size, loads)
    named = {name for name, value in given.items() if value is not None} | ({"passes"} if passes != 1 else set())
    return Request(
        k=int(k),
        of=of,
        balance=float(balance),
        targets=_shares(given["targets"], int(k), total) if room is None else _fitting(given["targets"], total, room),
        capacities=room,
        own_weights=loads,
        more_weights=more,
        size=size,
        coords=None if given["coords"] is None else _coordinates(given["coords"], graph.n_data),
        order=None if given["order"] is None else _permutation(given["order"], graph.n_jobs),
        passes=int(passes),
        refine=given["refine"],
        hierarchy=given["hierarchy"],
        seed=int(seed),
        threads=threads,
        given=frozenset(named),
    )


def check_used(request: Request, method: str, uses: Collection[str], users: Callable[[str], list[str]]) -> None:
    """Refuse an argument that the method would ignore; `users` names the methods that take it."""
    for name in sorted(request.given - SHARED - set(uses)):
        others = users(name)
        raise ArgumentError(
            f"method {method!r} does not use {name}",
            hint=f"Methods that do: {', '.join(others)}." if others else "No method does.",
        )


def check_options(method: str, known: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse options that are not in `known`, the method's options and their defaults, or are of another type."""
    for name, value in options.items():
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise ArgumentError(f"method {method!r} has no option {name!r}", hint=f"Its options: {names}.")
        default = known[name]
        if isinstance(default, bool):
            fits = isinstance(value, bool)
        elif isinstance(default, int):
            fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        elif isinstance(default, str):
            fits = isinstance(value, str)
        else:
            fits = value is None or (isinstance(value, numbers.Real) and math.isfinite(value) and float(value) >= 0)
        if not fits:
            raise ArgumentError(f"{name} = {value!r} is not valid for method {method!r}; the default is {default!r}")


def check_whole(name: str, value: Any, low: int, high: int) -> None:
    """Raises ArgumentError unless `value` is a whole number in [low, high]; booleans are none."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not low <= int(value) <= high:
        raise ArgumentError(f"{name} = {value!r}, a whole number from {low} to {high} was expected")


def check_number(name: str, value: Any, low: float) -> None:
    """Raises ArgumentError unless `value` is a finite number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value) or float(value) < low:
        raise ArgumentError(f"{name} = {value!r}, a finite number of at least {low:g} was expected")


def _loads(values: npt.ArrayLike, size: int) -> tuple[Floats, Floats]:
    """`values` as float64 (size), at least 0 and finite; of several a row, the others as float64 (size, others)."""
    ndim = 2 if np.ndim(values) == 2 else 1
    weights = frozen("weights", values, np.float64, ndim=ndim)
    if weights.shape[0] != size or (ndim == 2 and weights.shape[1] == 0):
        raise ArgumentError(f"weights has {weights.shape[0]} entries, {size} expected")
    check_each("weights", weights)
    if ndim == 1:
        return weights, np.zeros((0, 0))
    return frozen("weights", weights[:, 0], np.float64), weights[:, 1:] if weights.shape[1] > 1 else np.zeros((0, 0))


def _shares(targets: npt.ArrayLike | None, k: int, load: float) -> Floats:
    """Targets as shares: given so, summing to 1, or as loads, summing to the whole `load`."""
    if targets is None:
        return np.full(k, 1.0 / k)
    given = frozen("targets", targets, np.float64)
    if given.size != k:
        raise ArgumentError(f"targets has {given.size} entries, {k} expected")
    bad = np.flatnonzero(~(np.isfinite(given) & (given > 0)))
    if bad.size:
        raise ArgumentError(f"targets[{int(bad[0])}] = {given[bad[0]]} is not positive and finite")
    total = float(given.sum())
    if not any(math.isclose(total, whole, rel_tol=1e-6) for whole in (1.0, load)):
        raise ArgumentError(
            f"targets sum to {total:g}; 1 was expected, or the whole load of {load:g}",
            hint="targets / targets.sum() are shares.",
        )
    return given / total


def _room(capacities: npt.ArrayLike, k: int, load: float, more: Floats) -> Floats:
    """Capacities that hold the whole load, as float64 (k); infinite ones are allowed."""
    given = frozen("capacities", capacities, np.float64)
    if given.size != k:
        raise ArgumentError(f"capacities has {given.size} entries, {k} expected")
    bad = np.flatnonzero(~(given >= 0))
    if bad.size:
        raise ArgumentError(f"capacities[{int(bad[0])}] = {given[bad[0]]}, at least 0 was expected")
    if more.size:
        raise ArgumentError(
            f"capacities hold one load, each datum has {more.shape[1] + 1}", hint="weights= gives it a single one."
        )
    if float(given.sum()) * (1 + 1e-12) < load:
        raise ArgumentError(
            f"a load of {load:.17g} does not fit: the capacities add up to {given.sum():.17g}, "
            f"{load - float(given.sum()):.17g} too few"
        )
    return given


def _check_members(room: Floats, size: int, loads: Floats | None) -> None:
    """Members of equal weight are not divided: what capacities have beyond whole ones is no room."""
    each = 1.0 if loads is None else float(loads.max())
    if loads is not None and float(loads.min()) < each:
        return
    held = float(np.floor(room / each * ROUND).sum())
    if held < size:
        members = "units of load" if each == 1 else f"members of weight {each:.17g}"
        raise ArgumentError(
            f"{size} {members} do not fit: the capacities of {room.size} clusters hold {held:.17g} whole ones, "
            f"{size - held:.17g} too few, though they add up to {room.sum():.17g}",
            hint="A fraction of a member is no room. Larger capacities, more clusters, or a smaller load.",
        )


def _fitting(targets: npt.ArrayLike | None, load: float, room: Floats) -> Floats:
    """Targets within capacities, as shares: those that are given, or equal ones where nothing is too small for that."""
    if targets is None:
        sizes = optimal_sizes(load, np.ones(room.size), room)
        return np.maximum(sizes, 1e-9 * load / room.size) / load if load else np.full(room.size, 1.0 / room.size)
    shares = _shares(targets, room.size, load)
    over = np.flatnonzero(shares * load > room * (1 + 1e-9))
    if over.size:
        place = int(over[0])
        raise ArgumentError(
            f"targets[{place}] is a load of {shares[place] * load:.17g}, its capacity is {room[place]:.17g}",
            hint="tracecut.target_sizes(total, speeds, capacities) gives targets that fit.",
        )
    return shares


def _coordinates(coords: npt.ArrayLike, n_data: int) -> Floats:
    points = frozen("coords", coords, np.float64, ndim=2)
    if points.shape[0] != n_data or points.shape[1] < 1:
        raise ArgumentError(f"coords has shape {points.shape}, ({n_data}, dimensions) expected")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if bad.size:
        raise ArgumentError(f"coords[{int(bad[0])}] = {points[bad[0]].tolist()} is not finite")
    return points


def _permutation(order: npt.ArrayLike, n_jobs: int) -> Ints:
    jobs = frozen("order", order, np.int32)
    if jobs.size != n_jobs:
        raise ArgumentError(f"order has {jobs.size} entries, {n_jobs} jobs were expected")
    check_permutation("order", jobs)
    return jobs
