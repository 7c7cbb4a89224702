"""Static tables of the graph builder: for each segment of a traced module, its `steps`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tracecut.ir.llvm import Function, Instruction
from tracecut.tracer.trace.compact.segment import LANDING, LEAVES, RETURNED_TWICE
from tracecut.tracer.trace.events.event_words import READ, WRITE, Kind
from tracecut.tracer.trace.events.interposed_calls import Interposed
from tracecut.tracer.trace.tables.static_tables import Static

from . import record_steps as op
from .argument_passing import stack_bytes, ways_of
from .control_dependence import controllers_of
from .instruction_costs import cycles_of


@dataclass
class _Site:
    kind: int
    callee: int
    arguments: list[int]
    result: int
    next: int
    passed: list[int]


def tables_of(static: Static, *, control: bool = False, hazards: int = 0) -> op.Tables:
    """Tables of a traced module. O(length of its text).

    Args:
        control: with steps for control dependences. hazards: bits of OVERWRITES, 0: without such steps.
    """
    return _Maker(static, control, hazards).tables()


class _Maker:
    def __init__(self, static: Static, control: bool, hazards: int) -> None:
        self.static = static
        self.control = control
        self.hazards = hazards
        self.controllers: list[int] = []
        self.functions = static.module.functions
        self.number = {name: place for place, name in enumerate(static.functions)}
        self.own = frozenset(static.functions)
        self.interposed = Interposed.of(static.module)
        self.types = static.module.types()
        self.takes_more = any("..." in self.functions[name].header for name in static.functions)
        self.items: dict[int, list[int]] = {}
        for item, instruction in enumerate(static.item_instruction.tolist()):
            self.items.setdefault(instruction, []).append(item)
        sizes = static.segment_end - static.segment_first
        self.segment = np.repeat(np.arange(static.n_segments), sizes).tolist()
        self.steps: list[tuple[int, int, int, int, int]] = []
        self.step = [0, 0]
        count = static.n_segments
        self.edges, self.pages, self.dynamic = [0] * count, [0] * count, [int(hazards > 0)] * count
        self.closes, self.frame, self.of = [-1] * count, [-1] * count, [-1] * count
        self.phi_first, self.phi_count, self.phi_source = [0] * count, [0] * count, [0] * count
        self.predecessors: list[int] = []
        self.sources: list[int] = []
        self.sites: list[_Site] = []
        self.variable: list[int] = []  # segments in which a va_list begins
        self.slots: list[int] = []
        self.parameter_first, self.parameter_slot = [0], list[int]()

    def tables(self) -> op.Tables:
        static = self.static
        for name in static.functions:
            self._function(self.functions[name])
        entry = np.full(static.n_segments, -1, np.int32)
        entry[static.block_segment[static.function_block[:-1]]] = np.arange(static.n_functions)
        ints = lambda values: np.array(values, np.int32).reshape(-1)  # noqa: E731
        longest = max((stack_bytes(site.passed) for site in self.sites), default=0)
        for segment in self.variable:
            self.pages[segment] += 6 + (longest >> 12)
        return op.Tables(
            steps=ints(self.steps),
            step=ints(self.step),
            first=static.segment_first,
            size=static.segment_end - static.segment_first,
            words=static.segment_words,
            entry=entry,
            closes=ints(self.closes),
            frame=ints(self.frame),
            function=ints(self.of),
            edges=ints(self.edges),
            pages=ints(self.pages),
            dynamic=ints(self.dynamic),
            predecessors=ints(self.predecessors),
            sources=ints(self.sources),
            phi_first=ints(self.phi_first),
            phi_count=ints(self.phi_count),
            phi_source=ints(self.phi_source),
            site_kind=ints([site.kind for site in self.sites]),
            site_callee=ints([site.callee for site in self.sites]),
            site_first=ints(np.cumsum([0, *(len(site.arguments) for site in self.sites)])),
            site_count=ints([len(site.arguments) for site in self.sites]),
            site_result=ints([site.result for site in self.sites]),
            site_next=ints([site.next for site in self.sites]),
            arguments=ints([slot for site in self.sites for slot in site.arguments]),
            passed=ints([way for site in self.sites for way in site.passed]),
            slots=ints(self.slots),
            parameters=ints(np.diff(self.parameter_first)),
            parameter_first=ints(self.parameter_first),
            parameter_slot=ints(self.parameter_slot),
            variadic=ints([int("..." in self.functions[name].header) for name in static.functions]),
            controllers=ints(self.controllers),
            time=ints([cycles_of(instruction, self.own) for instruction in static.instructions]),
        )

    def _function(self, function: Function) -> None:
        static = self.static
        number = self.number[function.name]
        self.block_base = int(static.function_block[number])
        self.blocks = {block.name: self.block_base + place for place, block in enumerate(function.blocks)}
        self.names = [block.name for block in function.blocks]
        self.made: dict[str, int] = {parameter.name: -1 for parameter in function.parameters}
        base = int(static.block_first[self.block_base])
        for place, (_, instruction) in enumerate(function.instructions()):
            if instruction.result is not None:
                self.made[instruction.result] = base + place
        self.slot: dict[str, int] = {}
        for place, (_, instruction) in enumerate(function.instructions()):
            for name in self._kept(instruction, base + place):
                self.slot.setdefault(name, len(self.slot))
        deciders = controllers_of(function) if self.control else {}
        self.branches = {name for names in deciders.values() for name in names}
        for name in sorted(self.branches):
            self.slot[f"branch of {name}"] = len(self.slot)
        for block in function.blocks:
            self.decided = (len(self.controllers), len(deciders.get(block.name, ())))
            self.controllers += [self.slot[f"branch of {name}"] for name in sorted(deciders.get(block.name, ()))]
            self._block(block.instructions, self.blocks[block.name], number)
        self.slots.append(len(self.slot))
        self.parameter_slot.extend(self.slot.get(parameter.name, -1) for parameter in function.parameters)
        self.parameter_first.append(len(self.parameter_slot))

    def _kept(self, instruction: Instruction, place: int) -> Iterator[str]:
        """Values that this use needs a slot for."""
        everything = instruction.op == "phi" or self._is_site(instruction, place)
        for name in self._operands(instruction):
            maker = self.made[name]
            if everything or maker < 0 or self.segment[maker] != self.segment[place]:
                yield name
        if self._is_site(instruction, place) and instruction.result is not None:
            yield instruction.result

    def _is_site(self, instruction: Instruction, place: int) -> bool:
        """Whether traced code may run inside of this call: its segment ends behind it."""
        return (
            instruction.op in ("call", "invoke", "callbr") and place + 1 == self.static.segment_end[self.segment[place]]
        )

    def _operands(self, instruction: Instruction) -> Sequence[str]:
        """Names of the values that an instruction uses, each once, in order."""
        operands = instruction.operands
        if any(operand.type == "?" for operand in operands):
            names = list(instruction.uses)
        else:
            names = [operand.text for operand in operands]
            if instruction.op in ("call", "invoke", "callbr"):
                names.append(instruction.word)
        return [name for name in dict.fromkeys(names) if name in self.made]

    def _block(self, instructions: list[Instruction], block: int, function: int) -> None:
        static = self.static
        first_segment, end_segment = static.block_segment[block : block + 2].tolist()
        self._phis([instruction for instruction in instructions if instruction.op == "phi"], first_segment)
        for segment in range(first_segment, end_segment):
            begin, end = int(static.segment_first[segment]), int(static.segment_end[segment])
            role = int(static.segment_role[segment])
            self.of[segment] = function
            self.here = segment
            if role & RETURNED_TWICE and self.sites and self.sites[-1].next == segment:
                self._add(op.UNWOUND, -1, self.sites[-1].result)
            for place in range(begin, end):
                self._instruction(instructions[place - int(static.block_first[block])], place, place - begin, role)
            if role & LEAVES and self.steps[-1][0] != op.RETURN:
                resumes = instructions[end - 1 - int(static.block_first[block])].op == "resume"
                self._add(op.LEAVE, end - begin - 1, int(resumes))
            self.step.append(len(self.steps))
        self.closes[end_segment - 1] = block

    def _add(self, code: int, place: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        self.steps.append((code, place, a, b, c))

    def _phis(self, phis: list[Instruction], segment: int) -> None:
        self.here = segment
        if not phis:
            return
        labels = list(dict.fromkeys(label for phi in phis for label in phi.labels))
        self.phi_first[segment], self.phi_count[segment] = len(self.predecessors), len(labels)
        self.phi_source[segment] = len(self.sources)
        self.predecessors.extend(self.blocks[label] for label in labels)
        for label in labels:
            for phi in phis:
                text = phi.operands[phi.labels.index(label)].text
                self.sources.append(self.slot[text] if text in self.made else -1)
        self._add(op.PHI, 0, len(phis))
        self.edges[segment] += len(phis)

    def _instruction(self, instruction: Instruction, place: int, offset: int, role: int) -> None:
        segment, opcode = self.here, instruction.op
        if opcode != "phi":
            for name in self._operands(instruction):
                maker = self.made[name]
                if maker >= 0 and self.segment[maker] == segment and maker < place:
                    self._add(op.LOCAL, offset, maker - int(self.static.segment_first[segment]))
                else:
                    self._add(op.LIVE, offset, self.slot[name])
                self.edges[segment] += 1
            if self.decided[1]:
                self._add(op.CONTROL, offset, *self.decided)
                self.edges[segment] += 1
        if opcode == "landingpad" and role & LANDING:
            self._add(op.UNWOUND, offset)
            self.edges[segment] += 1
        self._memory(instruction, place, offset)
        if self._is_site(instruction, place):
            self._site(instruction, offset)
        if instruction.result is not None and instruction.result in self.slot:
            self._add(op.KEEP, offset, self.slot[instruction.result])
        if instruction.is_terminator and self._block_name(place) in self.branches:
            self._add(op.KEEP, offset, self.slot[f"branch of {self._block_name(place)}"])
        if opcode == "ret":
            self._add(op.RETURN, offset, int(bool(instruction.operands)))

    def _block_name(self, place: int) -> str:
        return self.names[int(self.static.segment_block[self.segment[place]]) - self.block_base]

    def _site(self, call: Instruction, offset: int) -> None:
        kind = op.EXTERNAL
        if call.word in self.own:
            kind = op.DIRECT
        elif call.word.startswith("%"):
            kind = op.INDIRECT
        arguments = [self.slot.get(operand.text, -1) for operand in call.operands if operand.type != "metadata"]
        result = -1 if call.result is None else self.slot[call.result]
        following = self.here + 1 if call.op == "call" else -1
        self._add(op.CALL, offset, len(self.sites))
        passed = ways_of(call, self.types) if self.takes_more else [0] * len(arguments)
        self.sites.append(_Site(kind, self.number.get(call.word, -1), arguments, result, following, passed))

    def _memory(self, instruction: Instruction, place: int, offset: int) -> None:
        items = self.items.get(place, [])
        reads = [row for item in items for row in self._reads(item)]
        writes = [row for item in items for row in self._writes(item, instruction)]
        plain = len(reads) == 1 and reads[0][0] == op.LOAD and reads[0][2] <= op.SIMPLE_BYTES
        for row in writes:
            if row[0] == op.COPIED:  # done before the function began
                self._add(row[0], offset, *row[1:])
        if reads and not plain:
            self._add(op.MANY_READS, offset)
        if reads and self.hazards & op.WAS_READ:
            self._add(op.NOTED, offset, len(reads), 0, int(plain))
        for code, word, size, lanes in reads:
            self._add(code, offset, word, size, lanes if plain or code != op.LOAD else 1)
        if reads and not plain:
            self._add(op.READS_DONE, offset)
        over = [row for row in writes if row[0] in op.WRITING]
        for row in [*(row for row in writes if row[0] not in (op.COPIED, *op.WRITING)), *over]:
            if self.hazards and over and row is over[0]:  # behind what gives memory a new life
                self._add(
                    op.OVERWRITES, offset, len(over), self.hazards, int(len(over) == 1 and over[0][0] == op.STORE)
                )
            self._add(row[0], offset, *row[1:])

    def _reads(self, item: int) -> Iterator[tuple[int, int, int, int]]:
        static, segment = self.static, self.here
        kind, word = Kind(int(static.item_kind[item])), int(static.item_word[item])
        if kind is Kind.FRAME:
            self.frame[segment] = word
        if kind is Kind.REALLOC:
            yield op.REALLOC_READ, word, 0, 0
        if not static.item_access[item] & READ:
            return
        size, lanes = int(static.item_bytes[item]), int(static.item_lanes[item])
        if kind is Kind.ADDR:
            yield op.LOAD, word, size, 0
        elif kind is Kind.RANGE:
            yield op.RANGE_READ, word, word + 2, 0
        elif kind is Kind.COPY:
            yield op.RANGE_READ, word + 2, word + 4, 0
        elif kind in (Kind.MASK, Kind.GATHER):
            yield (op.LANES_READ if kind is Kind.MASK else op.GATHER), word, size, lanes
        elif kind is Kind.OPAQUE:
            yield op.OPAQUE_READ, word, 0, 0
        elif kind is Kind.VARIABLE:
            yield op.PASSED_READ, word, 0, 0
        self._bound(kind, size, lanes)

    def _writes(self, item: int, instruction: Instruction) -> Iterator[tuple[int, int, int, int]]:
        static, segment = self.static, self.here
        kind, word = Kind(int(static.item_kind[item])), int(static.item_word[item])
        size, lanes = int(static.item_bytes[item]), int(static.item_lanes[item])
        if kind is Kind.ALLOC:
            yield op.ALLOCATE, word, int(instruction.word == "@calloc"), 0
        elif kind is Kind.FREE:
            yield op.RELEASE, word, 0, 0
        elif kind is Kind.REALLOC:
            yield op.REALLOCATE, word, 0, 0
        elif kind is Kind.ALLOCA:
            yield op.SLOT, word, 0, 0
        elif kind is Kind.LIFETIME:
            yield op.DROP, word, size, 0
        elif kind is Kind.BYVAL:
            yield op.COPIED, word, size, 0
        elif static.item_access[item] & WRITE:
            if kind is Kind.ADDR:
                yield op.STORE, word, size, int(size > op.SIMPLE_BYTES)
            elif kind in (Kind.RANGE, Kind.COPY):
                later = self.interposed.writes_behind(instruction.word.removeprefix("@"))
                yield op.RANGE_WRITE, word, word + (2 if kind is Kind.RANGE else 4), int(later)
            elif kind in (Kind.MASK, Kind.GATHER):
                yield (op.LANES_WRITE if kind is Kind.MASK else op.SCATTER), word, size, lanes
            elif kind is Kind.OPAQUE:
                yield op.OPAQUE_WRITE, word, 0, 0
            elif kind is Kind.VARIABLE:
                self.variable.append(segment)
                yield op.VARIADIC, word, 0, 0
        self._bound(kind, size, lanes)

    def _bound(self, kind: Kind, size: int, lanes: int) -> None:
        segment = self.here
        total = size * max(1, lanes)
        if kind is Kind.ADDR:
            self.edges[segment] += size
            self.pages[segment] += 2 + (size >> 12)
        elif kind in (Kind.MASK, Kind.GATHER):
            self.edges[segment] += total
            self.pages[segment] += 2 * lanes + (total >> 12)
        elif kind is not Kind.FRAME:
            self.dynamic[segment] = 1
