"""A limit on the CPU time of a piece of work in this process."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tracecut.support.errors import TracecutError

LEAST = 1e-3  # seconds; 0 would stop the timer


class CpuTimeSpentError(TracecutError):
    """A piece of work has taken all the CPU time that it may."""


@contextmanager
def cpu_limit(seconds: float | None) -> Iterator[None]:
    """Raise CpuTimeSpentError in the block once this process has spent `seconds` of CPU time in it; None: never.

    All threads of the process count, its children do not. What runs when the time is up, outside of Python, ends first.
    In the main thread alone, and not within another limit.
    """
    if seconds is None:
        yield
        return
    spent = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal spent
        spent = True
        raise CpuTimeSpentError(f"{seconds:.2g} s of CPU time are spent")

    before = signal.signal(signal.SIGPROF, stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, max(LEAST, seconds))
        yield
    except Exception as error:
        if spent and not isinstance(error, CpuTimeSpentError):  # a library has made another error of it
            raise CpuTimeSpentError(f"{seconds:.2g} s of CPU time are spent") from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class CpuTime:
    """CPU seconds of this process that may still be spent; None: any number. `began`: of `time.process_time`."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds, self.began = seconds, time.process_time()

    @property
    def used(self) -> float:
        return time.process_time() - self.began

    @property
    def left(self) -> float | None:
        return None if self.seconds is None else max(0.0, self.seconds - self.used)
