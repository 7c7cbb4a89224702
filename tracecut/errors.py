"""The one family of exceptions of tracecut (`TracecutError` and its children)."""

from tracecut.ir import errors
from tracecut.ir.errors import *  # noqa: F403 (the names of its `__all__`, which stand there once)

__all__ = errors.__all__
