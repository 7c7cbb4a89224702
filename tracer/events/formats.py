"""The strings that a printf call reads, from its constant format."""

from __future__ import annotations

import re

from ..text import Instruction, Module

_CONVERSION = re.compile(r"%[-+ #0']*(\*|\d+)?(?:\.(\*|-?\d+)?)?(hh|h|ll|l|L|q|j|z|t)?([a-zA-Z%])")
_CONSTANT = re.compile(r'constant \[\d+ x i8\] c"((?:[^"\\]|\\.)*)"')


def constant_strings(module: Module) -> dict[str, str]:
    """`@name` → text up to its first NUL, of every constant string of a module."""
    found = {}
    for item in module.items:
        if isinstance(item, str) and item.startswith("@"):
            text = _CONSTANT.search(item)
            if text is not None:
                found[item.split(" ", 1)[0]] = _unescape(text.group(1)).partition("\0")[0]
    return found


def strings_in(call: Instruction, place: int, constants: dict[str, str]) -> list[tuple[int, int | None]] | None:
    """(argument number, argument number or None of its precision) of every string that the call prints.

    None when the format is no constant of the module, has a conversion that is not known, stores through a pointer
    (`%n`) or numbers its arguments.
    """
    if place >= len(call.operands) or call.operands[place].text not in constants:
        return None
    text = constants[call.operands[place].text]
    found: list[tuple[int, int | None]] = []
    argument = place + 1
    end = 0
    for match in _CONVERSION.finditer(text):
        if "%" in text[end : match.start()]:
            return None
        end = match.end()
        width, precision, size, letter = match.groups()
        if letter == "%":
            continue
        argument += width == "*"
        limit = argument if precision == "*" else None
        argument += precision == "*"
        if letter == "s":
            if size is not None or (precision not in (None, "*")):
                return None
            found.append((argument, limit))
        elif letter not in "diouxXeEfFgGaAcp":
            return None
        argument += 1
    if "%" in text[end:] or argument > len(call.operands):
        return None
    return found


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-9A-Fa-f]{2}|\\)", lambda code: "\\" if code[1] == "\\" else chr(int(code[1], 16)), text)
