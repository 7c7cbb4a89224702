"""The version of tracecut, as in pyproject.toml, and those of the packages that a result depends on."""

from __future__ import annotations

__version__ = "0.1.0"


def package_versions() -> dict[str, str]:
    """Name → version, as far as they are known; no package is imported."""
    import contextlib
    import platform
    from importlib.metadata import version

    found = {"python": platform.python_version()}
    for name in ("llvmlite", "ziglang", "numpy", "scipy", "numba", "pymetis"):
        with contextlib.suppress(Exception):  # a package without its metadata
            found[name] = version(name)
    return found
