"""A slow reader of streams that believes nothing: every record has to be one that the program can have made there.

It keeps the frames of each stream and follows the text of the module: a branch leads to one of its targets, a call
enters what it names, a return goes on behind the call. What it finds is the executed instructions and their accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tracecut.tracer.trace.compact.segment import ENTRY, LANDING, LEAVES, RETURNED_TWICE
from tracecut.tracer.trace.events.event_words import MARK_WORDS, READ, WRITE, Kind, Mark
from tracecut.tracer.trace.tables.static_tables import Static

Words = npt.NDArray[np.uint32]


@dataclass
class Access:
    """One item of one record, decoded. `values`: its 64-bit values; `mask` of masked accesses."""

    instruction: int
    kind: Kind
    access: int
    bytes: int
    values: tuple[int, ...]
    mask: int = 0

    def ranges(self, access: int) -> list[tuple[int, int]]:
        """(address, bytes) that are read (READ) or written (WRITE)."""
        if not self.access & access:
            return []
        if self.kind is Kind.ADDR:
            return [(self.values[0], self.bytes)]
        if self.kind is Kind.RANGE:
            return [(self.values[0], self.values[1])]
        if self.kind is Kind.COPY:
            return [(self.values[0 if access == WRITE else 1], self.values[2])]
        if self.kind is Kind.MASK:
            lanes = range(self.mask.bit_length())
            return [(self.values[0] + lane * self.bytes, self.bytes) for lane in lanes if self.mask >> lane & 1]
        if self.kind is Kind.GATHER:
            return [(at, self.bytes) for lane, at in enumerate(self.values) if self.mask >> lane & 1]
        return []


@dataclass
class Frame:
    function: int
    segment: int
    address: int = 0


@dataclass
class Replay:
    """What a stream says. `marks`: (mark, its words)."""

    static: Static
    segments: list[int] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    marks: list[tuple[Mark, tuple[int, ...]]] = field(default_factory=list)
    depth: int = 0

    @property
    def instructions(self) -> int:
        ends, firsts = self.static.segment_end, self.static.segment_first
        return sum(int(ends[segment]) - int(firsts[segment]) for segment in self.segments)

    def read(self) -> list[tuple[int, int]]:
        return [item for access in self.accesses for item in access.ranges(READ)]

    def written(self) -> list[tuple[int, int]]:
        return [item for access in self.accesses for item in access.ranges(WRITE)]

    def of(self, kind: Kind) -> list[tuple[int, ...]]:
        return [access.values for access in self.accesses if access.kind is kind]

    def calls(self, name: str) -> int:
        """How often a function was entered."""
        return sum(
            bool(self.static.segment_role[segment] & ENTRY) and self.function(segment) == name
            for segment in self.segments
        )

    def function(self, segment: int) -> str:
        block = self.static.segment_block[segment]
        place = int(np.searchsorted(self.static.function_block, block, side="right")) - 1
        return self.static.functions[place].removeprefix("@")


def replay(static: Static, words: Words, *, windows: bool = False) -> Replay:
    """Follow one stream. Fails with an AssertionError at the first record that cannot be."""
    result = Replay(static)
    follower = _Follower(static, result, lost=windows)
    for record in records(static, words):
        if record[0] in set(Mark):
            result.marks.append((Mark(int(record[0])), tuple(int(word) for word in record[1:])))
            if record[0] == Mark.RESUMED:  # in whatever frames
                follower.frames.clear()
                follower.lost = True
        else:
            follower.step(record)
            result.depth = max(result.depth, len(follower.frames))
    return result


def records(static: Static, words: Words) -> Iterator[Words]:
    """Cut a stream into its records."""
    place = 0
    while place < words.size:
        word = int(words[place])
        size = MARK_WORDS[Mark(word)] if word in set(Mark) else int(static.segment_words[word])
        assert word and place + 1 + size <= words.size, f"half a record, or none, at word {place}"
        yield words[place : place + 1 + size]
        place += 1 + size


def joined(chunks: Iterable[tuple[int, Words]]) -> dict[int, Words]:
    """Chunks by stream."""
    found: dict[int, list[Words]] = {}
    for stream, words in chunks:
        found.setdefault(stream, []).append(words.copy())
    return {stream: np.concatenate(parts) for stream, parts in found.items()}


class _Follower:
    def __init__(self, static: Static, result: Replay, *, lost: bool) -> None:
        self.static = static
        self.result = result
        self.frames: list[Frame] = []
        self.lost = lost  # frames are not known
        self.entries = {
            static.functions[number]: int(static.block_segment[static.function_block[number]])
            for number in range(static.n_functions)
        }
        self.own = set(static.module.functions)
        self.blocks: dict[tuple[int, str], int] = {}
        for number in range(static.n_functions):
            for block in range(static.function_block[number], static.function_block[number + 1]):
                self.blocks[number, static.block_names[block]] = block

    def step(self, record: Words) -> None:
        static, segment = self.static, int(record[0])
        role = int(static.segment_role[segment])
        function = int(np.searchsorted(static.function_block, static.segment_block[segment], side="right")) - 1
        self._items(record)
        frame = self._frame_address(record)
        if role & ENTRY:
            self._entered(function)
            self.frames.append(Frame(function, segment, frame))
        else:
            if role & (LANDING | RETURNED_TWICE) and frame:
                while self.frames and self.frames[-1].address != frame:
                    self.frames.pop()
                assert self.frames or self.lost, f"segment {segment} comes back to a frame that is not there"
            else:
                self._continued(segment)
            if self.frames:
                self.frames[-1].segment = segment
        if role & LEAVES and self.frames:
            self.frames.pop()
        self.result.segments.append(segment)

    def _entered(self, function: int) -> None:
        """A function begins: the frame on top is at a call that may lead here."""
        if not self.frames:
            return
        call = self.static.instructions[int(self.static.segment_end[self.frames[-1].segment]) - 1]
        assert call.op in ("call", "invoke"), f"{self.static.functions[function]} is entered from {call.text}"
        if call.word in self.entries:
            assert call.word == self.static.functions[function], f"{call.text} enters {self.static.functions[function]}"

    def _continued(self, segment: int) -> None:
        """A segment follows the last one of its frame."""
        if not self.frames:
            assert self.lost, f"segment {segment} runs in no frame"
            return
        static, before = self.static, self.frames[-1].segment
        block, earlier = int(static.segment_block[segment]), int(static.segment_block[before])
        if block == earlier and static.segment_first[segment] == static.segment_end[before]:
            last = static.instructions[int(static.segment_end[before]) - 1]
            assert last.op == "call", f"segment {segment} follows {last.text}"
            return
        assert static.segment_end[before] == static.block_first[earlier + 1], f"segment {before} was left in the middle"
        assert static.segment_first[segment] == static.block_first[block], f"segment {segment} begins in the middle"
        terminator = static.instructions[int(static.block_first[earlier + 1]) - 1]
        targets = {self.blocks[self.frames[-1].function, label] for label in terminator.labels}
        assert block in targets, f"{terminator.text} does not lead to segment {segment}"

    def _items(self, record: Words) -> None:
        static, segment = self.static, int(record[0])
        for item in range(int(static.segment_item[segment]), int(static.segment_item[segment + 1])):
            kind, lanes = Kind(int(static.item_kind[item])), int(static.item_lanes[item])
            at = 1 + int(static.item_word[item])
            count = {Kind.RANGE: 2, Kind.COPY: 3, Kind.ALLOC: 2, Kind.REALLOC: 3, Kind.ALLOCA: 2}.get(kind, 1)
            count = lanes if kind is Kind.GATHER else count
            values = tuple(int(record[at + 2 * k]) | int(record[at + 2 * k + 1]) << 32 for k in range(count))
            mask = 0
            if kind in (Kind.MASK, Kind.GATHER):
                for k in range((lanes + 31) // 32):
                    mask |= int(record[at + 2 * count + k]) << (32 * k)
            self.result.accesses.append(
                Access(
                    int(static.item_instruction[item]),
                    kind,
                    int(static.item_access[item]),
                    int(static.item_bytes[item]),
                    values,
                    mask,
                )
            )

    def _frame_address(self, record: Words) -> int:
        static, segment = self.static, int(record[0])
        first = int(static.segment_item[segment])
        if first < static.segment_item[segment + 1] and static.item_kind[first] == Kind.FRAME:
            return int(record[1]) | int(record[2]) << 32
        return 0
