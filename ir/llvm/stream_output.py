"""Output to the standard streams of libstdc++: `std::cout << x << std::endl`, of which a part is inlined.

What is inlined reads and changes the stream object and what it leads to (locale, facets, format), which are objects of
the library: none of them is an array of the program. The functions that are called write characters in their order.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .def_use import FunctionView

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
# has no handler.
_THROWING = re.compile(r"@_ZNSt9basic_iosI[cw]St11char_traitsI[cw]EE(5clear|10exceptions|7copyfmt)E")
_FROM = re.compile(r"@[\w.]+")


def of_stream(view: FunctionView, text: str) -> bool:
    """Whether a pointer is a standard stream, lies in one, or was found in what one leads to. O(chain of pointers)."""
    while text.startswith("%"):
        found = view.definitions.get(text)
        if found is None:
            return False
        made = found.instruction
        calls = made.op in ("call", "invoke")
        if not (made.op in ("getelementptr", "load") or (calls and made.word.removeprefix("@") in OUTPUT)):
            return False
        text = made.operands[0].text
    return text in STREAMS or (text.startswith("getelementptr") and set(_FROM.findall(text)) <= STREAMS)


def may_do_more(names: Collection[str]) -> bool:
    """Whether output may do more than to write: by the names of a program's globals and of the functions that it
    declares, it may have a stream buffer or a facet of its own, or streams that throw."""
    own = any(name.startswith(_BUFFER) for name in names)
    known = any(name.startswith(_BUFFERS) for name in names)
    return (own and not known) or any(_DERIVED.match(name) or _THROWING.match(name) for name in names)
