"""Templates of lines: what is done for compiler lines of one form, for a launcher that needs no Python.

Starting Python takes as long as compiling a small file. The lines of a build differ by names of files and by macros
alone; `launcher.c` finds the template of such a form, and puts the names of its line in. What a template says is made
by the functions that do without one, of words with marks in the places of names. A template holds while the files that
it was made with are as they were.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tracecut.support.errors import TracecutError
from tracecut.support.process.runner import Limits, private_folder, run
from tracecut.tracer.toolchain import clang, find_compilers
from tracecut.tracer.toolchain.flags import C_SUFFIXES, CXX_SUFFIXES

from .compiler_line import COMPILE, LINK, OTHER, link_words, read_line
from .preprocess import command_for
from .records import LinkLine, Unit, fields_of

VERSION = "tracecut template 1"  # as in launcher.c
MOST = 2000  # templates of an installation; then all are made anew
SECONDS = 60.0  # for making a launcher
_NAMED = ("-o", "-MF", "-MT", "-MQ")  # options whose value differs from line to line
_FOLDER = "\0010\2"  # the mark of the folder of a line
_OWN = Path(__file__).parent
_LAUNCHER = _OWN / "launcher.c"
# What decides how a source is preprocessed and recorded.
_MADE_WITH = (
    *(_OWN / name for name in ("launcher.c", "record.h", "templates.py", "records.py", "preprocess.py")),
    *(_OWN / name for name in ("compiler_line.py", "common_flags.py")),
    *(Path(clang.__file__).parent / name for name in ("clang.py", "find_compilers.py", "flags.py", "gcc_options.py")),
    find_compilers.CXX_FOLDER,
    Path("/usr/include/stdio.h"),
)


def keep(words: Sequence[str], *, cxx: bool, commands: Path, compiler: Sequence[str]) -> None:
    """Keep the template of a line, if there can be one, and the launcher of the commands that stand in a folder.

    `compiler`: the words that start the system's C compiler, which makes the launcher.
    """
    cache = find_compilers.cache_home()
    if cache != find_compilers.cache_folder() or os.environ.get(find_compilers.VARIABLE):
        return  # for this process alone
    folder = cache / "launchers" / str(commands).lstrip("/")
    with suppress(OSError, TracecutError):  # then lines of this form are left to Python
        template = template_of(words, cxx=cxx)
        if template is not None and str(folder / commands).isascii() and str(folder / commands).isprintable():
            templates = folder / "templates"
            templates.mkdir(mode=0o700, parents=True, exist_ok=True)
            _launcher(folder, commands, compiler)
            known = list(templates.iterdir())
            for old in known if len(known) >= MOST else ():
                old.unlink(missing_ok=True)
            key, data = template
            _put(templates / f"{fnv1a(key):016x}", data)


def template_of(words: Sequence[str], *, cxx: bool) -> tuple[bytes, bytes] | None:
    """The form of a line, and its template; None when each such line is to be read for itself."""
    formed = form_of(words, cxx=cxx)
    if formed is None or len(read_line(formed[1], cxx=cxx).sources) > 1:
        return None
    key, marked = formed
    line = read_line(marked, cxx=cxx)
    fields = [VERSION, key, *_counted(_states(cxx), 2), "other" if line.action == OTHER else "made"]
    if line.action != OTHER:
        fields += [line.output or ("" if line.action == COMPILE else "a.out")]
        command: list[str] = []
        unit = ""
        if line.sources:
            ((source, language),) = line.sources
            if not source.startswith("\1") or language not in ("c", "c++"):
                return None
            unit = _marked_fields(Unit(source, _FOLDER, language, line.words))
            command = command_for(source, language, line.words)
        linked = LinkLine(_FOLDER, link_words(line, Path(_FOLDER))) if line.action == LINK else None
        own = find_compilers.environment() if command else {}
        settings = [word for name in own if own[name] != os.environ.get(name) for word in (name, own[name])]
        fields += [unit, _marked_fields(linked) if linked else "", *_counted(settings, 2), *_counted(command)]
    return key.encode(), "".join(f"{field}\0" for field in fields).encode()


def _marked_fields(record: Unit | LinkLine) -> str:
    return fields_of(record).replace("\\u0001", "\1").replace("\\u0002", "\2")


def form_of(words: Sequence[str], *, cxx: bool) -> tuple[str, list[str]] | None:
    """The form of a line, and its words with marks in the places of names, as in launcher.c. None without a form."""
    key, marked = ["c++" if cxx else "cc"], list[str]()
    number, sources, is_value = 1, 0, False
    for word in words:
        if word.startswith("@") or not all(" " <= char <= "~" for char in word):
            return None
        name, dot, ending = word.rpartition("/")[2].lstrip(".").rpartition(".")
        suffix, mark = (f".{ending}" if name and dot else ""), f"\1{number}\2"
        if is_value:
            made = mark
        elif word[:2] in ("-D", "-I", "-U") and word[2:]:
            made = word[:2] + mark
        elif not word.startswith("-") and suffix in C_SUFFIXES | CXX_SUFFIXES:
            made = mark + suffix
            sources += 1
        else:
            made = word
        is_value = made is word and word in _NAMED
        number += made is not word
        key.append(made)
        marked.append(made)
    return None if is_value or sources > 1 or number > 256 else ("\37".join(key), marked)


def fnv1a(data: bytes) -> int:
    """The hash that names a template; its form stands in it besides."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def _counted(words: Sequence[str], each: int = 1) -> Iterator[str]:
    yield str(len(words) // each)
    yield from words


def _states(cxx: bool) -> list[str]:
    """Files that a template is made with, each behind the other with its time and size."""
    headers = [Path(word) for word in find_compilers.cxx_headers() if word.startswith("/")] if cxx else []
    found = []
    for path in (find_compilers.zig(), *_MADE_WITH, *headers):
        found += [str(path), _state(path)]
    return found


def _state(path: Path) -> str:
    try:
        state = path.stat()
    except OSError:
        return ""
    return f"{state.st_mtime_ns} {state.st_size}"


def _put(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file as a whole."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)
    os.replace(file.name, path)


def _launcher(folder: Path, commands: Path, compiler: Sequence[str]) -> None:
    """Build the launcher of a folder of commands, unless it is there. A machine where it does not run goes without."""
    texts = [(_OWN / name).read_text() for name in ("launcher.c", "record.h", "elf_sections.h", "deflate.h")]
    made_of, stamp = f"{commands}\n{''.join(texts)}", folder / "launcher.txt"
    if stamp.exists() and stamp.read_text() == made_of:
        return
    with private_folder("tracecut-launcher-") as own:
        program, limits = own / "launcher", Limits(seconds=SECONDS)
        macros = [f'-DFOLDER="{folder / "templates"}"', f'-DHERE="{commands}"']
        line = [*compiler, "-O2", "-w", *macros, str(_LAUNCHER), "-o", str(program)]
        if run(line, folder=own, name="made", limits=limits).ok:
            asked = run([str(program), "version"], folder=own, name="asked", limits=limits)
            if asked.ok and asked.stdout.read_text() == f"{VERSION}\n":
                _put(folder / "launcher", program.read_bytes(), mode=0o700)  # others may be starting the old one
    _put(stamp, made_of.encode())
