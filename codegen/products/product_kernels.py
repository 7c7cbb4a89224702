"""The kernels of products as the LLVM IR that PTX is made of: scaling y, a team of threads a row, a warp a rectangle.

A value is one number, or the two parts of a complex one. What is padding takes no part, so that infinities and NaN go
through as IEEE 754 has it. No sum is split over threads that could end in any order: results have the same bits always.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tracecut.codegen.ptx.nvptx import LAYOUT, TRIPLE

WARP = 32
SCALE, ROWS, RECTANGLES = "tc_scale", "tc_rows", "tc_rectangles"
_SHUFFLE = "@llvm.nvvm.shfl.sync.down.i32"
_SREG = "@llvm.nvvm.read.ptx.sreg"
_VECTORS = "i64 %count, i64 %which"  # right-hand sides side by side, and the one that this launch is for


def kernel_texts(dtype: npt.DTypeLike, lanes: int = WARP) -> dict[str, str]:
    """Name → module, of each kernel for values of a type: float32, float64, complex64 or complex128.

    lanes: threads of a row, a power of two up to 32.
    """
    given = np.dtype(dtype)
    parts = 2 if given.kind == "c" else 1
    made = _Values({4: "float", 8: "double"}[given.itemsize // parts], parts)
    return {
        SCALE: made.module(_scale(made)),
        ROWS: made.module(_rows(made, lanes)),
        RECTANGLES: made.module(_rectangles(made)),
    }


class _Values:
    """Lines for values of one type: lists of one name for each part."""

    def __init__(self, type: str, parts: int) -> None:
        self.type, self.parts = type, parts

    def names(self, name: str) -> list[str]:
        return [f"%{name}.{part}" for part in range(self.parts)]

    def load(self, name: str, array: str, place: str, *, fixed: bool = False) -> list[str]:
        """Parts of the value at an i64 place of an array; `fixed`: nothing writes there while the kernel runs."""
        lines = [f"%{name}.at = mul i64 {place}, {self.parts}"]
        for part in range(self.parts):
            lines += [
                f"%{name}.place.{part} = add i64 %{name}.at, {part}",
                f"%{name}.ptr.{part} = getelementptr inbounds {self.type}, ptr {array}, i64 %{name}.place.{part}",
                f"%{name}.{part} = load {self.type}, ptr %{name}.ptr.{part}{', !invariant.load !0' if fixed else ''}",
            ]
        return lines

    def store(self, name: str, loaded: str) -> list[str]:
        """A value to the place where another was loaded from."""
        return [f"store {self.type} %{name}.{part}, ptr %{loaded}.ptr.{part}" for part in range(self.parts)]

    def product(self, name: str, one: str, other: str) -> list[str]:
        if self.parts == 1:
            return [f"%{name}.0 = fmul {self.type} %{one}.0, %{other}.0"]
        lines = [
            f"%{name}.{a}{b} = fmul {self.type} %{one}.{a}, %{other}.{b}" for a, b in ((0, 0), (1, 1), (0, 1), (1, 0))
        ]
        return [
            *lines,
            f"%{name}.0 = fsub {self.type} %{name}.00, %{name}.11",
            f"%{name}.1 = fadd {self.type} %{name}.01, %{name}.10",
        ]

    def sum(self, name: str, one: str, other: str) -> list[str]:
        return [f"%{name}.{part} = fadd {self.type} %{one}.{part}, %{other}.{part}" for part in range(self.parts)]

    def phi(self, name: str, first: str, later: str, block: str) -> list[str]:
        """0 from the block `first`, the value `later` from `block`."""
        return [
            f"%{name}.{part} = phi {self.type} [ 0.0, %{first} ], [ %{later}.{part}, %{block} ]"
            for part in range(self.parts)
        ]

    def warp_sum(self, name: str, value: str, lanes: int) -> list[str]:
        """What `lanes` threads beside each other have, added up in the first of them; all of the warp take part."""
        lines, now, step = [], value, lanes // 2
        while step:
            after = name if step == 1 else f"{name}.by{step}"
            for part in range(self.parts):
                moved = f"%{after}.moved.{part}"
                lines += [
                    f"{moved} = call {self.type} @tc_down({self.type} %{now}.{part}, i32 {step})",
                    f"%{after}.{part} = fadd {self.type} %{now}.{part}, {moved}",
                ]
            now, step = after, step // 2
        zero = "-0.0"  # added, it changes nothing
        return lines or [f"%{name}.{part} = fadd {self.type} %{value}.{part}, {zero}" for part in range(self.parts)]

    def module(self, function: Sequence[str]) -> str:
        registers = [f"declare i32 {_SREG}.{axis}.x()" for axis in ("ctaid", "ntid", "tid")]
        return "\n".join(
            [
                f'target datalayout = "{LAYOUT}"',
                f'target triple = "{TRIPLE}"',
                "",
                *registers,
                f"declare i32 {_SHUFFLE}(i32, i32, i32, i32)",
                *self._shuffle(),
                *function,
                "!0 = !{}",
                "",
            ]
        )

    def _shuffle(self) -> list[str]:
        head = f"define internal {self.type} @tc_down({self.type} %value, i32 %by) convergent alwaysinline {{"
        if self.type == "float":
            lines = [
                "%bits = bitcast float %value to i32",
                f"%moved = call i32 {_SHUFFLE}(i32 -1, i32 %bits, i32 %by, i32 31)",
                "%back = bitcast i32 %moved to float",
            ]
        else:
            lines = [
                "%bits = bitcast double %value to i64",
                "%low = trunc i64 %bits to i32",
                "%above = lshr i64 %bits, 32",
                "%high = trunc i64 %above to i32",
                f"%low.moved = call i32 {_SHUFFLE}(i32 -1, i32 %low, i32 %by, i32 31)",
                f"%high.moved = call i32 {_SHUFFLE}(i32 -1, i32 %high, i32 %by, i32 31)",
                "%low.wide = zext i32 %low.moved to i64",
                "%high.wide = zext i32 %high.moved to i64",
                "%high.part = shl i64 %high.wide, 32",
                "%both = or i64 %high.part, %low.wide",
                "%back = bitcast i64 %both to double",
            ]
        return [head, *lines, f"ret {self.type} %back", "}"]


def _thread() -> list[str]:
    """`%at`: the number of the thread in the launch."""
    lines = [f"%{axis}.32 = call i32 {_SREG}.{axis}.x()" for axis in ("ctaid", "ntid", "tid")]
    lines += [f"%{axis} = zext i32 %{axis}.32 to i64" for axis in ("ctaid", "ntid", "tid")]
    return [*lines, "%block = mul i64 %ctaid, %ntid", "%at = add i64 %block, %tid"]


def _element(array: str, name: str, type: str, place: str) -> list[str]:
    """An element of an array of numbers of places, which nothing changes."""
    return [
        f"%{name}.ptr = getelementptr inbounds {type}, ptr {array}, i64 {place}",
        f"%{name} = load {type}, ptr %{name}.ptr, !invariant.load !0",
    ]


def _of_vector(name: str, element: str) -> list[str]:
    """The place of an element in one of the vectors that lie side by side."""
    return [f"%{name}.line = mul i64 {element}, %count", f"%{name} = add i64 %{name}.line, %which"]


def _scale(made: _Values) -> list[str]:
    """y = β y, a thread an element; 0 where β is 0, whatever y holds. y: (size)."""
    zero = [f"%zero.{part} = fcmp oeq {made.type} %beta.{part}, 0.0" for part in range(made.parts)]
    both = "%none = and i1 %zero.0, " + ("%zero.1" if made.parts == 2 else "true")
    return [
        f"define ptx_kernel void @{SCALE}(ptr %y, ptr readonly %scale, i64 %size) {{",
        "entry:",
        *_thread(),
        "%there = icmp ult i64 %at, %size",
        "br i1 %there, label %some, label %exit",
        "some:",
        *made.load("beta", "%scale", "1", fixed=True),
        *made.load("old", "%y", "%at"),
        *zero,
        both,
        *made.product("scaled", "beta", "old"),
        *(f"%new.{part} = select i1 %none, {made.type} 0.0, {made.type} %scaled.{part}" for part in range(made.parts)),
        *made.store("new", "old"),
        "br label %exit",
        "exit:",
        "ret void",
        "}",
    ]


def _rows(made: _Values, lanes: int) -> list[str]:
    """y += α A x, a team of `lanes` threads a row. starts: i64 (rows + 1); columns: i32 (slots)."""
    return [
        f"define ptx_kernel void @{ROWS}(ptr readonly %starts, ptr readonly %columns, ptr readonly %values, "
        f"ptr readonly %x, ptr %y, ptr readonly %scale, i64 %rows, {_VECTORS}) {{",
        "entry:",
        *_thread(),
        f"%row = udiv i64 %at, {lanes}",
        f"%thread = urem i64 %at, {lanes}",
        "%there = icmp ult i64 %row, %rows",
        "%after = add i64 %row, 1",
        "%known = select i1 %there, i64 %row, i64 0",
        "%next = select i1 %there, i64 %after, i64 0",
        *_element("%starts", "start", "i64", "%known"),
        *_element("%starts", "end", "i64", "%next"),
        "%first = add i64 %start, %thread",
        "br label %turn",
        "turn:",
        "%slot = phi i64 [ %first, %entry ], [ %slot.next, %entry.of ]",
        *made.phi("total", "entry", "grown", "entry.of"),
        "%more = icmp slt i64 %slot, %end",
        "br i1 %more, label %entry.of, label %done",
        "entry.of:",
        *_element("%columns", "column", "i32", "%slot"),
        *_multiply(made, "%slot"),
        *made.sum("grown", "total", "term"),
        f"%slot.next = add i64 %slot, {lanes}",
        "br label %turn",
        "done:",
        *made.warp_sum("whole", "total", lanes),
        "%leads = icmp eq i64 %thread, 0",
        "%writes = and i1 %leads, %there",
        "br i1 %writes, label %write, label %exit",
        "write:",
        *_add_to_y(made, "whole", "%row"),
        "br label %exit",
        "exit:",
        "ret void",
        "}",
    ]


def _multiply(made: _Values, slot: str, own: str = "") -> list[str]:
    """`%term`: what a slot gives whose `%column` is known; `own` goes before the names."""
    return [
        f"%{own}column.wide = sext i32 %{own}column to i64",
        *_of_vector(f"{own}x.place", f"%{own}column.wide"),
        *made.load(f"{own}value", "%values", slot, fixed=True),
        *made.load(f"{own}given", "%x", f"%{own}x.place", fixed=True),
        *made.product(f"{own}term", f"{own}value", f"{own}given"),
    ]


def _add_to_y(made: _Values, name: str, row: str, own: str = "out") -> list[str]:
    """y of a row, plus α times a sum."""
    return [
        *_of_vector(f"{own}.place", row),
        *made.load(f"{own}.alpha", "%scale", "0", fixed=True),
        *made.load(f"{own}.old", "%y", f"%{own}.place"),
        *made.product(f"{own}.part", f"{own}.alpha", name),
        *made.sum(f"{own}.new", f"{own}.old", f"{own}.part"),
        *made.store(f"{own}.new", f"{own}.old"),
    ]


def _rectangles(made: _Values) -> list[str]:
    """y += α A x of one tile, a warp a rectangle: row after row by all its threads, or a thread a row.

    starts: i64 (rectangles), first slots; firsts, heights, strides, steps: i32 (rectangles), the place in `rows` of the
    first row, how many there are, slots from line to line, and columns of column-major rectangles, 0 of the others.
    rows: i32 (rows of the tile).
    """
    facts = ("firsts", "heights", "strides", "steps")
    wide = [f"%{name}.wide = sext i32 %{name[:-1]} to i64" for name in facts]
    return [
        f"define ptx_kernel void @{RECTANGLES}(ptr readonly %starts, ptr readonly %firsts, ptr readonly %heights, "
        "ptr readonly %strides, ptr readonly %steps, ptr readonly %rows, ptr readonly %columns, ptr readonly %values, "
        f"ptr readonly %x, ptr %y, ptr readonly %scale, i64 %rectangles, {_VECTORS}) {{",
        "entry:",
        *_thread(),
        f"%own = udiv i64 %at, {WARP}",
        f"%lane = urem i64 %at, {WARP}",
        "%there = icmp ult i64 %own, %rectangles",
        "br i1 %there, label %some, label %exit",
        "some:",
        *_element("%starts", "start", "i64", "%own"),
        *(line for name in facts for line in _element(f"%{name}", name[:-1], "i32", "%own")),
        *wide,
        "%along = icmp eq i32 %step, 0",
        "br i1 %along, label %line, label %across",
        # Row-major: the warp walks along each row.
        "line:",
        "%number = phi i64 [ 0, %some ], [ %number.next, %line.end ]",
        "%lines = icmp slt i64 %number, %heights.wide",
        "br i1 %lines, label %line.begin, label %exit",
        "line.begin:",
        "%line.offset = mul i64 %number, %strides.wide",
        "%line.start = add i64 %start, %line.offset",
        "br label %turn",
        "turn:",
        "%place = phi i64 [ %lane, %line.begin ], [ %place.next, %turn.end ]",
        *made.phi("total", "line.begin", "kept", "turn.end"),
        "%more = icmp slt i64 %place, %strides.wide",
        "br i1 %more, label %look, label %line.done",
        "look:",
        "%slot = add i64 %line.start, %place",
        *_element("%columns", "column", "i32", "%slot"),
        "%held = icmp sge i32 %column, 0",
        "br i1 %held, label %multiply, label %turn.end",
        "multiply:",
        *_multiply(made, "%slot"),
        *made.sum("grown", "total", "term"),
        "br label %turn.end",
        "turn.end:",
        *(
            f"%kept.{part} = phi {made.type} [ %total.{part}, %look ], [ %grown.{part}, %multiply ]"
            for part in range(made.parts)
        ),
        f"%place.next = add i64 %place, {WARP}",
        "br label %turn",
        "line.done:",
        *made.warp_sum("whole", "total", WARP),
        "%leads = icmp eq i64 %lane, 0",
        "br i1 %leads, label %line.write, label %line.end",
        "line.write:",
        "%line.row.at = add i64 %firsts.wide, %number",
        *_element("%rows", "line.row", "i32", "%line.row.at"),
        "%line.row.wide = sext i32 %line.row to i64",
        *_add_to_y(made, "whole", "%line.row.wide"),
        "br label %line.end",
        "line.end:",
        "%number.next = add i64 %number, 1",
        "br label %line",
        # Column-major: a thread walks along a row, beside the others.
        "across:",
        "%mine = phi i64 [ %lane, %some ], [ %mine.next, %mine.write ]",
        "%mine.there = icmp slt i64 %mine, %heights.wide",
        "br i1 %mine.there, label %mine.begin, label %exit",
        "mine.begin:",
        "%mine.start = add i64 %start, %mine",
        "br label %step.turn",
        "step.turn:",
        "%number.of = phi i64 [ 0, %mine.begin ], [ %number.of.next, %step.multiply ]",
        *made.phi("sum", "mine.begin", "longer", "step.multiply"),
        "%steps.left = icmp slt i64 %number.of, %steps.wide",
        "br i1 %steps.left, label %step.look, label %mine.write",
        "step.look:",
        "%step.offset = mul i64 %number.of, %strides.wide",
        "%step.slot = add i64 %mine.start, %step.offset",
        *_element("%columns", "mine.column", "i32", "%step.slot"),
        "%step.held = icmp sge i32 %mine.column, 0",
        "br i1 %step.held, label %step.multiply, label %mine.write",
        "step.multiply:",
        *_multiply(made, "%step.slot", "mine."),
        *made.sum("longer", "sum", "mine.term"),
        "%number.of.next = add i64 %number.of, 1",
        "br label %step.turn",
        "mine.write:",
        "%mine.row.at = add i64 %firsts.wide, %mine",
        *_element("%rows", "mine.row", "i32", "%mine.row.at"),
        "%mine.row.wide = sext i32 %mine.row to i64",
        *_add_to_y(made, "sum", "%mine.row.wide", "mine.out"),
        f"%mine.next = add i64 %mine, {WARP}",
        "br label %across",
        "exit:",
        "ret void",
        "}",
    ]
