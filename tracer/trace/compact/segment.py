"""A segment before its tables: which instructions it has, and where the words of its memory operations lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracecut.tracer.trace.events.event_words import Kind, words_of
from tracecut.tracer.trace.events.memory_operations import Item

ENTRY, LEAVES, LANDING, RETURNED_TWICE = 1, 2, 4, 8  # bits of a segment's role


@dataclass(frozen=True)
class Segment:
    """Instructions `first` to `end` of a block.

    Attributes:
        block, first, end: the block's number in its function, and the instructions' numbers in the block.
        role: bits ENTRY, LEAVES, LANDING and RETURNED_TWICE, see `static_tables.Static`.
        items: memory operations, each with its instruction.
        places: of each item, its first word in the payload, and whether no earlier item has the same words.
        words: of the payload, the id not included.
    """

    block: int
    first: int
    end: int
    role: int
    items: tuple[tuple[int, Item], ...]
    places: tuple[tuple[int, bool], ...]
    words: int

    @classmethod
    def of(
        cls, block: int, first: int, end: int, role: int, items: Sequence[tuple[int, Item]], *, timed: bool
    ) -> Segment:
        """Lay out the payload.

        Accesses through the same pointer value share the words of the first of them, unless each has a time.
        """
        known: dict[str, int] = {}
        places = []
        word = 0
        for _, item in items:
            pointer = item.pointers[0].text if item.kind is Kind.ADDR and not timed else ""
            if pointer in known:
                places.append((known[pointer], False))
                continue
            if pointer:
                known[pointer] = word
            places.append((word, True))
            word += words_of(item.kind, item.lanes, timed=timed)
        return cls(block, first, end, role, tuple(items), tuple(places), word)

    @property
    def own_items(self) -> list[tuple[int, Item, int]]:
        """(instruction, item, first word) of the items that do not share the words of an earlier one."""
        return [(place, item, word) for (place, item), (word, own) in zip(self.items, self.places, strict=True) if own]
