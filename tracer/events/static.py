"""The static side of a trace: functions, blocks, instructions, segments and payloads of the traced module.

A *segment* is a maximal run of a block's instructions that is entered only at its start and left only at its end: it
ends behind every call that may enter instrumented code or leave without coming back. One record of the stream says
that a segment ran; with these tables everything else follows from the text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ir.errors import ArgumentError, UnsupportedError
from ..text import Function, Instruction, Module, parse_module
from .items import Kind, words_of
from .sites import Item, Sites

Ints = npt.NDArray[np.int32]
MAX_WORDS = 1 << 16  # of one record: it has to fit behind the end of a chunk

ENTRY, LEAVES, LANDING, RETURNED_TWICE = 1, 2, 4, 8  # bits of a segment's role

TABLES: dict[str, str] = {
    "function_block": "int32",
    "block_first": "int32",
    "block_segment": "int32",
    "segment_first": "int32",
    "segment_end": "int32",
    "segment_block": "int32",
    "segment_role": "uint8",
    "segment_words": "int32",
    "segment_item": "int32",
    "item_instruction": "int32",
    "item_kind": "uint8",
    "item_access": "uint8",
    "item_bytes": "int64",
    "item_lanes": "int32",
    "item_word": "int32",
}


@dataclass(frozen=True, eq=False)
class Static:
    """Tables of a traced module. F functions, B blocks, I instructions, S segments (the dummy 0 included), K items.

    Attributes:
        text: the module as it was before instrumentation, every value named.
        functions: names (`@main`) of the instrumented functions, in the order of the text.
        function_block: int32[F + 1], first block of each function.
        block_first: int32[B + 1], first instruction of each block. Instructions are numbered through all blocks.
        block_segment: int32[B + 1], first segment of each block.
        segment_first, segment_end: int32[S], its instructions are first ≤ i < end. Segment 0 is empty: a word 0 is
            never a record, and means that nothing was written there.
        segment_block: int32[S]; −1 for segment 0.
        segment_role: uint8[S], bits ENTRY (opens its function), LEAVES (ends in ret or resume, or can not go on),
            LANDING (opens a landing pad), RETURNED_TWICE (follows a call such as setjmp).
        segment_words: int32[S], words of the payload, without the id.
        segment_item: int32[S + 1], first item of each segment.
        item_instruction: int32[K]; item_kind: uint8[K] (`items.Kind`); item_access: uint8[K], bits READ and WRITE.
        item_bytes: int64[K], static length (MASK, GATHER: of a lane), 0 when the payload holds it.
        item_lanes: int32[K], of MASK and GATHER.
        item_word: int32[K], its first word in the payload; accesses through the same pointer value share their words.
        globals: (name, bytes) of the module's global variables, as numbered in GLOBAL marks.
        unknown: (instruction, callee) of every call whose effects are not known.
        timed: whether each ADDR item has a third word, the cycles of the access (fenced, its overhead not subtracted).
    """

    text: str
    functions: tuple[str, ...]
    function_block: Ints
    block_first: Ints
    block_segment: Ints
    segment_first: Ints
    segment_end: Ints
    segment_block: Ints
    segment_role: npt.NDArray[np.uint8]
    segment_words: Ints
    segment_item: Ints
    item_instruction: Ints
    item_kind: npt.NDArray[np.uint8]
    item_access: npt.NDArray[np.uint8]
    item_bytes: npt.NDArray[np.int64]
    item_lanes: Ints
    item_word: Ints
    globals: tuple[tuple[str, int], ...]
    unknown: tuple[tuple[int, str], ...]
    timed: bool = False

    @property
    def n_functions(self) -> int:
        return len(self.functions)

    @property
    def n_blocks(self) -> int:
        return self.block_first.size - 1

    @property
    def n_instructions(self) -> int:
        return int(self.block_first[-1])

    @property
    def n_segments(self) -> int:
        """Number of segments, the dummy 0 included."""
        return self.segment_first.size

    @property
    def n_items(self) -> int:
        return self.item_kind.size

    @cached_property
    def module(self) -> Module:
        """The parsed text."""
        return parse_module(self.text)

    @cached_property
    def instructions(self) -> list[Instruction]:
        """The instruction of every id."""
        found = self.module.functions
        return [instruction for name in self.functions for _, instruction in found[name].instructions()]

    @cached_property
    def block_names(self) -> list[str]:
        """The name of every block."""
        found = self.module.functions
        return [block.name for name in self.functions for block in found[name].blocks]

    def tables(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays by name: with `text`, `functions`, `globals` and `unknown` the whole of it."""
        return {name: getattr(self, name) for name in TABLES}

    def verify(self) -> None:
        """Raise ValueError unless every table has the size and the order that the others imply. O(size)."""
        segments, items = self.n_segments, self.n_items
        for name in ("segment_end", "segment_block", "segment_role", "segment_words"):
            if getattr(self, name).size != segments:
                raise ValueError(f"{name} has {getattr(self, name).size} entries for {segments} segments")
        for name in ("item_instruction", "item_access", "item_bytes", "item_lanes", "item_word"):
            if getattr(self, name).size != items:
                raise ValueError(f"{name} has {getattr(self, name).size} entries for {items} items")
        _check_offsets("function_block", self.function_block, self.n_functions, self.n_blocks)
        _check_offsets("block_first", self.block_first, self.n_blocks, self.n_instructions)
        if self.block_segment.size != self.n_blocks + 1 or segments < 1:
            raise ValueError("block_segment does not fit the blocks")
        _check_offsets("block_segment", self.block_segment - 1, self.n_blocks, segments - 1)
        if not np.array_equal(self.segment_first[self.block_segment[:-1]], self.block_first[:-1]) or (
            segments > 1 and self.segment_end[-1] != self.n_instructions
        ):
            raise ValueError("the segments do not fit the blocks")
        _check_offsets("segment_item", self.segment_item, segments, items)
        if items and not (self.item_kind.max() <= max(Kind) and self.item_lanes.min() >= 0):
            raise ValueError("there is an item of an unknown kind")
        for name, most in (("segment_words", MAX_WORDS), ("segment_end", self.n_instructions)):
            table = getattr(self, name)
            if table.min() < 0 or table.max() > most:
                raise ValueError(f"{name} is out of range")
        if np.any(self.segment_first > self.segment_end) or self.segment_first.min() < 0:
            raise ValueError("a segment ends before it begins")
        for segment in range(segments):
            word = 0
            for item in range(int(self.segment_item[segment]), int(self.segment_item[segment + 1])):
                place = int(self.item_word[item])
                if place == word:
                    word += words_of(Kind(int(self.item_kind[item])), int(self.item_lanes[item]), timed=self.timed)
                elif not 0 <= place <= word - 2:
                    raise ValueError(f"item {item} lies outside of its payload")
            if word != self.segment_words[segment]:
                raise ValueError(f"the payload of segment {segment} has another length than its items")

    def __repr__(self) -> str:
        return (
            f"<Static of {self.n_functions} functions, {self.n_blocks} blocks, {self.n_segments - 1} segments, "
            f"{self.n_instructions} instructions>"
        )


@dataclass(frozen=True)
class Segment:
    """A segment before its tables: instructions `first` to `end` of a block, and its items with their instruction."""

    function: Function
    block: int
    first: int
    end: int
    role: int
    items: tuple[tuple[int, Item], ...]


def static_of(text: str, functions: Collection[str] | None = None, *, timed: bool = False) -> Static:
    """Tables of a module, given as text with every value named (`llvm.named`).

    Args:
        functions: names (`main` or `@main`) of the functions to instrument, None: all that the module defines.
        timed: whether each access is followed by its time.

    Raises ArgumentError for a name that the module does not define, UnsupportedError for what can not be traced (all
    unknown memory intrinsics are listed). O(length of the text).
    """
    module = parse_module(text)
    sites = Sites(module)
    chosen = chosen_functions(module, functions)
    sites.check(chosen)
    function_block, block_first, block_segment = [0], [0], [1]
    segments: list[tuple[int, int, int, int, tuple[tuple[int, Item], ...]]] = [(0, 0, -1, 0, ())]
    unknown = []
    for function in chosen:
        for segment in segments_of(function, sites):
            block, base = function.blocks[segment.block], block_first[-1]
            segments.append(
                (
                    base + segment.first,
                    base + segment.end,
                    function_block[-1] + segment.block,
                    segment.role,
                    tuple((base + place, item) for place, item in segment.items),
                )
            )
            for place in range(segment.first, segment.end):
                if sites.is_unknown(block.instructions[place]):
                    unknown.append((base + place, _callee(block.instructions[place])))
            if segment.end == len(block.instructions):
                block_first.append(base + segment.end)
                block_segment.append(len(segments))
        function_block.append(len(block_first) - 1)
    return Static(
        text=text,
        functions=tuple(function.name for function in chosen),
        function_block=np.array(function_block, np.int32),
        block_first=np.array(block_first, np.int32),
        block_segment=np.array(block_segment, np.int32),
        globals=global_sizes(module),
        unknown=tuple(unknown),
        timed=timed,
        **_segment_tables(segments, timed),
    )


def segments_of(function: Function, sites: Sites) -> list[Segment]:
    """Segments of a function in order. Blocks and instructions are numbered from 0, the latter in each block."""
    allocas = sites.allocas(function)
    framed = sites.needs_frames(function)
    found = []
    for number, block in enumerate(function.blocks):
        first = 0
        items: list[tuple[int, Item]] = []
        role = ENTRY if number == 0 else 0
        if any(instruction.op == "landingpad" for instruction in block.instructions):
            role |= LANDING
        count = len(block.instructions)
        for place, instruction in enumerate(block.instructions):
            if place == first and framed and role:
                items.append((place, Item(Kind.FRAME, 0)))
            if place == 0 and number == 0:
                items.extend((place, item) for item in sites.copied_parameters(function))
            items.extend((place, item) for item in sites.items(instruction, allocas))
            if place == count - 1:
                role |= LEAVES if instruction.op in ("ret", "resume", "unreachable") else 0
            elif not sites.splits(instruction):
                continue
            found.append(Segment(function, number, first, place + 1, role, tuple(items)))
            first, items = place + 1, []
            role = RETURNED_TWICE if sites.returns_twice(instruction) else 0
    return found


def layout(items: Sequence[Item], *, timed: bool = False) -> tuple[list[tuple[int, bool]], int]:
    """Where the words of a segment's items lie: (first word, whether they are its own) of each, and the total.

    Accesses through one and the same pointer value share the words of the first of them, unless each has a time.
    """
    known: dict[str, int] = {}
    places = []
    word = 0
    for item in items:
        pointer = item.pointers[0].text if item.kind is Kind.ADDR and not timed else ""
        if pointer in known:
            places.append((known[pointer], False))
            continue
        if pointer:
            known[pointer] = word
        places.append((word, True))
        word += words_of(item.kind, item.lanes, timed=timed)
    return places, word


def chosen_functions(module: Module, names: Collection[str] | None) -> list[Function]:
    """The functions with these names in the order of the module; all of them for None."""
    defined = module.functions
    if names is None:
        return list(defined.values())
    wanted = {name if name.startswith("@") else f"@{name}" for name in names}
    missing = sorted(wanted - set(defined))
    if missing:
        some = ", ".join(name.removeprefix("@") for name in list(defined)[:10])
        raise ArgumentError(
            f"functions: the program defines no {missing[0].removeprefix('@')!r}",
            hint=f"It may have been inlined. There are: {some}{' …' if len(defined) > 10 else ''}.",
        )
    return [function for name, function in defined.items() if name in wanted]


def global_sizes(module: Module) -> tuple[tuple[str, int], ...]:
    """(name, bytes) of the global variables that the module defines, apart from thread-local ones and LLVM's own."""
    types = module.types()
    found = []
    for name, variable in module.globals.items():
        if not variable.defined or variable.thread_local or name.startswith("@llvm."):
            continue
        try:
            found.append((name, types.size(variable.type)))
        except ValueError as error:
            raise UnsupportedError(f"the global {name} can not be traced: {error}") from error
    return tuple(found)


def _segment_tables(
    segments: list[tuple[int, int, int, int, tuple[tuple[int, Item], ...]]], timed: bool
) -> dict[str, Any]:
    item_rows: list[tuple[int, int, int, int, int, int]] = []
    words, starts = [], [0]
    for _, _, _, _, items in segments:
        places, word = layout([item for _, item in items], timed=timed)
        for (instruction, item), (place, _) in zip(items, places, strict=True):
            item_rows.append((instruction, item.kind, item.access, item.bytes, item.lanes, place))
        if word > MAX_WORDS:
            raise UnsupportedError(
                f"a straight piece of code with {len(items)} memory operations is too long to be traced",
                hint="Trace other functions.",
            )
        words.append(word)
        starts.append(len(item_rows))
    columns = list(zip(*item_rows, strict=True)) if item_rows else [()] * 6
    names = ("item_instruction", "item_kind", "item_access", "item_bytes", "item_lanes", "item_word")
    tables: dict[str, Any] = {name: np.array(column, TABLES[name]) for name, column in zip(names, columns, strict=True)}
    for place, name in enumerate(("segment_first", "segment_end", "segment_block", "segment_role")):
        tables[name] = np.array([segment[place] for segment in segments], TABLES[name])
    tables["segment_words"] = np.array(words, np.int32)
    tables["segment_item"] = np.array(starts, np.int32)
    return tables


def _check_offsets(name: str, table: Ints, count: int, last: int) -> None:
    if table.size != count + 1 or table[0] != 0 or table[-1] != last or np.any(np.diff(table) < 0):
        raise ValueError(f"{name} is not a table of {count} ranges up to {last}")


def _callee(call: Instruction) -> str:
    return "inline assembly" if call.word == "asm" else call.word.removeprefix("@").strip('"')
