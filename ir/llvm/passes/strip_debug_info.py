"""Removes debug information, most of the text of a module, before code generation."""

from __future__ import annotations

import re

from tracecut.ir.llvm.module import Module

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
            if instruction.meta:
                for kind in _DROPPED:
                    instruction.meta.pop(kind, None)
                for node in instruction.meta.values():
                    used.update(_NODE.findall(node))
            if "!" in instruction.text:
                used.update(_NODE.findall(instruction.text))
    for place, item in enumerate(module.items):
        if isinstance(item, str):
            text = module.items[place] = _without(item) if " !dbg " in item else item
            used.update(_NODE.findall(text) if " !" in text else ())
    nodes: dict[str, str] = {}
    kept: list[str] = []
    for line in module.nodes:
        name, _, text = line.partition(" = ")
        if _NODE.fullmatch(name):
            nodes[name] = text
        elif name != "!llvm.dbg.cu":
            kept.append(line)
            used.update(_NODE.findall(text))
    waiting = list(used)
    while waiting:
        fresh = set(_NODE.findall(nodes.get(waiting.pop(), ""))) - used
        used |= fresh
        waiting += fresh
    module.nodes = [*kept, *(f"{name} = {text}" for name, text in nodes.items() if name in used)]


def _without(text: str) -> str:
    return _ATTACHED.sub(lambda found: found.group() if found.group()[0] == '"' else "", text)
