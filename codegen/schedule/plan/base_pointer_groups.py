"""Which accesses of a region share a base pointer, and what a region needs from outside."""

from __future__ import annotations

from collections.abc import Mapping

from tracecut.ir.llvm import Instruction, Operand
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.lexer import constant_address, split_type
from tracecut.ir.loops.nest import Nest, Site
from tracecut.tracer.loops.row_numbers import is_number

from .range_function import NEW, Group


def group_sites(view: FunctionView, nest: Nest, loop: Loop, views: Mapping[str, str] | None = None) -> list[Group]:
    """Group the accesses of a region by root pointer and by how they are indexed.

    Numbers in the places of row pointers are in groups of their own: they are read from a copy of the table.
    `views` overrides the view of sites by key.
    """
    number = view.loop_ids[loop]
    found: dict[tuple[str, str, str, bool], list[str]] = {}
    varying = {site.key for site in nest.sites_in(number) if _varies(site)}
    for site in nest.sites_in(number):
        operand = pointer_operand(view, site)
        root = root_of(view, loop, operand.text) or ""
        if root in varying:
            root = ""
        shape = _shape(site, number)
        found.setdefault((root, shape, (views or {}).get(site.key, NEW), is_number(site.key)), []).append(site.key)
    return [Group(place, root, tuple(keys), which) for place, ((root, _, which, _), keys) in enumerate(found.items())]


def _varies(site: Site) -> bool:
    """Whether the address may differ from one iteration to the next."""
    return site.address.has("counter", "opaque", "any", "state")


def _shape(site: Site, region: int) -> str:
    """Whether an address is formed with a loaded value, with the region's own counter, or with neither."""
    nodes = list(site.address.walk())
    if any(node.kind == "load" and node.data[1] != "ptr" for node in nodes):
        return "indirect"
    return "direct" if any(node.kind == "counter" and node.data[0] == region for node in nodes) else "plain"


def pointer_operand(view: FunctionView, site: Site) -> Operand:
    """The pointer of a site's instruction."""
    instruction = instruction_of(view, site.key)
    if site.key.startswith("call:"):
        return instruction.operands[int(site.key.rsplit(":", 1)[1][:-1])]
    return instruction.operands[-1]


def instruction_of(view: FunctionView, key: str) -> Instruction:
    """The instruction that a site key names."""
    if key.startswith(("store:", "call:")):
        _, block, place = key.split(":")[:3]
        return view.flow.blocks[block].instructions[int(place)]
    return view.definitions[key].instruction


def root_of(view: FunctionView, loop: Loop, text: str) -> str | None:
    """The pointer that an address is computed from: made outside of the loop, a global, or loaded inside.

    None when there is no single one (a select between arrays).
    """
    seen: set[str] = set()
    roots: set[str] = set()
    stack = [text]
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        address = constant_address(name)
        if address is not None:
            stack.append(split_type(address[1][1])[1])
            continue
        found = view.definitions.get(name) if name.startswith("%") else None
        if found is None or found.block not in loop.blocks or found.instruction.op == "load":
            roots.add(name)
        elif found.instruction.op == "getelementptr":
            stack.append(found.instruction.operands[0].text)
        elif found.instruction.op in ("phi", "select", "freeze"):
            operands = found.instruction.operands[1 if found.instruction.op == "select" else 0 :]
            stack.extend(operand.text for operand in operands)
        else:
            return None
    return roots.pop() if len(roots) == 1 else None
