"""The second kernel of an ordered reduction: one thread a datum adds up what jobs contributed to it.

```
kernel(contributions, for each class: n, firsts, slots, places, target):
    t = block · blockDim + thread
    for each class: if t < n:  v = target[places[t]];  v = v ∘ contribution of slots[firsts[t]], …;  target[…] = v
```

The slots of a datum are in the program's own order. Each contribution is set back to the identity once it was read, so
that a job that contributes nothing next time adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Block, Instruction

from .combinations import BITS, combination, identity
from .math_calls import declarations
from .module import Parameter
from .nvptx import LAYOUT, TRIPLE

LISTS = ("firsts", "slots", "places")
_SREG = "llvm.nvvm.read.ptx.sreg"


@dataclass(frozen=True)
class CombineClass:
    """Data of one array that are reduced in one way. `phi`: of a reduction in a register."""

    array: int
    operator: str
    type: str
    phi: str = ""


def combine_kernel(name: str, classes: Sequence[CombineClass]) -> tuple[str, tuple[Parameter, ...]]:
    """(module, parameters) of the kernel for some classes; `group` of a parameter is the place of its class."""
    parameters = [Parameter("contributions", "", "ptr")]
    header = ["ptr addrspace(1) %all"]
    blocks: list[Block] = []
    for place, item in enumerate(classes):
        parameters.append(Parameter("count", "", "i64", place))
        header.append(f"i64 %n{place}")
        for kind in LISTS:
            parameters.append(Parameter(kind, "", "ptr", place, read_only=True))
            header.append(f"ptr addrspace(1) noalias readonly %{kind}{place}")
        if item.phi:
            parameters.append(Parameter("reduction", item.phi, item.type, place, operator=item.operator))
        else:
            parameters.append(Parameter("target", "", "ptr", place))
        header.append(f"ptr addrspace(1) %target{place}")
        blocks += _class(place, item, f"c{place + 1}" if place + 1 < len(classes) else "end")
    lines = [f'target datalayout = "{LAYOUT}"', f'target triple = "{TRIPLE}"', ""]
    lines += [*declarations(blocks, ()), *(f"declare i32 @{_SREG}.{axis}.x()" for axis in ("ctaid", "ntid", "tid")), ""]
    lines += [f"define ptx_kernel void @{name}({', '.join(header)}) {{", "entry:"]
    for axis in ("ctaid", "ntid", "tid"):
        lines += [f"  %{axis} = call i32 @{_SREG}.{axis}.x()", f"  %{axis}.wide = zext i32 %{axis} to i64"]
    lines += ["  %before = mul nuw nsw i64 %ctaid.wide, %ntid.wide", "  %t = add nuw nsw i64 %before, %tid.wide"]
    lines.append("  br label %c0")
    for block in blocks:
        lines += [f"{block.name}:", *(f"  {made.text}" for made in block.instructions)]
    return "\n".join([*lines, "end:", "  ret void", "}"]) + "\n", tuple(parameters)


def _class(place: int, item: CombineClass, after: str) -> list[Block]:
    c, type, align = f"c{place}", item.type, BITS[item.type] // 8
    head = [f"%{c}.in = icmp ult i64 %t, %n{place}", f"br i1 %{c}.in, label %{c}.begin, label %{after}"]
    begin = [
        f"%{c}.first.at = getelementptr i64, ptr addrspace(1) %firsts{place}, i64 %t",
        f"%{c}.past.at = getelementptr i64, ptr addrspace(1) %{c}.first.at, i64 1",
        f"%{c}.first = load i64, ptr addrspace(1) %{c}.first.at, align 8",
        f"%{c}.past = load i64, ptr addrspace(1) %{c}.past.at, align 8",
        f"%{c}.place.at = getelementptr i64, ptr addrspace(1) %places{place}, i64 %t",
        f"%{c}.place = load i64, ptr addrspace(1) %{c}.place.at, align 8",
        f"%{c}.target = getelementptr i8, ptr addrspace(1) %target{place}, i64 %{c}.place",
        f"%{c}.old = load {type}, ptr addrspace(1) %{c}.target, align {align}",
        f"br label %{c}.add",
    ]
    add = [
        f"%{c}.i = phi i64 [ %{c}.first, %{c}.begin ], [ %{c}.next, %{c}.add ]",
        f"%{c}.value = phi {type} [ %{c}.old, %{c}.begin ], [ %{c}.sum, %{c}.add ]",
        f"%{c}.slot.at = getelementptr i32, ptr addrspace(1) %slots{place}, i64 %{c}.i",
        f"%{c}.slot.short = load i32, ptr addrspace(1) %{c}.slot.at, align 4",
        f"%{c}.slot = zext i32 %{c}.slot.short to i64",
        f"%{c}.from = getelementptr i64, ptr addrspace(1) %all, i64 %{c}.slot",
        f"%{c}.part = load {type}, ptr addrspace(1) %{c}.from, align {align}",
        f"store {type} {identity(item.operator, type)}, ptr addrspace(1) %{c}.from, align {align}",
        *combination(f"%{c}.sum", item.operator, type, f"%{c}.value", f"%{c}.part"),
        f"%{c}.next = add i64 %{c}.i, 1",
        f"%{c}.more = icmp ult i64 %{c}.next, %{c}.past",
        f"br i1 %{c}.more, label %{c}.add, label %{c}.store",
    ]
    store = [f"store {type} %{c}.sum, ptr addrspace(1) %{c}.target, align {align}", f"br label %{after}"]
    parts = ((c, head), (f"{c}.begin", begin), (f"{c}.add", add), (f"{c}.store", store))
    return [Block(name, [Instruction(line) for line in lines]) for name, lines in parts]
