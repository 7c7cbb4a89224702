"""What C's types say of two accesses: an object of one type is not reached through another (`!tbaa`, LLVM LangRef)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracecut.ir.llvm import Instruction

_NODE = re.compile(r"![0-9]+")
_MEMBER = re.compile(r"i64 (\d+), i64 (\d+), (![0-9]+)")


def may_be_same(nodes: Mapping[str, str], one: Instruction, other: Instruction) -> bool:
    """Whether two accesses may touch the same bytes, as far as their types say. `nodes`: metadata, by name.

    They may where a compiler was told nothing (`-fno-strict-aliasing`, `char`, `memcpy`). A structure that is copied as
    a whole touches what its members are.
    """
    return any(_meet(nodes, first, second) for first in _tags(nodes, one) for second in _tags(nodes, other))


def _tags(nodes: Mapping[str, str], access: Instruction) -> list[str]:
    """The tag of an access, or those of the members that a copy consists of; "", which says nothing, for none."""
    if "tbaa" in access.meta or "tbaa.struct" not in access.meta:
        return [access.meta.get("tbaa", "")]
    members = _MEMBER.findall(nodes.get(access.meta["tbaa.struct"], ""))
    end = 0
    for first, size, _ in sorted(members, key=lambda member: int(member[0])):
        if int(first) > end:
            return [""]  # bytes that nothing is known of
        end = max(end, int(first) + int(size))
    return [tag for *_, tag in members] if access.operands[2].text == str(end) else [""]


def _meet(nodes: Mapping[str, str], one: str, other: str) -> bool:
    first, second = _types(nodes, one), _types(nodes, other)
    if not first or not second or first[-1] != second[-1]:
        return True
    return first[0] in second or second[0] in first


def _types(nodes: Mapping[str, str], tag_name: str) -> list[str]:
    """The type that an access has, what that is a part of, and so on to the root; empty when it has none."""
    tag = _NODE.findall(nodes.get(tag_name, ""))
    if len(tag) != 2:
        return []
    found = [tag[1]]
    while len(found) < 16:
        above = _NODE.findall(nodes.get(found[-1], ""))
        if len(above) != 1:  # the root has none; a structure, whose members follow, is no type of an access
            return [] if above else found
        found.append(above[0])
    return []
