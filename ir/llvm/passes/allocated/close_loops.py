"""What a loop makes is used behind it in phis of its exits alone, once more: passes that put something there forget it.

```
loop:                                          loop:
  %v = …                                         %v = …
  br i1 %goes_on, label %loop, label %way   →    br i1 %goes_on, label %loop, label %way
way:                                           way:
  store ptr %v, ptr %place                       %behind = phi ptr [ %v, %loop ]
                                                 store ptr %behind, ptr %place
```

A loop that is run elsewhere leaves what it has made to its exits (`codegen/host/weave.py`), and what is loaded there
last may be loaded again behind it (`reload_left.py`): both look at phis.
"""

from __future__ import annotations

from tracecut.ir.llvm import Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import renamed, sources, with_sources


def close_loops(module: Module) -> Module:
    """Put such phis where they are missing, in place. O(loops · instructions of a function that passes changed)."""
    for function in module.functions.values():
        if any(block.name.startswith("tracecut.") for block in function.blocks):
            _close(function)
    return module


def _close(function: Function) -> None:
    flow = ControlFlow(function)
    types = {str(item.result): item.type for _, item in function.instructions() if item.result is not None}
    count = 0
    for loop in sorted(flow.loops, key=lambda one: -one.depth):
        made = {str(item.result) for name in loop.blocks for item in flow.blocks[name].instructions}
        phis: dict[tuple[str, str], str] = {}  # (value, exit) → the phi
        for block in function.blocks:
            for place, item in enumerate(block.instructions if block.name not in loop else ()):
                names = made.intersection(item.uses)
                if not names:
                    continue
                if item.op == "phi":
                    left = []
                    for value, label in sources(item):
                        if value in names and label not in loop:
                            value = _behind(flow, loop, value, label, phis, count)
                        left.append((value, label))
                    block.instructions[place] = Instruction(with_sources(item, left), item.meta)
                else:
                    found = {name: _behind(flow, loop, name, block.name, phis, count) for name in names}
                    block.instructions[place] = renamed(item, found)
        for (value, outside), name in phis.items():
            come = ", ".join(f"[ {value}, %{label} ]" for label in flow.predecessors[outside])
            types[name] = types[value]
            flow.blocks[outside].instructions.insert(0, Instruction(f"{name} = phi {types[value]} {come}"))
        count += len(phis)


def _behind(flow: ControlFlow, loop: Loop, value: str, block: str, phis: dict[tuple[str, str], str], count: int) -> str:
    """What a value of a loop is called in a block behind it: as before, where ways from several exits meet."""
    ends = [outside for _, outside in loop.exits if flow.dominates(outside, block)]
    if not ends or any(label not in loop for label in flow.predecessors[ends[0]]):
        return value
    return phis.setdefault((value, ends[0]), f"%tracecut.behind.{count + len(phis)}")
