"""Instructions that compute the dynamic length of an item, from its factors (see `library_effects`)."""

from __future__ import annotations

import re
from collections.abc import Callable

from tracecut.ir.llvm import Instruction, Operand
from tracecut.tracer.trace.events.memory_operations import Item

_FACTOR = re.compile(r"(a|str|min|top|nn|ret|gt|ok|m)?(\d*)")

Names = Callable[[str], str]


def length_of(item: Item, out: list[Instruction], name: Names) -> str:
    """Append the product of the factors of an item's length to `out`; its name, an i64.

    A string whose length only counts when something was read into it (`gt`) is not read before that is known.
    `name`: makes a new name from a letter.
    """
    total, given = "", ""
    for factor in sorted(item.length, key=lambda text: not text.startswith("gt")):
        text = _value(item, factor, given, out, name)
        if factor.startswith("gt"):
            given = text
        if total:
            product = name("m")
            out.append(Instruction(f"{product} = mul i64 {total}, {text}"))
            text = product
        total = text
    return total


def _value(item: Item, factor: str, given: str, out: list[Instruction], name: Names) -> str:
    found = _FACTOR.fullmatch(factor)
    if found is None:
        raise ValueError(f"not a length: {factor!r}")
    what, number = found.groups()
    if what is None:
        return number
    here = name("s")

    def put(text: str, suffix: str = "") -> str:
        out.append(Instruction(f"{here}{suffix} = {text}"))
        return here + suffix

    def wide(value: Operand, cast: str) -> str:
        return value.text if value.type == "i64" else put(f"{cast} {value.type} {value.text} to i64", ".w")

    if what in ("ret", "gt", "ok") and item.result is None:
        return "0"
    if what == "a":
        return wide(item.arguments[int(number)], "zext")
    if what == "m":
        return put(f"load i64, ptr {item.arguments[int(number)].text}, align 8")
    if what == "nn":
        return put(f"zext i1 {put(f'icmp ne ptr {item.arguments[int(number)].text}, null', '.c')} to i64")
    if what == "str":
        text = item.arguments[int(number)].text if number else item.pointers[0].text
        if given:
            text = put(f"select i1 {put(f'icmp ne i64 {given}, 0', '.c')}, ptr {text}, ptr null", ".p")
        return put(f"call i64 @tce_string(ptr {text})")
    if what in ("min", "top"):
        limit = number if what == "top" else wide(item.arguments[int(number)], "sext")
        return put(f"call i64 @tce_string_up_to(ptr {item.pointers[0].text}, i64 {limit})")
    result = item.result
    assert result is not None
    if what == "ok":
        return put(f"zext i1 {put(f'icmp ne ptr {result.text}, null', '.c')} to i64")
    value = wide(result, "sext")
    if what == "gt":
        return put(f"zext i1 {put(f'icmp sgt i64 {value}, {number}', '.c')} to i64")
    if number:
        value = put(f"add i64 {value}, {number}", ".n")
        floor = put(f"icmp sge i64 {value}, {number}", ".c")
        return put(f"select i1 {floor}, i64 {value}, i64 0")
    return put(f"call i64 @llvm.smax.i64(i64 {value}, i64 0)")
