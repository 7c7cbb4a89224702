"""Switches that keep LLVM from making wrong code of right programs.

LLVM 22 takes it for proven that a narrow counter does not wrap around where a check that is made when the program runs
says so of a wider one: in `for (unsigned i = 0; i < n; i++) y[i & 1023] += x[i]`, with a `long n`, records behind `y`
are written (llvm-project, issue 191382; mended in LLVM 23). No loop is taken for one that needs such checks then. Of
the loops of about a hundred programs that LLVM makes vectors of, three are no longer.
"""

from __future__ import annotations

NO_WRAP_CHECKS = (
    "-vectorize-scev-check-threshold=0",
    "-pragma-vectorize-scev-check-threshold=0",
    "-loop-load-elimination-scev-check-threshold=0",
)


def for_clang() -> list[str]:
    """The switches as options of clang's driver."""
    return [word for switch in NO_WRAP_CHECKS for word in ("-mllvm", switch)]
