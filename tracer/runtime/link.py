"""From machine code to something that runs: shared libraries and executables, bound by lld in a fraction of a second.

Nothing of a C library is built or bundled: the program is bound to the one that this very process runs on. An
executable gets a start-up stub of its own.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tracecut.support.errors import SourceError, ToolchainError
from tracecut.support.process.tools import Said
from tracecut.tracer.toolchain.clang import Flags
from tracecut.tracer.toolchain.find_compilers import linker
from tracecut.tracer.toolchain.passes import emit_object

from .compile_support import last_words, run_tool, support_object

# What crt1.o does: clear the frame, align the stack, hand argc, argv, main and a caller of the constructors to the C
# library (since 2.34 it would find the constructors by itself, before that it does not).
_START = """
module asm ".globl _start"
module asm "_start: xor %ebp, %ebp"
module asm "mov %rdx, %r9"
module asm "pop %rsi"
module asm "mov %rsp, %rdx"
module asm "and $-16, %rsp"
module asm "push %rax"
module asm "push %rsp"
module asm "xor %r8d, %r8d"
module asm "lea constructors(%rip), %rcx"
module asm "mov main@GOTPCREL(%rip), %rdi"
module asm "call *__libc_start_main@GOTPCREL(%rip)"
module asm "hlt"
module asm ".hidden __init_array_start"
module asm ".hidden __init_array_end"
module asm "constructors: push %rbx"
module asm "push %rbp"
module asm "push %r12"
module asm "push %r13"
module asm "push %r14"
module asm "mov %edi, %ebx"
module asm "mov %rsi, %r12"
module asm "mov %rdx, %r13"
module asm "lea __init_array_start(%rip), %rbp"
module asm "lea __init_array_end(%rip), %r14"
module asm "next_constructor: cmp %r14, %rbp"
module asm "jae no_more_constructors"
module asm "mov %ebx, %edi"
module asm "mov %r12, %rsi"
module asm "mov %r13, %rdx"
module asm "call *(%rbp)"
module asm "add $8, %rbp"
module asm "jmp next_constructor"
module asm "no_more_constructors: pop %r14"
module asm "pop %r13"
module asm "pop %r12"
module asm "pop %rbp"
module asm "pop %rbx"
module asm "ret"
"""
# What compilers leave to a library: wide integers, complex products, quadruple precision.
_ARITHMETIC = re.compile(r"undefined symbol: __[a-z]+(?:[hsdtx][fci]){1,2}[0-9]?$", re.MULTILINE)
# What code calls that was compiled with -fopenmp, and is linked as it is.
_OPENMP = re.compile(r"undefined symbol: (?:GOMP|omp)_\w+$", re.MULTILINE)
_HERE = Path(__file__).parent
_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib", "/lib/x86_64-linux-gnu")
_RUNTIME: list[bytes] = []  # once it is made, or handed in by the process that has made it


def runtime_object() -> bytes:
    """Machine code of the run-time support that a traced or rescheduled program calls. Compiled once, in a second."""
    if not _RUNTIME:
        # Additions of two words at a time would go through vector registers before each product of a fingerprint.
        _RUNTIME.append(support_object(_HERE / "native" / "runtime.c", ["-fno-slp-vectorize"]))
    return _RUNTIME[0]


def take_runtime(data: bytes) -> None:
    """Use machine code of the run-time support that another process of this run has made."""
    _RUNTIME[:] = [data]


@cache
def compat_object() -> bytes:
    """Machine code of the functions that the C library keeps out of its shared object."""
    return support_object(_HERE / "native" / "compat.c")


def shared_library(objects: Sequence[bytes], flags: Flags, target: Path) -> Path:
    """Bind objects to a shared library whose undefined names are all found in its libraries."""
    return _link([*objects, compat_object()], flags, target, ["-shared", "-Bsymbolic", "-z", "defs"])


def executable(objects: Sequence[bytes], flags: Flags, target: Path) -> Path:
    """Bind objects to a position-independent executable."""
    start = emit_object(_START, optimise=False)
    options = ["-pie", "-dynamic-linker", str(_mapped("ld-linux")), "--export-dynamic"]
    return _link([start, *objects, compat_object()], flags, target, options)


def _link(objects: Sequence[bytes], flags: Flags, target: Path, options: list[str]) -> Path:
    with TemporaryDirectory(prefix="tracecut-link-") as name:
        folder = Path(name)
        paths = []
        for place, data in enumerate(objects):
            path = folder / f"{place}.o"
            path.write_bytes(data)
            paths.append(str(path))
        out = folder / "linked"
        libraries = [str(find_library(library, flags)) for library in flags.libraries if library not in ("c", "m")]
        options = [*options, *_run_path([*flags.objects, *libraries], flags)]
        command = [*linker(), *options, "-z", "noexecstack", "--eh-frame-hdr", "-o", str(out), *paths, *flags.objects]
        system = [str(_mapped("libm")), str(_mapped("libc")), str(_mapped("ld-linux"))]
        done = run_tool([*command, *libraries, *system])
        if _OPENMP.search(done.stderr) and "gomp" not in flags.libraries:
            libraries.append(str(find_library("gomp", flags)))
            done = run_tool([*command, *libraries, *system])
        if _ARITHMETIC.search(done.stderr) and "gcc_s" not in flags.libraries:
            done = run_tool([*command, *libraries, str(find_library("gcc_s", flags)), *system])
        if done.returncode != 0 or not out.exists():
            raise _explain(done)
        target.parent.mkdir(parents=True, exist_ok=True)
        from tracecut.support.files import write_atomic

        data = out.read_bytes()
        write_atomic(target, lambda file: _write(file, data), sync=False)
        target.chmod(0o755)
    return target


def _run_path(files: Sequence[str], flags: Flags) -> list[str]:
    """Options that let a program find the shared libraries that the line names, behind `$LD_LIBRARY_PATH`."""
    named = {
        *flags.objects,
        *(str(Path(folder) / Path(file).name) for folder in flags.library_folders for file in files),
    }
    shared = [Path(file) for file in files if file in named and ".so" in Path(file).suffixes]
    folders = dict.fromkeys(str(path.parent.absolute()) for path in shared)
    return [word for folder in folders for word in ("-rpath", folder)]


def find_library(name: str, flags: Flags) -> Path:
    """The file that `-lNAME` means. Raises SourceError when there is none."""
    for folder in flags.library_folders:
        for suffix in (".so", ".a"):
            path = Path(folder) / f"lib{name}{suffix}"
            if path.exists():
                return path
    soname = ctypes.util.find_library(name)
    folders = (*_FOLDERS, str(_mapped("libc").parent))
    for candidate in (soname, f"lib{name}.so", f"lib{name}.a"):
        for folder in folders if candidate else ():
            path = Path(folder) / str(candidate)
            if path.exists() and not _is_script(path):
                return path
    raise SourceError(
        f"-l{name}: no such library in {', '.join([*flags.library_folders, *_FOLDERS])}",
        hint="Name its folder with -L, or install it.",
    )


@cache
def _mapped(stem: str) -> Path:
    """File of a library that this process has loaded (libm is loaded on demand)."""
    if stem == "libm":
        ctypes.CDLL("libm.so.6")
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if re.search(rf"/{re.escape(stem)}[-.][^/]*$", path):
                return Path(path)
    raise ToolchainError(
        f"the {stem} that Python runs on was not found", hint="tracecut needs Linux on x86-64 with glibc."
    )


def _explain(done: Said) -> SourceError:
    stderr = done.stderr
    missing = sorted(set(re.findall(r"undefined symbol: (\S+)", stderr)))
    if "main" in missing:
        return SourceError("the program has no main function", hint="Give all of its source files.")
    if missing:
        names = ", ".join(missing[:8]) + (" …" if len(missing) > 8 else "")
        return SourceError(
            f"the program uses functions that are defined nowhere: {names}",
            hint="Add the missing source files, or the library with -l.",
        )
    if re.search(r"relocation R_X86_64_\w+ out of range", stderr):
        return SourceError(
            "the program has more static data than the 2 GiB that its code can reach",
            hint="Allocate its large arrays with malloc.",
        )
    direct = re.search(r"cannot be used against symbol '?([^';]+)'?; recompile with -fPIC", stderr)
    if direct:
        return SourceError(
            f"a part that is taken as it was compiled reaches {direct[1]} in a way that no shared library can",
            hint="Compile it with -fPIC.",
            detail="\n".join(stderr.splitlines()[:4]),
        )
    return SourceError("the program does not link", detail="\n".join(stderr.splitlines()[:20]) or last_words(done))


def _is_script(path: Path) -> bool:
    """Whether a `.so` is a linker script instead of a library."""
    with open(path, "rb") as file:
        head = file.read(8)
    return not head.startswith((b"\x7fELF", b"!<arch>"))


def _write(file: object, data: bytes) -> None:
    file.write(data)  # type: ignore[attr-defined]
