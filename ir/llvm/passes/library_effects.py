"""What functions of libraries do to memory, told to LLVM where it does not know it: what is loaded before holds behind.

`new` and `delete` change nothing that the program could read. Products and quotients of complex numbers, which
compilers call a function for where a result is not a number, reach no memory at all.
"""

from __future__ import annotations

import re

from tracecut.ir.llvm.call_effects import COMPLEX_ARITHMETIC

from .allocated.allocation_uses import CXX, CXX_FREE

EFFECTS = {
    **dict.fromkeys(CXX, "memory(inaccessiblemem: readwrite)"),
    **dict.fromkeys(CXX_FREE, "memory(argmem: readwrite, inaccessiblemem: readwrite)"),
    **{f"@{name}": "memory(none)" for name in COMPLEX_ARITHMETIC},
}
_LINE = re.compile(
    rf"^declare [^\n]*({'|'.join(map(re.escape, EFFECTS))})\([^\n()]*\)(?: local_unnamed_addr)?", re.MULTILINE
)


def with_library_effects(text: str) -> str:
    """A textual module that says so of the functions that it only declares. O(text)."""
    return _LINE.sub(lambda found: f"{found[0]} {EFFECTS[found[1]]}", text)
