"""`tracecut-cc` and `tracecut-c++`: compilers for builds whose programs `tracecut optimize` is to take."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def run_compiler(words: Sequence[str]) -> None:
    """What the commands and their launcher leave to Python: FOLDER cc|c++ new|again WORD….

    `FOLDER`: where the commands are. `again`: the compiler has done its part, and the line is still to be recorded.
    """
    from pathlib import Path

    from tracecut.tracer.recorded.wrapper import compile_recorded

    folder, mode, how, *rest = words
    sys.exit(compile_recorded(rest, cxx=mode == "c++", commands=Path(folder), again=how == "again"))
