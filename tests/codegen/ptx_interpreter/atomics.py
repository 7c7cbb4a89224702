"""Atomic operations: the threads that run one together take turns, by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .floats import bits_of, flushed, number
from .integers import width
from .parse import Instruction

_ALLOWED = ("relaxed", "acquire", "release", "acq_rel", "gpu", "cta", "sys", "noftz")
_WORK: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, value: old + value,
    "min": np.minimum,
    "max": np.maximum,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "exch": lambda old, value: value,
}


def apply_atomic(machine: Any, made: Instruction) -> None:
    """atom and red."""
    operation = next((part for part in made.op[1:-1] if part in (*_WORK, "cas")), "")
    space = machine.space_of(made, (*_ALLOWED, operation))
    type, bits = made.type, width(made)
    if not operation or (type in ("f32", "f64") and operation != "add") or bits < 32:
        raise made.unknown()
    target, at, *given = ("_", *made.operands) if made.op[0] == "red" else made.operands
    address = machine.address(at)
    values = [machine.read(operand, bits) for operand in given]
    out = np.empty_like(values[0])
    size, memory = bits // 8, machine.memory
    for turn, lane in enumerate(machine.lanes):
        mine, who = address[turn : turn + 1], machine.lanes[turn : turn + 1]
        old = memory.load(space, mine, size, who)
        out[turn] = old[0]
        if operation == "cas":
            new = values[1][turn : turn + 1] if old[0] == values[0][turn] else old
        elif type[0] == "f":
            # Sums in global memory know no denormal numbers of 32 bits.
            pair = [number(part, type) for part in (old, values[0][turn : turn + 1])]
            flush = type == "f32" and space != "shared"
            total = sum(map(flushed, pair)) if flush else pair[0] + pair[1]
            new = bits_of(flushed(total) if flush else total)
        else:
            new = _WORK[operation](number(old, type), number(values[0][turn : turn + 1], type)).view(old.dtype)
        memory.store(space, mine, new, size, who)
        del lane
    machine.write(target, out)
