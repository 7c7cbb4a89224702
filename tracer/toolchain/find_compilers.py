"""Where the compiler and the linker come from, and whether they fit llvmlite.

The C front end is the clang inside the `ziglang` wheel, so nothing has to be installed by hand; `$TRACECUT_CC`
names another clang of the same LLVM major. It is called as clang itself (`zig clang`) and not through zig's own driver:
`zig cc` reads -O3 as -O2, -Ofast as -O2 without fast math, -mtune as -march, knows processors by other names, and
builds for this very machine. The linker is the lld of the same wheel. Neither ever builds a C library: lld binds
objects to the system's libc.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tracecut.support.errors import OutputError, ProgramError, ToolchainError
from tracecut.support.private_folders import new_folder
from tracecut.support.process.tools import ask_tool

VARIABLE = "TRACECUT_CC"
CXX_FOLDER = Path("/usr/include/c++")
PATIENCE = 60.0  # seconds for a compiler to tell its version
VERSION = re.compile(r"clang version (\d+)\.(\S+)")
TAIL = 1000  # characters of what a compiler says that is shown


@dataclass(frozen=True)
class Compiler:
    """A clang driver: the words in front of its arguments, and its LLVM major version."""

    command: tuple[str, ...]
    version: str
    major: int
    is_zig: bool


@cache
def zig() -> Path:
    """The zig binary of the `ziglang` wheel."""
    try:
        import ziglang
    except ImportError as error:
        raise ToolchainError(
            "the C front end is missing: the Python package ziglang is not installed",
            hint="pip install 'ziglang>=0.17,<0.18'",
        ) from error
    path = Path(str(ziglang.__file__)).parent / "zig"
    if not path.exists():
        raise ToolchainError(f"the ziglang package has no compiler at {path}", hint="Reinstall it with pip.")
    return path


@cache
def llvm_major() -> int:
    """LLVM major version of llvmlite."""
    import llvmlite.binding

    return int(llvmlite.binding.llvm_version_info[0])


def compiler(*, cxx: bool = False) -> Compiler:
    """The clang to use, as a C or a C++ driver.

    Raises ToolchainError when its LLVM major is not llvmlite's: the IR would not be understood.
    """
    clang = _c_compiler()
    if not cxx:
        return clang
    return replace(clang, command=(*clang.command, "--driver-mode=g++"))


def driver(*, cxx: bool = False) -> tuple[str, ...]:
    """The words that start clang; nobody has asked yet whether its LLVM is llvmlite's. Raises ToolchainError."""
    return (*_words(), "--driver-mode=g++") if cxx else _words()


def _words() -> tuple[str, ...]:
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return (str(zig()), "clang", "--no-default-config", "--target=x86_64-unknown-linux-gnu", *_own_headers())
    found = shutil.which(chosen)
    if found is None:
        raise ToolchainError(f"${VARIABLE} names {chosen!r}, which is not a program", hint=f"Unset ${VARIABLE}.")
    return (found,)


@cache
def _c_compiler() -> Compiler:
    chosen, command = os.environ.get(VARIABLE), _words()
    # The wheel's compiler is asked once: a file of the same size and time is the same. A chosen one may be a script.
    kept = None if chosen else _kept_version(zig())
    version = None if kept is None else _version_in(kept)
    if version is None:
        version = _ask_version(command)
        if kept is not None:
            from tracecut.support.files import write_text  # with NumPy, which no message on usage waits for

            with suppress(OSError, OutputError):  # it is asked again next time
                kept.parent.mkdir(mode=0o700, exist_ok=True)
                write_text(kept, version.group(0), sync=False)
    major = int(version.group(1))
    if major != llvm_major():
        raise ToolchainError(
            f"{' '.join(command[:2])} is clang {major}, but llvmlite is built on LLVM {llvm_major()}",
            hint=f"Use a clang {llvm_major()}: unset ${VARIABLE}, or pip install the ziglang release that carries it.",
        )
    return Compiler(command, f"{major}.{version.group(2)}", major, is_zig=not chosen)


def _ask_version(command: tuple[str, ...]) -> re.Match[str]:
    """What a compiler says of its version. Raises ToolchainError when it says nothing of the kind."""
    try:
        answer = ask_tool([*command, "--version"], env=environment(), seconds=PATIENCE)
    except ProgramError as error:
        raise ToolchainError(f"{command[0]} does not run: {error.message}", hint=error.hint) from error
    first = (answer.stdout.splitlines() or [""])[0]
    version = VERSION.search(first)
    if version is None:
        if answer.returncode != 0 or not first:
            raise ToolchainError(
                f"`{' '.join(command)} --version` {answer.end}, and says no version",
                detail=answer.stderr.strip()[-TAIL:],
            )
        raise ToolchainError(f"{command[0]} is not clang: it calls itself {first!r}")
    return version


def _kept_version(program: Path) -> Path:
    """The file that keeps what the compiler of this path, size and time said of its version."""
    found = program.stat()
    text = repr((str(program), found.st_size, found.st_mtime_ns))
    return cache_home() / "compilers" / f"{hashlib.sha256(text.encode()).hexdigest()}.txt"


def _version_in(kept: Path) -> re.Match[str] | None:
    """What a file keeps; None where there is none, or something else stands in it."""
    try:
        return VERSION.fullmatch(kept.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def _own_headers() -> tuple[str, ...]:
    """Options that name clang's headers, and those of a C library where the system has none installed."""
    folder = zig().parent / "lib"
    options = ["-resource-dir", str(folder)]
    if not Path("/usr/include/stdio.h").exists():
        version = os.confstr("CS_GNU_LIBC_VERSION") or "glibc 2.34"
        minor = version.rpartition(".")[2]
        options += ["-nostdlibinc", f"-D__GLIBC_MINOR__={minor}"]
        for place in ("x86-linux-gnu", "generic-glibc", "x86-linux-any", "any-linux-any"):
            options += ["-idirafter", str(folder / "libc" / "include" / place)]
    return tuple(options)


@cache
def cxx_headers() -> tuple[str, ...]:
    """Options that make zig's clang read the headers of the system's libstdc++.

    Its own libc++ exists as sources only, and takes minutes to build before the first program can be linked; the
    shared libstdc++ is on nearly every machine. Raises ToolchainError when its headers are not installed.
    """
    for folder in sorted(CXX_FOLDER.glob("[0-9]*"), key=_version, reverse=True):
        triples = [*folder.glob("*-linux*"), *CXX_FOLDER.parent.glob(f"*-linux*/c++/{folder.name}")]
        for triple in sorted(triples):
            if (folder / "vector").exists() and (triple / "bits" / "c++config.h").exists():
                # -I and not -isystem: they have to be found before the C headers that they wrap.
                options = [word for place in (folder, triple, folder / "backward") for word in ("-I", str(place))]
                return ("-nostdinc++", *options)
    raise ToolchainError(
        f"C++ needs the headers of libstdc++, and {CXX_FOLDER} has none that are whole",
        hint="Install g++ (Debian, Ubuntu: g++; Fedora: gcc-c++), or name a clang++ of your own by $TRACECUT_CC.",
    )


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", folder.name))


def linker() -> list[str]:
    """The words that start lld."""
    return [str(zig()), "ld.lld"]


def environment() -> dict[str, str]:
    """Environment for compiler calls: the caller's, with zig's caches in our own cache folder or a temporary one."""
    folder = str(cache_home() / "zig")
    return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}


def cache_home() -> Path:
    """The cache folder that is used: the user's, or a temporary one that goes with this process."""
    return _usable_cache()[0]


def cache_note() -> str:
    """What the user should know of the cache: why a temporary one is used; empty when all is well."""
    problem = _usable_cache()[1]
    return f"no cache can be kept ({problem}): a temporary one is used, and every run compiles anew" if problem else ""


def cache_folder() -> Path | None:
    """Per-user cache folder (`$XDG_CACHE_HOME/tracecut`, else `~/.cache/tracecut`); not created here.

    As the XDG specification says, a relative name is ignored. None when there is no home folder.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "tracecut"
    try:
        home = Path.home()
    except RuntimeError:  # neither $HOME nor an entry for this user
        return None
    return home / ".cache" / "tracecut" if home.is_absolute() else None


@cache
def _usable_cache() -> tuple[Path, str]:
    """The cache folder, private to this user; else a temporary one, removed with the process, and why."""
    folder = cache_folder()
    problem = "no home folder is known" if folder is None else _problem_with(folder)
    if folder is not None and not problem:
        return folder, ""
    temporary = new_folder("tracecut-cache")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary, problem


def _problem_with(folder: Path) -> str:
    """Why a folder cannot be our cache; empty when it can. Makes it, and takes it from group and others."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
        if state.st_uid != os.geteuid():
            return f"{folder} belongs to another user"
        if state.st_mode & 0o022:
            folder.chmod(0o700)
        for place in (folder, folder / "zig"):
            place.mkdir(mode=0o700, exist_ok=True)
            if not os.access(place, os.W_OK | os.X_OK):
                return f"{place} cannot be written to"
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return ""
