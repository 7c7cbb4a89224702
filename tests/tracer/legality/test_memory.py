"""The bytes of many objects in one piece, compared with a dictionary of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.tracer.legality.evaluation.contents import Contents, Packed, bytes_kept, let_go
from tracecut.tracer.legality.evaluation.memory import HEAP, Memory, Object

pytestmark = pytest.mark.quick

SIZES = st.dictionaries(st.integers(0, 20).map(lambda place: 100 * place), st.integers(0, 9), max_size=12)


def filled(sizes: dict[int, int], first: int) -> dict[int, npt.NDArray[np.uint8]]:
    return {base: np.arange(first, first + size, dtype=np.uint8) + base % 89 for base, size in sizes.items()}


@given(SIZES, SIZES, st.sets(st.integers(0, 20).map(lambda place: 100 * place)))
def test_some_objects_in_place_of_others(rest: dict[int, int], own: dict[int, int], hidden: set[int]) -> None:
    packed = Packed.of(filled(rest, 0))
    expected = {base: data for base, data in filled(rest, 0).items() if base not in hidden} | filled(own, 100)
    contents = Contents(filled(own, 100), packed, hidden)
    made = Packed.of(contents)
    assert made.bases.tolist() == sorted(expected)
    assert {base: data.tolist() for base, data in made.items()} == {
        base: data.tolist() for base, data in expected.items()
    }
    assert made.data.size == sum(data.size for data in expected.values()) == bytes_kept(made) == bytes_kept(contents)
    assert bytes_kept(dict(expected)) == bytes_kept(made)


@given(SIZES, st.data(), SIZES)
def test_what_was_left_out_is_not_counted(rest: dict[int, int], data: st.DataObject, own: dict[int, int]) -> None:
    packed = Packed.of(filled(rest, 0))
    gone = data.draw(st.sets(st.sampled_from(sorted(rest)))) if rest else set()
    left = packed.without(np.array(sorted(gone), np.int64))
    expected = {base: found for base, found in filled(rest, 0).items() if base not in gone}
    assert {base: found.tolist() for base, found in left.items()} == {
        base: found.tolist() for base, found in expected.items()
    }
    assert bytes_kept(left) == sum(found.size for found in expected.values())
    both = expected | filled(own, 100)
    assert bytes_kept(Contents(filled(own, 100), left)) == sum(found.size for found in both.values())


@pytest.mark.parametrize("count", [1, 1 << 9])
def test_addresses_at_the_end_of_all_memory_lead_nowhere(count: int) -> None:
    """None of them wraps around on the way, however many are asked for together."""
    objects = [Object(1 << 40, 16, HEAP), Object(1 << 41, 3, HEAP)]
    bases = np.array([item.base for item in objects], np.int64)
    memory = Memory(objects, Packed(bases, np.array([0, 16]), np.array([16, 3]), np.arange(19, dtype=np.uint8)))
    last = np.iinfo(np.int64).max
    asked = np.array([last, last - 7, -last - 1, 1 << 41, (1 << 40) + 9, (1 << 40) + 8] * count, np.int64)
    values, ok = memory.gather(asked, "i64")
    assert ok.tolist() == [False, False, False, False, False, True] * count
    assert values[5::6].tolist() == [int.from_bytes(bytes(range(8, 16)), "little")] * count
    assert not values[~ok].any()


def test_bytes_in_a_file_are_let_go_and_read_again(tmp_path: Path) -> None:
    """Those that lie nowhere else stay."""
    kept = np.arange(1 << 16, dtype=np.uint8)
    kept.tofile(tmp_path / "kept")
    where = np.array([100], np.int64), np.zeros(1, np.int64), np.array([kept.size], np.int64)
    for data in (np.asarray(np.memmap(tmp_path / "kept", np.uint8, "r")), kept.copy()):
        for contents in (Packed(*where, data), Contents({}, Packed(*where, data)), {100: data}):
            let_go(contents)
            assert np.array_equal(contents[100], kept)
