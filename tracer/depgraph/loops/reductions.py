"""Static facts about a loop: updates of memory by an associative operator, and what its header's phis carry."""

from __future__ import annotations

import re
from collections import Counter

from tracecut.ir.llvm import Block, Function, Instruction, Operand
from tracecut.ir.llvm.control_flow import Loop

OPERATORS = {
    "add": "+",
    "sub": "+",
    "fadd": "+",
    "fsub": "+",
    "mul": "*",
    "fmul": "*",
    "and": "&",
    "or": "|",
    "xor": "^",
}
EXTREMES = re.compile(r"@llvm\.([su]?max|[su]?min|maxnum|minnum|maximum|minimum)\b")
FUSED = re.compile(r"@llvm\.(fma|fmuladd)\b")


def operator_of(instruction: Instruction) -> str:
    """The associative and commutative operator that an instruction applies, empty when there is none.

    A subtraction counts as an addition, and so does a product that is added: see `_accumulators`.
    """
    if instruction.op == "call":
        if FUSED.match(instruction.word):
            return "+"
        found = EXTREMES.match(instruction.word)
        return "" if found is None else "max" if "max" in found.group(1) else "min"
    return OPERATORS.get(instruction.op, "")


def _accumulators(operation: Instruction) -> tuple[Operand, ...]:
    """The operands that may be the accumulator: of a difference the first, of a product and sum the last."""
    if operation.op in ("sub", "fsub"):
        return operation.operands[:1]
    fused = operation.op == "call" and FUSED.match(operation.word)
    return operation.operands[2:3] if fused else operation.operands


def updates_of(function: Function, loop: Loop, base: int) -> dict[int, str]:
    """Static ids of the loads and stores of `load p; operation; store p` → operator.

    `base` is the id of the function's first instruction. The loaded value goes into the operation alone, its result
    into the store alone. Atomic updates are such by themselves.
    """
    uses = Counter(name for _, instruction in function.instructions() for name in set(instruction.uses))
    found: dict[int, str] = {}
    first = base
    for block in function.blocks:
        if block.name in loop.blocks:
            found |= _in_block(block, first, uses)
        first += len(block.instructions)
    return found


def _in_block(block: Block, first: int, uses: Counter[str]) -> dict[int, str]:
    place = {str(instruction.result): number for number, instruction in enumerate(block.instructions)}
    found: dict[int, str] = {}
    for number, store in enumerate(block.instructions):
        if store.op == "atomicrmw" and store.word in OPERATORS and (store.result is None or not uses[store.result]):
            found[first + number] = OPERATORS[store.word]
        if store.op != "store":
            continue
        value, pointer = store.operands
        middle = place.get(value.text, -1)
        operator = operator_of(block.instructions[middle]) if middle >= 0 else ""
        if not operator or uses[value.text] != 1:
            continue
        operation = block.instructions[middle]
        for operand in _accumulators(operation):
            source = place.get(operand.text, -1)
            load = block.instructions[source] if source >= 0 else None
            if load is None or load.op != "load" or load.operands[0].text != pointer.text or uses[operand.text] != 1:
                continue
            if sum(other.text == operand.text for other in operation.operands) == 1:
                found[first + source] = found[first + number] = operator
    return found


def carried_values(function: Function, loop: Loop) -> dict[str, str]:
    """Phi of the header → "counter" (a constant step), the operator of a reduction, or "value"."""
    inside = [instruction for block, instruction in function.instructions() if block.name in loop.blocks]
    made = {str(instruction.result): instruction for instruction in inside}
    uses = Counter(name for instruction in inside for name in set(instruction.uses))
    found = {}
    for phi in function.block(loop.header).phis:
        name = str(phi.result)
        back = {operand.text for operand, label in zip(phi.operands, phi.labels, strict=True) if label in loop.latches}
        found[name] = _carried(name, back, made, uses)
    return found


def _carried(name: str, back: set[str], made: dict[str, Instruction], uses: Counter[str]) -> str:
    if len(back) != 1:
        return "value"
    text = back.pop()
    step = made.get(text)
    if step is None:
        return "value"
    others = [operand.text for operand in step.operands if operand.text != name]
    if len(others) != len(step.operands) - 1:
        return "value"
    steady = all(not other.startswith("%") for other in others)
    if step.op in ("add", "sub", "getelementptr") and steady and step.operands[0].text == name:
        return "counter"
    operator = operator_of(step)
    if all(operand.text != name for operand in _accumulators(step)):
        return "value"
    return operator if operator and uses[name] == 1 and uses[text] == 1 else "value"
