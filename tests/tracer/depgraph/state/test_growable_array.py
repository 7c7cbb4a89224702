"""Arrays that grow without a copy, and with one where somebody looks at them."""

from __future__ import annotations

import errno
import mmap

import numpy as np
import pytest
from tracecut.tracer.depgraph.state.growable_array import FEWEST, Growing

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("watched", [False, True])
def test_what_was_written_stays(dense: bool, watched: bool) -> None:
    growing = Growing(np.int64, dense=dense)
    growing.array[:] = np.arange(FEWEST)
    view = growing.array[5:] if watched else None
    growing.reserve(3 * FEWEST)
    assert growing.array.size == growing.capacity == 3 * FEWEST
    np.testing.assert_array_equal(growing.array[:FEWEST], np.arange(FEWEST))
    assert not growing.array[FEWEST:].any()
    growing.array[7] = -1
    assert view is None or view[2] == 7, "the view is of what it was"
    other = growing.array[:1] if watched else None
    taken = growing.taken(10)
    assert taken.tolist() == [0, 1, 2, 3, 4, 5, 6, -1, 8, 9]
    assert other is None or other[0] == 0


def test_no_room_is_an_error_of_memory() -> None:
    growing = Growing(np.int64)
    with pytest.raises(MemoryError, match="bytes for the graph"):
        growing.reserve(1 << 58)
    with pytest.raises(MemoryError, match="bytes for the graph"):
        Growing(np.int64, 1 << 58)


def test_a_kernel_without_large_pages_has_the_array_on_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(mmap.mmap):
        def madvise(self, option: int, start: int = 0, length: int = 0) -> None:
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Refusing)
    growing = Growing(np.int64, dense=True)
    growing.array[:] = 1
    assert growing.array.sum() == FEWEST
