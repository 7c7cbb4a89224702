"""Live-in values of a loop, and where each comes from."""

from __future__ import annotations

from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.debug_info import Lines
from tracecut.ir.llvm.def_use import FunctionView


def live_ins(view: FunctionView, loop: Loop) -> list[tuple[str, str]]:
    """(name, type) of every value from outside that a loop uses, in order of appearance."""
    found: dict[str, str] = {}
    for name in view.flow.order:
        if name not in loop.blocks:
            continue
        for instruction in view.flow.blocks[name].instructions:
            for used in instruction.uses:
                if used in found:
                    continue
                made = view.definitions.get(used)
                if used in view.parameter_types if made is None else made.block not in loop.blocks:
                    found[used] = view.type_of(used)
    return list(found.items())


def made_at(view: FunctionView, lines: Lines, name: str) -> str:
    """Where a value comes from; for a value without a source line, where its operands come from.

    Returns: `parameter 2 of f`, or `file.c:7`; empty when neither is known.
    """
    names, seen = [name], {name}
    for found in names:  # which grows
        if found in view.parameter_types:
            number = list(view.parameter_types).index(found) + 1
            return f"parameter {number} of {view.function.name.lstrip('@')}"
        definition = view.definitions.get(found)
        if definition is None:
            continue  # a global
        place = lines.place(definition.instruction.meta.get("dbg"))
        if place is not None and place.own.line:
            return str(place.own)
        fresh = [used for used in dict.fromkeys(definition.instruction.uses) if used not in seen]
        names.extend(fresh)
        seen.update(fresh)
    return ""


def may_stray(view: FunctionView, name: str) -> bool:
    """Whether a pointer may lie outside of the object that it is used for, or behind its end.

    What a program hands around lies in its object, as C has it (C11 6.5.6, 8), and so does the result of a
    `getelementptr inbounds`. But a compiler may take `x - 8` out of a loop that reads `x[i - 1]`: without `inbounds`.
    O(values that the pointer is merged from).
    """
    stack, seen = [name], {name}
    while stack:
        found = stack.pop()
        definition = view.definitions.get(found)
        if definition is None:
            continue  # a parameter, a global
        made = definition.instruction
        if made.op in ("load", "call", "invoke", "alloca"):
            continue
        if made.op == "getelementptr" and "inbounds" in made.flags:
            continue
        if made.op not in ("phi", "select", "freeze"):
            return True
        merged = [operand.text for operand in made.operands if operand.type == "ptr"]
        if not all(text.startswith(("%", "@")) or text == "null" for text in merged):
            return True  # a constant expression
        stack += [text for text in merged if text not in seen]
        seen.update(merged)
    return False
