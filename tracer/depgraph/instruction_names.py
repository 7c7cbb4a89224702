"""Opcode, function and source position of the static instructions of a graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tracecut.ir.instruction_table import Instructions
from tracecut.ir.llvm.demangle import demangled
from tracecut.tracer.trace.line_profile import places_of
from tracecut.tracer.trace.tables.static_tables import Static


def instructions_of(static: Static) -> Instructions:
    """Opcode, function and position of every static instruction. O(instructions + metadata).

    An instruction without a position has that of its neighbour in the block (`places_of`, nearest).
    """
    return Instructions.of(_rows(static))


def _rows(static: Static) -> Iterator[tuple[str, str, str, int, int]]:
    places = places_of(static, nearest=True)
    blocks = static.block_first[static.function_block].tolist()
    for name, (first, end) in zip(static.functions, itertools.pairwise(blocks), strict=True):
        function = demangled(name.removeprefix("@").strip('"'))
        for number in range(first, end):
            place = places[number]
            where = ("", 0, 0) if place is None or not place.line else (place.file, place.line, place.column)
            yield static.instructions[number].op, function, *where
