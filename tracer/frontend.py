"""Front ends: C sources and LLVM IR files → modules of textual IR (DESIGN §4, notes on flags in the constants)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..ir.errors import SourceError, UsageError
from .toolchain import compiler, environment

# The canonical form that regions are read from: optimised, scalar, loops whole.
#   load-pre off: else `rp[i + 1]` of a CSR row becomes a loop-carried phi and no job can be cut out.
#   licm-promotion off: else a sum in memory under a condition is kept in a register and stored all the same, which no
#     other order may do. The emitted code is optimised again, with it.
#   mcpu=baseline: zig would target this very machine, and the IR would differ from one to the next.
CANONICAL = (
    "-O1",
    "-g",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    "-fno-sanitize=undefined",
    "-fno-math-errno",
    "-fno-stack-protector",
    "-mllvm",
    "-enable-load-pre=false",
    "-mllvm",
    "-disable-licm-promotion",
)
# What the user would get by hand. zig adds its own sanitizer to unoptimised builds; a plain compiler does not.
NATIVE = ("-fno-sanitize=undefined", "-fno-stack-protector", "-gline-tables-only")

_C_SUFFIXES = {".c", ".i"}
_IR_SUFFIXES = {".ll", ".bc"}
_WITH_VALUE = {"-I", "-D", "-U", "-L", "-l", "-include", "-isystem", "-iquote", "-idirafter", "-x", "-Xclang", "-mllvm"}
_REFUSED = {
    "-c": "tracecut links by itself",
    "-S": "tracecut chooses what to emit",
    "-E": "tracecut needs the whole program",
    "-shared": "tracecut needs a program with main",
    "-fopenmp": "OpenMP programs are not read yet",
    "-pg": "profiling builds are not supported",
    "-m32": "tracecut reads 64-bit programs",
    "-mx32": "tracecut reads 64-bit programs",
    "-o": "tracecut chooses the names of what it writes",
}


@dataclass(frozen=True)
class Flags:
    """The user's compiler options, sorted by the step that needs them."""

    compile: tuple[str, ...] = ()
    library_folders: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()

    @property
    def optimisation(self) -> str:
        """The last -O option, `-O2` when there is none."""
        levels = [flag for flag in self.compile if re.match(r"-O", flag)]
        return levels[-1] if levels else "-O2"


def parse_flags(arguments: Sequence[str]) -> tuple[list[str], Flags]:
    """Split a compiler command line into source files and Flags.

    Raises UsageError on options that make no sense here, and SourceError on files of an unknown kind.
    """
    sources: list[str] = []
    compile_flags: list[str] = []
    folders: list[str] = []
    libraries: list[str] = []
    objects: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in _REFUSED:
            raise UsageError(f"compiler option {word}: {_REFUSED[word]}", hint="Leave it out.")
        if word in _WITH_VALUE:
            value = next(words, None)
            if value is None:
                raise UsageError(f"compiler option {word} needs a value")
            {"-L": folders, "-l": libraries}.get(word, compile_flags).extend(
                [value] if word in ("-L", "-l") else [word, value]
            )
        elif word.startswith("-L"):
            folders.append(word[2:])
        elif word.startswith("-l"):
            libraries.append(word[2:])
        elif word == "-pthread" or word.startswith("-"):
            compile_flags.append(word)
        elif Path(word).suffix in _C_SUFFIXES | _IR_SUFFIXES:
            sources.append(word)
        elif Path(word).suffix in (".o", ".a", ".so") or ".so." in word:
            objects.append(word)
        else:
            raise SourceError(
                f"{word}: a file ending in {Path(word).suffix or 'nothing'!r} can not be read",
                hint="Give .c, .ll or .bc files; arguments of the program go after `--`.",
            )
    return sources, Flags(tuple(compile_flags), tuple(folders), tuple(libraries), tuple(objects))


def to_ir(source: Path, flags: Flags, folder: Path, *, canonical: bool) -> str:
    """Textual IR of one source file.

    C is compiled with the user's flags, then either the canonical ones (they win) or as the user would have
    done by hand. Raises SourceError with the compiler's own diagnostic.
    """
    if not source.is_file():
        raise SourceError(f"{source}: no such file" if not source.exists() else f"{source}: not a file")
    if source.suffix in _IR_SUFFIXES:
        from .worker import read_ir

        return read_ir(source)
    target = folder / f"{source.stem}-{'canonical' if canonical else 'native'}.ll"
    user = [
        flag
        for flag in flags.compile
        if not (canonical and re.match(r"-O|-g|-march=|-mcpu=|-mtune=|-f(no-)?unroll", flag))
    ]
    own = list(CANONICAL) if canonical else [flags.optimisation, *NATIVE]
    clang = compiler()
    if canonical and clang.is_zig and not any(flag.startswith("-m") for flag in user):
        own.append("-mcpu=baseline")
    command = [*clang.command, "-S", "-emit-llvm", *user, *own, "-o", str(target), _as_file(source)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment(),
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0 or not target.exists():
        silent = f"The compiler said nothing, and left with status {done.returncode}."
        raise SourceError(f"{source} does not compile", detail=_diagnostic(done.stderr) or silent)
    return target.read_text(errors="surrogateescape")


def _as_file(source: Path) -> str:
    """A file name that no driver takes for an option, or for a file of options."""
    return f"./{source}" if str(source).startswith(("-", "@")) else str(source)


def warnings_of(stderr: str) -> str:
    """The compiler's diagnostics without the remark that the driver always makes about `-c`."""
    lines = [line for line in stderr.splitlines() if "argument unused during compilation: '-c'" not in line]
    return "\n".join(lines).strip()


def _diagnostic(stderr: str, lines: int = 30) -> str:
    text = warnings_of(stderr).splitlines()
    more = [f"… {len(text) - lines} more lines"] if len(text) > lines else []
    return "\n".join(text[:lines] + more)
