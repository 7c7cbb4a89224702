"""The one family of exceptions.

Every error says what was given, where, what was expected, and what to do. `UserError` and its children are
the user's input: the command line prints them without a traceback. Anything else that escapes is a bug.
"""

from __future__ import annotations

from collections.abc import Iterable

# What users may catch; `tracecut.errors` hands them out.
__all__ = [
    "ArgumentError",
    "ArtefactError",
    "BackendError",
    "InternalError",
    "KernelError",
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


class TracecutError(Exception):
    """Base class. `hint` is one sentence on what to do; `detail` is longer evidence (a diagnostic, a log)."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail

    def __str__(self) -> str:
        return "\n".join(part for part in (self.message, self.detail, self.hint) if part)


class UserError(TracecutError):
    """The user's input can not be used as it is."""


class UsageError(UserError):
    """The command line itself is wrong."""

    exit_code = 2


class ArgumentError(UserError, ValueError):
    """An argument of a Python call is out of its domain; names the argument and the first offending entry."""


class SourceError(UserError):
    """A source file is missing, unreadable or does not compile."""


class ProgramError(UserError):
    """The user's program failed: it crashed, left with a non-zero status, or ran past its time limit."""


class ArtefactError(UserError):
    """A saved file is damaged, truncated, of another version, or breaks its own rules."""


class OutputError(UserError):
    """An output could not be written; files that were there before are as they were."""


class ToolchainError(TracecutError):
    """A compiler, linker or library that tracecut needs is missing or of the wrong version."""


class UnsupportedError(TracecutError):
    """A transformation or emission is refused; the message is the reason."""


class BackendError(TracecutError):
    """A foreign partitioner or compiler failed or crashed; `tracecut optimize` goes on with the next choice."""


class ScheduleError(TracecutError):
    """A schedule breaks a rule of the independent checker: never run it."""


class KernelError(TracecutError):
    """A GPU kernel, run on the CPU, has no result: a barrier that not all threads reach, a loop without end."""


class InternalError(TracecutError):
    """A bug of tracecut: the message is that of the unexpected exception, the detail its traceback."""


def known_names(name: object, known: Iterable[str]) -> str:
    """The hint on a name that is none of `known`: the one that was probably meant, else all of them."""
    from difflib import get_close_matches  # only ever needed by an error

    names = list(known)
    near = get_close_matches(str(name), names, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names)}."
