"""The event stream of a program that the slow interpreter runs, as the instrumented program would write it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.llvm.instruction import Instruction
from tracecut.ir.llvm.operands import Operand
from tracecut.tracer.trace.events.event_words import Kind, Mark, mask_words
from tracecut.tracer.trace.events.memory_operations import Item, Sites
from tracecut.tracer.trace.tables.static_tables import Static

from .interpreter import Frame, Interpreter, Line

SPLITS = ("call", "invoke")


class Recorder:
    """Watches an interpreter and writes the words of its one thread."""

    def __init__(self, static: Static) -> None:
        self.static = static
        self.sites = Sites(static.module)
        self.allocas = {name: self.sites.allocas(function) for name, function in static.module.functions.items()}
        sizes = static.segment_end - static.segment_first
        self.segment = np.repeat(np.arange(static.n_segments), sizes).tolist()
        self.ends = set((static.segment_end - 1).tolist())
        self.frames: dict[int, list[int]] = {}
        self.words: list[int] = []
        self.payload: dict[int, list[int]] = {}
        self.machine: Interpreter
        self.borders = [0]
        self.items: dict[int, list[int]] = {}
        for item, instruction in enumerate(static.item_instruction.tolist()):
            self.items.setdefault(instruction, []).append(item)

    def begin(self, machine: Interpreter) -> None:
        self.machine = machine
        for number, (name, size) in enumerate(self.static.globals):
            self.words += [int(Mark.GLOBAL), number, *_two(machine.globals[name][0]), *_two(size)]

    def executed(self, vertex: int, line: Line, frame: Frame) -> None:
        self._put(line, frame, late=False)
        if line.number in self.ends and line.op in SPLITS:
            self._record(line, frame)

    def wrote(self, address: int, length: int) -> None:
        self.borders.append(len(self.words))
        self.words += [int(Mark.WROTE), *_two(address), *_two(length)]

    def done(self, vertex: int, line: Line, frame: Frame) -> None:
        if line.number in self.ends and line.op in SPLITS:
            self._put_behind(line, frame)
            return
        self._put(line, frame, late=True)
        if line.number in self.ends:
            self._record(line, frame)

    def _put(self, line: Line, frame: Frame, *, late: bool) -> None:
        """Note the words of an instruction's items where the tables say that they stand."""
        static = self.static
        size = int(static.segment_words[self.segment[line.number]])
        payload = self.payload.setdefault(id(frame), [0] * size)
        numbers = self.items.get(line.number, [])
        copies = self.sites.copied_parameters(static.module.functions[frame.function])
        own = []
        for number in numbers:
            word = int(static.item_word[number])
            if static.item_kind[number] == Kind.FRAME:
                payload[word : word + 2] = _two(frame.address)
            elif static.item_kind[number] == Kind.BYVAL:
                payload[word : word + 2] = _two(self._value(copies.pop(0).pointers[0], frame))
            else:
                own.append(number)
        instruction = static.instructions[line.number]
        items = self.sites.items(instruction, self.allocas[frame.function])
        for number, item in zip(own, items, strict=True):
            if item.late == late:
                word = int(static.item_word[number])
                words = self._item(item, instruction, frame)
                payload[word : word + len(words)] = words

    def _put_behind(self, line: Line, frame: Frame) -> None:
        """What is known when the call that ends a segment is done goes into the record, which stands already."""
        items = self.sites.items(self.static.instructions[line.number], self.allocas[frame.function])
        if not any(item.late for item in items):
            return
        self._put(line, frame, late=True)
        payload = self.payload.pop(id(frame))
        begin = len(self.words) - len(payload)
        assert self.borders[-1] == begin - 1, "only the last record can be added to"
        self.words[begin:] = [new or old for new, old in zip(payload, self.words[begin:], strict=True)]

    def stream(self) -> npt.NDArray[np.uint32]:
        return np.array([*self.words, int(Mark.END), 0, 0], np.uint32)

    def _record(self, line: Line, frame: Frame) -> None:
        segment = self.segment[line.number]
        payload = self.payload.pop(id(frame))
        assert len(payload) == self.static.segment_words[segment], (line, payload)
        self.borders.append(len(self.words))
        self.words += [segment, *payload]

    def _value(self, operand: Operand, frame: Frame) -> Any:
        if operand.text.startswith("%"):
            return frame.values[operand.text]
        return self.machine.constants.value(operand.type, operand.text)

    def _item(self, item: Item, instruction: Instruction, frame: Frame) -> list[int]:
        pointers = [self._value(pointer, frame) for pointer in item.pointers]
        if item.kind in (Kind.MASK, Kind.GATHER):
            mask = item.mask
            assert mask is not None
            whole = sum(bit << lane for lane, bit in enumerate(self._value(mask, frame)))
            bits = [whole >> (32 * word) & 0xFFFFFFFF for word in range(mask_words(item.lanes))]
            starts = pointers[0] if isinstance(pointers[0], tuple) else pointers
            return [word for start in starts for word in _two(start)] + bits
        if item.kind is Kind.VARIABLE:
            return [word for place in (8, 16, 0) for word in _two(self.machine.number_at(pointers[0] + place))]
        found = [word for pointer in pointers for word in _two(pointer)]
        if item.length:
            size = 1
            for factor in item.length:
                size *= self._factor(factor, item, pointers[-1], frame)
            found += _two(size)
        return found

    def _factor(self, factor: str, item: Item, pointer: int, frame: Frame) -> int:
        if factor.isdigit():
            return int(factor)
        if factor == "ret":
            assert item.result is not None
            return int(self._value(item.result, frame))
        if factor.startswith("m") and factor[1:].isdigit():
            return self.machine.number_at(self._value(item.arguments[int(factor[1:])], frame))
        found = re.match(r"(a|str|min|nn)(\d*)$", factor)
        assert found is not None
        kind, place = found.groups()
        argument = self._value(item.arguments[int(place)], frame) if place else pointer
        if kind == "a":
            return int(argument)
        if kind == "nn":
            return int(argument != 0)
        data = self.machine.peek(argument if kind == "str" else pointer, 4096)
        length = data.index(0) + 1
        return min(length, int(argument)) if kind == "min" else length


def _two(value: int) -> list[int]:
    return [value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF]
