"""`tracecut-cc` and `tracecut-c++`: the system's compiler, whose objects carry their sources besides.

The compiler runs on the very words of the line; what it says, makes and returns is what the build sees. Objects and
programs get a section that is never loaded.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from .compiler_line import COMPILE, LINK, OTHER, link_words, read_line
from .elf_sections import is_elf, with_section
from .preprocess import preprocessed
from .records import SECTION, LinkLine, Unit, encode
from .templates import keep

REAL = {False: "TRACECUT_REAL_CC", True: "TRACECUT_REAL_CXX"}
_NAMES = {False: ("cc", "gcc", "clang"), True: ("c++", "g++", "clang++")}
_OURS = "tracecut-"


def compile_recorded(words: Sequence[str], *, cxx: bool, commands: Path | None = None, again: bool = False) -> int:
    """Do what the line says, and record it. Returns the compiler's status; a line that leaves nothing to record becomes
    the compiler.

    `commands`: the folder of the wrappers, whose launcher does such lines from now on. `again`: the compiler has run.
    """
    real = _real_compiler(cxx)
    line = read_line(words, cxx=cxx)
    command = [*real, *words]
    if commands is not None:
        keep(words, cxx=cxx, commands=commands, compiler=find_compiler(False) or ())
    if line.action == OTHER:
        _become(command)
    folder = Path.cwd()
    with ThreadPoolExecutor(2) as pool:  # while the compiler works
        made = [pool.submit(preprocessed, *source, line.words, folder) for source in line.sources]
        status = 0 if again else _run(command)
        if status:
            pool.shutdown(cancel_futures=True)
            return status
        units = [each.result() for each in made]
    if line.action == COMPILE:
        for (source, _), unit in zip(line.sources, units, strict=True):
            _attach(line.target(source), [unit])
    else:
        more = [LinkLine(str(folder), link_words(line, folder))] if line.action == LINK else []
        _attach(Path(line.output or "a.out"), [*units, *more])
    return 0


def find_compiler(cxx: bool) -> list[str] | None:
    """The compiler behind a wrapper, with options that are always given to it; None when there is none."""
    chosen = os.environ.get(REAL[cxx], "").split()
    for name in chosen[:1] or _NAMES[cxx]:
        found = shutil.which(name)
        if found and not Path(os.path.realpath(found)).name.startswith(_OURS):
            return [found, *chosen[1:]]
    return None


def _real_compiler(cxx: bool) -> list[str]:
    found = find_compiler(cxx)
    if found is not None:
        return found
    chosen = os.environ.get(REAL[cxx], "").split()
    what = f"${REAL[cxx]} names {chosen[0]!r}, which is no compiler" if chosen else f"no {_NAMES[cxx][0]} is installed"
    print(f"{_OURS}{'c++' if cxx else 'cc'}: {what}; set ${REAL[cxx]} to your compiler", file=sys.stderr)
    raise SystemExit(127)


def _become(command: Sequence[str]) -> NoReturn:
    os.execv(command[0], list(command))


def _run(command: Sequence[str]) -> int:
    process = subprocess.Popen(command)
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:  # the compiler has got it too, and cleans up
            continue
        if status < 0:  # end as the compiler did
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        return status


def _attach(path: Path, records: Sequence[Unit | LinkLine]) -> None:
    """Add records to what the compiler made. What is no file, or no ELF file, stays as it is."""
    if not records or path.is_symlink() or not path.is_file():
        return
    try:
        data = path.read_bytes()
        if not is_elf(data):
            return
        made = with_section(data, SECTION, b"".join(map(encode, records)))
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(made)
                shutil.copymode(path, file.name)
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except (OSError, ValueError) as error:
        print(f"{_OURS}cc: {path}: not recorded: {error}", file=sys.stderr)
