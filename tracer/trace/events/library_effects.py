"""What library functions do to memory, byte by byte: which ranges they read, write, allocate and free.

One line for functions that do the same, in a small notation. A part is `READ-OR-WRITE ARGUMENT = LENGTH`, as in
`r0=str w1=8`:

    rN=L, wN=L, xN=L   reads, writes, reads and writes L bytes behind the pointer that is argument N
    copy=L             moves L bytes from argument 1 to argument 0
    alloc=L            returns L fresh bytes; `allocat0=L`: stores the pointer to them through argument 0
    realloc=L          moves what argument 0 points to into L bytes, which it returns; `free`: frees argument 0
    wret=L, xret=L     writes, reads and writes L bytes behind the pointer that it returns
    watN=L             writes L bytes behind the pointer that lies behind argument N when it is done
    vaN                reads all variable arguments that argument N, a va_list, has left

A length is a product of factors with `*`: a number, `aN` (argument N), `ret` (the result, 0 when negative), `ret1` (the
result and one more, 0 when it is negative), `str` (length of the string there, its end included), `strN` (of the string
that argument N points to), `minN` (as `str`, but at most argument N bytes), `topN` (at most N bytes), `mN` (the 64-bit
number behind argument N), `nnN` (1, or 0 when argument N is null), `ok` (1, or 0 when the result is null), `gtN` (1
when the result is greater than N, else 0). A part that ends in `!` is known when the call has returned.
`callback` marks functions that may call the program, `behind` those that write when this is done (in the place of them
the traced program calls others, which say so: see `runtime.c`), `leaves` those that do not come back, `throws` those
that may raise an exception instead, `formatN` and `scanN` those whose argument N is a printf or scanf format, which
says what else they read or store.

What a function may look at counts as read: a search takes all of its range. `strtok` is taken to change all of the
string that it begins with, since nothing tells later what it goes on with. Not followed: `errno`, and what lies inside
the library (the buffers of files, the state of random numbers, the result of `getenv`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.call_effects import PURE, effect_of

from .library_tables import ARITHMETIC, ROWS


@dataclass(frozen=True)
class Part:
    """One effect. `what`: r, w, x, copy, alloc, allocat, realloc, free, wret, xret, wat, va; `late`: known after it."""

    what: str
    argument: int
    length: tuple[str, ...]
    late: bool


@dataclass(frozen=True)
class External:
    """All effects of a function. `format`, `scan`: argument number of its printf, scanf format, None without one."""

    parts: tuple[Part, ...] = ()
    format: int | None = None
    scan: int | None = None
    callback: bool = False
    behind: bool = False
    leaves: bool = False
    throws: bool = False


_FLAGS = ("callback", "behind", "leaves", "throws")
_PART = re.compile(r"(r|w|x|copy|allocat|alloc|realloc|wret|xret|wat)(\d*)=([a-z0-9*]+)(!?)$")
_LATE = ("alloc", "allocat", "realloc", "wret", "xret", "wat")


def _parse(words: list[str]) -> External:
    parts, formats, flags = [], dict[str, int](), set()
    for word in words:
        found = _PART.match(word)
        if found is not None:
            what, argument, length, late = found.groups()
            after = bool(late) or what in _LATE
            parts.append(Part(what, int(argument or 0), tuple(length.split("*")), after))
        elif word[:-1] == "va":
            parts.append(Part("va", int(word[-1]), (), late=False))
        elif word == "free":
            parts.append(Part("free", 0, (), late=False))
        elif word[:-1] in ("format", "scan"):
            formats[word[:-1]] = int(word[-1])
        else:
            flags.add(word)
    assert flags <= {*_FLAGS}, flags
    late = "scan" in formats or any(part.late for part in parts)
    options: dict[str, Any] = {**formats, **{flag: flag in flags for flag in _FLAGS}}
    known = External(tuple(parts), **options)
    assert not late or not (known.callback or known.leaves), "nothing may be recorded between a call and what is late"
    return known


EXTERNALS: dict[str, External] = {
    name: _parse(effects.split())
    for names, _, effects in (row.partition(":") for row in ROWS.split("\n") if row and not row.startswith("#"))
    for name in names.split()
}


def external_of(call: Instruction) -> External | None:
    """Effects of a call to a function that the module does not define; None when they are not known.

    A function with a format is known only when `constant format` says so: see `printf_scanf.strings_in`.
    """
    name = call.word.removeprefix("@").strip('"')
    if name in EXTERNALS:
        return EXTERNALS[name]
    return External() if name in ARITHMETIC or effect_of(call) == PURE else None
