"""Demangled names of C++ functions."""

from __future__ import annotations

import ctypes
import re
from functools import cache

_STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
_SHORT = {_STRING: "std::string", "std::__cxx11::": "std::"}
_STREAM = re.compile(r"std::basic_(\w+)<char, std::char_traits<char>(?:, std::allocator<char> )?\s?>")
LONGEST = 80  # characters of a name that are shown


def demangled(name: str) -> str:
    """`_ZNSolsEi` → `std::ostream::operator<<(int)`; what is no mangled name, and any name where the C++ library is
    absent, stays as it is. Cut after `LONGEST` characters."""
    if not name.startswith("_Z") or (demangle := _function()) is None:
        return name
    status = ctypes.c_int()
    found = demangle(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return name
    try:
        text = ctypes.string_at(found).decode(errors="replace")
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(found))
    for long, short in _SHORT.items():
        text = text.replace(long, short)
    text = _STREAM.sub(r"std::\1", text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def function_name(name: str) -> str:
    """`_ZSt4sortIPdEvT_S1_` → `std::sort`: what a program calls a function, without types. Operators have theirs."""
    text = demangled(name)
    if text == name or "operator" in text:
        return text
    plain, depth = "", 0
    for letter in text.replace("(anonymous namespace)::", ""):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and not depth and plain:
            break
        plain += letter if not depth and letter != ">" else ""
    return plain.split(" ")[-1] or text


@cache
def _function() -> ctypes._NamedFuncPointer | None:
    """`__cxa_demangle` of the C++ library that C++ programs are bound to; None without one."""
    try:
        found = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return None
    found.restype = ctypes.c_void_p
    found.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    return found
