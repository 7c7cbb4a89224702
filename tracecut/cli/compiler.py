"""`tracecut-cc` and `tracecut-c++`: compilers for builds whose programs `tracecut optimize` is to take."""

from __future__ import annotations

import sys


def cc() -> None:
    """Entry point of `tracecut-cc`."""
    from tracecut.tracer.recorded.wrapper import compile_recorded

    sys.exit(compile_recorded(sys.argv[1:], cxx=False))


def cxx() -> None:
    """Entry point of `tracecut-c++`."""
    from tracecut.tracer.recorded.wrapper import compile_recorded

    sys.exit(compile_recorded(sys.argv[1:], cxx=True))
