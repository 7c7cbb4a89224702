"""What library functions do to memory, byte by byte: which ranges they read, write, allocate and free.

One line a function, in a small notation. A part is `READ-OR-WRITE ARGUMENT = LENGTH`, as in `r0=str w1=8`:

    rN=L, wN=L, xN=L   reads, writes, reads and writes L bytes behind the pointer that is argument N
    copy=L             moves L bytes from argument 1 to argument 0
    alloc=L            returns L fresh bytes; `allocat0=L`: stores the pointer to them through argument 0
    realloc=L          moves what argument 0 points to into L bytes, which it returns; `free`: frees argument 0
    wret=L             writes L bytes behind the pointer that it returns

A length is a product of factors with `*`: a number, `aN` (argument N), `ret` (the result, 0 when negative), `str`
(length of the string there, its end included), `strN` (of the string that argument N points to), `minN` (as `str`, but
at most argument N bytes), `nnN` (1, or 0 when argument N is null). A part that ends in `!` is known when the call has
returned.
`callback` marks functions that may call the program, `leaves` those that do not come back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..effects import PURE, effect_of
from ..text import Instruction


@dataclass(frozen=True)
class Part:
    """One effect. `what`: r, w, x, copy, alloc, allocat, realloc, free, wret; `late`: known after the call."""

    what: str
    argument: int
    length: tuple[str, ...]
    late: bool


@dataclass(frozen=True)
class External:
    """All effects of a function. `format`: argument number of its printf format, None when it has none."""

    parts: tuple[Part, ...] = ()
    format: int | None = None
    callback: bool = False
    leaves: bool = False


_ROWS = """
malloc alloc=a0
calloc alloc=a0*a1
realloc realloc=a1
reallocarray realloc=a1*a2
free free
_Znwm alloc=a0
_Znam alloc=a0
_ZnwmSt11align_val_t alloc=a0
_ZnamSt11align_val_t alloc=a0
_ZnwmRKSt9nothrow_t alloc=a0
_ZnamRKSt9nothrow_t alloc=a0
_ZdlPv free
_ZdaPv free
_ZdlPvm free
_ZdaPvm free
_ZdlPvSt11align_val_t free
_ZdaPvSt11align_val_t free
_ZdlPvmSt11align_val_t free
_ZdaPvmSt11align_val_t free
__cxa_allocate_exception alloc=a0
__cxa_free_exception free
__cxa_begin_catch
__cxa_end_catch
cfree free
aligned_alloc alloc=a1
memalign alloc=a1
valloc alloc=a0
posix_memalign w0=8! allocat0=a2
strdup alloc=str0 r0=str wret=str0
memcpy copy=a2
memmove copy=a2
mempcpy copy=a2
memset w0=a2
bzero w0=a1
memcmp r0=a2 r1=a2
bcmp r0=a2 r1=a2
memchr r0=a2
strlen r0=str
strnlen r0=min1
strcmp r0=str r1=str
strcasecmp r0=str r1=str
strncmp r0=min2 r1=min2
strncasecmp r0=min2 r1=min2
strchr r0=str
strrchr r0=str
strstr r0=str r1=str
strspn r0=str r1=str
strcspn r0=str r1=str
strpbrk r0=str r1=str
strcpy r1=str w0=str1
stpcpy r1=str w0=str1
strncpy r1=min2 w0=a2
strcat r0=str r1=str w0=str!
atoi r0=str
atol r0=str
atoll r0=str
atof r0=str
strtol r0=str w1=8*nn1!
strtoul r0=str w1=8*nn1!
strtoll r0=str w1=8*nn1!
strtoull r0=str w1=8*nn1!
strtoimax r0=str w1=8*nn1!
strtoumax r0=str w1=8*nn1!
strtod r0=str w1=8*nn1!
strtof r0=str w1=8*nn1!
strtold r0=str w1=8*nn1!
__isoc23_strtol r0=str w1=8*nn1!
__isoc23_strtoul r0=str w1=8*nn1!
__isoc23_strtoll r0=str w1=8*nn1!
__isoc23_strtoull r0=str w1=8*nn1!
puts r0=str
fputs r0=str
perror r0=str
putchar
putchar_unlocked
putc
fputc
_IO_putc
getchar
getc
fgetc
ungetc
fflush
fclose
feof
ferror
rewind
fseek
ftell
fopen r0=str r1=str
remove r0=str
rename r0=str r1=str
fwrite r0=a1*a2
fread w0=a1*ret!
write r1=a2
read w1=ret!
close
fgets wret=str!
printf format0
fprintf format1
dprintf format1
sprintf format1 w0=str!
snprintf format2 w0=min1!
time w0=8*nn0!
clock
timespec_get w0=16!
gettimeofday w0=16!
clock_gettime w1=16!
omp_get_wtime
rand
srand
random
srandom
rand_r x0=4
drand48
srand48
getpid
getenv r0=str
usleep
sleep
sched_yield
sysconf
isatty
pthread_self
pthread_mutex_init w0=40!
pthread_mutex_lock x0=40
pthread_mutex_trylock x0=40
pthread_mutex_unlock x0=40
pthread_mutex_destroy x0=40
pthread_create w0=8 callback
pthread_join w1=8*nn1
pthread_detach
pthread_cond_wait x0=48 x1=40
pthread_cond_signal x0=48
pthread_cond_broadcast x0=48
pthread_barrier_init w0=32
pthread_barrier_wait x0=32
pthread_barrier_destroy x0=32
signal callback
raise callback
kill callback
pause callback
alarm
fork callback
wait w0=4*nn0!
waitpid w1=4*nn1!
__errno_location
__ctype_b_loc
__ctype_tolower_loc
__ctype_toupper_loc
qsort x0=a1*a2 callback
bsearch r0=a3 r1=a2*a3 callback
atexit callback
exit callback leaves
_exit leaves
_Exit leaves
quick_exit callback leaves
abort leaves
__assert_fail r0=str r1=str leaves
longjmp leaves
_longjmp leaves
siglongjmp leaves
pthread_exit callback leaves
"""

RETURNS_TWICE = frozenset(("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "__sigjmp_save", "vfork", "getcontext"))
_PART = re.compile(r"(r|w|x|copy|allocat|alloc|realloc|wret)(\d*)=([a-z0-9*]+)(!?)$")


def _parse(words: list[str]) -> External:
    parts, format, flags = [], None, set()
    for word in words:
        found = _PART.match(word)
        if found is not None:
            what, argument, length, late = found.groups()
            after = bool(late) or what in ("alloc", "allocat", "realloc", "wret")
            parts.append(Part(what, int(argument or 0), tuple(length.split("*")), after))
        elif word == "free":
            parts.append(Part("free", 0, (), late=False))
        elif word.startswith("format"):
            format = int(word.removeprefix("format"))
        else:
            flags.add(word)
    assert flags <= {"callback", "leaves"}, flags
    assert not flags or not any(part.late for part in parts), "what is known after a call needs a segment that goes on"
    return External(tuple(parts), format, "callback" in flags, "leaves" in flags)


EXTERNALS: dict[str, External] = {line.split()[0]: _parse(line.split()[1:]) for line in _ROWS.strip().splitlines()}


def external_of(call: Instruction) -> External | None:
    """Effects of a call to a function that the module does not define; None when they are not known.

    A function with a format is known only when `constant format` says so: see `formats.strings_in`.
    """
    name = call.word.removeprefix("@").strip('"')
    if name in EXTERNALS:
        return EXTERNALS[name]
    return External() if effect_of(call) == PURE else None
