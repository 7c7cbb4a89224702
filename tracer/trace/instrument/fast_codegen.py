"""Fast code generation: functions whose instructions are selected one by one, in half of the time."""

from __future__ import annotations

import re

from tracecut.ir.llvm import Function, Module, TypeTable

ROOM = 256  # bytes of stack slots from which on slots with disjoint lifetimes have to share their place
_NOT_BOTH = re.compile(r"\b(?:optnone|optsize|minsize|alwaysinline|naked)\b")


def choose_quickly(module: Module) -> None:
    """Mark, in place, the functions for which that only makes the traced run some per cent longer.

    Not those with several large stack slots: these would no longer share their place, and deep recursion would overflow
    the stack where it does not without tracing. No pass that reads the mark runs. O(length).
    """
    types, groups = module.types(), module.attribute_groups()
    for function in module.functions.values():
        words = " ".join([function.header, *(groups.get(group, "") for group in function.attribute_groups)])
        if _NOT_BOTH.search(words) or _is_roomy(function, types):
            continue
        implied = "" if re.search(r"\bnoinline\b", words) else "noinline "
        function.add_attributes(f"{implied}optnone")


def _is_roomy(function: Function, types: TypeTable) -> bool:
    """Whether a function has several stack slots of fixed size that are large together."""
    slots = [item for item in function.entry.instructions if item.op == "alloca" and not item.operands]
    return len(slots) > 1 and sum(types.size(slot.word) for slot in slots) > ROOM
