"""Points: where a thread waits for others (barriers, shuffles, votes) or lets them go first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Instruction
from tracecut.support.errors import UnsupportedError

# In the order of the operations of `machine.h`.
OPERATIONS = (
    "start yield barrier barrier.popc barrier.and barrier.or warp.sync "
    "shuffle.up shuffle.down shuffle.bfly shuffle.idx vote.all vote.any vote.uni vote.ballot match.any match.all "
    "redux.add redux.umin redux.umax redux.min redux.max redux.and redux.or redux.xor"
).split()
AT_WARP, AT_BLOCK, YIELDED, EXHAUSTED, ENDED = range(1, 6)
YIELD = "call void @emu.yield()"
_BARRIER = re.compile(r"barrier\.cta\.sync\.(?:aligned\.)?all$|barrier0$|bar\.sync$|barrier\.sync$")
_REDUCING = re.compile(r"(?:barrier\.cta\.red\.(popc|and|or)\.(?:aligned\.)?all|barrier0\.(popc|and|or))$")
_SHUFFLE = re.compile(r"shfl\.sync\.(up|down|bfly|idx)\.(?:i32|f32)p?$")
_VOTE = re.compile(r"vote\.(all|any|uni|ballot)\.sync$")
_MATCH = re.compile(r"match\.(any|all)\.sync\.i(?:32|64)p?$")
_REDUX = re.compile(r"redux\.sync\.(add|umin|umax|min|max|and|or|xor)$")
_WHOLE = {"float": "i32", "i1": "i1", "i32": "i32", "i64": "i64"}


@dataclass(frozen=True)
class Point:
    """Where threads stop.

    Attributes:
        operation: of OPERATIONS.
        value, by, clamp, mask: operand texts of what is handed over (with its type), lane offset, clamp and lanes.
    """

    operation: str
    value: tuple[str, str] | None = None
    by: str = "0"
    clamp: str = "0"
    mask: str = "-1"

    @property
    def code(self) -> int:
        return OPERATIONS.index(self.operation)

    @property
    def waits(self) -> int:
        """What a thread's state says that it waits for."""
        if self.operation == "yield":
            return YIELDED
        return AT_BLOCK if self.operation.startswith("barrier") else AT_WARP

    @property
    def is_collective(self) -> bool:
        """Whether the threads of a warp meet there."""
        return self.waits == AT_WARP


def point_of(made: Instruction) -> Point | None:
    """The point that an instruction is, None when it is none."""
    if made.op != "call" or not made.word.startswith("@"):
        return None
    if made.word == "@emu.yield":
        return Point("yield")
    if not made.word.startswith("@llvm.nvvm."):
        return None
    name = made.word.removeprefix("@llvm.nvvm.")
    texts = [operand.text for operand in made.operands]
    typed = [(operand.type, operand.text) for operand in made.operands]
    if _BARRIER.fullmatch(name):
        if any(not text.lstrip("-").isdigit() for text in texts):
            raise UnsupportedError(f"the number of a barrier is computed: {made.text}")
        return Point("barrier")
    if found := _REDUCING.fullmatch(name):
        return Point(f"barrier.{found[1] or found[2]}", typed[-1])
    if name == "bar.warp.sync":
        return Point("warp.sync", mask=texts[0])
    if found := _SHUFFLE.fullmatch(name):
        return Point(f"shuffle.{found[1]}", typed[1], texts[2], texts[3], texts[0])
    if found := _VOTE.fullmatch(name):
        return Point(f"vote.{found[1]}", typed[1], mask=texts[0])
    if found := _MATCH.fullmatch(name):
        return Point(f"match.{found[1]}", typed[1], mask=texts[0])
    if found := _REDUX.fullmatch(name):
        return Point(f"redux.{found[1]}", typed[0], mask=texts[1])
    return None


def offer_lines(point: Point, number: int) -> list[str]:
    """What a thread does before it waits: hand over its operands."""
    if point.operation in ("yield", "barrier"):
        return []
    if point.value is None:
        given, lines = "0", []
    else:
        type, text = point.value
        whole, given = _WHOLE[type], f"%emu.given{number}"
        lines = [f"%emu.bits{number} = bitcast {type} {text} to {whole}"]
        bits = f"%emu.bits{number}"
        lines.append(f"{given} = " + (f"add i64 {bits}, 0" if whole == "i64" else f"zext {whole} {bits} to i64"))
    arguments = f"i64 {given}, i32 {point.by}, i32 {point.clamp}, i32 {point.mask}"
    return [*lines, f"call void @emu_offer(ptr %emu.m, i64 %emu.t, {arguments})"]


def result_lines(made: Instruction, number: int) -> list[str]:
    """What a thread does when it goes on: take its result."""
    if made.result is None:
        return []
    taken, flag = f"%emu.taken{number}", f"%emu.flag{number}"
    lines = [f"{taken} = call i64 @emu_result(ptr %emu.m, i64 %emu.t)"]
    pair = made.type.startswith("{")
    type = made.type.strip("{ }").split(",")[0].strip() if pair else made.type
    value = f"%emu.value{number}" if pair else made.result
    lines += _converted(taken, type, value, number)
    if pair:
        lines += [
            f"{flag} = call i32 @emu_flag(ptr %emu.m, i64 %emu.t)",
            f"{flag}.b = icmp ne i32 {flag}, 0",
            f"%emu.pair{number} = insertvalue {made.type} poison, {type} {value}, 0",
            f"{made.result} = insertvalue {made.type} %emu.pair{number}, i1 {flag}.b, 1",
        ]
    return lines


def _converted(taken: str, type: str, to: str, number: int) -> Sequence[str]:
    if type == "i1":
        return [f"{to} = icmp ne i64 {taken}, 0"]
    if type == "float":
        return [f"%emu.low{number} = trunc i64 {taken} to i32", f"{to} = bitcast i32 %emu.low{number} to float"]
    return [f"{to} = trunc i64 {taken} to {type}"]
