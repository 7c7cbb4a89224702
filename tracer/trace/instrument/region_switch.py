"""Recording of one loop, or of some of its iterations: inserts calls that switch the recorder on and off.

The calls are on every entry and exit edge of the loop and, where iterations are sampled, at the start of its header.
What runs in between is recorded, called functions included. See `runtime.c`: outside of the loop records go to a buffer
that is not read.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from tracecut.ir.llvm import Block, Function, Instruction, parse_module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.debug_info import Lines
from tracecut.ir.llvm.edit import at_start
from tracecut.support.errors import ArgumentError, UnsupportedError

ENTER, LEAVE, ITERATION = "tce_enter", "tce_leave", "tce_iteration"
_DECLARES = f"""declare void @{ENTER}(ptr) nounwind
declare void @{LEAVE}() nounwind
declare void @{ITERATION}(i64) nounwind"""


def selected(text: str, region: str, every: int = 1) -> str:
    """Text of a module that records the loop at a source line.

    Args:
        text: with debug locations. region: `LINE` or `FILE:LINE`, where the loop begins; FILE may omit leading folders.
        every: N records one of every N iterations.

    Raises ArgumentError when no loop begins there, naming existing ones; UnsupportedError for a loop whose entries or
    exits cannot be instrumented. O(length of the text).
    """
    file, _, number = region.rpartition(":")
    if not re.fullmatch("[0-9]{1,9}", number):
        raise ArgumentError(f"region is {region!r}, FILE:LINE was expected", hint="For example mesh.c:120.")
    if every < 1:
        raise ArgumentError(f"every is {every!r}, a positive number was expected")
    module = parse_module(text)
    lines = Lines(module.metadata())
    serial = 0
    seen: set[str] = set()
    for function in module.functions.values():
        flow = ControlFlow(function)
        chosen: list[Loop] = []
        for loop in flow.loops:  # outer loops come first
            place = lines.loop_place(flow, loop)
            if place is None:
                continue
            seen.add(f"{PurePath(place.file).name}:{place.line}")
            fits = place.line == int(number) and (not file or PurePath(place.file).match(file))
            if fits and not any(other in chosen for other in loop.ancestors()):
                chosen.append(loop)
        for loop in chosen:
            serial += 1
            _Selector(function, flow, loop, serial, every).rewrite()
    if not serial:
        shown = ", ".join(sorted(seen, key=lambda name: (name.rpartition(":")[0], int(name.rpartition(":")[2])))[:12])
        raise ArgumentError(
            f"no loop of the program begins at {region}",
            hint=f"There are loops at {shown}." if shown else "The program has no loops, or no lines are known.",
        )
    module.append(_DECLARES)
    return str(module)


class _Selector:
    """Inserts the calls of one loop."""

    def __init__(self, function: Function, flow: ControlFlow, loop: Loop, serial: int, every: int) -> None:
        self._function = function
        self._flow = flow
        self._loop = loop
        self._name = f"tc.region{serial}"
        self._every = every

    def rewrite(self) -> None:
        loop, header = self._loop, self._loop.header
        frame = f"%{self._name}.frame"
        entries = [name for name in self._flow.predecessors[header] if name not in loop.blocks]
        for number, source in enumerate(entries):
            lines = [
                f"{frame}{number} = call ptr @llvm.frameaddress.p0(i32 0)",
                f"call void @{ENTER}(ptr {frame}{number})",
            ]
            self._between(source, header, f"{self._name}.in{number}", lines)
        for number, (source, target) in enumerate(dict.fromkeys(loop.exits)):
            block = self._flow.blocks[target]
            if any(instruction.op in ("landingpad", "cleanuppad", "catchpad") for instruction in block.instructions):
                at_start(block, [self._call(f"call void @{LEAVE}()")])  # no block can stand on this edge
            else:
                self._between(source, target, f"{self._name}.out{number}", [f"call void @{LEAVE}()"])
        if self._every > 1:
            at_start(self._flow.blocks[header], [self._call(f"call void @{ITERATION}(i64 {self._every})")])

    def _between(self, source: str, target: str, name: str, lines: list[str]) -> None:
        """Insert a block on an edge."""
        terminator = self._flow.blocks[source].terminator
        label = re.compile(rf'label %{re.escape(target)}(?![-\w.$"])')
        if terminator.op not in ("br", "switch", "invoke") or len(label.findall(terminator.text)) != 1:
            raise UnsupportedError(
                f"the loop at block {self._loop.header} of {self._function.name} is entered or left by {terminator.op}",
                hint="Choose another loop, or record the whole function with --function.",
            )
        changed = Instruction(label.sub(f"label %{name}", terminator.text), terminator.meta)
        self._flow.blocks[source].instructions[-1] = changed
        origin = re.compile(rf",\s*%{re.escape(source)}(\s*\])")
        block = self._flow.blocks[target]
        block.instructions[:] = [
            Instruction(origin.sub(rf", %{name}\1", item.text), item.meta) if item.op == "phi" else item
            for item in block.instructions
        ]
        made = Block(name, [*(self._call(line) for line in lines), Instruction(f"br label %{target}")])
        self._function.blocks.insert(self._function.blocks.index(self._flow.blocks[source]) + 1, made)

    def _call(self, line: str) -> Instruction:
        """A call with a debug location, which LLVM requires in a function with debug information."""
        for name in (self._loop.header, *self._loop.latches):
            for instruction in self._flow.blocks[name].instructions:
                if "dbg" in instruction.meta:
                    return Instruction(line, {"dbg": instruction.meta["dbg"]})
        return Instruction(line)
