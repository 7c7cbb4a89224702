"""A part of a module: what some of its functions lead to."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracecut.ir.llvm.lexer import GLOBAL
from tracecut.ir.llvm.module import Function, Module

_KEPT_BY_LLVM = "@llvm."  # lists of constructors, of what is used where nobody sees it
_OWN_VARIABLE = re.compile(r"^(@\S+ = )(?:internal|private) (?!.*\bconstant\b)")


def only_reached(module: Module, roots: Iterable[str]) -> Module:
    """The module without the functions and variables that are not needed by some of its functions.

    Variables that only the module itself sees become visible to others: what is gone may have written to them, so that
    they hold more than what they begin with.

    Args:
        roots: names of functions. Those that run before `main` are kept as well.

    Returns `module` itself where assembly may name anything. O(text of what is kept).
    """
    named: dict[str, str | Function] = {}
    for item in module.items:
        if isinstance(item, Function):
            named[item.name] = item
        elif item.startswith("@"):
            found = GLOBAL.match(item)
            if found:
                named[found.group()] = item
        elif item.startswith("module asm"):
            return module
    stack = [*roots, *(name for name in named if name.startswith(_KEPT_BY_LLVM))]
    for line in module.nodes:
        stack += GLOBAL.findall(line) if "@" in line else ()
    reached: set[str] = set()
    while stack:
        name = stack.pop()
        if name in named and name not in reached:
            reached.add(name)
            stack += _names_in(named[name])
    kept: list[str | Function] = []
    for item in module.items:
        if isinstance(item, Function):
            kept += [item] if item.name in reached else []
            continue
        own = GLOBAL.match(item) if item.startswith("@") else None
        if own is None or own.group() in reached:
            kept.append(_OWN_VARIABLE.sub(r"\1hidden ", item) if own else item)
    return Module(kept, module.nodes)


def _names_in(item: str | Function) -> Iterable[str]:
    """What an item names, itself among it."""
    if isinstance(item, str):
        return GLOBAL.findall(item)
    return [*GLOBAL.findall(item.header), *(name for _, line in item.instructions() for name in line.globals)]
