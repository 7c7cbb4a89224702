"""Runs: loops of one block whose iterations share one record.

A *run* stands for consecutive records of one segment that is the whole body of an innermost loop. Its record holds the
number of iterations and, for each address with a constant stride, its first value. Addresses without one
(`x[column[k]]`) follow, iteration by iteration. The number of iterations is updated when an iteration begins, so that
the record is valid if the program ends inside the loop.

    run id · iterations · (begin [· step]) for each field that is not FREE · the FREE fields of each iteration

The fields are the addresses of the segment's payload, in order. A stride that is no constant of the text is computed
before the loop and stored in the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from tracecut.ir.llvm import Block, Function, Instruction, Operand, TypeTable
from tracecut.ir.llvm.lexer import LOCAL
from tracecut.tracer.trace.events.event_words import Kind

from .affine import Affine, Arithmetic, Monomial
from .segment import Segment

RUN_BITS = 20
RUN_LIMIT = 1 << RUN_BITS  # iterations of one record: the reader gets those of a long loop while it runs
MOST_FIELDS = 256


class Shape(IntEnum):
    """How an address changes from iteration to iteration."""

    FIXED = 0  # by a constant: the record holds the first address
    STEPPED = 1  # by a loop invariant: the record holds the first address and the step
    FREE = 2  # in another way: the record holds all addresses
    SIGNED = 3  # by an index of 32 bits times a constant: the record holds the address of index 0, and all indices
    UNSIGNED = 4  # the same with an unsigned index


HEADER_WORDS = {Shape.FIXED: 2, Shape.STEPPED: 4, Shape.FREE: 0, Shape.SIGNED: 2, Shape.UNSIGNED: 2}
FREE_WORDS = {Shape.FIXED: 0, Shape.STEPPED: 0, Shape.FREE: 2, Shape.SIGNED: 1, Shape.UNSIGNED: 1}


@dataclass(frozen=True)
class Field:
    """An address of the segment. `begin`, `step`: see `affine.Linear`; empty for FREE ones.

    SIGNED and UNSIGNED ones have in `step` the bytes of an index, and in `index` its name.
    """

    pointer: Operand
    shape: Shape
    begin: Mapping[Monomial, int]
    step: Mapping[Monomial, int]
    index: str = ""

    @property
    def constant(self) -> int:
        """Bytes from one iteration, or one index, to the next; 0 for STEPPED and FREE."""
        return 0 if self.shape is Shape.STEPPED else self.step.get((), 0)


@dataclass(frozen=True)
class Run:
    """A loop of one block. `place`: of its segment in the function's list; `outside`: the block in front of it."""

    block: int
    place: int
    outside: str
    fields: tuple[Field, ...]

    @property
    def header_words(self) -> int:
        """Words of the record that do not repeat for each iteration, id and number of iterations included."""
        return 2 + sum(HEADER_WORDS[field.shape] for field in self.fields)

    @property
    def free_words(self) -> int:
        """Words of each iteration."""
        return sum(FREE_WORDS[field.shape] for field in self.fields)


def runs_of(function: Function, segments: Sequence[Segment], types: TypeTable) -> list[Run]:
    """The runs of a function, in order. `segments`: of it. O(instructions)."""
    sources: dict[str, list[Block]] = {block.name: [] for block in function.blocks}
    for block in function.blocks:
        for label in block.terminator.labels:
            sources[label].append(block)
    unwound = {
        label
        for block in function.blocks
        if block.terminator.op in ("invoke", "callbr")
        for label in block.terminator.labels
    }
    counts = Counter(segment.block for segment in segments)
    found = []
    for place, segment in enumerate(segments):
        items = [item for _, item, _ in segment.own_items]
        block = function.blocks[segment.block]
        if segment.block == 0 or segment.role or counts[segment.block] > 1 or len(items) > MOST_FIELDS:
            continue
        outside = [source for source in sources[block.name] if source is not block]
        if len(outside) != 1 or len(sources[block.name]) != 2:
            continue
        if outside[0].terminator.op not in ("br", "switch") or block.terminator.op not in ("br", "switch"):
            continue
        if unwound.intersection(block.terminator.labels):
            continue  # these load the write position from memory, where the loop does not store it
        if any(item.kind is not Kind.ADDR or item.late for item in items):
            continue
        if any(item.result in types.named for item in block.instructions):
            continue  # a type of the same name: the text alone does not tell them apart
        steps = Affine([block], block.name, types)
        made = {item.result: item for item in block.instructions}
        fields = [
            _indexed(field_of(item.pointers[0], steps), made.get(item.pointers[0].text), made, steps) for item in items
        ]
        found.append(Run(segment.block, place, outside[0].name, tuple(fields)))
    return found


def run_tables(runs: Sequence[tuple[int, Run]]) -> dict[str, Any]:
    """The tables of runs in `static_tables.Static`, without their fields. `runs`: each with its segment."""
    return {
        "run_segment": np.array([segment for segment, _ in runs], np.int32),
        "run_field": np.cumsum([0, *(len(run.fields) for _, run in runs)], dtype=np.int32),
    }


def field_tables(fields: Sequence[Field]) -> dict[str, Any]:
    """The tables of all fields, those of runs first."""
    return {
        "field_shape": np.array([field.shape for field in fields], np.uint8),
        "field_step": np.array([field.constant for field in fields], np.int64),
    }


def field_of(pointer: Operand, affine: Affine) -> Field:
    """How the address of an access changes."""
    found = affine.of(pointer)
    if found is None:
        return Field(pointer, Shape.FREE, {}, {})
    return Field(pointer, Shape.FIXED if set(found.step) <= {()} else Shape.STEPPED, found.begin, found.step)


def _indexed(
    field: Field, address: Instruction | None, made: Mapping[str | None, Instruction], affine: Affine
) -> Field:
    """A FREE field as SIGNED or UNSIGNED, when its index has 32 bits."""
    if field.shape is not Shape.FREE or address is None or address.op != "getelementptr":
        return field
    parts = affine.parts(address)
    moving = [(index, size) for index, size in parts or () if index.text in made]
    if parts is None or len(moving) != 1:
        return field
    (index, size), cast = moving[0], made[moving[0][0].text]
    if cast.op not in ("sext", "zext") or cast.type != "i64" or cast.operands[0].type != "i32":
        return field
    begin = affine.sum_of(address.operands[0], [part for part in parts if part[0] is not index])
    if begin is None or begin.step:
        return field
    shape = Shape.SIGNED if cast.op == "sext" else Shape.UNSIGNED
    return Field(field.pointer, shape, begin.begin, {(): size}, cast.operands[0].text)


class RunCode:
    """The instructions that compute the words of a run's record that do not repeat."""

    def __init__(self, run: Run, block: Block, prefix: str) -> None:
        self._run = run
        self._arithmetic = Arithmetic(prefix)
        self._bases: dict[int, str] = {}
        self._made = {item.result: item for item in block.instructions if item.result is not None}
        self._outside = {
            str(phi.result): value.text
            for phi in block.phis
            for value, label in zip(phi.operands, phi.labels, strict=True)
            if label == run.outside
        }

    def steps(self, out: list[Instruction]) -> list[str]:
        """Compute the steps of the STEPPED fields before the loop; their values, i64."""
        return [
            self._arithmetic.polynomial(out, field.step) for field in self._run.fields if field.shape is Shape.STEPPED
        ]

    def begins(self, out: list[Instruction], *, first: bool) -> list[str]:
        """Where all fields that are not FREE begin, as typed values: their addresses in the iteration that comes.

        Args:
            first: in front of the loop; otherwise inside of it, where its phis have their values.
        """
        known: dict[str, str] = dict(self._outside) if first else {name: name for name in self._outside}
        found = []
        for number, field in enumerate(self._run.fields):
            if field.shape in (Shape.SIGNED, Shape.UNSIGNED):
                if first:  # it stays the same
                    self._bases[number] = f"i64 {self._arithmetic.polynomial(out, field.begin)}"
                found.append(self._bases[number])
            elif field.shape is not Shape.FREE:
                found.append(f"ptr {self._clone(out, field.pointer.text, known)}")
        return found

    def _clone(self, out: list[Instruction], name: str, known: dict[str, str]) -> str:
        """Compute a value of the loop where its phis are `known`."""
        if name in known or name not in self._made:
            return known.get(name, name)
        made = self._made[name]
        for operand in made.operands:
            self._clone(out, operand.text, known)
        body = made.text[made.text.index("=", len(name)) + 1 :].strip()
        known[name] = self._arithmetic.do(out, LOCAL.sub(lambda found: known.get(found[0], found[0]), body))
        return known[name]
