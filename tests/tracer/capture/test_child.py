"""What the capture of a loop is decided by before the memory of the program is looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tracecut.tracer.capture.snapshot import surely_fewer

from ..legality.test_evaluate import LIVES, ROWS, int32, setting

pytestmark = pytest.mark.quick


def test_live_values_may_tell_how_often_a_loop_runs() -> None:
    here = setting()
    assert surely_fewer(here.nest, here.lives, ROWS + 1)
    assert not surely_fewer(here.nest, here.lives, ROWS)
    assert not surely_fewer(here.nest, LIVES, ROWS + 1)


def test_a_number_of_iterations_in_memory_is_not_known_yet() -> None:
    here = setting()
    outer = here.nest.loops[0]
    assert outer.trip is not None
    begin, step, _ = outer.trip.args
    loaded = int32(here.pool, "%bound", 0x3000, here.pool.const(1))
    trip = here.pool.make("trip", outer.trip.data, (begin, step, loaded))
    nest = replace(here.nest, loops={**here.nest.loops, 0: replace(outer, trip=trip)})
    assert replace(here, nest=nest).evaluation().root_size() == 0
    assert not surely_fewer(nest, here.lives, 1)
