"""Gives this process the identity of the user's program.

A rescheduled program runs in a process that the interpreter started, but finds what it would find if the kernel had
started it: the strings of `argv`, the names that `warnx`, `assert` and `getopt` print, the path in the auxiliary
vector, the name of the process, and unused streams of the C library. `self_inspection.py` lists what a process cannot
change (`/proc/self/exe`, its maps, the main program of the dynamic linker).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Sequence

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

AT_EXECFN = 31
PR_SET_NAME, PR_SET_MM, PR_SET_MM_MAP = 15, 35, 14
USER_BUFFER, UNBUFFERED, LINE_BUFFERED = 1, 2, 0x200  # flags of a FILE, as its public header has them
MAGIC = 0xFBAD0000
POINTERS = range(8, 72, 8)  # offsets in a FILE: read pointers, write pointers, buffer
_kept: list[Any] = []


_PLACES = "start_code end_code start_data end_data start_brk brk start_stack arg_start arg_end env_start env_end auxv"


class _Map(ctypes.Structure):
    """`struct prctl_mm_map`: the memory layout of a process, for the kernel."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in _PLACES.split()),
        ("auxv_size", ctypes.c_uint32),
        ("exe_fd", ctypes.c_uint32),
    ]


def become(words: Sequence[str | bytes]) -> int:
    """Give this process the arguments and the name of a program. Returns the address of its `argv`.

    Call this before the program's library is loaded, since its constructors may read them. The first word is the
    program.
    """
    libc = ctypes.CDLL(None)
    given = [os.fsencode(word) if isinstance(word, str) else word for word in words]
    count, argv = _place(libc, given)
    name = ctypes.c_void_p.from_address(argv).value if count else None
    if name is not None:
        short = name + given[0].rfind(b"/") + 1
        ctypes.c_void_p.in_dll(libc, "program_invocation_name").value = name
        ctypes.c_void_p.in_dll(libc, "program_invocation_short_name").value = short
        libc.prctl(PR_SET_NAME, ctypes.c_char_p(given[0][given[0].rfind(b"/") + 1 :]), 0, 0, 0)
    return argv


def _place(libc: ctypes.CDLL, words: Sequence[bytes]) -> tuple[int, int]:
    """Write the words over the interpreter's own arguments if they fit, else into new memory. Returns (count, argv)."""
    block = b"".join(word + b"\0" for word in words)
    found = _vectors(libc)
    if found is not None:
        argv, count, auxiliary = found
        _set_path(auxiliary, words[0])
        first, last = (ctypes.c_uint64.from_address(argv + 8 * place).value for place in (0, count - 1))
        end = last + len(ctypes.string_at(last)) + 1
        if len(words) <= count and len(block) <= end - first:
            # At the end of the space, so that the environment follows directly, as in a program that the kernel
            # started.
            argv += 8 * (count - len(words))
            ctypes.memset(first, 0, end - first)
            _point(argv, end - len(block), words, block)
            _tell_kernel(libc, end - len(block), end)
            _move_environment_back(libc, argv + 8 * (len(words) + 1))
            return len(words), argv
    memory = ctypes.create_string_buffer(block, len(block) + 1)  # writable: a program may change its words
    array = (ctypes.c_uint64 * (len(words) + 1))()
    _kept.extend((memory, array))
    _point(ctypes.addressof(array), ctypes.addressof(memory), words, block)
    return len(words), ctypes.addressof(array)


def _point(argv: int, at: int, words: Sequence[bytes], block: bytes) -> None:
    """Write words to an address, and pointers to them, null-terminated, into a vector."""
    ctypes.memmove(at, block, len(block))
    for place, word in enumerate(words):
        ctypes.c_uint64.from_address(argv + 8 * place).value = at
        at += len(word) + 1
    ctypes.c_uint64.from_address(argv + 8 * len(words)).value = 0


def _vectors(libc: ctypes.CDLL) -> tuple[int, int, int] | None:
    """The addresses of this process's (argv, its length, auxiliary vector) on the stack; None if not found.

    The kernel puts argc, argv, a null, the environment, a null, and the auxiliary vector on the stack, in this order.
    `unsetenv` may have moved the environment's null forward, so that there are several.
    """
    try:
        start = ctypes.c_void_p.in_dll(libc, "__libc_stack_end").value
        with open("/proc/self/auxv", "rb") as file:
            expected = file.read()
    except (ValueError, OSError):
        return None
    if not start or len(expected) < 16:
        return None
    count = ctypes.c_int64.from_address(start).value
    at = start + 8 * (count + 2)
    if count < 1 or ctypes.c_uint64.from_address(at - 8).value:
        return None
    while ctypes.c_uint64.from_address(at).value:
        at += 8
    while not ctypes.c_uint64.from_address(at).value:
        at += 8
    return (start + 8, count, at) if ctypes.string_at(at, 16) == expected[:16] else None


def _move_environment_back(libc: ctypes.CDLL, home: int) -> None:
    """Use the environment on the stack again if its content is unchanged."""
    current = ctypes.c_void_p.in_dll(libc, "environ")
    at = current.value or home
    length = 0
    while (word := ctypes.c_uint64.from_address(at + length).value) == ctypes.c_uint64.from_address(
        home + length
    ).value:
        if not word:
            current.value = home
            break
        length += 8


def _set_path(auxiliary: int, path: bytes) -> None:
    """The path that the program was started by, for `getauxval(AT_EXECFN)`."""
    while kind := ctypes.c_uint64.from_address(auxiliary).value:
        if kind == AT_EXECFN:
            memory = ctypes.create_string_buffer(path)
            _kept.append(memory)
            ctypes.c_uint64.from_address(auxiliary + 8).value = ctypes.addressof(memory)
        auxiliary += 16


def _tell_kernel(libc: ctypes.CDLL, start: int, end: int) -> None:
    """Tell the kernel the end of the arguments, for /proc/self/cmdline and `ps`. Without permission, nulls are shown
    after them."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/stat", "rb") as file:
            fields = [int(word) for word in file.read().rpartition(b")")[2].split()[1:]]
        # Field n of proc(5) is place n − 4 here: the name in parentheses and the state are left out.
        code, stack, data, env = fields[22:24], fields[24], fields[41:44], fields[46:48]
        found = _Map(code[0], code[1], data[0], data[1], data[2], 0, stack, start, end, env[0], env[1])
        found.exe_fd = 0xFFFFFFFF
        libc.sbrk.restype = ctypes.c_void_p
        while True:  # again, in case the heap grew between reading and setting
            found.brk = top = libc.sbrk(0)
            failed = libc.prctl(PR_SET_MM, PR_SET_MM_MAP, ctypes.byref(found), ctypes.sizeof(found), 0)
            if failed or libc.sbrk(0) == top:
                break


def restore_streams() -> None:
    """Undo PYTHONUNBUFFERED: `stdin`, `stdout` and `stderr` of the C library in the state of a newly started program.

    `setvbuf` cannot do that: it keeps the buffer of one byte, and a buffer from here would have the same size for a
    terminal as for a file. The streams must not have been used.
    """
    libc = ctypes.CDLL(None)
    for name in ("stdin", "stdout", "stderr"):
        stream = ctypes.c_void_p.in_dll(libc, name).value
        if not stream:
            continue
        flags = ctypes.c_uint32.from_address(stream)
        if flags.value & 0xFFFF0000 != MAGIC or not flags.value & (USER_BUFFER | LINE_BUFFERED):
            continue
        flags.value &= ~(USER_BUFFER | LINE_BUFFERED | (UNBUFFERED if name != "stderr" else 0))
        for offset in POINTERS:
            ctypes.c_uint64.from_address(stream + offset).value = 0
