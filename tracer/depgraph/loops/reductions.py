"""Static facts about a loop: updates of memory by an associative operator, and what its header's phis carry."""

from __future__ import annotations

from collections import Counter

from tracecut.ir.llvm import Block, Function, Instruction, Operand
from tracecut.ir.llvm.associative import combined
from tracecut.ir.llvm.control_flow import Loop

# Operator → as it is shown; and the words of `atomicrmw`.
SYMBOLS = {"add": "+", "fadd": "+", "mul": "*", "fmul": "*", "and": "&", "or": "|", "xor": "^"}
ATOMIC = {**SYMBOLS, "sub": "+", "fsub": "+"}


def operator_of(instruction: Instruction) -> tuple[str, tuple[Operand, ...]]:
    """(operator as it is shown, operands that may be the accumulator); empty when an instruction applies none."""
    found = combined(instruction)
    if found is None:
        return "", ()
    return SYMBOLS.get(found[0]) or ("max" if "max" in found[0] else "min"), found[1]


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
        if store.op == "atomicrmw" and store.word in ATOMIC and (store.result is None or not uses[store.result]):
            found[first + number] = ATOMIC[store.word]
        if store.op != "store":
            continue
        value, pointer = store.operands
        middle = place.get(value.text, -1)
        operator, accumulators = operator_of(block.instructions[middle]) if middle >= 0 else ("", ())
        if not operator or uses[value.text] != 1:
            continue
        operation = block.instructions[middle]
        for operand in accumulators:
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
    operator, accumulators = operator_of(step)
    if all(operand.text != name for operand in accumulators):
        return "value"
    return operator if operator and uses[name] == 1 and uses[text] == 1 else "value"
