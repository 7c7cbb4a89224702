"""The one family of exceptions of tracecut (`TracecutError` and its children)."""

from tracecut.ir.errors import (
    ArgumentError,
    ArtefactError,
    BackendError,
    OutputError,
    ProgramError,
    ScheduleError,
    SourceError,
    ToolchainError,
    TracecutError,
    UnsupportedError,
    UsageError,
    UserError,
)


class InternalError(TracecutError):
    """A bug of tracecut: the message is that of the unexpected exception, the detail its traceback."""


__all__ = [
    "ArgumentError",
    "ArtefactError",
    "BackendError",
    "InternalError",
    "OutputError",
    "ProgramError",
    "ScheduleError",
    "SourceError",
    "ToolchainError",
    "TracecutError",
    "UnsupportedError",
    "UsageError",
    "UserError",
]
