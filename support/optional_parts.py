"""Optional parts of a run: if one fails, its reason is recorded and the run continues."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import OutputError, TracecutError

LONGEST = 300


@contextmanager
def optional(part: str, failures: list[str]) -> Iterator[None]:
    """Run the block; if it raises, add the part's name and the reason to `failures`.

    KeyboardInterrupt and SystemExit propagate, and so does OutputError: on a full disk the results cannot be written
    either.
    """
    try:
        yield
    except OutputError:
        raise
    except Exception as error:
        failures.append(f"{part} could not be made: {reason_of(error)}")


def reason_of(error: BaseException) -> str:
    """An exception in one line: the message of a TracecutError, name and message of any other."""
    said = error.message if isinstance(error, TracecutError) else str(error)
    text = " ".join(said.split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"
    return text if isinstance(error, TracecutError) else f"{type(error).__name__}: {text}".rstrip(": ")
