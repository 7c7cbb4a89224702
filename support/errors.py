"""All exceptions of tracecut.

Every error states what was given, where, what was expected, and what to do. `UserError` and its subclasses are caused
by the user's input: the command line prints them without a traceback. Any other exception is a bug.
"""

from __future__ import annotations

from collections.abc import Iterable

# Exported as `tracecut.errors` for users.
__all__ = [
    "ArgumentError",
    "ArtefactError",
    "BackendError",
    "ConvergenceError",
    "InternalError",
    "KernelError",
    "OutputError",
    "ProgramError",
    "RankError",
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
    """The user's input cannot be used."""


class UsageError(UserError):
    """The command line is invalid."""

    exit_code = 2


class ArgumentError(UserError, ValueError):
    """An argument of a Python call is invalid; the message names it and the first invalid entry."""


class SourceError(UserError):
    """A source file is missing, unreadable or does not compile."""


class ProgramError(UserError):
    """The user's program failed: it crashed, ended with a non-zero status, or exceeded its time limit."""


class ArtefactError(UserError):
    """A saved file is damaged, truncated, inconsistent, or of another version."""


class OutputError(UserError):
    """An output could not be written; existing files are unchanged."""


class ToolchainError(TracecutError):
    """A compiler, linker or library that tracecut needs is missing or of the wrong version."""


class UnsupportedError(TracecutError):
    """A transformation or emission is refused; the message is the reason."""


class BackendError(TracecutError):
    """An external partitioner or compiler failed; `tracecut optimize` continues with the next method."""


class ConvergenceError(TracecutError):
    """An iteration did not reach its tolerance. `last`: its last result, of the type that success would have had."""

    def __init__(self, message: str, *, last: object, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.last = last


class RankError(TracecutError):
    """Another rank of several has failed: `rank` is its number, the message what it said."""

    def __init__(self, rank: int, said: str) -> None:
        super().__init__(f"rank {rank}: {said}")
        self.rank = rank


class ScheduleError(TracecutError):
    """A schedule violates a rule of the independent checker and must not run."""


class KernelError(TracecutError):
    """A GPU kernel, run on the CPU, has no result: a barrier that not all threads reach, a loop without end."""


class InternalError(TracecutError):
    """A bug of tracecut: the message is that of the unexpected exception, the detail its traceback."""


def known_names(name: object, known: Iterable[str]) -> str:
    """The hint for an unknown name: the nearest known one, else all of them."""
    from difflib import get_close_matches  # imported only for errors

    names = list(known)
    near = get_close_matches(str(name), names, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names)}."
