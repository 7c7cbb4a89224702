"""A limit on the CPU time of a piece of work."""

from __future__ import annotations

import signal
import time

import pytest
from tracecut.support.process.cpu_limit import CpuTime, CpuTimeSpentError, cpu_limit

from ...waiting import burn

pytestmark = pytest.mark.quick


def test_work_that_takes_longer_is_stopped() -> None:
    began = time.process_time()
    with pytest.raises(CpuTimeSpentError, match=r"0\.05 s of CPU time are spent"), cpu_limit(0.05):
        burn(60.0)
    assert time.process_time() - began < 30.0


def test_an_error_that_a_library_makes_of_it_is_still_it() -> None:
    with pytest.raises(CpuTimeSpentError), cpu_limit(0.02):
        try:
            burn(60.0)
        except CpuTimeSpentError as error:
            raise RuntimeError("could not be compiled") from error


@pytest.mark.parametrize("seconds", [60.0, None])
def test_nothing_is_left_of_it(seconds: float | None) -> None:
    before = signal.getsignal(signal.SIGPROF)
    with cpu_limit(seconds):
        burn(0.01)
    with pytest.raises(KeyError), cpu_limit(seconds):  # what the work itself raises is its own
        raise KeyError
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_waiting_takes_no_cpu_time() -> None:
    with cpu_limit(0.2):
        time.sleep(0.5)


def test_what_is_left() -> None:
    of = CpuTime(0.5)
    burn(0.02)
    assert of.left is not None and 0.0 < of.left < 0.49 and of.used > 0.01
    assert CpuTime(0.0).left == 0.0
    assert CpuTime(None).left is None
