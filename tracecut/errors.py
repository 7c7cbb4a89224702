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

__all__ = [
    "ArgumentError",
    "ArtefactError",
    "BackendError",
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
