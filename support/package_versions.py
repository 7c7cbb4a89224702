"""Versions of the packages that a result depends on."""

from __future__ import annotations

import contextlib
import platform
from importlib.metadata import version


def package_versions() -> dict[str, str]:
    """Name → version, as far as they are known; no package is imported."""
    found = {"python": platform.python_version()}
    for name in ("llvmlite", "ziglang", "numpy", "scipy", "numba", "pymetis"):
        with contextlib.suppress(Exception):  # a package without its metadata
            found[name] = version(name)
    return found
