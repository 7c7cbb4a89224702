"""Two numbers that are loaded as one word become two lanes of a vector, which `split_vectors` loads one by one.

A pair of `int`, copied as `for (auto [to, weight] : links)` does, comes as one `i64`, whose halves are taken by shifts:

```
%v = load i64, ptr %p                     %v = load <2 x i32>, ptr %p
%h = lshr i64 %v, 32                      %w = extractelement <2 x i32> %v, i64 1
%w = trunc i64 %h to i32             →    %l = extractelement <2 x i32> %v, i64 0
%s = shl i64 %v, 32                       %e = sext i32 %l to i64
%o = ashr exact i64 %s, 29                %o = shl i64 %e, 3
```

Only words of which nothing but halves is used are changed: the rest of a program computes with all of the word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tracecut.ir.llvm import Function, Instruction, Module

HALF, LOW, HIGH = 32, 0, 1
MASK = (1 << HALF) - 1
_WORD = re.compile(r"\bload i64,")


def read_halves(module: Module) -> Module:
    """Replace such loads, in place. O(instructions)."""
    for function in module.functions.values():
        loads = {str(item.result): item for _, item in function.instructions() if _is_word(item)}
        if loads:
            _replace(function, loads)
    return module


def _is_word(item: Instruction) -> bool:
    return item.op == "load" and item.type == "i64" and item.is_simple_access


def _replace(function: Function, loads: Mapping[str, Instruction]) -> None:
    users: dict[str, list[Instruction]] = {}
    for _, item in function.instructions():
        for name in set(item.uses):
            users.setdefault(name, []).append(item)
    fresh: dict[str, list[str]] = {}  # result → what takes the place of the instruction that makes it
    for name in loads:
        found = _halves(name, users)
        if found:
            fresh |= found
            vector = _WORD.sub("load <2 x i32>,", loads[name].text)
            fresh[name] = [vector]
    if not fresh:
        return
    for block in function.blocks:
        lines: list[Instruction] = []
        for item in block.instructions:
            made = fresh.get(str(item.result))
            dbg = {kind: node for kind, node in item.meta.items() if kind == "dbg"}
            lines += [item] if made is None else [Instruction(text, dict(dbg)) for text in made]
        block.instructions[:] = lines


def _halves(word: str, users: Mapping[str, Sequence[Instruction]]) -> dict[str, list[str]] | None:
    """What takes the place of each instruction that takes a half of a word; None if something else is done with it."""
    fresh: dict[str, list[str]] = {}
    for user in users.get(word, ()):
        found = _taken(word, user) or _shifted(word, user, users)
        if found is None:
            return None
        fresh |= found
    return fresh


def _taken(word: str, user: Instruction) -> dict[str, list[str]] | None:
    """A use that takes a half by itself."""
    name = str(user.result)
    if user.op == "trunc" and user.type == "i32":
        return {name: [_lane(name, word, LOW)]}
    if user.op not in ("and", "lshr", "ashr") or user.operands[0].text != word:
        return None
    number = user.operands[1].text
    if user.op == "and":
        return _widened(name, word, LOW, "zext", 0) if number == str(MASK) else None
    return _widened(name, word, HIGH, "zext" if user.op == "lshr" else "sext", 0) if number == str(HALF) else None


def _shifted(word: str, user: Instruction, users: Mapping[str, Sequence[Instruction]]) -> dict[str, list[str]] | None:
    """A use that takes a half together with another one: to the left and back, or to the right and without the rest."""
    if user.op not in ("shl", "ashr") or user.operands[0].text != word or not user.operands[1].text.isdigit():
        return None
    by, name = int(user.operands[1].text), str(user.result)
    fresh: dict[str, list[str]] = {name: []}
    for further in users.get(name, ()):
        if len(further.operands) != 2 or further.operands[0].text != name:
            return None
        number = further.operands[1].text
        back = HALF - int(number) if number.isdigit() else -1
        if user.op == "shl" and by == HALF and further.op == "ashr" and 0 <= back < HALF:
            fresh |= _widened(str(further.result), word, LOW, "sext", back)
        elif user.op == "ashr" and by < HALF and further.op == "and" and number == str(-(1 << (HALF - by))):
            fresh |= _widened(str(further.result), word, HIGH, "sext", HALF - by)
        else:
            return None
    return fresh


def _widened(name: str, word: str, lane: int, how: str, by: int) -> dict[str, list[str]]:
    """A half as an i64, times 2 to the power of `by`."""
    wide = f"{name}.tc.wide" if by else name
    lines = [_lane(f"{name}.tc.half", word, lane), f"{wide} = {how} i32 {name}.tc.half to i64"]
    return {name: [*lines, f"{name} = shl i64 {wide}, {by}"] if by else lines}


def _lane(name: str, word: str, lane: int) -> str:
    return f"{name} = extractelement <2 x i32> {word}, i64 {lane}"
