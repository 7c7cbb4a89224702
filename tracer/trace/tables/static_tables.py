"""The static side of a trace: functions, blocks, instructions, segments and payloads of the traced module.

A *segment* is a maximal run of a block's instructions that is entered only at its start and left only at its end: it
ends behind every call that may enter instrumented code or not return. One record of the stream says that a segment ran;
with these tables everything else follows from the text.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.llvm import Instruction, Module, parse_module
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.trace.compact.loop_runs import Run, field_tables, run_tables
from tracecut.tracer.trace.compact.segment import Segment
from tracecut.tracer.trace.compact.segments import Plan, plan_of
from tracecut.tracer.trace.compact.strided_loops import Region, region_tables
from tracecut.tracer.trace.events.event_words import MAX_WORDS


@dataclass(frozen=True, eq=False)
class Static:
    """Tables of a traced module. F functions, B blocks, I instructions, S segments (the dummy 0 included), K items.

    Attributes:
        text: the module before instrumentation, every value named.
        functions: names (`@main`) of the instrumented functions, in the order of the text.
        function_block: int32[F + 1], first block of each function.
        block_first: int32[B + 1], first instruction of each block. Instructions are numbered through all blocks.
        block_segment: int32[B + 1], first segment of each block.
        segment_first, segment_end: int32[S], its instructions are first ≤ i < end. Segment 0 is empty: a word 0 is no
            record, it means that nothing was stored there.
        segment_block: int32[S]; −1 for segment 0.
        segment_role: uint8[S], bits ENTRY (begins its function), LEAVES (ends in ret, resume or unreachable),
            LANDING (begins a landing pad), RETURNED_TWICE (follows a call such as setjmp).
        segment_words: int32[S], words of the payload, without the id.
        segment_item: int32[S + 1], first item of each segment.
        item_instruction: int32[K]; item_kind: uint8[K] (`event_words.Kind`); item_access: uint8[K], bits READ and
        WRITE.
        item_bytes: int64[K], static length (MASK, GATHER: of a lane), 0 when the payload holds it.
        item_lanes: int32[K], of MASK and GATHER.
        item_word: int32[K], its first word in the payload; accesses through the same pointer value share their words.
        run_segment: int32[R], the segment that each run repeats (see `loop_runs`).
        run_field: int32[R + 1], first field of each run: one for each pair of words of its segment's payload.
        region_field: int32[G + 1], first field of each region (see `strided_loops`); they follow those of the runs.
        short_segment, short_region: int32[T], segment and region of each short record; short_opens: uint8[T].
        short_word: int32[T + 1], first of its segment's words in word_source: int32, −1 for words that it stores,
            otherwise 2 · field, + 1 for the high word.
        field_shape: uint8[F] (`loop_runs.Shape`); field_step: int64[F], bytes from one iteration to the next if FIXED.
            In the stream, the ids of short records, regions and runs follow those of the segments.
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
    segment_role: Bytes
    segment_words: Ints
    segment_item: Ints
    item_instruction: Ints
    item_kind: Bytes
    item_access: Bytes
    item_bytes: Longs
    item_lanes: Ints
    item_word: Ints
    run_segment: Ints
    run_field: Ints
    region_field: Ints
    short_segment: Ints
    short_region: Ints
    short_opens: Bytes
    short_word: Ints
    word_source: Ints
    field_shape: Bytes
    field_step: Longs
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

    @property
    def n_shorts(self) -> int:
        return self.short_segment.size

    @property
    def n_regions(self) -> int:
        return self.region_field.size - 1

    @property
    def n_runs(self) -> int:
        return self.run_segment.size

    @property
    def first_run(self) -> int:
        """Id of the first run in the stream."""
        return self.n_segments + self.n_shorts + self.n_regions

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
        """All arrays by name. The other attributes are `text`, `functions`, `globals`, `unknown` and `timed`."""
        return {name: getattr(self, name) for name in TABLES}

    def __repr__(self) -> str:
        return (
            f"<Static of {self.n_functions} functions, {self.n_blocks} blocks, {self.n_segments - 1} segments, "
            f"{self.n_instructions} instructions>"
        )


_DTYPES = {"Ints": "int32", "Longs": "int64", "Bytes": "uint8"}
TABLES = {field.name: _DTYPES[str(field.type)] for field in fields(Static) if field.type in _DTYPES}  # name → dtype


def static_of(
    text: str, functions: Collection[str] | None = None, *, timed: bool = False, compact: bool = True
) -> Static:
    """Tables of a module, given as text with every value named (`llvm.named`).

    Args:
        functions: names (`main` or `@main`) of the functions to instrument, None: all that the module defines.
        timed: whether each access is followed by its time. compact: whether loops may be recorded compactly.

    Raises ArgumentError for a name that the module does not define, UnsupportedError for what cannot be traced (all
    unknown memory intrinsics are listed). O(length of the text).
    """
    return tables_of(text, plan_of(text, functions, timed=timed, compact=compact))


def tables_of(text: str, plan: Plan) -> Static:
    """The tables of a planned module, see `static_of`. `text`: its text."""
    function_block, block_first, block_segment = [0], [0], [1]
    segments = [(0, -1, Segment(0, 0, 0, 0, (), (), 0))]  # instruction 0 of its block, block, segment
    unknown = []
    runs: list[tuple[int, Run]] = []
    regions: list[tuple[int, Region]] = []
    for part in plan.parts:
        function, first = part.function, part.first.segment
        runs += [(first + run.place, run) for run in part.runs]
        regions += [(first, region) for region in part.regions]
        for segment in part.segments:
            block, base = function.blocks[segment.block], block_first[-1]
            segments.append((base, function_block[-1] + segment.block, segment))
            for place in range(segment.first, segment.end):
                if plan.sites.is_unknown(block.instructions[place]):
                    unknown.append((base + place, _callee(block.instructions[place])))
            if segment.end == len(block.instructions):
                block_first.append(base + segment.end)
                block_segment.append(len(segments))
        function_block.append(len(block_first) - 1)
    in_runs = [field for _, run in runs for field in run.fields]
    return Static(
        text=text,
        functions=tuple(part.function.name for part in plan.parts),
        function_block=np.array(function_block, np.int32),
        block_first=np.array(block_first, np.int32),
        block_segment=np.array(block_segment, np.int32),
        globals=plan.globals,
        unknown=tuple(unknown),
        timed=plan.timed,
        **_segment_tables(segments),
        **run_tables(runs),
        **region_tables(regions, len(in_runs)),
        **field_tables([*in_runs, *(field for _, region in regions for field in region.fields)]),
    )


def _segment_tables(segments: list[tuple[int, int, Segment]]) -> dict[str, Any]:
    items: list[tuple[int, ...]] = []
    rows = []
    for base, block, segment in segments:
        if segment.words > MAX_WORDS:
            raise UnsupportedError(
                f"a basic block with {len(segment.items)} memory operations is too long to be traced",
                hint="Trace other functions.",
            )
        rows.append((base + segment.first, base + segment.end, block, segment.role, segment.words, len(items)))
        for (place, item), (word, _) in zip(segment.items, segment.places, strict=True):
            items.append((base + place, item.kind, item.access, item.bytes, item.lanes, word))
    rows.append((0, 0, 0, 0, 0, len(items)))
    names = ("segment_first", "segment_end", "segment_block", "segment_role", "segment_words", "segment_item")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    tables: dict[str, Any] = {name: np.array(column[:-1], TABLES[name]) for name, column in columns.items()}
    tables["segment_item"] = np.array(columns["segment_item"], np.int32)
    names = ("item_instruction", "item_kind", "item_access", "item_bytes", "item_lanes", "item_word")
    fields = list(zip(*items, strict=True)) or [()] * len(names)
    return tables | {name: np.array(field, TABLES[name]) for name, field in zip(names, fields, strict=True)}


def _callee(call: Instruction) -> str:
    return "inline assembly" if call.word == "asm" else call.word.removeprefix("@").strip('"')
