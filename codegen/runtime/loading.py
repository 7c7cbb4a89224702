"""Importing modules in the process of a program that must not notice. Light."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from tracecut.support.process.load_and_run import borrowed_environment


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """While modules are imported in the process of the program."""
    keep = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # the umask is the program's now
    try:
        with borrowed_environment("OPENBLAS_NUM_THREADS=1"):  # linear algebra, not used here: no idle threads
            yield
    finally:
        sys.dont_write_bytecode = keep
