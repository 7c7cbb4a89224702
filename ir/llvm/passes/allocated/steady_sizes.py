"""The end of memory that iterations of a loop hand on becomes its beginning and a size, which does not change.

```
loop: %x = phi ptr [ %x0, … ], [ %y, … ]           loop: %x = phi ptr [ %x0, … ], [ %y, … ]
      %end = phi ptr [ %end0, … ], [ %last, … ]          %size = phi i64 [ %size0, … ], [ %same, … ]
      …                                         →        %end = getelementptr i8, ptr %x, i64 %size
      %y = …                                             %y = …; %bytes = … (%last − %y); if (%bytes != %size) changed
      %last = getelementptr …, ptr %y, …                 %same = phi i64 [ %size, … ], [ %bytes, %changed ]
```

`std::vector` is such a pair. Each step of `x = step(x)` makes a vector as long as the one that it is given; that it is
as long is asked in each iteration, and where it is not a layout ends (`changed_ways.py`).
"""

from __future__ import annotations

from tracecut.ir.llvm import Block, Function, Instruction
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.edit import at_start, before_end, rename_sources, sources

from ..known_sizes import SIZES
from .allocation_uses import FREE, Users, users_in
from .changed_ways import CHANGED

_SIZE = ("ptrtoint", "sub")  # of which sizes are made
_DEPTH = 16


def steady_sizes(function: Function, header: str, begin: str, number: int) -> bool:
    """Do so with all ends of what begins at a phi of a loop, in place; whether any was found. O(phis · blocks)."""
    found, users = False, users_in(function)
    for place, end in enumerate(function.by_name()[header].phis):
        if end.type == "ptr" and end.result != begin and _is_read(users, str(end.result)):
            found |= _Ends(ControlFlow(function), header, f"{number}.{place}").hold(end, begin)
    return found


def _is_read(users: Users, end: str) -> bool:
    """Whether an end, or a size up to it, is for more than for telling `delete` how much is freed."""
    return any(
        item.op != "phi" and item.word not in FREE and (item.op not in _SIZE or _is_read(users, str(item.result)))
        for _, item in users(end)
    )


class _Ends:
    """How far two pointers are apart, in bytes, at the end of an iteration. Lines are put down once all is known."""

    def __init__(self, flow: ControlFlow, header: str, name: str) -> None:
        self.flow, self.name = flow, name
        self.loop = flow.headed[header]
        self.made = {
            str(item.result): (block, item) for block, item in flow.function.instructions() if item.result is not None
        }
        self.lines: list[tuple[Block, Instruction | None, Instruction]] = []  # (block, behind what, line); None: a phi
        self.behind: dict[str, Instruction] = {}  # value → the last line that is put behind it

    def hold(self, end: Instruction, start: str) -> bool:
        """Whether one is at a distance from the other that each iteration makes anew, and has been put there."""
        flow, loop, begin = self.flow, self.loop, self.made[start][1]
        if loop.preheader is None or len(loop.latches) != 1:
            return False
        latch, before = loop.latches[0], loop.preheader
        ends, begins = ({label: value for value, label in sources(phi)} for phi in (end, begin))
        bytes = self._distance(ends[latch], begins[latch], 0)
        home = self.made[bytes][0].name if bytes in self.made else None
        if bytes is None or home is None or not flow.dominates(home, latch) or flow.innermost(home) is not loop:
            return False
        for block, behind, line in self.lines:
            place = 0 if behind is None else block.instructions.index(behind) + 1
            block.instructions.insert(place, line)
        size, same = f"%tracecut.bytes.{self.name}", f"%tracecut.same.{self.name}"
        first = [
            f"{size}.end = ptrtoint ptr {ends[before]} to i64",
            f"{size}.begin = ptrtoint ptr {begins[before]} to i64",
            f"{size}.first = sub i64 {size}.end, {size}.begin",
        ]
        before_end(flow.blocks[before], [Instruction(text) for text in first])
        header = flow.blocks[loop.header]
        meta = {kind: node for kind, node in end.meta.items() if kind == "dbg"}
        header.instructions.remove(end)
        at_start(header, [Instruction(f"{end.result} = getelementptr i8, ptr {start}, i64 {size}", meta)])
        phi = f"{size} = phi i64 [ {size}.first, %{before} ], [ {same}, %{latch} ]"
        header.instructions.insert(0, Instruction(phi))
        self._compare(flow.function, flow.blocks[home], bytes, size, same)
        return True

    def _compare(self, function: Function, home: Block, bytes: str, size: str, same: str) -> None:
        """At the end of a block: whether the size is the same, as it is on one of two ways from there."""
        changed, there = f"{CHANGED}{self.name}", f"tracecut.alike.{self.name}"
        after = home.instructions[-1]
        home.instructions[-1:] = [
            Instruction(f"{same}.is = icmp eq i64 {bytes}, {size}"),
            Instruction(f"br i1 {same}.is, label %{there}, label %{changed}"),
        ]
        other = [Instruction(f"{same}.other = add i64 {bytes}, 0"), Instruction(f"br label %{there}")]
        phi = Instruction(f"{same} = phi i64 [ {size}, %{home.name} ], [ {same}.other, %{changed} ]")
        rename_sources(function, after.labels, home.name, [there])
        where = function.blocks.index(home) + 1
        function.blocks[where:where] = [Block(changed, other), Block(there, [phi, after])]

    def _distance(self, end: str, begin: str, depth: int) -> str | None:
        """A number that is how far `end` is behind `begin`, where `end` is known."""
        if end == begin:
            return "0"
        block, item = self.made.get(end, (None, None))
        if block is None or item is None or depth > _DEPTH or block.name not in self.loop:
            return None
        if item.op == "getelementptr" and len(item.operands) == 2 and item.operands[1].type == "i64":
            of = self._distance(item.operands[0].text, begin, depth + 1)
            width = SIZES.get(item.word)
            if of is None or width is None:
                return None
            step = item.operands[1].text
            if width > 1 and step.lstrip("-").isdigit():
                step = str(int(step) * width)
            elif width > 1:
                step = self._line(block, item, f"mul i64 {step}, {width}")
            return step if of == "0" else self._line(block, item, f"add i64 {of}, {step}")
        if item.op == "phi" and block.name not in self.flow.headed:
            return self._meeting(block, item, begin, depth)
        return None

    def _meeting(self, block: Block, phi: Instruction, begin: str, depth: int) -> str | None:
        at, other = self.made.get(begin, (None, None))
        begins = {label: value for value, label in sources(other)} if at is block and other is not None else {}
        come = []
        for value, label in sources(phi):
            one = self._distance(value, begins.get(label, begin), depth + 1)
            if one is None:
                return None
            come.append((one, label))
        texts = ", ".join(f"[ {value}, %{label} ]" for value, label in come)
        line = Instruction(f"%tracecut.from.{self.name}.{len(self.lines)} = phi i64 {texts}")
        self._put(block, None, line)
        return str(line.result)

    def _line(self, block: Block, item: Instruction, text: str) -> str:
        """A line behind an instruction, and behind what stands there already."""
        line = Instruction(f"%tracecut.from.{self.name}.{len(self.lines)} = {text}")
        self._put(block, self.behind.get(str(item.result), item), line)
        self.behind[str(item.result)] = line
        return str(line.result)

    def _put(self, block: Block, behind: Instruction | None, line: Instruction) -> None:
        self.lines.append((block, behind, line))
        self.made[str(line.result)] = (block, line)
