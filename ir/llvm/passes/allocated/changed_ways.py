"""Ways in a loop on which something becomes another thing than it has been: blocks that a layout may end in front of.

```
from: br label %join                          from: br label %changed
join: %v = phi ptr [ null, %from ], …    →    changed: %other = getelementptr i8, ptr null, i64 0
                                              join: %v = phi ptr [ %other, %changed ], …
```

What such a block makes is known to be made there alone, so that what comes from other ways is all that there is while
the layout is in force (`tracer/loops/exits.py`).
"""

from __future__ import annotations

from tracecut.ir.llvm import Block, Function, Instruction
from tracecut.ir.llvm.data_layout import int_bits
from tracecut.ir.llvm.edit import edit_phis, renamed, sources, with_sources

CHANGED = "tracecut.changed."  # how the names of such blocks begin


def part_way(function: Function, label: str, to: str, number: str) -> None:
    """Put such a block on the way from one block to another, with all that phis get from there. O(instructions)."""
    blocks = function.by_name()
    start, end = blocks[label], blocks[to]
    way = Block(f"{CHANGED}{number}", [])
    meta = {kind: node for kind, node in start.terminator.meta.items() if kind == "dbg"}

    def edited(phi: Instruction) -> str:
        come = []
        for value, at in dict.fromkeys(sources(phi)):  # a switch may go there twice, with the same values
            if at == label:
                name = f"%{CHANGED}{number}.{len(way.instructions)}"
                way.instructions.append(Instruction(f"{name} = {_again(phi.type, value)}", dict(meta)))
                value, at = name, way.name
            come.append((value, at))
        return with_sources(phi, come)

    edit_phis(end, edited)
    way.instructions.append(Instruction(f"br label %{to}", dict(meta)))
    start.instructions[-1] = renamed(start.terminator, {f"%{to}": f"%{way.name}"})
    function.blocks.insert(function.blocks.index(start) + 1, way)


def _again(type: str, value: str) -> str:
    """What makes a value once more."""
    if type == "ptr":
        return f"getelementptr i8, ptr {value}, i64 0"
    return f"add {type} {value}, 0" if int_bits(type) else f"freeze {type} {value}"
