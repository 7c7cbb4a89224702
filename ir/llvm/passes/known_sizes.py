"""Sizes that a program works out of the ends of a piece of memory, `end - begin`, become the size it was made with.

`std::vector` holds two pointers. After inlining both may be phis of a block: memory of some size and its end, or null
and null plus that size if nothing was allocated. Comparisons of the two, as `empty()` makes them, ask for the size too.
"""

from __future__ import annotations

from tracecut.ir.llvm import Block, Function, Instruction
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import sources

Bytes = tuple[str, int]  # a number and how often it is taken; "" and bytes
_PURE = "add sub mul shl lshr ashr and or xor zext sext trunc".split()
SIZES = {"i8": 1, "i16": 2, "i32": 4, "float": 4, "i64": 8, "ptr": 8, "double": 8}
_DEPTH = 8


def known_sizes(function: Function) -> None:
    """Put the size in the place of such differences, in place. O(instructions)."""
    if any(item.op == "phi" and item.type == "ptr" for _, item in function.instructions()):
        _Differences(function).replace()


def computed_before(flow: ControlFlow, loop: Loop, numbers: list[str]) -> list[Instruction] | None:
    """What computes some numbers inside of a loop, if it could be done in front of it, in order; else None."""
    inside = {str(item.result): item for name in loop.blocks for item in flow.blocks[name].instructions}
    found: dict[str, Instruction] = {}

    def visit(number: str, depth: int) -> bool:
        if number not in inside or number in found:
            return True
        item = inside[number]
        if item.op not in _PURE or depth > _DEPTH:
            return False
        if all(visit(operand.text, depth + 1) for operand in item.operands):
            found[number] = item
            return True
        return False

    return list(found.values()) if all(visit(number, 0) for number in numbers) else None


class _Differences:
    """How far pointers of a function lie apart."""

    def __init__(self, function: Function) -> None:
        self.blocks = function.blocks
        self.flow = ControlFlow(function)
        self.made = {
            str(item.result): (block, item) for block, item in function.instructions() if item.result is not None
        }
        self.apart: dict[tuple[str, str], Bytes | None] = {}  # two phis
        self.phis: list[tuple[Block, Instruction]] = []

    def replace(self) -> None:
        for block in self.blocks:
            lines = []
            for item in block.instructions:
                found = self._asked(item)
                if found is None or not self._known_at(found[0], block):
                    lines.append(item)
                    continue
                result = str(item.result) if item.op == "sub" else _longer(str(item.result), "size")
                lines += [Instruction(text, dict(item.meta)) for text in _texts(result, *found)]
                if item.op == "icmp":
                    lines.append(Instruction(f"{item.result} = icmp {item.word} i64 {result}, 0", dict(item.meta)))
            block.instructions = lines
        for block, phi in self.phis:
            block.instructions.insert(0, phi)

    def _known_at(self, number: str, block: Block) -> bool:
        return number not in self.made or self.flow.dominates(self.made[number][0].name, block.name)

    def _asked(self, item: Instruction) -> tuple[str, int, int] | None:
        """A number, "" for none, how often it is taken, and what is added to it, if that is what an instruction is."""
        if item.op == "icmp" and item.word in ("eq", "ne") and item.operands[0].type == "ptr":
            one, other = (operand.text for operand in item.operands)
            apart = self._between(one, other, 0) or self._between(other, one, 0)
            return None if apart is None else (*apart, 0)
        if item.op != "sub" or item.type != "i64":
            return None
        last, first = (self._pointer(operand.text) for operand in item.operands)
        if last is None or first is None:
            return None
        found = self._between(last[0], first[0], 0)
        return None if found is None else (*found, last[1] - first[1])

    def _pointer(self, number: str) -> tuple[str, int] | None:
        """(pointer, bytes behind it) that a number is."""
        item = self.made[number][1] if number in self.made else None
        if item is not None and item.op == "ptrtoint":
            return item.operands[0].text, 0
        if item is not None and item.op == "add" and item.operands[1].text.lstrip("-").isdigit():
            found = self._pointer(item.operands[0].text)
            return None if found is None else (found[0], found[1] + int(item.operands[1].text))
        return None

    def _between(self, end: str, begin: str, depth: int) -> Bytes | None:
        if end == begin:
            return "", 0
        last = self.made[end][1] if end in self.made else None
        if last is None or depth > _DEPTH:
            return None
        if last.op == "getelementptr" and last.operands[0].text == begin and len(last.operands) == 2:
            return self._scaled(last)
        if self._are_phis(end, begin):
            if (end, begin) not in self.apart:
                self.apart[end, begin] = self._all_along(end, begin)
                if self.apart[end, begin] is None:
                    self.apart[end, begin] = self._phis(last, self.made[begin][1], depth)
            return self.apart[end, begin]
        return None

    def _are_phis(self, end: str, begin: str) -> bool:
        """Whether two pointers are phis of one block."""
        last, first = self.made.get(end), self.made.get(begin)
        return last is not None and first is not None and last[0] is first[0] and last[1].op == first[1].op == "phi"

    def _all_along(self, end: str, begin: str) -> Bytes | None:
        """What pairs of phis that take each other's place (`u.swap(next)`) all begin with."""
        pairs, stack, found = {(end, begin)}, [(end, begin)], set()
        while stack:
            last, first = (self.made[name][1] for name in stack.pop())
            begins = {label: value for value, label in sources(first)}
            for value, label in sources(last):
                pair = value, begins[label]
                if not self._are_phis(*pair):
                    found.add(self._between(*pair, _DEPTH))
                elif pair not in pairs:
                    pairs.add(pair)
                    stack.append(pair)
        size = found.pop() if len(found) == 1 else None
        if size is None or not all(self._known_at(size[0], self.made[last][0]) for last, _ in pairs):
            return None  # a number of some iteration is another one in the next
        return size

    def _phis(self, last: Instruction, first: Instruction, depth: int) -> Bytes | None:
        begins = {label: value for value, label in sources(first)}
        found = {label: self._between(value, begins[label], depth + 1) for value, label in sources(last)}
        if len(set(found.values())) == 1:
            return next(iter(found.values()))
        block, name = self.made[str(last.result)][0], _longer(str(last.result), f"from.{len(self.phis)}")
        come = []
        for label, size in found.items():
            if size is None or (size[0] and size[1] != 1) or not self._known_at(size[0], self.flow.blocks[label]):
                return None
            come.append(f"[ {size[0] or size[1]}, %{label} ]")
        phi = Instruction(f"{name} = phi i64 {', '.join(come)}", dict(last.meta))
        self.phis.append((block, phi))
        self.made[name] = (block, phi)
        return name, 1

    def _scaled(self, item: Instruction) -> Bytes | None:
        size, count = SIZES.get(item.word), item.operands[1].text
        if size is None or item.operands[1].type != "i64":
            return None
        if count.lstrip("-").isdigit():
            return "", size * int(count)
        of = self.made[count][1] if count in self.made else None
        if of is not None and of.op == "shl" and of.operands[1].text.isdigit() and "nuw" in of.flags:
            return of.operands[0].text, size << int(of.operands[1].text)
        return count, size


def _texts(result: str, number: str, times: int, more: int) -> list[str]:
    if not number:
        return [f"{result} = add i64 {times + more}, 0"]
    if not more:
        return [f"{result} = mul i64 {number}, {times}"]
    whole = _longer(result, "whole")
    return [f"{whole} = mul i64 {number}, {times}", f"{result} = add i64 {whole}, {more}"]


def _longer(name: str, word: str) -> str:
    return f'{name[:-1]}.{word}"' if name.endswith('"') else f"{name}.{word}"
