"""The instructions that record runs and entries of regions.

The words of a run that do not repeat are stored in front of its loop, the number of iterations in the loop:

    in front:  id · first addresses · steps                                              (on the edge into the loop)
    loop:      full? → flush, and the same again at the start of the next chunk
               iterations + 1 → the record · FREE addresses behind it · the body

A loop with FREE addresses tests whether the chunk is full, another one whether the run has RUN_LIMIT iterations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tracecut.ir.llvm import Block, Function, Instruction
from tracecut.ir.llvm.lexer import NAME
from tracecut.tracer.trace.compact.affine import Arithmetic
from tracecut.tracer.trace.compact.loop_runs import FREE_WORDS, RUN_LIMIT, Field, Run, RunCode, Shape
from tracecut.tracer.trace.compact.segment import Segment
from tracecut.tracer.trace.compact.strided_loops import Region
from tracecut.tracer.trace.events.event_words import CHUNK_BITS

from .recorder_instructions import Spelling

_LABEL = re.compile(rf"label %({NAME})")
_SELDOM = '!prof !{!"branch_weights", i32 1, i32 1048576}'


class Front:
    """A block on the edge that leads into a loop from outside."""

    def __init__(self, name: str, header: str, outside: str) -> None:
        self.name = name
        self.header = header
        self.outside = outside

    def relabel(self, phi: Instruction) -> None:
        """Let a phi of the loop take from this block what came from the block outside."""
        phi.text = re.sub(rf",\s*%{re.escape(self.outside)}(\s*\])", rf", %{self.name}\1", phi.text)


def redirect(fronts: Sequence[Front], function: Function) -> None:
    """Let the blocks outside branch to these blocks. O(length of the function)."""
    pieces: dict[str, dict[str, str]] = {}
    for front in fronts:
        pieces.setdefault(front.outside, {})[front.header] = front.name
    for block in function.blocks if pieces else ():
        if block.name in pieces:
            block.terminator.text = _relabelled(block.terminator.text, pieces[block.name])


def _relabelled(text: str, names: Mapping[str, str]) -> str:
    return _LABEL.sub(lambda found: f"label %{names.get(found[1], found[1])}", text)


def header_stores(
    out: list[Instruction],
    name: str,
    position: str,
    first: int,
    fields: Sequence[Field],
    words: tuple[list[str], list[str]],
) -> None:
    """Store first addresses and steps. `first`: byte of the first one. `words`: the values of both, in order."""
    offset = first
    begin, step = iter(words[0]), iter(words[1])
    for field in fields:
        if field.shape is not Shape.FREE:
            store(out, f"{name}{offset}", position, offset, next(begin))
            offset += 8
        if field.shape is Shape.STEPPED:
            store(out, f"{name}{offset}", position, offset, next(step))
            offset += 8


def store(out: list[Instruction], name: str, position: str, offset: int, value: str) -> None:
    """Store a typed value at a byte of a record."""
    out.append(Instruction(f"{name} = getelementptr i8, ptr {position}, i64 {offset}"))
    out.append(Instruction(f"store {value}, ptr {name}, align 4"))


class RegionWriter:
    """Records the entry into a region. `number`: its id."""

    def __init__(self, region: Region, number: int) -> None:
        self._region = region
        self._number = number
        self._name = f"%tc.w{number}"
        self.front = Front(f"tc.rw{number}", region.header, region.outside)
        self.position = f"{self._name}.d"  # behind the record

    def write(self, before: str) -> Block:
        """The block in front of the loop. `before`: write position at the end of the block outside."""
        out: list[Instruction] = []
        code = Arithmetic(f"{self._name}.c")
        begins = ["i64 " + code.polynomial(out, field.begin) for field in self._region.fields]
        steps = [
            "i64 " + code.polynomial(out, field.step) for field in self._region.fields if field.shape is Shape.STEPPED
        ]
        out.append(Instruction(f"store i32 {self._number}, ptr {before}, align 4"))
        header_stores(out, f"{self._name}.s", before, 4, self._region.fields, (begins, steps))
        size = 4 * self._region.header_words
        out.append(Instruction(f"{self.position} = getelementptr i8, ptr {before}, i64 {size}"))
        out.append(Instruction(f"br label %{self._region.header}"))
        return Block(self.front.name, out)


class RunWriter:
    """Records one run. `header`: its block; `number`: its id."""

    def __init__(self, run: Run, header: str, number: int, spelling: Spelling) -> None:
        self.run = run
        self._spelling = spelling
        self._number = number
        self._name = f"%tc.u{number}"
        self._more, self._go = f"tc.mu{number}", f"tc.gu{number}"
        self.front = Front(f"tc.ru{number}", header, run.outside)
        self._serial = 0

    def write(self, block: Block, segment: Segment, before: str, after: str) -> list[Block]:
        """The blocks that replace the block, the one in front of the loop first.

        Args:
            before: write position at the end of the block outside. after: name of the position behind the loop.
        """
        code = RunCode(self.run, block, f"{self._name}.c")
        front = Block(self.front.name)
        steps = code.steps(front.instructions)
        self._header(front.instructions, before, code.begins(front.instructions, first=True), steps)
        more = Block(self._more)
        begins = code.begins(more.instructions, first=False)
        loop = self._loop(block, before, front, more)
        self._header(more.instructions, f"{self._name}.f", begins, steps)
        if self.run.free_words:
            self._behind(more.instructions, f"{self._name}.f", f"{self._name}.e")
        for piece, target in ((front, block.name), (more, self._go)):
            piece.instructions.append(Instruction(f"br label %{target}"))
        return [front, loop, more, self._body(block, segment, after)]

    def _loop(self, block: Block, before: str, front: Block, more: Block) -> Block:
        """The start of the loop: its phis and ours, and the test that branches to `more`."""
        name, free = self._name, bool(self.run.free_words)
        back = f"%{self._go} ]"
        lines = [
            f"{name}.h = phi ptr [ {before}, %{self.front.name} ], [ {name}.h2, {back}",  # where the record begins
            f"{name}.k = phi i32 [ 0, %{self.front.name} ], [ {name}.k1, {back}",  # iterations
        ]
        if free:
            self._behind(front.instructions, before, f"{name}.d")
            lines.append(f"{name}.p = phi ptr [ {name}.d, %{self.front.name} ], [ {name}.p1, {back}")
        loop = Block(block.name, [Instruction(line) for line in lines])
        for phi in block.phis:
            self.front.relabel(phi)
            loop.instructions.append(phi)
        if free:
            lines = [f"{name}.a = ptrtoint ptr {name}.p to i64", f"{name}.b = and i64 {name}.a, {1 << CHUNK_BITS}"]
            lines.append(f"{name}.c = icmp ne i64 {name}.b, 0")
        else:
            lines = [f"{name}.c = icmp eq i32 {name}.k, {RUN_LIMIT}"]
        loop.instructions += [Instruction(line) for line in lines]
        loop.instructions.append(Instruction(f"br i1 {name}.c, label %{self._more}, label %{self._go}, {_SELDOM}"))
        here = f"{name}.p"
        if not free:
            self._behind(more.instructions, f"{name}.h", f"{name}.q")
            here = f"{name}.q"
        more.instructions.append(Instruction(f"{name}.f = {self._spelling.flush}(ptr {here})"))
        return loop

    def _body(self, block: Block, segment: Segment, after: str) -> Block:
        """The rest of the block."""
        name = self._name
        merged = f", %{block.name} ], [ "
        lines = [
            f"{name}.h2 = phi ptr [ {name}.h{merged}{name}.f, %{self._more} ]",
            f"{name}.k2 = phi i32 [ {name}.k{merged}0, %{self._more} ]",
        ]
        if self.run.free_words:
            lines.append(f"{name}.p2 = phi ptr [ {name}.p{merged}{name}.e, %{self._more} ]")
        lines += [
            f"{name}.k1 = add i32 {name}.k2, 1",
            f"{name}.n = getelementptr i8, ptr {name}.h2, i64 4",
            f"store i32 {name}.k1, ptr {name}.n, align 4",
        ]
        body = Block(self._go, [Instruction(line) for line in lines])
        out = body.instructions
        fields = iter(self.run.fields)
        stores: dict[int, list[Field]] = {}
        for place, _, _ in segment.own_items:
            if FREE_WORDS[(field := next(fields)).shape]:
                stores.setdefault(place, []).append(field)
        offset = 0
        for place in range(len(block.phis), segment.end):
            if place == segment.end - 1:
                if self.run.free_words:
                    out.append(
                        Instruction(f"{name}.p1 = getelementptr i8, ptr {name}.p2, i64 {4 * self.run.free_words}")
                    )
                    out.append(Instruction(f"{after} = getelementptr i8, ptr {name}.p1, i64 0"))
                else:
                    self._behind(out, f"{name}.h2", after)
            for field in stores.get(place, ()):
                value = f"ptr {field.pointer.text}"
                if field.shape is not Shape.FREE:  # inverted: what is not stored yet is 0
                    out.append(Instruction(f"{name}.o{offset} = xor i32 {field.index}, -1"))
                    value = f"i32 {name}.o{offset}"
                store(out, f"{name}.v{offset}", f"{name}.p2", offset, value)
                offset += 4 * FREE_WORDS[field.shape]
            out.append(block.instructions[place])
        return body

    def _header(self, out: list[Instruction], position: str, begins: list[str], steps: list[str]) -> None:
        """Store the words that do not repeat, but for the number of iterations: memory is 0 there."""
        self._serial += 1
        out.append(Instruction(f"store i32 {self._number}, ptr {position}, align 4"))
        words = begins, [f"i64 {step}" for step in steps]
        header_stores(out, f"{self._name}.s{self._serial}.", position, 8, self.run.fields, words)

    def _behind(self, out: list[Instruction], position: str, result: str) -> None:
        out.append(Instruction(f"{result} = getelementptr i8, ptr {position}, i64 {4 * self.run.header_words}"))
