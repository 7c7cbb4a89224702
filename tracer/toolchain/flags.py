"""The user's compiler line: which files it names, and what becomes of each of its options.

A line as a build system writes it is taken whole. Most options go to the compiler as they are; those that say where
objects and lists of dependencies go, or where the compiler is to stop, have no meaning here and are left out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracecut.support.errors import SourceError, UsageError
from tracecut.support.file_kinds import is_folder

from .gcc_options import ONLY_GCC

C_SUFFIXES = {".c", ".i"}
CXX_SUFFIXES = {".cpp", ".cc", ".cxx", ".c++", ".cp", ".C", ".CPP", ".ii"}
IR_SUFFIXES = {".ll", ".bc"}
ASSEMBLY_SUFFIXES = {".s", ".S"}  # linked as it is, once it is machine code
LANGUAGES = {"c": "c", "cpp-output": "c", "c++": "c++", "c++-cpp-output": "c++", "ir": "ir"}

# Options whose value is a word of its own.
_WITH_VALUE = (
    "-I -D -U -L -l -include -imacros -isystem -iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore -isysroot "
    "--sysroot -x -Xclang -Xpreprocessor -Xassembler -mllvm --param -target"
).split()
_REFUSED = {
    "-shared": "tracecut needs a program with main",
    "-pg": "profiling builds are not supported",
    "-m32": "tracecut reads 64-bit programs",
    "-mx32": "tracecut reads 64-bit programs",
    "-stdlib=libc++": "C++ programs are bound to libstdc++",
}
_DEPENDENCIES = "it makes lists of dependencies"
_STOP = "the whole program is compiled and linked"
_PLACES = "programs are linked with the system's shared libraries, at any address"
# Options that are left out, and why the user is told so; those with an empty reason change nothing here.
_DROPPED = {
    **dict.fromkeys(("-c", "-S", "-E", "-fsyntax-only"), _STOP),
    **dict.fromkeys(("-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "-MV"), _DEPENDENCIES),
    **dict.fromkeys(("-static", "-static-pie", "-no-pie", "-nopie", "-fno-pie", "-fno-PIE"), _PLACES),
    **dict.fromkeys(("-fno-pic", "-fno-PIC"), _PLACES),
    **dict.fromkeys(("-pie", "-rdynamic", "-s", "-static-libgcc", "-static-libstdc++", "-pipe", "-v", "-###"), ""),
}
_DROPPED_WITH_VALUE = {
    **dict.fromkeys(("-MF", "-MT", "-MQ", "-MJ"), _DEPENDENCIES),
    "-o": "tracecut chooses the names of what it writes",
    **dict.fromkeys(("-Xlinker", "-T", "-z", "-u"), "the linker is tracecut's own"),
}
_DROPPED_PATTERNS = {
    r"-M[FTQJ].+": _DEPENDENCIES,
    r"-?-save-temps(=.*)?": "tracecut writes into its own folders only",
    r"-f(no-)?(lto|fat-lto-objects|use-linker-plugin)(=.*)?|-fuse-ld=.*": "the linker is tracecut's own",
    r"-Wl,.*": "the linker is tracecut's own",
    ONLY_GCC.pattern: "",
    r"-o.+": _DROPPED_WITH_VALUE["-o"],
}
_RELAXED = (
    r"-ffast-math|-funsafe-math-optimizations|-fassociative-math|-freciprocal-math|-fapprox-func|-ffp-contract=fast.*|"
    r"-ffp-model=(?:fast|aggressive)|-fveclib=(?!none).*|-f(?:limited-precision|complex-arithmetic).*"
)
OPENMP_NOTE = "OpenMP: pragmas are ignored, the program is compiled and measured as a serial one"
_NESTED = 10  # response files that name response files


@dataclass(frozen=True)
class Flags:
    """The user's compiler options, sorted by the step that needs them.

    Attributes:
        compile: what the compiler is given. library_folders, libraries, objects: what the linker is given.
        openmp: whether OpenMP was asked for. languages: `LANGUAGE:FILE` of the files that `-x` says the language of.
        remarks: what the user should know about the options that were left out.
    """

    compile: tuple[str, ...] = ()
    library_folders: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    openmp: bool = False
    languages: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def optimisation(self) -> str:
        """The last -O option, `-O2` when there is none."""
        levels = [flag for flag in self.compile if re.match(r"-O", flag)]
        return levels[-1] if levels else "-O2"

    @property
    def as_written(self) -> bool:
        """Whether the user's own build is unoptimised: it computes each call of the math library when it runs."""
        return self.optimisation == "-O0" or not any(flag.startswith("-O") for flag in self.compile)

    @property
    def relaxed(self) -> bool:
        """Whether the user lets compilers round as they like: then no two of them agree bit by bit."""
        if self.optimisation == "-Ofast":
            return True
        return any(re.fullmatch(_RELAXED, flag) for flag in self.compile)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how these options were understood."""
        return (*((OPENMP_NOTE,) if self.openmp else ()), *self.remarks)

    def language(self, source: str | Path) -> str:
        """`c`, `c++` or `ir`: what `-x` says of a file, else what its name ends in."""
        for word in self.languages:
            language, _, file = word.partition(":")
            if file == str(source):
                return LANGUAGES[language]
        suffix = Path(source).suffix
        return "ir" if suffix in IR_SUFFIXES else "c++" if suffix in CXX_SUFFIXES else "c"

    def spelled(self, source: str | Path) -> list[str]:
        """The `-x` option of a file, if it has one."""
        words = [word.partition(":")[0] for word in self.languages if word.partition(":")[2] == str(source)]
        return ["-x", words[0]] if words else []


def parse_flags(arguments: Sequence[str]) -> tuple[list[str], Flags]:
    """Split a compiler command line into source files and Flags.

    As a C++ driver does, a C++ source adds the C++ library. Raises UsageError on options that make no sense here,
    and SourceError on files of an unknown kind.
    """
    return _Line(arguments).parsed()


class _Line:
    """One compiler line while it is read."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.words: Iterator[str] = iter(expanded(arguments))
        self.sources: list[str] = []
        self.compile: list[str] = []
        self.folders: list[str] = []
        self.libraries: list[str] = []
        self.objects: list[str] = []
        self.languages: list[str] = []
        self.dropped: dict[str, list[str]] = {}
        self.openmp = False
        self.spoken = ""  # the language that -x names

    def parsed(self) -> tuple[list[str], Flags]:
        for word in self.words:
            if word.startswith("-") and word != "-":
                self._option(word)
            else:
                self._file(word)
        remarks = [f"{', '.join(words)}: left out, {reason}" for reason, words in self.dropped.items() if reason]
        flags = Flags(
            tuple(self.compile),
            tuple(self.folders),
            tuple(self.libraries),
            tuple(self.objects),
            self.openmp,
            tuple(self.languages),
            tuple(remarks),
        )
        if any(flags.language(source) == "c++" for source in self.sources):
            more = tuple(name for name in ("stdc++", "gcc_s") if name not in self.libraries)
            flags = Flags(**{**vars(flags), "libraries": flags.libraries + more})
        return self.sources, flags

    def _option(self, word: str) -> None:
        if word in _REFUSED:
            raise UsageError(f"compiler option {word}: {_REFUSED[word]}", hint="Leave it out.")
        reason = _DROPPED.get(word, _DROPPED_WITH_VALUE.get(word))
        if reason is None:
            reason = next((why for form, why in _DROPPED_PATTERNS.items() if re.fullmatch(form, word)), None)
        if reason is not None:
            text = f"{word} {self._value(word)}" if word in _DROPPED_WITH_VALUE else word
            self.dropped.setdefault(reason, []).append(text)
        elif word == "-x" or (word.startswith("-x") and len(word) > 2):
            self._language(word[2:] or self._value(word))
        elif word in ("-L", "-l"):
            (self.folders if word == "-L" else self.libraries).append(self._value(word))
        elif word in _WITH_VALUE:
            self.compile += [word, self._value(word)]
        elif word.startswith("-L"):
            self.folders.append(word[2:])
        elif word.startswith("-l"):
            self.libraries.append(word[2:])
        elif word in ("-fopenmp", "-fno-openmp") or word.startswith("-fopenmp="):
            self.openmp = word != "-fno-openmp"
        else:
            self.compile.append(word)

    def _value(self, word: str) -> str:
        value = next(self.words, None)
        if value is None:
            raise UsageError(f"compiler option {word} needs a value")
        return value

    def _language(self, name: str) -> None:
        if name != "none" and name not in LANGUAGES:
            raise UsageError(f"compiler option -x {name}: {', '.join(LANGUAGES)} or none expected")
        self.spoken = "" if name == "none" else name

    def _file(self, word: str) -> None:
        suffix = Path(word).suffix
        if word and is_folder(word):
            raise SourceError(f"{word}: a folder, a source file was expected", hint="Give .c, .cpp, .ll or .bc files.")
        if word and self.spoken and word != "-":
            self.sources.append(word)
            self.languages.append(f"{self.spoken}:{word}")
        elif suffix in C_SUFFIXES | CXX_SUFFIXES | IR_SUFFIXES:
            self.sources.append(word)
        elif suffix in (".o", ".a", ".so", *ASSEMBLY_SUFFIXES) or ".so." in word:
            self.objects.append(word)
        else:
            raise _unreadable(word)


def _unreadable(word: str) -> SourceError:
    """Why a word of the line is no source, and what was probably meant."""
    path = Path(word)
    hint = "Give .c, .cpp, .ll or .bc files; arguments of the program go after `--`."
    if word == "-":
        return SourceError("-: a program cannot be read from standard input", hint="Give its source file.")
    if re.match(r"(GNU)?[Mm]akefile|.*\.mk$", path.name):
        return SourceError(
            f"{word}: a Makefile, a source file was expected",
            hint="Give what it compiles: sources and options of its compiler line, which `make -n` prints.",
        )
    if path.name in ("compile_commands.json", "CMakeLists.txt", "build.ninja", "meson.build"):
        return SourceError(
            f"{word}: a build description, a source file was expected",
            hint="Give sources and options of its compiler line.",
        )
    if "/" in word and not path.exists():
        return SourceError(f"{word}: no such file", hint="If it is a program, build it with `tracecut-cc` first.")
    if path.suffix in (".h", ".hh", ".hpp", ".hxx"):
        return SourceError(f"{word}: a header, a source file was expected", hint=hint)
    if _holds_options(path):
        return SourceError(
            f"{word}: a file of compiler options, a source file was expected", hint=f"Write @{word} to have it read."
        )
    kind = f"a file ending in {path.suffix!r}" if path.suffix else "a file of unknown kind"
    return SourceError(f"{word or repr(word)}: {kind} cannot be read", hint=f"{hint} `-x c` names the language.")


def _holds_options(path: Path) -> bool:
    """Whether a file looks like a response file: its first word is an option or a source."""
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    words = head.decode(errors="replace").split()
    return path.suffix == ".rsp" or bool(words and re.match(r"-[A-Za-z]", words[0]))


def expanded(arguments: Sequence[str], depth: int = 0) -> list[str]:
    """The words of a line, with `@FILE` replaced by the words in the file. Raises UsageError, SourceError."""
    words: list[str] = []
    for word in arguments:
        if not word.startswith("@") or word == "@":
            words.append(word)
            continue
        if depth == _NESTED:
            raise UsageError(f"{word}: response files name each other more than {_NESTED} times over")
        try:
            text = Path(word[1:]).read_text(errors="surrogateescape")
            words += expanded(shlex.split(text), depth + 1)
        except OSError as error:
            raise SourceError(f"{word}: the response file cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"{word}: its quotes do not match ({error})") from error
    return words
