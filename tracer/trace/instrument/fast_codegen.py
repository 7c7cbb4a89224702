"""Functions whose instructions are chosen one by one: in half of the time that all of code generation takes."""

from __future__ import annotations

import re

from tracecut.ir.llvm import Function, Module, TypeTable

ROOM = 256  # bytes of stack slots from which on it matters that those which are never in use at once share their place
_NOT_BOTH = re.compile(r"\b(?:optnone|optsize|minsize|alwaysinline|naked)\b")


def choose_quickly(module: Module) -> None:
    """Mark, in place, all functions for which that costs nothing but some per cent of the time of the traced run.

    Left out are those with several large stack slots: these would no longer share their place, and a program that
    recurses deeply would run out of stack where it does not by itself. No pass that reads the mark runs. O(length).
    """
    types, groups = module.types(), module.attribute_groups()
    for function in module.functions.values():
        words = " ".join([function.header, *(groups.get(group, "") for group in function.attribute_groups)])
        if _NOT_BOTH.search(words) or _is_roomy(function, types):
            continue
        implied = "" if re.search(r"\bnoinline\b", words) else "noinline "
        function.add_attributes(f"{implied}optnone")


def _is_roomy(function: Function, types: TypeTable) -> bool:
    """Whether a function has several stack slots of fixed size, which together are large."""
    slots = [item for item in function.entry.instructions if item.op == "alloca" and not item.operands]
    return len(slots) > 1 and sum(types.size(slot.word) for slot in slots) > ROOM
