"""Whether static tables fit each other: they may come from a file that is damaged."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tracecut.tracer.trace.compact.loop_runs import Shape
from tracecut.tracer.trace.events.event_words import MAX_WORDS, Kind, words_of

from .static_tables import Static

Ints = npt.NDArray[np.int32]


def verify_tables(static: Static) -> None:
    """Raise ValueError unless every table has the size and the order that the others imply. O(size)."""
    segments, items = static.n_segments, static.n_items
    for name in ("segment_end", "segment_block", "segment_role", "segment_words"):
        if getattr(static, name).size != segments:
            raise ValueError(f"{name} has {getattr(static, name).size} entries for {segments} segments")
    for name in ("item_instruction", "item_access", "item_bytes", "item_lanes", "item_word"):
        if getattr(static, name).size != items:
            raise ValueError(f"{name} has {getattr(static, name).size} entries for {items} items")
    _check_offsets("function_block", static.function_block, static.n_functions, static.n_blocks)
    _check_offsets("block_first", static.block_first, static.n_blocks, static.n_instructions)
    if static.block_segment.size != static.n_blocks + 1 or segments < 1:
        raise ValueError("block_segment does not fit the blocks")
    _check_offsets("block_segment", static.block_segment - 1, static.n_blocks, segments - 1)
    if not np.array_equal(static.segment_first[static.block_segment[:-1]], static.block_first[:-1]) or (
        segments > 1 and static.segment_end[-1] != static.n_instructions
    ):
        raise ValueError("the segments do not fit the blocks")
    _check_offsets("segment_item", static.segment_item, segments, items)
    if items and not (static.item_kind.max() <= max(Kind) and static.item_lanes.min() >= 0):
        raise ValueError("there is an item of an unknown kind")
    for name, most in (("segment_words", MAX_WORDS), ("segment_end", static.n_instructions)):
        table = getattr(static, name)
        if table.min() < 0 or table.max() > most:
            raise ValueError(f"{name} is out of range")
    if np.any(static.segment_first > static.segment_end) or static.segment_first.min() < 0:
        raise ValueError("a segment ends before it begins")
    for segment in range(segments):
        word = 0
        for item in range(int(static.segment_item[segment]), int(static.segment_item[segment + 1])):
            place = int(static.item_word[item])
            if place == word:
                word += words_of(Kind(int(static.item_kind[item])), int(static.item_lanes[item]), timed=static.timed)
            elif not 0 <= place <= word - 2:
                raise ValueError(f"item {item} lies outside of its payload")
        if word != static.segment_words[segment]:
            raise ValueError(f"the payload of segment {segment} has another length than its items")
    _verify_runs(static)


def _verify_runs(static: Static) -> None:
    fields, repeated, short = static.field_shape.size, static.run_segment, static.short_segment
    if static.region_field.size < 1 or static.run_field.size < 1 or static.region_field[0] != static.run_field[-1]:
        raise ValueError("the fields of regions do not follow those of runs")
    _check_offsets("run_field", static.run_field, static.n_runs, int(static.region_field[0]))
    _check_offsets(
        "region_field",
        static.region_field - static.region_field[0],
        static.n_regions,
        fields - int(static.region_field[0]),
    )
    if static.field_step.size != fields or (fields and static.field_shape.max() > max(Shape)):
        raise ValueError("the fields of runs are damaged")
    for segments in (repeated, short):
        if segments.size and (static.timed or segments.min() < 1 or segments.max() >= static.n_segments):
            raise ValueError("a run or a short record has no segment")
    if not np.array_equal(np.diff(static.run_field) * 2, static.segment_words[repeated]):
        raise ValueError("a run has other fields than its segment")
    _check_offsets("short_word", static.short_word, static.n_shorts, static.word_source.size)
    if not np.array_equal(np.diff(static.short_word), static.segment_words[short]):
        raise ValueError("a short record has other words than its segment")
    if static.short_region.size != static.n_shorts or static.short_opens.size != static.n_shorts:
        raise ValueError("short records have no region")
    if static.n_shorts and not 0 <= static.short_region.min() <= static.short_region.max() < static.n_regions:
        raise ValueError("a short record has a region that is not there")
    given = static.word_source[static.word_source >= 0]
    if static.word_source.min(initial=0) < -1 or (
        given.size and not 2 * static.region_field[0] <= given.min() <= given.max() < 2 * fields
    ):
        raise ValueError("a short record has a field that is not there")


def _check_offsets(name: str, table: Ints, count: int, last: int) -> None:
    if table.size != count + 1 or table[0] != 0 or table[-1] != last or np.any(np.diff(table) < 0):
        raise ValueError(f"{name} is not a table of {count} ranges up to {last}")
