"""Front ends: C and C++ sources and LLVM IR files → textual IR (DESIGN §4, notes on flags in the constants)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ..ir.errors import SourceError, UsageError
from ..ir.files import is_folder
from .toolchain import compiler, cxx_headers, environment

# The canonical form that regions are read from: optimised, scalar, loops whole.
#   load-pre off: else `rp[i + 1]` of a CSR row becomes a loop-carried phi and no job can be cut out.
#   licm-promotion off: else a sum in memory under a condition is kept in a register and stored all the same, which no
#     other order may do. The emitted code is optimised again, with it.
#   mcpu=baseline: zig would target this very machine, and the IR would differ from one to the next.
_PLAIN = ("-fno-sanitize=undefined", "-fno-stack-protector")
CANONICAL = (
    "-O1",
    "-g",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    "-fno-math-errno",
    *_PLAIN,
    "-mllvm",
    "-enable-load-pre=false",
    "-mllvm",
    "-disable-licm-promotion",
)
# The form that the seed traced (VertexCut §3.1): every variable in memory, but open to later passes.
SEED = ("-O0", "-g", "-Xclang", "-disable-O0-optnone", *_PLAIN)
# What the user would get by hand. zig adds its own sanitizer to unoptimised builds; a plain compiler does not.
NATIVE = (*_PLAIN, "-gline-tables-only")

_C_SUFFIXES = {".c", ".i"}
_CXX_SUFFIXES = {".cpp", ".cc", ".cxx", ".c++", ".C", ".ii"}
_IR_SUFFIXES = {".ll", ".bc"}
_WITH_VALUE = {"-I", "-D", "-U", "-L", "-l", "-include", "-isystem", "-iquote", "-idirafter", "-x", "-Xclang", "-mllvm"}
_REFUSED = {
    "-c": "tracecut links by itself",
    "-S": "tracecut chooses what to emit",
    "-E": "tracecut needs the whole program",
    "-shared": "tracecut needs a program with main",
    "-pg": "profiling builds are not supported",
    "-m32": "tracecut reads 64-bit programs",
    "-mx32": "tracecut reads 64-bit programs",
    "-o": "tracecut chooses the names of what it writes",
    "-stdlib=libc++": "C++ programs are bound to libstdc++",
}
OPENMP_NOTE = "OpenMP: pragmas are ignored, the program is compiled and measured as a serial one"


@dataclass(frozen=True)
class Flags:
    """The user's compiler options, sorted by the step that needs them."""

    compile: tuple[str, ...] = ()
    library_folders: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    openmp: bool = False

    @property
    def optimisation(self) -> str:
        """The last -O option, `-O2` when there is none."""
        levels = [flag for flag in self.compile if re.match(r"-O", flag)]
        return levels[-1] if levels else "-O2"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how these options were understood."""
        return (OPENMP_NOTE,) if self.openmp else ()


def parse_flags(arguments: Sequence[str]) -> tuple[list[str], Flags]:
    """Split a compiler command line into source files and Flags.

    As a C++ driver does, a C++ source adds the C++ library. Raises UsageError on options that make no sense here,
    and SourceError on files of an unknown kind.
    """
    sources: list[str] = []
    compile_flags: list[str] = []
    folders: list[str] = []
    libraries: list[str] = []
    objects: list[str] = []
    openmp = False
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
        elif word in ("-fopenmp", "-fno-openmp") or word.startswith("-fopenmp="):
            openmp = word != "-fno-openmp"
        elif word == "-pthread" or word.startswith("-"):
            compile_flags.append(word)
        elif Path(word).suffix in _C_SUFFIXES | _CXX_SUFFIXES | _IR_SUFFIXES:
            sources.append(word)
        elif Path(word).suffix in (".o", ".a", ".so") or ".so." in word:
            objects.append(word)
        elif word and is_folder(word):
            raise SourceError(f"{word}: a folder, a source file was expected", hint="Give .c, .cpp, .ll or .bc files.")
        else:
            raise SourceError(
                f"{word}: a file ending in {Path(word).suffix or 'nothing'!r} can not be read",
                hint="Give .c, .cpp, .ll or .bc files; arguments of the program go after `--`.",
            )
    if any(Path(source).suffix in _CXX_SUFFIXES for source in sources):
        libraries += [name for name in ("stdc++", "gcc_s") if name not in libraries]
    return sources, Flags(tuple(compile_flags), tuple(folders), tuple(libraries), tuple(objects), openmp)


def to_ir(source: Path, flags: Flags, folder: Path, *, canonical: bool, opt: str = "O1") -> str:
    """Textual IR of one source file.

    C and C++ are compiled with the user's flags, then either those of the form that is analysed (they win) or as the
    user would have done by hand. `opt` chooses the former: `O1`, the canonical form, or `seed`, unoptimised as in
    VertexCut §3.1. IR files are read as they are. Raises SourceError with the compiler's own diagnostic.
    """
    if opt not in ("O1", "seed"):
        raise UsageError(f"--opt {opt}: O1 or seed expected")
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
    form = SEED if opt == "seed" else CANONICAL
    own = list(form) if canonical else [flags.optimisation, *NATIVE]
    cxx = source.suffix in _CXX_SUFFIXES
    clang = compiler(cxx=cxx)
    if canonical and clang.is_zig and not any(flag.startswith("-m") for flag in user):
        own.append("-mcpu=baseline")
    # The driver is always told `-c`, which `-S` makes useless: under the user's -Werror that remark would be an error.
    own.append("-Wno-unused-command-line-argument")
    if cxx and clang.is_zig:
        own += cxx_headers()
    if flags.openmp:
        own += ["-Wno-unknown-pragmas", "-Wno-source-uses-openmp", "-idirafter", str(_openmp_headers(folder))]
    # zig defines NDEBUG in optimised builds; a plain compiler leaves it to the user.
    first = ["-UNDEBUG"] if clang.is_zig else []
    command = [*clang.command, "-S", "-emit-llvm", *first, *user, *own, "-o", str(target), _as_file(source)]
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


def _openmp_headers(folder: Path) -> Path:
    """A folder with an `omp.h` whose functions answer as in a program of one thread."""
    place = folder / "serial"
    place.mkdir(exist_ok=True)
    (place / "omp.h").write_bytes(resources.files(__package__).joinpath("omp.h").read_bytes())
    return place


def _diagnostic(stderr: str, lines: int = 30, width: int = 200) -> str:
    """The first lines of what the compiler said; a source line that it quotes may be as long as a file."""
    text = [line if len(line) <= width else f"{line[: width - 2]} …" for line in stderr.strip().splitlines()]
    more = [f"… {len(text) - lines} more lines"] if len(text) > lines else []
    return "\n".join(text[:lines] + more)
