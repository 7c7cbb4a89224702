"""Library functions of which a trace has more or less than what they really do, why, and how often a run called them.

What `externals` says of all others is what they do. `docs/library-effects.md` is this table as text: `listing()` makes
it (`python -m tracecut.tracer.trace.tables.approximated_calls > docs/library-effects.md`).
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tracecut.tracer.trace.events.library_effects import EXTERNALS, External

from .static_tables import Static

UNKNOWN = "what it does is not known: it may read and change any object that it is given a pointer into"

# Why → names. The numbers of the C library's own memory: buffers of files, tables, states.
_REASONS: dict[str, str] = {
    "all that it may look at counts as read, also behind the place where a search or a comparison ends": """
        memchr memrchr memcmp bcmp memmem strchr strrchr strchrnul index rindex strcmp strncmp strcasecmp strncasecmp
        strstr strcasestr strcoll strspn strcspn strpbrk atoi atol atoll atof strtol strtoul strtoll strtoull strtoimax
        strtoumax strtod strtof strtold __isoc23_strtol __isoc23_strtoul __isoc23_strtoll __isoc23_strtoull
        __isoc23_strtoimax __isoc23_strtoumax __isoc23_strtold sscanf __isoc99_sscanf __isoc23_sscanf bsearch lfind
        """,
    "all of the string counts as changed, and what a later call goes on with is not known": """
        strtok strtok_r __strtok_r strsep
        """,
    "what its arguments point to (%s, %n) is not looked at: they count as read themselves": """
        vprintf vfprintf vdprintf vsprintf vsnprintf vasprintf vwarn vwarnx vsyslog __vprintf_chk __vfprintf_chk
        __vsprintf_chk __vsnprintf_chk
        """,
    "what is written here comes back elsewhere through memory of the library, which is not followed": """
        fopen freopen fdopen tmpfile popen open open64 creat pipe fwrite fwrite_unlocked fread fread_unlocked
        __fread_chk write pwrite read pread __read_chk fgets __fgets_chk getline getdelim __getdelim puts fputs
        fputs_unlocked
        putchar putchar_unlocked putc putc_unlocked fputc fputc_unlocked _IO_putc __overflow getchar
        getchar_unlocked
        getc getc_unlocked fgetc fgetc_unlocked _IO_getc __uflow ungetc getw putw scanf __isoc99_scanf __isoc23_scanf
        fscanf __isoc99_fscanf __isoc23_fscanf printf fprintf dprintf __printf_chk __fprintf_chk fflush fseek fseeko
        rewind fsetpos opendir readdir getenv setenv unsetenv setlocale localeconv rand srand random srandom drand48
        srand48 lrand48 mrand48 pthread_setspecific pthread_getspecific setitimer getitimer
        """,
    "elements count as moved by the call, as a whole, when it is done; until then they lie where they were stored": """
        qsort qsort_r
        """,
    "the links of the tree are memory of the library, which is not followed; the key in a node is": """
        tsearch tfind tdelete twalk
        """,
    "the key counts as read, and the whole table": """
        lsearch
        """,
    "all 200 bytes of the buffer count as written, or read": """
        setjmp _setjmp sigsetjmp __sigsetjmp longjmp _longjmp siglongjmp __longjmp_chk
        """,
}
APPROXIMATED = {name: why for why, names in _REASONS.items() for name in names.split()}


@dataclass(frozen=True)
class Met:
    """A library function that a run called: how often, and what of it is approximated."""

    name: str
    calls: int
    why: str


def met(static: Static, counts: npt.NDArray[np.int64]) -> list[Met]:
    """Functions with approximated or unknown effects that were called, the most frequent ones first.

    Args:
        counts: int64 (I), how often each static instruction ran.

    O(instructions).
    """
    unknown = dict(static.unknown)
    found: dict[str, list[int]] = {}
    own = set(static.functions)
    for number in np.flatnonzero(counts).tolist():
        instruction = static.instructions[number]
        if number in unknown:
            found.setdefault(unknown[number], [0, 1])[0] += int(counts[number])
        elif instruction.op in ("call", "invoke") and instruction.word not in own:
            name = instruction.word.removeprefix("@").strip('"')
            if name in APPROXIMATED:
                found.setdefault(name, [0, 0])[0] += int(counts[number])
    rows = [Met(name, calls, UNKNOWN if odd else APPROXIMATED[name]) for name, (calls, odd) in found.items()]
    return sorted(rows, key=lambda row: (-row.calls, row.name))


def listing() -> str:
    """The table as Markdown."""
    parts = [
        "# What library functions do to memory",
        "A trace sees the instructions of the program, not those of the libraries. What a library function reads, "
        "writes, allocates and frees is taken from a table, of which this page is made (`python -m "
        "tracecut.tracer.trace.tables.approximated_calls`). `tracecut graph` says which of the approximated and "
        "unknown functions a run called, and how often.",
        "## Unknown",
        f"Of a function that is not listed here, {UNKNOWN}. The same holds for `printf` and `scanf` with a format that "
        "is no constant, for a function that is declared in another way than the library has it, and for inline "
        "assembly with pointers. A call through a pointer to a function that the program does not define has no "
        "effects. `errno` is not followed.",
        "## Approximated",
        *(f"- {why}: {_listed(names.split())}" for why, names in _REASONS.items()),
        "## As they are",
        "Effects in the notation of `tracer/trace/events/library_effects.py`: `rN`, `wN` and `xN` read, write or do "
        "both behind argument N, so many bytes.",
    ]
    groups: dict[str, list[str]] = {}
    for name, known in EXTERNALS.items():
        if name not in APPROXIMATED:
            groups.setdefault(_effects(known), []).append(name)
    parts += [f"- {effects}: {_listed(names)}" for effects, names in sorted(groups.items())]
    return "\n\n".join(_wrapped(part) for part in parts) + "\n"


def _wrapped(text: str) -> str:
    more = "  " if text.startswith("- ") else ""
    return "\n".join(textwrap.wrap(text, 116, subsequent_indent=more, break_long_words=False, break_on_hyphens=False))


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _effects(known: External) -> str:
    words = [
        f"{part.what}{part.argument}" + (f"={'*'.join(part.length)}" if part.length else "") for part in known.parts
    ]
    words += [f"{word}{place}" for word, place in (("format", known.format), ("scan", known.scan)) if place is not None]
    words += [word for word in ("callback", "leaves", "throws") if getattr(known, word)]
    return f"`{' '.join(words)}`" if words else "nothing"


if __name__ == "__main__":
    sys.stdout.write(listing())
