"""What a program asks of its own process and would not be told the same when it runs inside of ours.

The rescheduled program is a library in the process of an interpreter. `program_identity.py` gives it the arguments,
names and streams of a process of its own. What cannot be given is looked for here, in the program's code: it is then
left as it was, and told why. A program that hides what it asks for (a name put together at run time) is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tracecut.ir.llvm import Module
from tracecut.ir.llvm.lexer import GLOBAL

_TEXT = re.compile(r'\bc"([^"]*)"')
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")
_PROC = re.compile(r"/proc\b[\w./%$*-]*")
_LISTS = ("@llvm.global_ctors = ", "@llvm.global_dtors = ")

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
ASKING = ("@getauxval", "@prctl", "@syscall")
VARIABLES = frozenset(
    "__executable_start __ehdr_start etext _etext __etext edata _edata end _end _DYNAMIC _r_debug __libc_stack_end"
    " _dl_argv".split()
)
_LOCAL = ("define internal ", "define private ")
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


def asks_of_itself(module: Module, offered: Iterable[str] = (), expected: Iterable[str] = ()) -> str:
    """Why a program cannot run inside of another process; "" when it can. O(instructions).

    `offered`, `expected`: names that its machine code gives to its libraries and takes of them, which tell of parts
    that are linked as they are.
    """
    for name in (*_plain(module.declarations), *expected):
        if name in FUNCTIONS:
            return f"it calls {name}, which {FUNCTIONS[name]}"
    for name in _plain(item.name for item in module.globals.values() if not item.defined):
        if name in VARIABLES:
            return f"it uses {name}, which lies elsewhere in the host of a rescheduled program"
    functions = module.functions.values()
    for name in (*_plain(item.name for item in functions if not item.header.startswith(_LOCAL)), *offered):
        if INTERPOSED.fullmatch(name):
            return f"it defines {name} for the libraries, too, which do not find it in a rescheduled program"
    made = [item for function in functions for _, item in function.instructions() if item.op in ("call", "invoke")]
    calls = [(call.word.removeprefix("@"), call.operands[0].text) for call in made if call.word in ASKING]
    for name, first in calls:
        if name == "getauxval" and (not first.isdigit() or int(first) in AUXILIARY):
            return f"it asks getauxval for {first}, which tells of the host of a rescheduled program"
    for call in calls:
        if call in CALLS:
            return f"it calls {call[0]}({call[1]}), which {CALLS[call]}"
    lines = [item for item in module.items if isinstance(item, str)]
    for body in (found for line in lines for found in _TEXT.findall(line)):
        for path in _PROC.findall(_ESCAPE.sub(lambda code: chr(int(code[1], 16)), body)):
            if not PROC.fullmatch(path):
                return f"it names {path}, which tells of the host of a rescheduled program"
    listed = {name for line in lines if line.startswith(_LISTS) for name in GLOBAL.findall(line)}
    for function in functions:
        if function.name in listed and function.parameters:
            return f"its constructor {function.name[1:]} takes the arguments of the process, which are the host's"
    return ""


def _plain(names: Iterable[str]) -> Iterator[str]:
    return (name.removeprefix("@") for name in names)
