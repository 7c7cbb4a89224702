"""Pointers into memory that was allocated apart: no two of them reach the same bytes, whatever their types."""

from __future__ import annotations

from collections.abc import Mapping

from tracecut.ir.llvm import Instruction

# What makes an object that nothing else points into.
NEW = frozenset(
    "@malloc @calloc @aligned_alloc @_Znwm @_Znam @_ZnwmSt11align_val_t @_ZnamSt11align_val_t "
    "@_ZnwmRKSt9nothrow_t @_ZnamRKSt9nothrow_t".split()
)
MOST = 64  # values between a pointer and what it may come from


def objects_of(made: Mapping[str, Instruction], pointer: str) -> frozenset[str] | None:
    """The results of allocations that a pointer may lead into; None where it may come from anywhere else.

    Args:
        made: the instructions of a function, by result. pointer: a value of it.

    O(MOST).
    """
    found: set[str] = set()
    seen: set[str] = set()
    stack = [pointer]
    while stack:
        name = stack.pop()
        if name in seen or name == "null":  # through which nothing is reached
            continue
        seen.add(name)
        item = made.get(name)
        if item is None or len(seen) > MOST:
            return None
        if item.op == "alloca" or (item.op in ("call", "invoke") and item.word in NEW):
            found.add(name)
        elif item.op == "getelementptr":
            stack.append(item.operands[0].text)
        elif item.op in ("phi", "select"):
            stack += [one.text for one in item.operands[item.op == "select" :]]
        else:
            return None
    return frozenset(found)


def apart(made: Mapping[str, Instruction], one: str, other: str) -> bool:
    """Whether two pointers of a function lead into different objects at all times. O(MOST)."""
    first, second = objects_of(made, one), objects_of(made, other)
    return first is not None and second is not None and not first & second
