"""What functions of libraries do to memory, told to LLVM where it does not know it: what is loaded before holds behind.

`new` and `delete` change nothing that the program could read. Products and quotients of complex numbers, which
compilers call a function for where a result is not a number, reach no memory at all.
"""

from __future__ import annotations

import re

from tracecut.ir.llvm.call_effects import COMPLEX_ARITHMETIC, DELETE_OPERATORS, NEW_OPERATORS

EFFECTS = {
    **dict.fromkeys(NEW_OPERATORS, "memory(inaccessiblemem: readwrite)"),
    **dict.fromkeys(DELETE_OPERATORS, "memory(argmem: readwrite, inaccessiblemem: readwrite)"),
    **dict.fromkeys(COMPLEX_ARITHMETIC, "memory(none)"),
}
_LINE = re.compile(rf"^declare [^\n]*@({'|'.join(EFFECTS)})\([^\n()]*\)(?: local_unnamed_addr)?", re.MULTILINE)


def with_library_effects(text: str) -> str:
    """A textual module that says so of the functions that it only declares. O(text)."""
    return _LINE.sub(lambda found: f"{found[0]} {EFFECTS[found[1]]}", text)
