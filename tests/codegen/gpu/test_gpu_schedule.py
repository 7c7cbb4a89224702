"""GPU schedules: saved and loaded, in range, and looked at by the independent checker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.gpu.check_blocks import HalfStarts, LocalIndex, check_blocks
from tracecut.codegen.gpu.gpu_schedule import BlockData, GpuSchedule
from tracecut.support.errors import ArtefactError, ScheduleError

pytestmark = pytest.mark.quick


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def longs(*values: int) -> Any:
    return np.array(values, np.int64)


def schedule() -> GpuSchedule:
    """Five jobs in two blocks; data 0 and 1 are the first's, 3 the second's, 2 is touched by both."""
    data = BlockData(4, 5, longs(0, 3, 5), ints(0, 1, 2, 3, 2), ints(2, 1))
    return GpuSchedule(7, "rcm", 64, longs(0, 3, 5), (data,))


def indices() -> list[LocalIndex]:
    """What the jobs read: one index each; the fourth job has none."""
    return [LocalIndex(4, longs(0, 1, 2, 3, 4, 5), ints(0, 1, 2, -1, 2), longs(0, 1, 2, 77, 1))]


def pieces(**changes: Any) -> HalfStarts:
    """Where the pieces of the five jobs begin, the last ones behind 2¹⁶."""
    starts = longs(0, 7, 65530, 65534, 65540, 65600)
    return replace(HalfStarts(starts, starts % 65536, longs(0, 65534)), **changes)


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    made = schedule()
    found = GpuSchedule.load(made.save(tmp_path / "gpu.npz"))
    assert (found.region, found.method, found.threads, found.blocks) == (7, "rcm", 64, 2)
    assert found.bounds.tolist() == [0, 3, 5] and found.spaces[0].data.tolist() == [0, 1, 2, 3, 2]
    assert (found.spaces[0].space, found.spaces[0].size, found.spaces[0].most) == (4, 5, 3)
    assert "5 jobs in 2 blocks of 64 threads; at most 3 of 5 data" in repr(found)
    plain = GpuSchedule(0, "original", 16, longs(0, 4))
    assert GpuSchedule.load(plain.save(tmp_path / "plain.npz")).spaces == ()


DAMAGE = {
    "threads": (lambda s: replace(s, threads=8), "8 threads"),
    "bounds": (lambda s: replace(s, bounds=longs(0, 4, 3)), "below"),
    "blocks": (lambda s: replace(s, bounds=longs(0, 1, 3, 5)), "2 of 3 blocks"),
    "datum": (lambda s: with_space(s, data=ints(0, 1, 5, 3, 2)), "does not have"),
    "negative": (lambda s: with_space(s, data=ints(0, -1, 2, 3, 2)), "does not have"),
    "owned": (lambda s: with_space(s, owned=ints(4, 1)), "at most"),
    "offsets": (lambda s: with_space(s, offsets=longs(0, 3, 4)), "ends at 4"),
}


def with_space(made: GpuSchedule, **changes: Any) -> GpuSchedule:
    return replace(made, spaces=(replace(made.spaces[0], **changes),))


@pytest.mark.parametrize("name", DAMAGE)
def test_numbers_out_of_range_are_refused(name: str, tmp_path: Path) -> None:
    change, reason = DAMAGE[name]
    with pytest.raises(ScheduleError, match=reason):
        change(schedule()).verify()
    with pytest.raises(ArtefactError, match="not a valid GPU schedule"):
        GpuSchedule.load(change(schedule()).save(tmp_path / "gpu.npz"))


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = schedule().save(tmp_path / "gpu.npz")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ArtefactError):
        GpuSchedule.load(path)


def test_the_checker_accepts_a_sound_schedule() -> None:
    check_blocks(schedule(), 5, indices(), [pieces(), pieces(starts=pieces().starts[:5], halves=pieces().halves[:5])])
    check_blocks(GpuSchedule(0, "original", 16, longs(0)), 0, [])


FAULTS = {
    "a job left out": (lambda s, i: (s, 6, i), "each of its 6 iterations once"),
    "a datum kept twice": (lambda s, i: (with_space(s, data=ints(0, 0, 2, 3, 2)), 5, i), "keeps a datum twice"),
    "a shared datum owned": (lambda s, i: (with_space(s, owned=ints(3, 1)), 5, i), "share a datum"),
    "the wrong datum": (lambda s, i: (s, 5, [replace(i[0], local=longs(1, 1, 2, 77, 1))]), "wrong datum"),
    "a number too large": (lambda s, i: (s, 5, [replace(i[0], local=longs(3, 1, 2, 77, 1))]), "does not have"),
    "a negative number": (lambda s, i: (s, 5, [replace(i[0], local=longs(-1, 1, 2, 77, 1))]), "does not have"),
    "the other block's number": (lambda s, i: (s, 5, [replace(i[0], local=longs(0, 1, 2, 77, 0))]), "wrong datum"),
    "records backwards": (lambda s, i: (s, 5, [replace(i[0], records=longs(0, 1, 2, 6, 4, 5))]), "one after the other"),
    "records behind the end": (lambda s, i: (s, 5, [replace(i[0], records=longs(0, 1, 2, 3, 4, 9))]), "one after"),
    "data of another space": (lambda s, i: (s, 5, [replace(i[0], space=3)]), "no block keeps"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_checker_finds_planted_faults(name: str) -> None:
    change, reason = FAULTS[name]
    with pytest.raises(ScheduleError, match=reason):
        check_blocks(*change(schedule(), indices()))


def test_the_checker_finds_data_that_are_owned_though_others_reduce_into_them() -> None:
    with pytest.raises(ScheduleError, match="owns a datum that jobs reduce into elsewhere"):
        check_blocks(schedule(), 5, indices(), (), {schedule().spaces[0].space})
    check_blocks(with_space(schedule(), owned=ints(0, 0)), 5, indices(), (), {schedule().spaces[0].space})


STARTS: dict[str, tuple[dict[str, Any], str]] = {
    "another half": ({"halves": longs(0, 7, 65530, 65534, 5, 64)}, "wrong records"),
    "the last end": ({"halves": longs(0, 7, 65530, 65534, 4, 65)}, "wrong records"),
    "another first start": ({"begins": longs(0, 65541)}, "wrong records"),
    "a block too long": ({"begins": longs(0, 0)}, "wrong records"),
    "too few first starts": ({"begins": longs(0)}, "a first start each"),
    "too few starts": ({"starts": longs(0, 7), "halves": longs(0, 7)}, "a start each"),
    "too few halves": ({"halves": longs(0, 7)}, "a start each"),
}


@pytest.mark.parametrize("name", STARTS)
def test_the_checker_finds_wrong_starts(name: str) -> None:
    changes, reason = STARTS[name]
    with pytest.raises(ScheduleError, match=reason):
        check_blocks(schedule(), 5, indices(), [pieces(**changes)])
