"""A module without what only debuggers read: the larger part of a text that code generation would carry along."""

from __future__ import annotations

import re

from .module import Function, Module

_ATTACHED = re.compile(r'"(?:[^"\\]|\\.)*"|,? !(?:dbg|llvm\.loop) ![0-9]+')
_NODE = re.compile(r"![0-9]+")
_DROPPED = ("dbg", "llvm.loop")  # the latter names source lines, and no pass follows that would read it


def strip_debug_info(module: Module) -> None:
    """Drop source locations, loop hints and the metadata that nothing else refers to, in place. O(length)."""
    used: set[str] = set()
    for function in module.functions.values():
        function.header = _without(function.header)
        used.update(_NODE.findall(function.header))
        for _, instruction in function.instructions():
            for kind in _DROPPED:
                instruction.meta.pop(kind, None)
            for node in instruction.meta.values():
                used.update(_NODE.findall(node))
            if "!" in instruction.text:
                used.update(_NODE.findall(instruction.text))
    nodes: dict[str, list[str]] = {}
    kept: list[str | Function] = []
    for item in module.items:
        if not isinstance(item, str):
            kept.append(item)
        elif item.startswith("!llvm.dbg.cu"):
            continue
        elif _is_node(item):
            name, _, text = item.partition(" = ")
            nodes[name] = _NODE.findall(text)
            kept.append(item)
        else:
            text = _without(item) if " !dbg " in item else item
            used.update(_NODE.findall(text) if " !" in text or text.startswith("!") else ())
            kept.append(text)
    waiting = list(used)
    while waiting:
        fresh = set(nodes.get(waiting.pop(), ())) - used
        used |= fresh
        waiting += fresh
    module.items = [item for item in kept if not _is_node(item) or str(item).partition(" = ")[0] in used]


def _is_node(item: str | Function) -> bool:
    return isinstance(item, str) and _NODE.match(item) is not None


def _without(text: str) -> str:
    return _ATTACHED.sub(lambda found: found.group() if found.group()[0] == '"' else "", text)
