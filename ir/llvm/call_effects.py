"""Memory effects of calls to functions outside of the program.

Each known function is one row: which pointer arguments it reads and writes. Any other function is
unknown: an unknown call is never reordered, and no data are moved while one may run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.stream_output import OUTPUT, READING


@dataclass(frozen=True)
class Effect:
    """Effect of a call.

    Attributes:
        kind: `pure` (the result depends on the arguments only), `store` (so do the numbers of `type` that it leaves
            where some arguments point to), `io` (input or output; order matters, memory is only read through the
            arguments), `clock`, `allocate`, `free`, `fill`/`copy` (memset, memcpy, memmove), `marker` (no effect at
            run time) or `unknown`.
        writes: argument positions of pointers it writes through.
        reads: argument positions it reads through; None: every pointer argument, but for `streams`.
        streams: positions of `FILE *`: what these point to is the library's own, and none of the program's data.
        type: of LLVM, of each number that a `store` leaves.
    """

    kind: str
    writes: tuple[int, ...] = ()
    reads: tuple[int, ...] | None = None
    streams: tuple[int, ...] = ()
    type: str = ""

    @property
    def movable(self) -> bool:
        """Whether iterations that make this call may run in another order."""
        return self.kind in ("pure", "marker")


RETURNS_TWICE = frozenset(("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "__sigjmp_save", "vfork", "getcontext"))
FILES = ("@stdin", "@stdout", "@stderr")  # variables of the C library: what they point to is none of the program's data
PURE = Effect("pure", reads=())
MARKER = Effect("marker", reads=())
UNKNOWN = Effect("unknown")
ALLOCATORS = tuple("malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc".split())
# The operators `new` and `delete`: what they return is an object of the program as with malloc, but they may throw, so
# that a call of them is an unknown one.
CXX_ALLOCATORS = tuple(
    "_Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t "
    "_ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm "
    "_ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t "
    "_ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t".split()
)
NEW_OPERATORS = ("_Znwm", "_Znam")  # plain ones
DELETE_OPERATORS = ("_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm")

_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs fdim "
    "floor fma fmax fmin fmod hypot ilogb j0 j1 jn ldexp lgamma log log10 log1p log2 logb lrint lround llrint llround "
    "nearbyint nextafter nexttoward pow pow10 remainder rint round roundeven scalb scalbln scalbn significand sin sinh "
    "sqrt tan tanh tgamma trunc y0 y1 yn"
).split()
# What compilers call where a product or quotient is not a number.
COMPLEX_ARITHMETIC = tuple("__mulsc3 __muldc3 __divsc3 __divdc3".split())
_COMPLEX_MATH = (
    "cabs carg cproj csqrt cexp clog cpow csin ccos ctan csinh ccosh ctanh casin cacos catan casinh cacosh catanh"
).split()
_TABLE: dict[str, Effect] = {name + suffix: PURE for name in (*_MATH, *_COMPLEX_MATH) for suffix in ("", "f")}
_TABLE |= dict.fromkeys(COMPLEX_ARITHMETIC, PURE)
_PLAIN = "abs labs llabs div ldiv lldiv ffs ffsl ffsll isdigit isspace isalpha tolower toupper malloc_usable_size"
_TABLE |= dict.fromkeys(_PLAIN.split(), PURE)
# Functions with several results.
_STORED = {"sincos": (1, 2), "frexp": (1,), "modf": (1,), "remquo": (2,), "lgamma_r": (1,)}
for _name, _places in _STORED.items():
    for _suffix, _type in (("", "double"), ("f", "float")):
        _kept = _type if _name in ("sincos", "modf") else "i32"
        _TABLE[_name + _suffix] = Effect("store", writes=_places, reads=(), type=_kept)
_TABLE |= {name: Effect("io") for name in ("printf", "puts", "vprintf", "write", "perror")}
_TABLE |= {name: Effect("io", streams=(0,)) for name in ("fprintf", "vfprintf")}
_TABLE |= {"fputs": Effect("io", streams=(1,)), "fwrite": Effect("io", streams=(3,))}
_TABLE |= {name: Effect("io", reads=()) for name in ("putchar", "putc", "fputc", "fflush", "putchar_unlocked")}
# They reach no data of the program: their state is the library's, or the system's.
_OWN_STATE = (
    "rand srand random srandom drand48 lrand48 mrand48 srand48 getenv secure_getenv usleep sleep sched_yield getpid "
    "getppid gettid sysconf omp_get_max_threads omp_get_num_procs omp_get_num_threads omp_get_thread_num"
).split()
_TABLE |= {name: Effect("io", reads=()) for name in _OWN_STATE}
_TABLE |= {name: Effect("io", writes=(0,), reads=(0,)) for name in ("rand_r", "erand48", "nrand48", "jrand48")}
_TABLE |= {"nanosleep": Effect("io", writes=(1,), reads=(0,)), "atoi": Effect("io"), "atof": Effect("io")}
_TABLE |= {
    "clock": Effect("clock", reads=()),
    "time": Effect("clock", writes=(0,), reads=()),
    "gettimeofday": Effect("clock", writes=(0, 1), reads=()),
    "clock_gettime": Effect("clock", writes=(1,), reads=()),
    "omp_get_wtime": Effect("clock", reads=()),
    "getrusage": Effect("clock", writes=(1,), reads=()),
    "times": Effect("clock", writes=(0,), reads=()),
    "ftime": Effect("clock", writes=(0,), reads=()),
    "timespec_get": Effect("clock", writes=(0,), reads=()),
    "_ZNSt6chrono3_V212steady_clock3nowEv": Effect("clock", reads=()),
    "_ZNSt6chrono3_V212system_clock3nowEv": Effect("clock", reads=()),
    "snprintf": Effect("io", writes=(0,)),
    "sprintf": Effect("io", writes=(0,)),
    "strlen": Effect("io"),
    "strcmp": Effect("io"),
    "memset": Effect("fill", writes=(0,), reads=()),
    "memcpy": Effect("copy", writes=(0,), reads=(1,)),
    "memmove": Effect("copy", writes=(0,), reads=(1,)),
}
_TABLE |= {name: Effect("io", reads=(1,) if name in READING else ()) for name in OUTPUT}
_TABLE |= {name: Effect("allocate") for name in ALLOCATORS if name != "free"}
_TABLE["free"] = Effect("free")

_MARKERS = re.compile(
    r"llvm\.(lifetime\.(start|end)|assume|dbg\.|experimental\.noalias\.scope\.decl|donothing|annotation|"
    r"invariant\.(start|end)|stacksave|stackrestore|sideeffect|pseudoprobe|prefetch)"
)
_PURE_INTRINSICS = re.compile(
    r"llvm\.(abs|smin|smax|umin|umax|fabs|sqrt|fma|fmuladd|sin|cos|tan|sincos|pow|powi|exp|exp2|exp10|log|log2|log10|"
    r"asin|acos|atan|atan2|sinh|cosh|tanh|ldexp|frexp|modf|minnum|maxnum|minimum|maximum|minimumnum|maximumnum|"
    r"copysign|floor|ceil|trunc|rint|nearbyint|round|roundeven|lround|llround|lrint|llrint|bswap|bitreverse|ctpop|"
    r"ctlz|cttz|fshl|fshr|sadd|uadd|ssub|usub|smul|umul|expect|is\.constant|objectsize|canonicalize|is\.fpclass|"
    r"fptosi\.sat|fptoui\.sat|vector\.reduce|scmp|ucmp)\b"
)


def read_through(call: Instruction, effect: Effect) -> tuple[int, ...]:
    """Positions of the arguments that a call reads memory through, where these are pointers."""
    if effect.reads is not None:
        return effect.reads
    return tuple(place for place in range(len(call.operands)) if place not in effect.streams)


def effect_of(call: Instruction) -> Effect:
    """Effect of a call instruction to a function that this module does not define."""
    name = call.word.removeprefix("@").strip('"')
    if call.word == "asm" or call.word.startswith("%"):
        return UNKNOWN
    if name.startswith("llvm."):
        if _MARKERS.match(name):
            return MARKER
        if _PURE_INTRINSICS.match(name):
            return PURE
        for intrinsic, plain in (("llvm.memset.", "memset"), ("llvm.memcpy.", "memcpy"), ("llvm.memmove.", "memmove")):
            if name.startswith(intrinsic):
                return _TABLE[plain]
        return UNKNOWN
    return _TABLE.get(name, UNKNOWN)
