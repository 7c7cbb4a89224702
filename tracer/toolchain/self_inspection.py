"""What a program asks of its own process and would not be told the same when it runs inside of ours.

The rescheduled program is a library in the process of an interpreter. `program_identity.py` gives it the arguments,
names and streams of a process of its own. What can not be given is looked for here, in the program's code: it is then
left as it was, and told why. A program that hides what it asks for (a name put together at run time) is not seen.
"""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"^declare [^@\n]*@([\w.$]+)\(", re.MULTILINE)
_VARIABLE = re.compile(r"^@([\w.$]+) = external ", re.MULTILINE)
_DEFINED = re.compile(r"^define (?!internal|private)[^@\n]*@([\w.$]+)\(", re.MULTILINE)
_TEXT = re.compile(r'\bc"([^"]*)"')
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")
_AUXILIARY = re.compile(r"@getauxval\(i64[^,)]*?(\d+|%[\w.]+)\)")
_CALL = re.compile(r"@(prctl|syscall)\(i(?:32|64)[^,)]*?\b(\d+)\b")
_PROC = re.compile(r"/proc\b[\w./%$*-]*")
_LISTED = re.compile(r"^@llvm\.global_(?:ctors|dtors) = .*$", re.MULTILINE)

# The dynamic linker: the main program is the interpreter to it, and the program a library that nobody asked for.
_LINKER = "is asked of the dynamic linker, to which the main program is another one"
_HEAP = "counts what the host of a rescheduled program allocates"
_SHARING = "can start a process that sees every array of the program at work"
_LIMIT = "would bind the host of a rescheduled program, too"
FUNCTIONS = {
    **dict.fromkeys(("dl_iterate_phdr", "dladdr", "dladdr1", "dlinfo", "_dl_find_object"), _LINKER),
    **dict.fromkeys(("dlopen", "dlmopen", "dlsym", "dlvsym", "backtrace_symbols", "backtrace_symbols_fd"), _LINKER),
    **dict.fromkeys(("mallinfo", "mallinfo2", "malloc_stats", "malloc_info"), _HEAP),
    **dict.fromkeys(("setrlimit", "setrlimit64", "prlimit", "prlimit64", "mlockall"), _LIMIT),
    **dict.fromkeys(("chroot", "unshare", "setns", "seccomp", "seccomp_init", "seccomp_load"), _LIMIT),
    **dict.fromkeys(("clone", "clone3", "__clone"), _SHARING),
}
# Functions of many purposes, by their first argument: PR_SET_SECCOMP; clone, seccomp, clone3.
CALLS = {("prctl", "22"): _LIMIT, ("syscall", "56"): _SHARING, ("syscall", "317"): _LIMIT, ("syscall", "435"): _SHARING}
VARIABLES = frozenset(
    "__executable_start __ehdr_start etext _etext __etext edata _edata end _end _DYNAMIC _r_debug __libc_stack_end"
    " _dl_argv".split()
)
# What the C or C++ library calls itself, so that the program's own takes its place in every library.
INTERPOSED = re.compile(
    r"malloc|calloc|realloc|reallocarray|free|memalign|posix_memalign|aligned_alloc|valloc|pvalloc"
    r"|_Zn[wa]m\w*|_Zd[la]Pv\w*|__cxa_(?:throw|allocate_exception|free_exception)"
)
# AT_PHDR, AT_PHENT, AT_PHNUM, AT_BASE, AT_ENTRY: of the interpreter.
AUXILIARY = frozenset((3, 4, 5, 7, 9))
# Of the whole machine, or what the process uses: no two runs agree on that.
PROC = re.compile(
    r"/proc/(?:cpuinfo|meminfo|stat|loadavg|uptime|version|filesystems|mounts|sys/.*|net/.*|driver/.*|bus/.*"
    r"|self/(?:status|statm|stat|io|comm|fd(?:/.*)?|mounts|limits|cgroup|schedstat))"
)


def asks_of_itself(text: str) -> str:
    """Why a program, given as textual IR, can not run inside of another process; "" when it can."""
    for name in _FUNCTION.findall(text):
        if name in FUNCTIONS:
            return f"it calls {name}, which {FUNCTIONS[name]}"
    for name in _VARIABLE.findall(text):
        if name in VARIABLES:
            return f"it uses {name}, which lies elsewhere in the host of a rescheduled program"
    for name in _DEFINED.findall(text):
        if INTERPOSED.fullmatch(name):
            return f"it defines {name} for the libraries, too, which do not find it in a rescheduled program"
    for found in _AUXILIARY.findall(text):
        if found.startswith("%") or int(found) in AUXILIARY:
            return f"it asks getauxval for {found}, which tells of the host of a rescheduled program"
    for call in _CALL.findall(text):
        if call in CALLS:
            return f"it calls {call[0]}({call[1]}), which {CALLS[call]}"
    for body in _TEXT.findall(text):
        for path in _PROC.findall(_ESCAPE.sub(lambda code: chr(int(code[1], 16)), body)):
            if not PROC.fullmatch(path):
                return f"it names {path}, which tells of the host of a rescheduled program"
    return _constructor(text)


def _constructor(text: str) -> str:
    """Why a constructor can not be called as it would be: it is handed the arguments of the process."""
    for line in _LISTED.findall(text):
        for name in re.findall(r"ptr @([\w.$]+)", line):
            found = re.search(rf"^define [^@\n]*@{re.escape(name)}\(([^)\n]*)\)", text, re.MULTILINE)
            if found and found[1].strip():
                return f"its constructor {name} takes the arguments of the process, which are the host's"
    return ""
