"""How two contributions to a reduction are combined, and a contribution with what lies in memory.

```
native:     atomicrmw add ptr %p, i32 %v
otherwise:  repeat { new = old ∘ %v } until nobody changed the memory in between
```
"""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.ir.llvm import Block, Instruction, int_bits
from tracecut.ir.llvm.associative import BY_SIZE

from .job_body import Job

SCOPE = 'syncscope("device") monotonic'
_INTEGER_RMW = {"add": "add", "and": "and", "or": "or", "xor": "xor"} | {
    "smin": "min",
    "smax": "max",
    "umin": "umin",
    "umax": "umax",
}
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "bfloat": 16, "float": 32, "double": 64}
SELECTED = {"fmin": "olt", "fmax": "ogt"}  # kept by a comparison (`tracer/loops/min_max_reductions.py`)
_CALLED = BY_SIZE | {"minnum", "maxnum", "minimumnum", "maximumnum"}


@dataclass(frozen=True)
class Update:
    """A value that is combined with what lies in memory, both names of the kernel.

    Attributes:
        operator, type: how, and of what. pointer: where. value: what with. name: begins all names that are made for it.
    """

    operator: str
    type: str
    pointer: str
    value: str
    name: str


def native_operation(operator: str, type: str) -> str:
    """The `atomicrmw` operation that the hardware has; empty when there is none."""
    if operator == "fadd" and type in ("float", "double"):
        return "fadd"
    return _INTEGER_RMW.get(operator, "") if type in ("i32", "i64") else ""


def identity(operator: str, type: str) -> str:
    """The identity element: x ∘ identity = x, also for negative zero and the largest numbers."""
    bits = int_bits(type)
    if bits is not None:
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        number = {"mul": 1, "and": -1, "umin": -1, "smin": high, "smax": low}.get(operator, 0)
        return str(number)
    infinity = dict.fromkeys(("minnum", "minimumnum", "fmin"), "0x7FF0000000000000")
    infinity |= dict.fromkeys(("maxnum", "maximumnum", "fmax"), "0xFFF0000000000000")
    return {"fadd": "-0.000000e+00", "fmul": "1.000000e+00"}.get(operator) or infinity[operator]


def combination(result: str, operator: str, type: str, old: str, new: str) -> list[str]:
    """Instructions that combine what was there with another value."""
    if operator in SELECTED:  # not minnum: a NaN that was there first stays
        return [
            f"{result}.less = fcmp {SELECTED[operator]} {type} {new}, {old}",
            f"{result} = select i1 {result}.less, {type} {new}, {type} {old}",
        ]
    if operator in _CALLED:
        suffix = type if int_bits(type) else f"f{BITS[type]}"
        return [f"{result} = call {type} @llvm.{operator}.{suffix}({type} {old}, {type} {new})"]
    return [f"{result} = {operator} {type} {old}, {new}"]


def combine_atomically(job: Job, block: Block, update: Update, at: int | None = None) -> None:
    """Combine a value with what lies in memory, in front of instruction `at` of a block, or at its end."""
    place = len(block.instructions) if at is None else at
    type, name = update.type, update.name
    operation = native_operation(update.operator, type)
    if operation:
        text = f"atomicrmw {operation} ptr {update.pointer}, {type} {update.value} {SCOPE}, align {BITS[type] // 8}"
        block.instructions.insert(place, Instruction(text))
        return
    job.split(block, place, f"{name}.done")
    old = f"%{name}.old" if int_bits(type) else f"%{name}.value"
    made = [Instruction(line) for line in combination(f"%{name}.made", update.operator, type, old, update.value)]
    add_swap(job, block, made, f"%{name}.made", update.pointer, type, name)


def add_swap(job: Job, block: Block, body: list[Instruction], new: str, pointer: str, type: str, name: str) -> None:
    """Put the loop between `block`, which has no end yet, and the block NAME.done behind it."""
    bits, size = f"i{BITS[type]}", BITS[type] // 8
    block.instructions += [
        Instruction(f"%{name}.first = load atomic {bits}, ptr {pointer} {SCOPE}, align {size}"),
        Instruction(f"br label %{name}"),
    ]
    lines = [f"%{name}.old = phi {bits} [ %{name}.first, %{block.name} ], [ %{name}.seen, %{name} ]"]
    wanted = new
    back = []
    if type != bits:
        lines.append(f"%{name}.value = bitcast {bits} %{name}.old to {type}")
        back.append(f"%{name}.new = bitcast {type} {new} to {bits}")
        wanted = f"%{name}.new"
    back += [
        f"%{name}.pair = cmpxchg ptr {pointer}, {bits} %{name}.old, {bits} {wanted} {SCOPE} monotonic, align {size}",
        f"%{name}.seen = extractvalue {{ {bits}, i1 }} %{name}.pair, 0",
        f"%{name}.won = extractvalue {{ {bits}, i1 }} %{name}.pair, 1",
        f"br i1 %{name}.won, label %{name}.done, label %{name}",
    ]
    loop = Block(name, [*map(Instruction, lines), *body, *map(Instruction, back)])
    job.blocks.insert(job.blocks.index(block) + 1, loop)
