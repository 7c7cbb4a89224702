"""Modules as plain JSON values: how a parsed module gets to another process without being printed and parsed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .instruction import Instruction
from .module import Block, Function, Module


def module_out(module: Module) -> dict[str, Any]:
    """Plain values of a module. O(length)."""
    return {
        "items": [item if isinstance(item, str) else function_out(item) for item in module.items],
        "nodes": module.nodes,
    }


def module_in(data: Mapping[str, Any]) -> Module:
    """The inverse of `module_out`. O(length)."""
    return Module([item if isinstance(item, str) else function_in(item) for item in data["items"]], data["nodes"])


def function_out(function: Function) -> list[Any]:
    """[name, header, [[block, [[text, attachments], …]], …]] of a function."""
    blocks = [[block.name, [[item.text, item.meta] for item in block.instructions]] for block in function.blocks]
    return [function.name, function.header, blocks]


def function_in(data: list[Any]) -> Function:
    """The inverse of `function_out`."""
    name, header, blocks = data
    return Function(name, header, [Block(own, [Instruction(text, meta) for text, meta in b]) for own, b in blocks])
