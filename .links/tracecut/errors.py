"""The one family of exceptions of tracecut (`TracecutError` and its children)."""

from tracecut.support import errors
from tracecut.support.errors import *  # noqa: F403 (the names of its `__all__`, which stand there once)

__all__ = errors.__all__
