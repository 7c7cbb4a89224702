"""The address of new memory that a program stores in a structure and loads again in the same iteration.

So is a number that it loads again behind `free` or an allocation: neither changes it (`unchanged_memory.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tracecut.ir.llvm import Block, Instruction, Module
from tracecut.ir.llvm.edit import renamed

from .allocation_uses import FREE, NEW, allocates, replaces_allocators
from .unchanged_memory import Unchanged, constant_texts


def forward_members(module: Module) -> Module:
    """Put what is known in the place of such loads, in place. O(addresses × loads × instructions of a function)."""
    own = module.functions
    if replaces_allocators(module):
        return module
    nodes, texts = module.metadata(), constant_texts(module)
    for function in own.values():
        if any(allocates(item) for _, item in function.instructions()):
            _forward(Unchanged(function, nodes, set(own), texts))
    return module


def _forward(memory: Unchanged) -> None:
    names = {str(load.result): value for load, value in (*_stored(memory), *_loaded(memory))}
    while any(value in names for value in names.values()):
        names = {name: names.get(value, value) for name, value in names.items()}
    for block in memory.function.blocks if names else ():
        kept = [item for item in block.instructions if item.result not in names]
        block.instructions = [renamed(item, names) if names.keys() & set(item.uses) else item for item in kept]


def _loads(memory: Unchanged) -> dict[str, list[tuple[Block, Instruction]]]:
    """Address → (block, load) of all loads from there."""
    found: dict[str, list[tuple[Block, Instruction]]] = {}
    for block, item in memory.function.instructions():
        if item.op == "load" and item.is_simple_access:
            found.setdefault(item.operands[0].text, []).append((block, item))
    return found


def _stored(memory: Unchanged) -> Iterator[tuple[Instruction, str]]:
    """(load, the allocated address that it finds)."""
    loads = _loads(memory)
    for home, store in memory.function.instructions():
        if store.op != "store" or not store.is_simple_access or store.operands[0].text not in memory.made:
            continue
        value, address = (operand.text for operand in store.operands)
        loop = memory.flow.innermost(home.name)
        if loop is None or memory.homes.get(address) in loop.blocks or not allocates(memory.made[value]):
            continue
        for block, load in loads.get(address, ()):
            if load.type == "ptr" and block.name in loop and memory.is_unchanged(store, block, load, until=True):
                yield load, value


def _loaded(memory: Unchanged) -> Iterator[tuple[Instruction, str]]:
    """(load behind an allocation or `free` in its block, what was loaded from there before)."""
    for address, found in _loads(memory).items():
        for block, load in found:
            before = block.instructions[: block.instructions.index(load)]
            loop = memory.flow.innermost(block.name)
            if loop is None or memory.homes.get(address) in loop.blocks or not any(map(_is_heap, before)):
                continue
            for home, first in found:
                inner = memory.flow.innermost(home.name)
                alike = first is not load and first.type == load.type and inner is not None and block.name in inner
                if alike and memory.is_unchanged(first, block, load, until=True):
                    yield load, str(first.result)
                    break


def _is_heap(item: Instruction) -> bool:
    return item.op == "call" and item.word in (*NEW, *FREE)
