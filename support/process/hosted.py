"""The start of a process of our own: `python -P -m tracecut.support.process.hosted MODULE ARGUMENT …`

Whole libraries are loaded there, which make hundreds of thousands of objects that stay: the garbage collector looks
through them seldom, and not when the process ends. Numba does without SciPy.
"""

from __future__ import annotations

import runpy
import sys

from tracecut.support.garbage_collection import from_the_start

from .numba_alone import without_linear_algebra


def main() -> None:
    """Run the module as if Python had been given it."""
    from_the_start()
    without_linear_algebra()
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
