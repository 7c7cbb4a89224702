"""Library functions that run code of the program, because it brings an allocator or operators of its own.

The C and C++ libraries allocate through whatever `malloc` and `operator new` the program has: `strdup` and the first
`printf` call its `malloc`, `new int[n]` calls its `operator new`. That code is traced and writes records of its own, so
that the caller's has to be complete when it begins. What is known only behind such a call can then not be recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from tracecut.ir.llvm import Module
from tracecut.ir.llvm.call_effects import ALLOCATORS

from .library_effects import EXTERNALS, External

_HANDLER = "_ZSt15set_new_handlerPFvvE"
_C = frozenset((*ALLOCATORS, "cfree", "pvalloc"))
_TAGS = ("", "RKSt9nothrow_t")
NEW = frozenset(f"_Zn{one}m{align}{tag}" for one in "wa" for align in ("", "St11align_val_t") for tag in _TAGS)
DELETE = frozenset(
    f"_Zd{one}Pv{size}{align}{tag}"
    for one in "la"
    for size in ("", "m")
    for align in ("", "St11align_val_t")
    for tag in _TAGS
)
# What never allocates nor frees. Of all others of the library that is not promised.
_HEAPLESS = frozenset(
    """
    memcpy memmove mempcpy memset bzero explicit_bzero memcmp bcmp memchr memrchr memmem strlen strchr strrchr strchrnul
    index rindex strnlen atoi atol atoll atof strcmp strcasecmp strstr strspn strcspn strpbrk strcasestr strncmp
    strncasecmp strcpy stpcpy strncpy stpncpy strcat strncat strlcpy strlcat strtok strtok_r __strtok_r strsep strtol
    strtoul strtoll strtoull strtoimax strtoumax strtod strtof strtold __isoc23_strtol __isoc23_strtoul __isoc23_strtoll
    __isoc23_strtoull __isoc23_strtoimax __isoc23_strtoumax __memcpy_chk __memmove_chk __mempcpy_chk __memset_chk
    __strcpy_chk __stpcpy_chk __strncpy_chk __strcat_chk __strncat_chk time clock clock_gettime gettimeofday rand srand
    rand_r random srandom drand48 srand48 lrand48 mrand48 erand48 nrand48 jrand48 div ldiv lldiv modf modff modfl frexp
    frexpf frexpl lgamma_r lgammaf_r sincos sincosf remquo remquof nan nanf sigemptyset sigfillset sigaddset sigdelset
    sigismember __errno_location __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc getpid read write
    setjmp _setjmp sigsetjmp __sigsetjmp longjmp _longjmp siglongjmp __longjmp_chk bsearch lfind lsearch tfind twalk
    __cxa_get_exception_ptr __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort __dynamic_cast
    """.split()
)
_ALIAS = re.compile(r'^@"?([-\w.$]+)"? = (?:[a-z_]+(?:\([^()]*\))? )*(?:alias|ifunc) ')
# What LLVM calls for an intrinsic that has no instruction, where that has another name.
_LIBRARY_NAMES = {"maxnum": "fmax", "minnum": "fmin", "maximum": "fmaximum", "minimum": "fminimum"}


@dataclass(frozen=True)
class Interposed:
    """What a module defines in place of the libraries.

    Attributes:
        defined: names (without `@`) of its functions, aliases included.
        declared: names of the functions that it only declares.
    """

    defined: frozenset[str]
    declared: frozenset[str]

    @classmethod
    def of(cls, module: Module) -> Interposed:
        """O(items of the module)."""
        aliases = (found[1] for item in module.items if isinstance(item, str) and (found := _ALIAS.match(item)))
        return cls(frozenset((*_plain(module.functions), *aliases)), frozenset(_plain(module.declarations)))

    @cached_property
    def allocates(self) -> bool:
        """Whether the C library may run an allocator of the program."""
        return not self.defined.isdisjoint(_C)

    def writes_behind(self, name: str) -> bool:
        """Whether a library function writes when it has called the program back, and the traced program says so then.

        With an allocator of the program it does not: what takes the function's place allocates in another way.
        """
        known = EXTERNALS.get(name)
        return known is not None and known.behind and name not in self.defined and not self.allocates

    @cached_property
    def calling_back(self) -> frozenset[str]:
        """Known library functions that may so run code of the program."""
        found = set(EXTERNALS) - _HEAPLESS if self.allocates else set()
        if _HANDLER in self.declared or not self.defined.isdisjoint(NEW):
            found |= NEW
        if not self.defined.isdisjoint(DELETE):
            found |= DELETE
        return frozenset(found)

    def seen(self, name: str, known: External) -> External | None:
        """What is known of a call of a library function in this program; None when it may do anything.

        What the program's allocator does stands in its own records: a `free` of the library says nothing then.
        """
        if name in self.defined:  # by another name, or in assembly
            return None
        if _measured(known) and not self.defined.isdisjoint(("strlen", "strnlen")):
            return None
        if name not in self.calling_back:
            return known
        if known.scan is not None or any(part.late for part in known.parts):
            return None
        return replace(known, parts=tuple(part for part in known.parts if part.what != "free"), callback=True)

    def lowered(self, intrinsic: str) -> bool:
        """Whether an intrinsic (`memcpy.p0.p0.i64`, without `llvm.`) may become a call of a function of the program."""
        family = intrinsic.partition(".")[0]
        name = _LIBRARY_NAMES.get(family, family)
        return not self.defined.isdisjoint((name, f"{name}f", f"{name}l"))


def _measured(known: External) -> bool:
    """Whether the length of a string is taken for the record, by the library."""
    factors = (factor for part in known.parts for factor in part.length)
    strings = any(factor.startswith(("str", "min", "top")) for factor in factors)
    return strings or known.format is not None or known.scan is not None


def _plain(names: Iterable[str]) -> set[str]:
    return {name.removeprefix("@").strip('"') for name in names}
