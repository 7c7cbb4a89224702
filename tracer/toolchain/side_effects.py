"""Whether a program may change something outside of itself, as far as its code tells before it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracecut.ir.llvm import Module
from tracecut.ir.llvm.instruction import Instruction

# Functions that change files, or start what may.
CHANGING = frozenset(
    "creat creat64 freopen freopen64 rename renameat unlink unlinkat remove rmdir mkdir mkdirat mkstemp mkstemp64"
    " truncate truncate64 link linkat symlink symlinkat system popen execl execle execlp execv execve execvp execvpe"
    " posix_spawn posix_spawnp socket connect kill shm_open mq_open syscall chmod utime utimes".split()
)
# Of the C++ library, by what they are called there.
NAMED = {
    "std::ofstream": re.compile(r"_ZNSt14basic_ofstream\w*"),
    "std::fstream": re.compile(r"_ZNSt13basic_fstream\w*"),
    "std::filesystem": re.compile(r"_ZNSt10filesystem\w*(?:create|remove|rename|copy)\w*"),
}
OPENING = {"fopen": 1, "fopen64": 1, "open": 1, "open64": 1, "openat": 2, "openat64": 2}  # which operand says how
WRITING = 0o3 | 0o100 | 0o1000 | 0o2000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND
_MODE = re.compile(r'\bc"r[bem]*\\00"')


def changes_files(module: Module) -> str:
    """By which function or class a program may change files or start others, empty: by none. O(instructions)."""
    for name in module.declarations:
        plain = name.removeprefix("@")
        if plain in CHANGING:
            return plain
        for known, pattern in NAMED.items():
            if pattern.fullmatch(plain):
                return known
    lines = {name: line for line in module.items if isinstance(line, str) and (name := line.partition(" ")[0])}
    for call in _opening(module):
        name = call.word.removeprefix("@")
        how = call.operands[OPENING[name]].text
        if name.startswith("fopen"):
            if not _MODE.search(lines.get(how, "")):
                return name
        elif not how.isdigit() or int(how) & WRITING:
            return name
    return ""


def _opening(module: Module) -> Iterator[Instruction]:
    for function in module.functions.values():
        for _, item in function.instructions():
            if item.op in ("call", "invoke") and item.word.removeprefix("@") in OPENING:
                yield item
