"""The phases of a kernel whose blocks keep data in shared memory: preload, run, flush (SPAC §4).

```
entry → preload of each space → barrier → run → … the job … → turn ⤶ → barrier → flush of each space → end
```

Data that only one block touches (the block owns them) are written back by plain stores, the others by atomics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracecut.codegen.gpu.cached_arrays import CachedArray
from tracecut.ir.llvm import Block, Instruction

from .combinations import BITS, Update, combination, combine_atomically, identity
from .job_body import JOB, START, Job
from .packed_indices import BEGIN
from .register_reductions import EXIT

RUN, FLUSH, END = "tc.run", "tc.flush", "tc.end"
BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
MEMORY = "@tc_shared"


@dataclass(frozen=True)
class SharedArray:
    """An array in shared memory.

    Attributes:
        item: what of it is kept. place: byte of shared memory where its record 0 begins.
        deltas: group → how far behind the record with local number 0 its base pointer lies, in bytes.
    """

    item: CachedArray
    place: int
    deltas: Mapping[int, int]

    @property
    def written(self) -> bool:
        return bool(self.item.writes or self.item.updates)


def layout_shared(items: Sequence[CachedArray], most: Mapping[int, int]) -> tuple[list[int], int]:
    """(place of each array's record 0, bytes of all of them). `most`: space → data of its largest block."""
    places, used = [], 0
    for item in items:
        places.append(used + item.lead)
        used += item.bytes_for(most[item.space])
    return places, used


def preload(arrays: Sequence[SharedArray], spaces: Sequence[int]) -> list[Block]:
    """Blocks from the entry's end to RUN: each thread copies every n-th datum of its block, n threads."""
    blocks: list[Block] = []
    before = "entry"
    for place, space in enumerate(spaces):
        mine = [(n, array) for n, array in enumerate(arrays) if array.item.space == space]
        name = f"tc.pre{place}"
        after = f"tc.pre{place + 1}" if place + 1 < len(spaces) else "tc.ready"
        blocks.append(_head(name, place, before, f"{name}.body", after))
        lines = [*_datum(name, place)]
        for number, array in mine:
            lines += _records(name, number, array)
            loaded = dict.fromkeys([*array.item.reads, *array.item.writes])
            for offset, type in loaded:
                mark = f"{name}.a{number}.{offset}.{type}"
                lines += [
                    f"%{mark}.from = getelementptr i8, ptr %{name}.g{number}, i64 {offset}",
                    f"%{mark}.to = getelementptr i8, ptr %{name}.s{number}, i64 {offset}",
                    f"%{mark} = load {type}, ptr %{mark}.from, align {BITS[type] // 8}",
                    f"store {type} %{mark}, ptr %{mark}.to, align {BITS[type] // 8}",
                ]
            for offset, type, operator in array.item.updates:
                mark = f"{name}.u{number}.{offset}"
                lines += [
                    f"%{mark} = getelementptr i8, ptr %{name}.s{number}, i64 {offset}",
                    f"store {type} {identity(operator, type)}, ptr %{mark}, align {BITS[type] // 8}",
                ]
        lines += [f"%{name}.next = add i64 %{name}.i, %tc.ntid.wide", f"br label %{name}"]
        blocks.append(Block(f"{name}.body", [Instruction(line) for line in lines]))
        before = name
    ready = [f"call void @{BARRIER}(i32 0)"] if spaces else []
    if spaces:
        blocks.append(Block("tc.ready", [Instruction(line) for line in [*ready, f"br label %{RUN}"]]))
    return blocks


def run_head(before: str, elsewhere: str) -> Block:
    """All threads of a block take a job each in the same turn, so that they can meet in every one."""
    lines = [
        f"%tc.round = phi i64 [ %tc.low, %{before} ], [ %tc.round.next, %{EXIT} ]",
        f"{JOB} = add i64 %tc.round, %tc.tid.wide",
        f"%tc.any = icmp slt i64 {JOB}, %tc.high",
        f"br i1 %tc.any, label %{START}, label %{elsewhere}",
    ]
    return Block(RUN, [Instruction(line) for line in lines])


def turn(after: str) -> Block:
    """The end of a job: the next turn, or on to the next phase."""
    lines = [
        "%tc.round.next = add i64 %tc.round, %tc.ntid.wide",
        "%tc.again = icmp slt i64 %tc.round.next, %tc.high",
        f"br i1 %tc.again, label %{RUN}, label %{after}",
    ]
    return Block(EXIT, [Instruction(line) for line in lines])


def flush(arrays: Sequence[SharedArray], spaces: Sequence[int]) -> list[Block]:
    """Blocks from FLUSH to END, which is not among them; empty where no array is written."""
    places = [place for place, space in enumerate(spaces) if any(a.written for a in arrays if a.item.space == space)]
    if not places:
        return []
    lines = [f"call void @{BARRIER}(i32 0)", f"br label %tc.post{places[0]}"]
    blocks = [Block(FLUSH, [Instruction(line) for line in lines])]
    before = FLUSH
    for turn, place in enumerate(places):
        name = f"tc.post{place}"
        after = f"tc.post{places[turn + 1]}" if turn + 1 < len(places) else END
        mine = [(n, array) for n, array in enumerate(arrays) if array.item.space == spaces[place] and array.written]
        blocks += _flush_space(name, place, before, after, mine)
        before = name
    return blocks


def _flush_space(
    name: str, place: int, before: str, after: str, mine: Sequence[tuple[int, SharedArray]]
) -> list[Block]:
    head = _head(name, place, before, f"{name}.body", after, back=f"{name}.last")
    lines = [*_datum(name, place)]
    updated = any(array.item.updates for _, array in mine)
    for number, array in mine:
        lines += _records(name, number, array)
        for offset, type in array.item.writes:
            mark = f"{name}.w{number}.{offset}.{type}"
            lines += [
                f"%{mark}.from = getelementptr i8, ptr %{name}.s{number}, i64 {offset}",
                f"%{mark}.to = getelementptr i8, ptr %{name}.g{number}, i64 {offset}",
                f"%{mark} = load {type}, ptr %{mark}.from, align {BITS[type] // 8}",
                f"store {type} %{mark}, ptr %{mark}.to, align {BITS[type] // 8}",
            ]
        for offset, type, _ in array.item.updates:
            mark = f"{name}.u{number}.{offset}"
            lines += [
                f"%{mark}.from = getelementptr i8, ptr %{name}.s{number}, i64 {offset}",
                f"%{mark}.to = getelementptr i8, ptr %{name}.g{number}, i64 {offset}",
                f"%{mark} = load {type}, ptr %{mark}.from, align {BITS[type] // 8}",
            ]
    if updated:
        lines += [
            f"%{name}.mine = icmp slt i64 %{name}.i, %tc.owned{place}",
            f"br i1 %{name}.mine, label %{name}.own, label %{name}.share",
        ]
    else:
        lines.append(f"br label %{name}.last")
    blocks = [head, Block(f"{name}.body", [Instruction(line) for line in lines])]
    if updated:
        own: list[str] = []
        sharing = Job([Block(f"{name}.share", [])], {})
        for number, array in mine:
            for offset, type, operator in array.item.updates:
                mark = f"{name}.u{number}.{offset}"
                own += [
                    f"%{mark}.old = load {type}, ptr %{mark}.to, align {BITS[type] // 8}",
                    *combination(f"%{mark}.new", operator, type, f"%{mark}.old", f"%{mark}"),
                    f"store {type} %{mark}.new, ptr %{mark}.to, align {BITS[type] // 8}",
                ]
                update = Update(operator, type, f"%{mark}.to", f"%{mark}", f"{mark}.swap")
                combine_atomically(sharing, sharing.blocks[-1], update)
        sharing.blocks[-1].instructions.append(Instruction(f"br label %{name}.last"))
        own.append(f"br label %{name}.last")
        blocks += [Block(f"{name}.own", [Instruction(line) for line in own]), *sharing.blocks]
    last = [f"%{name}.next = add i64 %{name}.i, %tc.ntid.wide", f"br label %{name}"]
    return [*blocks, Block(f"{name}.last", [Instruction(line) for line in last])]


def space_lines(spaces: Sequence[int], *, begins: bool) -> list[str]:
    """What the entry reads of the schedule: the jobs and the data of this block, and its first start if it `begins`."""
    lines = [
        "%tc.low.at = getelementptr i64, ptr %tc.bounds, i64 %tc.ctaid.wide",
        "%tc.high.at = getelementptr i8, ptr %tc.low.at, i64 8",
        "%tc.low = load i64, ptr %tc.low.at, align 8",
        "%tc.high = load i64, ptr %tc.high.at, align 8",
    ]
    if begins:
        lines += [
            f"{BEGIN}.at = getelementptr i32, ptr %tc.begins, i64 %tc.ctaid.wide",
            f"{BEGIN} = load i32, ptr {BEGIN}.at, align 4",
        ]
    for place in range(len(spaces)):
        lines += [
            f"%tc.first{place}.at = getelementptr i64, ptr %tc.offsets{place}, i64 %tc.ctaid.wide",
            f"%tc.past{place}.at = getelementptr i8, ptr %tc.first{place}.at, i64 8",
            f"%tc.first{place} = load i64, ptr %tc.first{place}.at, align 8",
            f"%tc.past{place} = load i64, ptr %tc.past{place}.at, align 8",
            f"%tc.count{place} = sub i64 %tc.past{place}, %tc.first{place}",
            f"%tc.owned{place}.at = getelementptr i32, ptr %tc.owner{place}, i64 %tc.ctaid.wide",
            f"%tc.owned{place}.short = load i32, ptr %tc.owned{place}.at, align 4",
            f"%tc.owned{place} = zext i32 %tc.owned{place}.short to i64",
        ]
    return lines


def _head(name: str, place: int, before: str, body: str, after: str, back: str = "") -> Block:
    lines = [
        f"%{name}.i = phi i64 [ %tc.tid.wide, %{before} ], [ %{name}.next, %{back or body} ]",
        f"%{name}.more = icmp slt i64 %{name}.i, %tc.count{place}",
        f"br i1 %{name}.more, label %{body}, label %{after}",
    ]
    return Block(name, [Instruction(line) for line in lines])


def _datum(name: str, place: int) -> list[str]:
    return [
        f"%{name}.at = add i64 %tc.first{place}, %{name}.i",
        f"%{name}.from = getelementptr i32, ptr %tc.data{place}, i64 %{name}.at",
        f"%{name}.short = load i32, ptr %{name}.from, align 4",
        f"%{name}.datum = zext i32 %{name}.short to i64",
    ]


def _records(name: str, number: int, array: SharedArray) -> list[str]:
    """Where record i of a block lies: in global memory, and in shared memory."""
    stride = array.item.stride
    return [
        f"%{name}.g{number}.by = mul i64 %{name}.datum, {stride}",
        f"%{name}.g{number} = getelementptr i8, ptr %tc.array{number}, i64 %{name}.g{number}.by",
        f"%{name}.s{number}.by = mul i64 %{name}.i, {stride}",
        f"%{name}.s{number} = getelementptr i8, ptr %tc.kept{number}, i64 %{name}.s{number}.by",
    ]
