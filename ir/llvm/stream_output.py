"""Output to the streams of libstdc++: `std::cout << x << std::endl`, or to a file or string stream that is a variable
of a function. A part of it is inlined.

What is inlined reads and changes the stream object and what it leads to (locale, facets, format), which are objects of
the library: none of them is an array of the program. The functions that are called write characters in their order.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .def_use import FunctionView
from .module import Function, Module

STREAMS = frozenset("@_ZSt4cout @_ZSt4cerr @_ZSt4clog @_ZSt5wcout @_ZSt5wcerr @_ZSt5wclog".split())
_TEXT = (  # they read characters through their second argument
    "_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
    "_ZNSo5writeEPKcl",
)
_NUMBERS = (
    *(f"_ZNSolsE{type}" for type in ("i", "j", "l", "m", "s", "t", "b", "d", "f", "e", "x", "y", "PKv")),
    *(f"_ZNSo9_M_insertI{type}EERSoT_" for type in ("b", "l", "m", "x", "y", "d", "e", "PKv")),
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c",
    "_ZNSo3putEc",
    "_ZNSo5flushEv",
    "_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_",
    "_ZSt5flushIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_",
)
READING = frozenset(_TEXT)
OUTPUT = frozenset((*_TEXT, *_NUMBERS))  # they return their first argument, the stream

# A buffer or a facet of the program's own may do anything when something is written: the type it is derived from is
# named by its type information, or, without that, its table of functions is.
_DERIVED = re.compile(r"@_ZTI(St15basic_streambufI|St7num_putI|St8numpunctI|St5ctypeI|NSt6locale5facetE)")
_BUFFER, _BUFFERS = "@_ZTVSt15basic_streambufI", ("@_ZTVSt13basic_filebufI", "@_ZTVNSt7__cxx1115basic_stringbufI")
# A stream throws once it was asked to, by one of these. Nothing would undo a layout on the way out of a function that
# has no handler. What is inlined of `exceptions` ends with a `clear` of the state as it is.
_THROWING = re.compile(r"@_ZNSt9basic_iosI[cw]St11char_traitsI[cw]EE(10exceptions|7copyfmt)E")
_CLEAR = re.compile(r"@_ZNSt9basic_iosI[cw]St11char_traitsI[cw]EE5clearE")
# A variable of one of these types; an array of the program's own behind its buffer (`pubsetbuf`) has no other use.
_LOCAL = re.compile(r'%"class\.std::(__cxx11::)?basic_(ofstream|fstream|ostringstream|stringstream)[.\d]*"')
_FROM = re.compile(r"@[\w.]+")


def of_stream(view: FunctionView, text: str) -> bool:
    """Whether a pointer is a stream, lies in one, or was found in what one leads to, whichever way it comes from.
    O(chain of pointers)."""
    left, seen = [text], set[str]()
    while left:
        text = left.pop()
        if text in seen:
            continue
        seen.add(text)
        if not text.startswith("%"):
            if text not in STREAMS and not (text.startswith("getelementptr") and set(_FROM.findall(text)) <= STREAMS):
                return False
            continue
        found = view.definitions.get(text)
        if found is None:
            return False
        made = found.instruction
        if made.op == "alloca" and _LOCAL.fullmatch(made.word):
            continue
        calls = made.op in ("call", "invoke") and made.word.removeprefix("@") in OUTPUT
        if made.op == "phi":
            left += (operand.text for operand in made.operands)
        elif made.op in ("getelementptr", "load") or calls:
            left.append(made.operands[0].text)
        else:
            return False
    return True


def may_do_more(names: Collection[str]) -> bool:
    """Whether output may do more than to write: by the names of a program's globals and of the functions that it
    declares, it may have a stream buffer or a facet of its own, or streams that throw."""
    own = any(name.startswith(_BUFFER) for name in names)
    known = any(name.startswith(_BUFFERS) for name in names)
    return (own and not known) or any(_DERIVED.match(name) or _THROWING.match(name) for name in names)


def may_ask_to_throw(module: Module) -> bool:
    """Whether the program may ask a stream to throw by `exceptions(…)`: it sets a state that is not known to be another
    one than before. To open a file sets none, or one bit more. O(instructions)."""
    names = {name for name in module.declarations if _CLEAR.match(name)}
    return any(_asks_to_throw(function, names) for function in module.functions.values()) if names else False


def _asks_to_throw(function: Function, names: Collection[str]) -> bool:
    items = [item for _, item in function.instructions()]
    states = []
    for item in items:
        if any(name in item.text for name in names):
            if item.op not in ("call", "invoke") or item.word not in names:
                return True
            states.append(item.operands[1].text)
    made, seen = {str(item.result): item for item in items if item.result} if states else {}, set[str]()
    while states:
        state = states.pop()
        if state in seen or not state.startswith("%"):
            continue
        seen.add(state)
        found = made.get(state)
        if found is None or found.op not in ("or", "and", "phi", "select"):
            return True
        if found.op in ("phi", "select"):
            states += (operand.text for operand in found.operands[found.op == "select" :])
        elif found.operands[1].text.startswith("%"):
            return True
    return False
