"""What a line of a build does: compile, link, or something that leaves nothing to record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracecut.support.errors import SourceError, UsageError
from tracecut.tracer.toolchain.flags import C_SUFFIXES, CXX_SUFFIXES, LANGUAGES, expanded

COMPILE, LINK, LIBRARY, OTHER = "compile", "link", "library", "other"
# Options that end before there is an object, or that ask the compiler about itself.
_ENDS = {"-E", "-S", "-M", "-MM", "-fsyntax-only", "-###", "--version", "-dumpversion", "-dumpmachine", "--help", "-r"}
_VALUES = set(
    "-I -D -U -L -l -include -imacros -isystem -iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore -isysroot "
    "--sysroot -Xclang -Xpreprocessor -Xassembler -Xlinker -mllvm --param -target -MF -MT -MQ -MJ -T -z -u -aux-info "
    "-dumpbase -dumpdir -arch -B".split()
)


@dataclass(frozen=True)
class Line:
    """A compiler line, sorted.

    Attributes:
        action: what it makes. output: the file that it names, None when it names none.
        sources: (file, language) of what it compiles. objects: files that are linked as they are.
        words: all other words, in order.
    """

    action: str
    output: str | None
    sources: tuple[tuple[str, str], ...]
    objects: tuple[str, ...]
    words: tuple[str, ...]

    def target(self, source: str) -> Path:
        """Where a line that only compiles puts the object of a source."""
        return Path(self.output) if self.output else Path(Path(source).name).with_suffix(".o")


def read_line(arguments: Sequence[str], *, cxx: bool = False) -> Line:
    """Sort a line. What a response file cannot be read from leaves nothing to record: the compiler will say so."""
    try:
        words = iter(expanded(arguments))
    except (SourceError, UsageError):
        return Line(OTHER, None, (), (), tuple(arguments))
    action, output, spoken = LINK, None, ""
    sources: list[tuple[str, str]] = []
    objects: list[str] = []
    kept: list[str] = []
    ends = False
    for word in words:
        if word == "-o" or (word.startswith("-o") and len(word) > 2 and not word.startswith("-object")):
            output = word[2:] or next(words, "")
        elif word == "-x" or (word.startswith("-x") and len(word) > 2):
            name = word[2:] or next(words, "none")
            spoken = "" if name == "none" else name
        elif word in _VALUES:
            kept += [word, next(words, "")]
        elif word == "-":
            ends = True  # what comes through a pipe can be read once
        elif word.startswith("-"):
            ends |= word in _ENDS or word.startswith("-print-")
            action = COMPILE if word == "-c" else LIBRARY if word == "-shared" and action == LINK else action
            kept.append(word)
        elif spoken or Path(word).suffix in C_SUFFIXES | CXX_SUFFIXES:
            sources.append((word, _language(word, spoken, cxx)))
        else:
            objects.append(word)
    if ends or not (sources or (objects and action != COMPILE)):
        action = OTHER
    return Line(action, output, tuple(sources), tuple(objects), tuple(kept))


def link_words(line: Line, folder: Path) -> tuple[str, ...]:
    """What a line that runs in a folder links besides its sources: options, and files by their whole names."""
    return (*line.words, *(str(folder / each) for each in line.objects))


def _language(source: str, spoken: str, cxx: bool) -> str:
    """`c`, `c++`, or another one that is not recorded."""
    if spoken:
        return LANGUAGES.get(spoken, spoken)
    return "c++" if cxx or Path(source).suffix in CXX_SUFFIXES else "c"
