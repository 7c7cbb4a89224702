"""Numba without SciPy, in processes of our own.

While Numba loads, it asks whether there is linear algebra, and the answer loads `scipy.linalg`, which takes as long as
Numba itself. No kernel multiplies matrices.
"""

from __future__ import annotations

import sys

ASKS = "numba.np.arraymath"  # the module that asks, once, while it is imported


def without_linear_algebra() -> None:
    """From now on Numba finds no linear algebra when it asks. Everybody else imports `scipy.linalg` as ever."""
    if ASKS not in sys.modules and not any(isinstance(finder, _Refuses) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Refuses())


class _Refuses:
    """A finder that finds nothing, but sees when Numba is about to ask."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == ASKS:
            sys.meta_path.remove(self)
            import numba.np.linalg

            numba.np.linalg.ensure_blas = _refuse


def _refuse() -> None:
    raise ImportError("kernels of tracecut use no linear algebra")
