"""Kernels of some rooms run as plain Python in tests, unless `pytest -m long` asks for their machine code.

Those of the rooms below take minutes to compile, and Python does in less what they do to the small inputs of tests:
`support/plain_kernels.py` says why both leave the same. So does the walk of traces whose numbers of vertices have 64
bits, the same code as that of others. A test with the marker `long` runs them compiled; the fixture
`seldom_compiled` makes one of each test that uses it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher
from tracecut.support.plain_kernels import plain
from tracecut.tracer.depgraph.walk.reference import follow_records

ROOMS = (
    *("tracecut.mapping.joint.", "tracecut.mapping.simulation."),
    *("tracecut.tracer.depgraph.loops.", "tracecut.tracer.depgraph.totals"),
)


def is_seldom_compiled(kernel: Any, args: tuple[Any, ...]) -> bool:
    """Whether it runs as Python but in long tests."""
    if kernel.py_func is follow_records.py_func:
        return bool(args[3].src.dtype == np.int64)
    return bool(kernel.py_func.__module__.startswith(ROOMS))


class PlainRooms:
    """A plugin: from the first test on, what Python calls of these rooms is Python, but for tests that are long.

    Children that a test forks are as it is; programs that it starts compile what they need.
    """

    def __init__(self) -> None:
        self._compiled = CPUDispatcher.__call__
        self._long = False

    def pytest_collection_finish(self) -> None:
        compiled = self._compiled

        def call(kernel: Any, *args: Any, **options: Any) -> Any:
            if not self._long and is_seldom_compiled(kernel, args):
                return plain(kernel)(*args, **options)
            return compiled(kernel, *args, **options)

        CPUDispatcher.__call__ = call

    def pytest_unconfigure(self) -> None:
        CPUDispatcher.__call__ = self._compiled

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._long = item.get_closest_marker("long") is not None
