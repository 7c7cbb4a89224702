"""Reductions: chains that combine one value with others by a commutative and associative operator.

Two forms: in memory (load, combine, store to the same address) and in a register (a phi of the loop header). The
intermediate values must have no other use: a prefix sum has the same form but uses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tracecut.ir.llvm import Block, Instruction, int_bits
from tracecut.ir.llvm.associative import COMPARED, combined
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.stream_output import of_stream

from .min_max_reductions import chosen_extreme, extreme, widened_extreme

_NAN_TAKEN = ("minimum", "maximum")  # of these, what is left depends on which NaN came first
_EXTENSIONS = ("sext", "zext", "trunc", "fpext", "fptrunc", "freeze")
FLOAT_OPERATORS = frozenset({"fadd", "fmul", "fmin", "fmax"})  # of the last two, the sign of zero


class Uses:
    """Who uses which value, for one function; and what of it is the same for all nests that its loops lie in."""

    def __init__(self, view: FunctionView) -> None:
        self.view = view
        self._reductions: dict[Loop, dict[int, tuple[str, MemoryReduction]]] = {}
        self._users: dict[str, list[tuple[str, Instruction]]] = {}
        self._streams: dict[str, bool] = {}
        for block, instruction in view.function.instructions():
            for name in set(instruction.uses):
                if name in view.definitions or name in view.parameter_types:
                    self._users.setdefault(name, []).append((block.name, instruction))

    def of(self, name: str | None) -> list[tuple[str, Instruction]]:
        """(block, instruction) of every user of a value."""
        return self._users.get(name or "", [])

    def of_stream(self, pointer: str) -> bool:
        """See `stream_output.of_stream`; each pointer is followed once."""
        if pointer not in self._streams:
            self._streams[pointer] = of_stream(self.view, pointer)
        return self._streams[pointer]

    @cached_property
    def keys(self) -> Mapping[int, str]:
        """id of each instruction → a name for what it stores, whatever nest it lies in."""
        return {
            id(item): f"store:{block.name}:{place}"
            for block in self.view.function.blocks
            for place, item in enumerate(block.instructions)
        }

    def reductions(self, loop: Loop) -> Mapping[int, tuple[str, MemoryReduction]]:
        """id of a store right in `loop` → (block of the load, the reduction that the store closes)."""
        if loop not in self._reductions:
            self._reductions[loop] = dict(self._closed(loop))
        return self._reductions[loop]

    def _closed(self, loop: Loop) -> Iterator[tuple[int, tuple[str, MemoryReduction]]]:
        for block in (self.view.flow.blocks[name] for name in self.view.own_blocks(loop)):
            for instruction in block.instructions:
                if instruction.op != "store" or not instruction.is_simple_access:
                    continue
                plain = memory_reduction(self, block, instruction)
                made = (block.name, plain) if plain is not None else guarded_reduction(self, block, instruction)
                if made is not None and self.view.innermost(made[0]) is loop:
                    yield id(instruction), made

    @cached_property
    def told(self) -> tuple[str, ...]:
        """Variables on the stack whose address is stored or handed on: loaded pointers may lead there."""
        found: dict[str, None] = {}
        for _, item in self.view.function.instructions():
            kept = item.operands[:1] if item.op == "store" else item.operands if item.op in ("call", "invoke") else ()
            for value in kept if not item.word.startswith("@llvm.") else ():
                made = self.view.definitions.get(value.text)
                if made is not None and made.instruction.op == "alloca":
                    found[value.text] = None
        return tuple(found)


@dataclass(frozen=True)
class MemoryReduction:
    """A load-combine-store on one address.

    `between` are other stores that stand between the load and the store: it is a reduction only where they go to
    other addresses, which the run has to show.
    """

    load: Instruction
    operator: str
    between: tuple[Instruction, ...]


def memory_reduction(uses: Uses, block: Block, store: Instruction) -> MemoryReduction | None:
    """The reduction that `store` closes, None when it closes none."""
    value = store.operands[0]
    load = last_load(block, store)
    if load is None:
        return None
    between = block.instructions[block.instructions.index(load) + 1 : block.instructions.index(store)]
    if any(may_write(instruction) for instruction in between):
        return None
    chain: set[str] = set()
    operator = _descend(uses.view, value.text, str(load.result), None, chain, depth=0)
    if operator is None or operator == "same" or not _keeps_width(uses.view, chain, value.type, operator):
        return None
    inside = chain | {str(load.result)}
    for name in inside:
        for _, user in uses.of(name):
            if user is not store and user.result not in chain:
                return None
    return MemoryReduction(load, operator, tuple(other for other in between if other.op == "store"))


def last_load(block: Block, store: Instruction) -> Instruction | None:
    """The last load in front of a store in its block that reads what the store overwrites, by the same pointer."""
    value, pointer = store.operands
    ahead = reversed(block.instructions[: block.instructions.index(store)])
    loads = (made for made in ahead if made.op == "load" and made.is_simple_access and made.type == value.type)
    return next((load for load in loads if load.operands[0].text == pointer.text), None)


def guarded_reduction(uses: Uses, block: Block, store: Instruction) -> tuple[str, MemoryReduction] | None:
    """(block of the test, reduction) of `if (v < *p) *p = v`, which `store` in `block` closes."""
    value, pointer = store.operands
    flow = uses.view.flow
    above = flow.predecessors[block.name]
    if len(above) != 1:
        return None
    head = flow.blocks[above[0]]
    end = head.terminator
    found = uses.view.definitions.get(end.operands[0].text) if end.op == "br" and len(end.operands) == 1 else None
    if found is None or len(set(end.labels)) != 2 or len(uses.of(end.operands[0].text)) != 1:
        return None
    for operand in found.instruction.operands:
        made = uses.view.definitions.get(operand.text)
        if made is not None and made.instruction.op in ("sext", "zext") and len(uses.of(operand.text)) == 1:
            made = uses.view.definitions.get(made.instruction.operands[0].text)
        if made is None or made.block != head.name or made.instruction.op != "load" or operand.text == value.text:
            continue
        load = made.instruction
        if not load.is_simple_access or load.operands[0].text != pointer.text or load.type != value.type:
            continue
        kept, taken = str(load.result), end.labels[0] == block.name
        operator = extreme(found.instruction, value.text, kept, taken=taken)
        operator = operator or widened_extreme(uses.view, found.instruction, value.text, kept, taken=taken)
        between = [
            *head.instructions[head.instructions.index(load) + 1 :],
            *block.instructions[: block.instructions.index(store)],
        ]
        if operator is None or len(uses.of(load.result)) != 1 or any(may_write(other) for other in between):
            return None
        return head.name, MemoryReduction(load, operator, tuple(other for other in between if other.op == "store"))
    return None


def register_reduction(uses: Uses, phi: Instruction, loop: Loop) -> str | None:
    """Operator of a header phi of `loop` that is a reduction, else None."""
    assert phi.result is not None
    latch = [operand for operand, label in zip(phi.operands, phi.labels, strict=True) if label in loop.blocks]
    if len(latch) != 1:
        return None
    chain: set[str] = set()
    operator = _descend(uses.view, latch[0].text, phi.result, loop, chain, depth=0)
    if operator is None or operator == "same" or not _keeps_width(uses.view, chain, phi.type, operator):
        return None
    if phi.type == "i1" and operator not in ("and", "or", "xor"):
        return None  # parts of it meet as bytes
    for name in chain | {phi.result}:
        for where, user in uses.of(name):
            if where in loop.blocks and user.result not in chain and user is not phi:
                return None
    return operator


def feeds_itself(uses: Uses, phi: Instruction, loop: Loop) -> bool:
    """Whether the next value of a header phi is computed from its present one."""
    latch = [operand for operand, label in zip(phi.operands, phi.labels, strict=True) if label in loop.blocks]
    return any(_depends(uses.view, operand.text, str(phi.result), loop) for operand in latch)


def _keeps_width(view: FunctionView, chain: set[str], type: str, operator: str) -> bool:
    """Whether no step of a chain loses bits: the result would depend on which step comes last.

    Sums and products of integers may be wider on the way, where only low bits count; what is compared may not.
    """
    order = ("half", "bfloat", "float", "double")
    for name in chain:
        found = view.type_of(name)
        bits, own = int_bits(found), int_bits(type)
        if found == type or view.definitions[name].instruction.op in ("icmp", "fcmp"):
            continue  # a comparison decides what is kept, and is not kept itself
        if bits is not None and own is not None:
            if bits < own or operator in COMPARED:
                return False
        elif found not in order or type not in order or order.index(found) < order.index(type) or operator in COMPARED:
            return False
    return True


def _descend(view: FunctionView, text: str, target: str, loop: Loop | None, chain: set[str], depth: int) -> str | None:
    """Operator that leads from `target` to the value `text`; `same` when it is the target itself, None when none."""
    if text == target:
        return "same"
    found = view.definitions.get(text)
    if found is None or depth > 40:
        return None
    made = found.instruction
    if text in chain:
        return "same"  # an inner loop's phi, met again from its latch
    chain.add(text)
    deeper = depth + 1
    if made.op in _EXTENSIONS:
        return _descend(view, made.operands[0].text, target, loop, chain, deeper)
    if made.op == "select":
        if _depends(view, made.operands[0].text, target, loop):
            return _compared(view, made, target, loop, chain, deeper)
        return _agree([_descend(view, operand.text, target, loop, chain, deeper) for operand in made.operands[1:]])
    if made.op == "phi" and loop is not None and found.block in loop.blocks:
        return _agree([_descend(view, operand.text, target, loop, chain, deeper) for operand in made.operands])
    link = combined(made)
    if link is None or link[0] in _NAN_TAKEN:
        return None
    operator, candidates = link
    for name in (operand.text for operand in candidates):
        if name.startswith("%") and _depends(view, name, target, loop):
            others = [operand.text for operand in made.operands]
            others.remove(name)
            if any(_depends(view, other, target, loop) for other in others):
                return None
            below = _descend(view, name, target, loop, chain, deeper)
            return operator if below in ("same", operator) else None
    return None


def _compared(
    view: FunctionView, made: Instruction, target: str, loop: Loop | None, chain: set[str], depth: int
) -> str | None:
    """Operator of a select that keeps the least or greatest value, by comparing the chain with something new."""
    for kept, new in ((made.operands[1].text, made.operands[2].text), (made.operands[2].text, made.operands[1].text)):
        if _depends(view, new, target, loop):
            continue
        operator = chosen_extreme(view, made, kept)
        below = _descend(view, kept, target, loop, chain, depth)
        chain.add(made.operands[0].text)
        return operator if operator is not None and below in ("same", operator) else None
    return None


def _agree(found: list[str | None]) -> str | None:
    operators = {operator for operator in found if operator != "same"}
    if None in operators or len(operators) > 1:
        return None
    return next(iter(operators)) if operators else "same"


def _depends(
    view: FunctionView, text: str, target: str, loop: Loop | None, depth: int = 0, seen: set[str] | None = None
) -> bool:
    """Whether the value is computed from `target`, in the same entry of `loop` if there is one."""
    if text == target:
        return True
    seen = set() if seen is None else seen
    if text in seen:
        return False
    seen.add(text)
    found = view.definitions.get(text)
    if found is None or (loop is not None and found.block not in loop.blocks):
        return False
    if depth > 300:
        return True
    names = (name for name in found.instruction.uses if name in view.definitions)
    return any(_depends(view, name, target, loop, depth + 1, seen) for name in names)


def may_write(instruction: Instruction) -> bool:
    """Whether something other than a store may write to memory, or order what others do there."""
    if instruction.op in ("atomicrmw", "cmpxchg", "fence", "invoke"):
        return True
    return instruction.op == "call" and not effect_of(instruction).movable
