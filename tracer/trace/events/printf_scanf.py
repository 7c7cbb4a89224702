"""What a printf call reads and a scanf call stores, from its constant format."""

from __future__ import annotations

import re

from tracecut.ir.llvm import Instruction, Module

_CONVERSION = re.compile(r"%[-+ #0']*(\*|\d+)?(?:\.(\*|-?\d*))?(hh|h|ll|l|L|q|j|z|t)?([a-zA-Z%])")
_ASKED = re.compile(r"%(\*)?(\d+)?(hh|h|ll|l|L|q|j|z|t)?(\[\^?\]?[^\]]*\]|[a-zA-Z%])")
_INTEGERS: dict[str | None, int] = {None: 4, "hh": 1, "h": 2, **dict.fromkeys(("l", "ll", "q", "j", "z", "t"), 8)}
_REALS: dict[str | None, int] = {None: 4, "l": 8, "L": 16}
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


def strings_in(call: Instruction, place: int, constants: dict[str, str]) -> list[tuple[int, str]] | None:
    """(argument number, length in the notation of `externals`) of every string that the call prints.

    None when the format is no constant of the module, has a conversion that is not known, stores through a pointer
    (`%n`) or numbers its arguments.
    """
    if place >= len(call.operands) or call.operands[place].text not in constants:
        return None
    text = constants[call.operands[place].text]
    found: list[tuple[int, str]] = []
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
        limit = f"min{argument}" if precision == "*" else "str"
        argument += precision == "*"
        if letter == "s":
            if size is not None:
                return None
            if precision not in (None, "*") and not precision.startswith("-"):
                limit = f"top{precision or 0}"
            found.append((argument, limit))
        elif letter not in "diouxXeEfFgGaAcp":
            return None
        argument += 1
    if "%" in text[end:] or argument > len(call.operands):
        return None
    return found


def stores_in(call: Instruction, place: int, constants: dict[str, str]) -> list[tuple[int, tuple[str, ...]]] | None:
    """(argument number, length) of every value that a scanf call stores, in the notation of `externals`.

    None when the format is no constant of the module, has a conversion that is not known or allocates (`%m`, `%n`,
    wide characters), or numbers its arguments.
    """
    if place >= len(call.operands) or call.operands[place].text not in constants:
        return None
    text = constants[call.operands[place].text]
    found: list[tuple[int, tuple[str, ...]]] = []
    end = 0
    for match in _ASKED.finditer(text):
        if "%" in text[end : match.start()]:
            return None
        end = match.end()
        skipped, width, size, letter = match.groups()
        if letter == "%":
            continue
        length = "str" if letter[0] in "s[" and size is None else None
        if letter in "diouxX":
            length = str(_INTEGERS[size]) if size in _INTEGERS else None
        elif letter in "eEfFgGaA":
            length = str(_REALS[size]) if size in _REALS else None
        elif letter == "p" and size is None:
            length = "8"
        elif letter == "c" and size is None:
            length = width or "1"
        if length is None:
            return None
        if not skipped:
            argument = place + 1 + len(found)
            if argument >= len(call.operands) or call.operands[argument].type != "ptr":
                return None
            found.append((argument, (length, f"gt{len(found)}")))
    return None if "%" in text[end:] else found


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-9A-Fa-f]{2}|\\)", lambda code: "\\" if code[1] == "\\" else chr(int(code[1], 16)), text)
