"""Short vectors that only hold a few numbers together in memory are stored and loaded number by number.

A structure of two floats that a function returns comes as `<2 x float>`, whose lanes are computed one by one:

```
%v = insertelement <2 x float> poison, float %x, i64 0
%w = insertelement <2 x float> %v, float %y, i64 1             store float %x, ptr %p, align 4
store <2 x float> %w, ptr %p, align 4                   →      %q = getelementptr i8, ptr %p, i64 4
                                                               store float %y, ptr %q, align 4
```

So `a.force += pull` is a reduction of each member, as if the members had been written one by one. An address that the
block has already is taken for that of a lane: a reduction loads and stores by one pointer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Function, Instruction, Module
from tracecut.ir.llvm.edit import renamed
from tracecut.ir.llvm.lexer import NAME

_VECTOR = re.compile(r"<([2-4]) x (float|double|i32|i64)>")
_BYTES = {"float": 4, "double": 8, "i32": 4, "i64": 8}
_PUT = re.compile(rf"insertelement <\d+ x \w+> (%{NAME}|poison|undef), \w+ (\S+), i\d+ (\d+)$")
_TAKEN = re.compile(rf"extractelement <\d+ x \w+> %{NAME}, i\d+ (\d+)$")
_ALIGN = re.compile(r", align (\d+)")


def split_vectors(module: Module) -> Module:
    """Split stores of such vectors, and loads of which nothing but lanes is used, in place. O(instructions)."""
    for function in module.functions.values():
        if any(item.op in ("insertelement", "extractelement") for _, item in function.instructions()):
            _split(function)
    return module


def _split(function: Function) -> None:
    made = {str(item.result): item for _, item in function.instructions() if item.result is not None}
    users = _users(function)
    numbers: dict[str, str] = {}  # lane taken out of a vector → what is loaded instead
    split = False
    for place, block in enumerate(function.blocks):
        lines: list[Instruction] = []
        known: dict[tuple[str, int], str] = {}  # (pointer, bytes from there) → address in this block
        for item in block.instructions:
            prefix = f"%tc.lane{place}.{len(lines)}"
            lanes = _stored(item, made) if item.op == "store" else None
            taken = _lanes_taken(item, users) if item.op == "load" else None
            if lanes is not None:
                lines += _stores(item, lanes, _Addresses(made, known, prefix))
            elif taken is not None:
                lines += _loads(item, sorted(set(taken.values())), _Addresses(made, known, prefix))
                numbers |= {name: f"{prefix}.{lane}" for name, lane in taken.items()}
            else:
                lines.append(item)
                if item.op == "getelementptr":
                    known.setdefault(_place(made, str(item.result)), str(item.result))
            split |= lanes is not None or taken is not None
        block.instructions[:] = lines
    if split:
        _tidy(function, numbers)


def _users(function: Function) -> dict[str, list[Instruction]]:
    users: dict[str, list[Instruction]] = {}
    for _, item in function.instructions():
        for name in set(item.uses):
            users.setdefault(name, []).append(item)
    return users


def _tidy(function: Function, numbers: Mapping[str, str]) -> None:
    """Use what is loaded instead of lanes, and drop vectors that nothing uses any more."""
    for block in function.blocks:
        kept = (item for item in block.instructions if item.result not in numbers)
        block.instructions[:] = [renamed(item, numbers) if set(item.uses) & numbers.keys() else item for item in kept]
    while True:
        used = _users(function).keys()
        dead = {
            name for _, item in function.instructions() if item.op == "insertelement" for name in [item.result]
        } - used
        if not dead:
            return
        for block in function.blocks:
            block.instructions[:] = [item for item in block.instructions if item.result not in dead]


def _stored(store: Instruction, made: Mapping[str, Instruction]) -> list[str] | None:
    """The numbers that a stored vector is made of, lane by lane; None where some of them are not known."""
    value = store.operands[0]
    shape = _VECTOR.fullmatch(value.type)
    if shape is None or not store.is_simple_access:
        return None
    lanes: dict[int, str] = {}
    name = value.text
    while (item := made.get(name)) is not None and item.op == "insertelement":
        found = _PUT.search(item.text)
        if found is None:
            return None
        lanes.setdefault(int(found.group(3)), found.group(2))
        name = found.group(1)
    count = int(shape.group(1))
    return [lanes[lane] for lane in range(count)] if lanes.keys() == set(range(count)) else None


def _lanes_taken(load: Instruction, users: Mapping[str, Sequence[Instruction]]) -> dict[str, int] | None:
    """Lanes that are taken out of a loaded vector, by the names that they get; None where it is used in other ways."""
    shape = _VECTOR.fullmatch(load.type)
    if shape is None or not load.is_simple_access:
        return None
    taken = {}
    for user in users.get(str(load.result), ()):
        found = _TAKEN.search(user.text) if user.op == "extractelement" else None
        if found is None or int(found.group(1)) >= int(shape.group(1)):
            return None
        taken[str(user.result)] = int(found.group(1))
    return taken or None


def _place(made: Mapping[str, Instruction], pointer: str) -> tuple[str, int]:
    """(pointer, bytes from there) of an address, as far as constants go."""
    offset = 0
    while (item := made.get(pointer)) is not None and item.op == "getelementptr" and item.word == "i8":
        if len(item.operands) != 2 or not re.fullmatch(r"-?\d+", item.operands[1].text):
            break
        offset += int(item.operands[1].text)
        pointer = item.operands[0].text
    return pointer, offset


@dataclass(frozen=True)
class _Addresses:
    """Addresses of lanes. `made`, `known`: instructions by result, addresses of the block. `prefix`: of new names."""

    made: Mapping[str, Instruction]
    known: dict[tuple[str, int], str]
    prefix: str

    def of(self, item: Instruction, pointer: str, offset: int) -> tuple[list[Instruction], str, str]:
        """What computes an address `offset` bytes behind that of an access, that address, and how it is aligned."""
        found = _ALIGN.search(item.text)
        whole = int(found.group(1)) if found else 1
        if not offset:
            return [], pointer, f", align {whole}"
        align = f", align {min(whole, offset & -offset)}"
        root, start = _place(self.made, pointer)
        if (root, start + offset) in self.known:
            return [], self.known[root, start + offset], align
        address = self.known[root, start + offset] = f"{self.prefix}.at{offset}"
        return [Instruction(f"{address} = getelementptr i8, ptr {pointer}, i64 {offset}", _line(item))], address, align


def _line(item: Instruction) -> dict[str, str]:
    return {"dbg": item.meta["dbg"]} if "dbg" in item.meta else {}


def _stores(item: Instruction, lanes: Sequence[str], addresses: _Addresses) -> list[Instruction]:
    value, pointer = item.operands
    type = value.type.split()[-1][:-1]
    lines = []
    for lane, number in enumerate(lanes):
        before, address, align = addresses.of(item, pointer.text, lane * _BYTES[type])
        lines += [*before, Instruction(f"store {type} {number}, ptr {address}{align}", _line(item))]
    return lines


def _loads(item: Instruction, lanes: Sequence[int], addresses: _Addresses) -> list[Instruction]:
    type = item.type.split()[-1][:-1]
    lines = []
    for lane in lanes:
        before, address, align = addresses.of(item, item.operands[0].text, lane * _BYTES[type])
        lines += [*before, Instruction(f"{addresses.prefix}.{lane} = load {type}, ptr {address}{align}", _line(item))]
    return lines
