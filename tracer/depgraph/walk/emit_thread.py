"""Hands orders to `emit`: here and now, or on a thread of their own while the walk goes on."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from tracecut.tracer.depgraph.state.growable_array import Growing
from tracecut.tracer.depgraph.state.output import ADDRESSES, Output
from tracecut.tracer.depgraph.state.record_steps import Tables

from .emit import UPWARDS, emit, forms_of
from .resolve import N_RECORDS, Order, order_of
from .templates import templates_of

AHEAD = 3  # orders that wait or are written while the next one is filled


class Writer:
    """Writes the records of simple segments.

    Args:
        tables: of the module. threads: 1 writes in the calling thread, more on one other.
        arrays: of `Output`. They may only grow after `settle`.
    """

    def __init__(self, tables: Tables, threads: int, arrays: Mapping[str, Growing]) -> None:
        self.templates = templates_of(tables)
        self.order = order_of(self.templates)
        self._forms = forms_of(self.templates)
        self._tables, self._arrays = tables, arrays
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="tracecut-graph") if threads > 1 else None
        self._free: list[Order] = []
        self._under_way: deque[Future[Order]] = deque()

    def hand_over(self) -> None:
        """Have the order written, and go on with an empty one."""
        if self._pool is None:
            self._write(self.order)
            return
        while len(self._under_way) >= AHEAD:
            self._free.append(self._under_way.popleft().result())
        self._under_way.append(self._pool.submit(self._write, self.order))
        self.order = self._free.pop() if self._free else order_of(self.templates)

    def settle(self) -> None:
        """All that was followed is written when this returns."""
        if self.order.counts[N_RECORDS]:
            self.hand_over()
        while self._under_way:
            self._free.append(self._under_way.popleft().result())

    def _write(self, order: Order) -> Order:
        emit(order, self.templates, self._forms, self._tables.first, UPWARDS, output_of(self._arrays))
        order.counts[:] = 0
        return order


def output_of(arrays: Mapping[str, Growing]) -> Output:
    """Views of the arrays as they are now."""
    none = {name: np.zeros(0, dtype) for name, dtype in ADDRESSES.items()}
    return Output(**{**none, **{name: array.array for name, array in arrays.items()}})
