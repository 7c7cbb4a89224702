"""Instructions for which threads wait: barriers, and what the threads of a warp hand each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .parse import Instruction, PtxError

_BARRIERS = ("bar", "barrier")
_EXCHANGES = ("shfl", "vote", "redux", "match")


def is_barrier(made: Instruction) -> bool:
    """Whether all threads of a block meet there."""
    return made.op[0] in _BARRIERS and "warp" not in made.op


def is_collective(made: Instruction) -> bool:
    """Whether a thread waits for others there."""
    return made.op[0] in (*_BARRIERS, *_EXCHANGES)


def barrier(machine: Any, made: Instruction) -> None:
    """All threads of the block that have not ended are there."""
    if made.op not in (("bar", "sync"), ("barrier", "sync"), ("barrier", "sync", "aligned")) or len(made.operands) != 1:
        raise made.unknown()


def exchange(machine: Any, made: Instruction) -> None:
    """The running threads are those of a warp that have not ended: each gets what its fellows have."""
    name, lanes = made.op[0], machine.lanes % 32
    if made.op[:3] == ("bar", "warp", "sync"):
        _check_members(machine, made, made.operands[0])
        return
    if made.op[1] != "sync":
        raise made.unknown()
    _check_members(machine, made, made.operands[-1])
    if name == "shfl" and made.op[2:] in (("up", "b32"), ("down", "b32"), ("bfly", "b32"), ("idx", "b32")):
        _shuffle(machine, made, lanes)
    elif name == "vote" and made.op[2:] in (("all", "pred"), ("any", "pred"), ("uni", "pred"), ("ballot", "b32")):
        _vote(machine, made, lanes)
    else:
        raise made.unknown()


def _check_members(machine: Any, made: Instruction, mask: str) -> None:
    """Threads that have ended may be named; those that are there must be."""
    members = machine.read(mask, 32)
    mine = np.uint32(1) << (machine.lanes % 32).astype(np.uint32)
    if not (members & mine).all() or (members != members[0]).any():
        raise PtxError(f"a thread comes to {made.text!r} that is not among its members")


def _shuffle(machine: Any, made: Instruction, lanes: Any) -> None:
    value, by, clamp = (machine.read(operand, 32) for operand in made.operands[1:4])
    low = clamp & 31
    segment = clamp >> 8 & 31
    top, base = (lanes & segment) | (low & ~segment), lanes & segment
    by = by.astype(np.int64) & 31
    if made.op[2] == "up":
        source = lanes - by
        valid = source >= top
    elif made.op[2] == "down":
        source = lanes + by
        valid = source <= top
    elif made.op[2] == "bfly":
        source = lanes ^ by
        valid = source <= top
    else:
        source = base | (by & ~segment.astype(np.int64))
        valid = source <= top
    source = np.where(valid, source, lanes)
    held = np.zeros(32, np.uint32)
    there = np.zeros(32, bool)
    held[lanes], there[lanes] = value, True
    # What comes from a thread that has ended is not defined: a value that nobody would take for the right one.
    found = np.where(there[source], held[source], np.uint32(0xA5A5A5A5)).astype(np.uint32)
    target, _, flag = made.operands[0].partition("|")
    machine.write(target, found)
    if flag:
        machine.write(flag, valid)


def _vote(machine: Any, made: Instruction, lanes: Any) -> None:
    value = machine.read(made.operands[1], 1)
    if made.op[2] == "ballot":
        bits = sum(1 << int(lane) for lane, held in zip(lanes, value, strict=True) if held)
        machine.write(made.operands[0], np.full(lanes.size, bits, np.uint32))
        return
    result = {"all": value.all(), "any": value.any(), "uni": value.all() or not value.any()}[made.op[2]]
    machine.write(made.operands[0], np.full(lanes.size, bool(result)))
