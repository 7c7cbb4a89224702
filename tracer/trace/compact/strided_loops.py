"""Loops without calls whose records omit the addresses that follow from the number of the iteration.

When such a loop is entered, one record holds the first value of each linear address (see `affine`), and its step where
that is no constant. After that, the segments of the loop that are in no inner loop are recorded as *short* records:
without these addresses. The reader counts the iterations by the records of the loop's header. What it knows of a loop
stays valid in the chunks that follow, so a stream has to be read from its start.

    region id · (begin [· step]) for each field          short id · the words of the payload that no field gives
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from tracecut.ir.llvm import Function, TypeTable
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.tracer.trace.events.event_words import Kind

from .affine import Affine
from .loop_runs import HEADER_WORDS, Field, Run, Shape, field_of
from .segment import Segment

MOST_FIELDS = 64
STORED = -1


@dataclass(frozen=True)
class Short:
    """A segment that is recorded without some of its words.

    Attributes:
        place: of the segment in the function's list. opens: it begins an iteration.
        sources: of each word of its payload: STORED, or 2 · field of the region, + 1 for the high word.
    """

    place: int
    opens: bool
    sources: tuple[int, ...]

    @property
    def stored(self) -> int:
        """Words of the record, its id included."""
        return 1 + self.sources.count(STORED)

    def offset(self, word: int) -> int | None:
        """Place of a word of the payload in the record, None for a word that is omitted."""
        return None if self.sources[word] != STORED else 1 + self._before[word]

    @cached_property
    def _before(self) -> list[int]:
        """How many words are stored before each."""
        return list(accumulate((source == STORED for source in self.sources), initial=0))


@dataclass(frozen=True)
class Region:
    """A loop. `header`: its first block; `outside`: the block in front of that."""

    header: str
    outside: str
    fields: tuple[Field, ...]
    shorts: tuple[Short, ...]

    @property
    def header_words(self) -> int:
        """Words of the record of an entry, its id included."""
        return 1 + sum(HEADER_WORDS[field.shape] for field in self.fields)


def regions_of(function: Function, segments: Sequence[Segment], runs: Sequence[Run], types: TypeTable) -> list[Region]:
    """The regions of a function; its runs are none. O(instructions × depth of loops)."""
    flow = ControlFlow(function)
    in_runs = {function.blocks[run.block].name for run in runs}
    numbers = {block.name: number for number, block in enumerate(function.blocks)}
    places: dict[str, list[int]] = {}
    for place, segment in enumerate(segments):
        places.setdefault(function.blocks[segment.block].name, []).extend([place] * (2 if segment.role else 1))
    found = []
    for loop in flow.loops:
        if loop.header in in_runs or any(len(places[name]) != 1 for name in loop.blocks):
            continue
        outside = [name for name in flow.predecessors[loop.header] if name not in loop.blocks]
        if len(outside) != 1:
            continue
        terminator = flow.blocks[outside[0]].terminator
        if terminator.op not in ("br", "switch") or terminator.labels.count(loop.header) != 1:
            continue
        inside = [flow.blocks[name] for name in sorted(loop.blocks, key=numbers.__getitem__)]
        own = [block.name for block in inside if block.name not in in_runs and flow.innermost(block.name) is loop]
        affine = Affine(inside, loop.header, types)
        fields: dict[str, Field | None] = {}
        for name in own:
            for _, item, _ in segments[places[name][0]].own_items:
                pointer = item.pointers[0] if item.kind is Kind.ADDR and not item.late else None
                if pointer is not None and pointer.text not in fields:
                    field = field_of(pointer, affine)
                    fields[pointer.text] = None if field.shape is Shape.FREE else field
        known = [field for field in fields.values() if field is not None]
        if not known or len(known) > MOST_FIELDS:
            continue
        order = {field.pointer.text: number for number, field in enumerate(known)}
        shorts = tuple(_short(places[name][0], name == loop.header, segments[places[name][0]], order) for name in own)
        found.append(Region(loop.header, outside[0], tuple(known), shorts))
    return found


def _short(place: int, opens: bool, segment: Segment, order: dict[str, int]) -> Short:
    sources = [STORED] * segment.words
    for _, item, word in segment.own_items:
        field = order.get(item.pointers[0].text) if item.kind is Kind.ADDR and not item.late else None
        if field is not None:
            sources[word : word + 2] = [2 * field, 2 * field + 1]
    return Short(place, opens, tuple(sources))


def region_tables(regions: Sequence[tuple[int, Region]], first_field: int) -> dict[str, Any]:
    """The tables of regions in `static_tables.Static`, without their fields.

    Args:
        regions: with the first segment of its function. first_field: how many fields stand before theirs.
    """
    counts = [len(region.fields) for _, region in regions]
    field = np.cumsum([first_field, *counts])
    shorts = [(first, number, short) for number, (first, region) in enumerate(regions) for short in region.shorts]
    sources = [
        STORED if source == STORED else source + 2 * int(field[number])
        for _, number, short in shorts
        for source in short.sources
    ]
    return {
        "region_field": field.astype(np.int32),
        "short_segment": np.array([first + short.place for first, _, short in shorts], np.int32),
        "short_region": np.array([number for _, number, _ in shorts], np.int32),
        "short_opens": np.array([short.opens for _, _, short in shorts], np.uint8),
        "short_word": np.cumsum([0, *(len(short.sources) for _, _, short in shorts)], dtype=np.int32),
        "word_source": np.array(sources, np.int32),
    }
