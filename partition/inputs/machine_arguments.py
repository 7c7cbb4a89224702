"""Arguments of a partition from a machine: number of clusters, targets and capacities."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.ir.machine.machine import NAMED, Machine
from tracecut.partition.balance.target_sizes import ROUND, optimal_sizes, scaled_memory, target_sizes
from tracecut.support.argument_checks import check_type
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError

BYTES = 8.0  # of memory that a unit of load takes, as for `tile_bytes`
LEAST = 1e-9  # of an equal share: what a target is at least, for targets are positive


def clusters_for(machine: Machine, k: int | None) -> int:
    """One cluster for each core. Raises ArgumentError for what is no machine, and for another `k`."""
    check_type("machine", machine, Machine, NAMED)
    cores = len(machine.cores)
    if k is not None and k != cores:
        raise ArgumentError(
            f"k = {k!r}, machine {machine.name!r} has {cores} cores",
            hint="Give as many clusters as it has cores, or omit k.",
        )
    return cores


def capacities_for(machine: Machine, load: float, memory: float | None, *, whole: bool) -> Floats | None:
    """Loads that the memories of the cores hold; None where some core has no bank at its node: it uses others'.

    Args:
        machine: its banks, shared evenly by the cores of their nodes, are the memories.
        load: the whole load.
        memory: how often the memories together hold the load (1.2 in Hetero's experiments), which gives their bytes a
            scale; None: a unit of load takes 8 bytes.
        whole: whether loads are whole numbers, so that fractions hold nothing.

    Returns:
        float64 (cores). O(cores).

    Raises:
        ArgumentError: `memory` is given, and the machine states no memory of some cores; or the memories hold the load,
            but not in whole units.
    """
    room = machine.memories()
    own = bool((np.isfinite(room) & (room > 0)).all())
    if memory is not None and not own:
        raise ArgumentError(
            f"memory = {memory!r} scales memories, machine {machine.name!r} states none for some of its cores",
            hint="Banks at the nodes of its cores state them.",
        )
    if not own:
        return None
    room = room / BYTES if memory is None else scaled_memory(load, room, memory)
    if not whole:
        return room
    rounded = np.floor(room)
    exact, held = float(room.sum()), float(rounded.sum())
    if held < load <= exact * ROUND:
        raise ArgumentError(
            f"a load of {load:.17g} does not fit: the memories of the {room.size} cores of {machine.name} hold "
            f"{exact:.17g} units of load, but {held:.17g} whole ones, {load - held:.17g} too few, since capacities are "
            "rounded down to whole units for each core",
            hint="Larger memories, or a memory of more times the load, such as 1.2.",
        )
    return rounded


def loads_for(
    machine: Machine, load: float, memory: float | None, *, whole: bool, given: dict[str, Any]
) -> dict[str, Any]:
    """Targets and capacities of a machine, in place of those that are not `given`; none where cores are equal.

    Targets are those of Algorithm 1 (Hetero §IV): as the speeds, as far as the memories allow, in whole numbers where
    loads are such. O(cores · log cores). Raises ArgumentError where the load does not fit.
    """
    found: dict[str, Any] = {}
    room = given["capacities"]
    if room is None:
        room = capacities_for(machine, load, memory, whole=whole)
        if room is not None and (memory is not None or room.min() < load):
            found["capacities"] = room
    speeds = machine.speeds()
    if given["targets"] is None and load and speeds.min() < speeds.max():
        size = target_sizes(int(load), speeds, room) if whole else optimal_sizes(load, speeds, room)
        found["targets"] = np.maximum(size, LEAST * load / speeds.size) / load
    return found
