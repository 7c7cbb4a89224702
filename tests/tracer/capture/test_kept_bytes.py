"""Bytes that captures keep: each version of an object once, and each as it was."""

from __future__ import annotations

import os
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tracecut.tracer.capture.kept_bytes import ALIGNED, SMALL, KeptBytes
from tracecut.tracer.runtime.binding import support

pytestmark = pytest.mark.quick


class Pieces:
    """A stretch of memory that objects lie in."""

    def __init__(self, size: int) -> None:
        self.data = np.random.default_rng(3).integers(0, 256, size).astype(np.uint8)
        self.base = self.data.ctypes.data

    def keep(self, kept: KeptBytes, pieces: list[tuple[int, int]]) -> list[int]:
        starts = np.array([start for start, _ in pieces], np.int64) + self.base
        return kept.keep(starts, np.array([size for _, size in pieces], np.int64), starts).tolist()


def made(folder: Path) -> KeptBytes:
    return KeptBytes(folder, support().library)


LARGE = [(0, 10), (64, SMALL), (SMALL + 100, 3 * SMALL)]


def test_what_did_not_change_is_written_once(tmp_path: Path) -> None:
    kept, memory = made(tmp_path), Pieces(4 * SMALL + 200)
    first = memory.keep(kept, LARGE)
    size = kept.path.stat().st_size
    assert size == sum(size for _, size in LARGE) + (-10) % ALIGNED
    assert memory.keep(kept, LARGE) == first and kept.path.stat().st_size == size
    memory.data[SMALL + 100 + 2 * SMALL] ^= 1  # one byte of the last one
    again = memory.keep(kept, LARGE)
    assert again[:2] == first[:2] and again[2] == size
    assert kept.path.stat().st_size == size + 3 * SMALL
    assert memory.keep(kept, LARGE[1:]) == again[1:]


def test_another_object_at_the_same_place_is_another_one(tmp_path: Path) -> None:
    kept, memory = made(tmp_path), Pieces(100)
    first = memory.keep(kept, [(0, 50), (60, 10)])
    second = memory.keep(kept, [(0, 40), (40, 20)])
    whole = kept.path.read_bytes()
    assert not {*first} & {*second}
    for start, at, size in zip((0, 40), second, (40, 20), strict=True):
        assert whole[at : at + size] == memory.data[start : start + size].tobytes()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_each_capture_finds_its_bytes(tmp_path: Path, data: st.DataObject) -> None:
    """However objects come, go, grow and change between captures."""
    kept, memory, seen = made(tmp_path), Pieces(60), []
    for _ in range(data.draw(st.integers(1, 6))):
        cuts = sorted(data.draw(st.sets(st.integers(0, 60), min_size=2, max_size=12)))
        pieces = [(low, high - low) for low, high in pairwise(cuts) if data.draw(st.booleans())]
        for place in data.draw(st.lists(st.integers(0, 59), max_size=4)):
            memory.data[place] += 1
        starts = memory.keep(kept, pieces)
        expected = [memory.data[low : low + size].tobytes() for low, size in pieces]
        seen += [(at, bytes_) for at, bytes_ in zip(starts, expected, strict=True)]
    whole = kept.path.read_bytes() if kept.path.exists() else b""
    for at, expected_bytes in seen:
        assert whole[at : at + len(expected_bytes)] == expected_bytes
    kept.path.unlink(missing_ok=True)


def test_a_disk_that_is_full_leaves_what_was_kept(tmp_path: Path) -> None:
    import resource

    kept, memory = made(tmp_path), Pieces(4 * SMALL + 200)
    first = memory.keep(kept, LARGE[:2])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * SMALL, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            memory.keep(kept, LARGE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert memory.keep(kept, LARGE[:2]) == first
    third = memory.keep(kept, LARGE)
    whole = kept.path.read_bytes()
    for (low, size), at in zip(LARGE, third, strict=True):
        assert whole[at : at + size] == memory.data[low : low + size].tobytes()


def test_a_forked_process_writes_a_file_of_its_own(tmp_path: Path) -> None:
    kept, memory = made(tmp_path), Pieces(100)
    first = memory.keep(kept, [(0, 50)])
    parent = kept.path
    child = os.fork()
    if not child:
        memory.data[0] += 1
        fine = memory.keep(kept, [(0, 50)]) == [0] and kept.path != parent
        os._exit(0 if fine and kept.path.read_bytes() == memory.data[:50].tobytes() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert memory.keep(kept, [(0, 50)]) == first and parent.stat().st_size == 50


def test_threads_do_not_write_over_each_other(tmp_path: Path) -> None:
    kept, memory = made(tmp_path), Pieces(64 * SMALL)
    found: dict[int, list[int]] = {}

    def keep(number: int) -> None:
        for step in range(8):
            found[8 * number + step] = memory.keep(kept, [((8 * number + step) * SMALL, SMALL - 1)])

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = kept.path.read_bytes()
    assert len(found) == 64
    for place, (at,) in found.items():
        assert whole[at : at + SMALL - 1] == memory.data[place * SMALL : (place + 1) * SMALL - 1].tobytes()
