"""Kernels of Numba are compiled once on each installation: without what nobody calls."""

from __future__ import annotations

import re
from pathlib import Path

from tracecut.support.lazy_kernels import kept

ROOT = Path(__file__).parents[2]
FOLDERS = ("support", "ir", "partition", "mapping", "tracer", "codegen", "tracecut")
MADE = re.compile(r"\bnjit\(([^()]*)\)")


def test_no_kernel_that_is_kept_has_a_way_in_from_c() -> None:
    """A seventh of the time in which a kernel is compiled; C libraries could call it there, and none does."""
    others = [
        f"{path}: {options}"
        for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
        for options in MADE.findall(path.read_text(encoding="utf-8"))
        if "cache=True" in options and "inline" not in options and "fastmath" not in options
    ]
    here = f"{ROOT}/support/lazy_kernels.py: cache=True, nogil=True"
    assert others == [here, f"{here}, **WITHOUT"]  # the first for type checkers
    options = kept(lambda number: number + 1).targetoptions
    assert options["no_cfunc_wrapper"] and options["nogil"]
