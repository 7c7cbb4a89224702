"""Ordered blocks: which of them meet, and that those that do run in different wavefronts."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.schedule.inspector.wavefronts import MAX_BLOCKS, meeting_blocks, wavefronts
from tracecut.codegen.schedule.reduce_modes import ORDERED

from ...checking import Subject, region_of

Touches = list[tuple[int, int]]


@given(st.integers(1, MAX_BLOCKS), st.lists(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 19))), max_size=3))
def test_blocks_that_meet_run_apart(count: int, arrays: list[Touches]) -> None:
    block = np.random.default_rng(count).integers(0, count, 100).astype(np.int32)
    columns = [np.array(pairs, np.int32).reshape(-1, 2).T.copy() for pairs in arrays]
    met = meeting_blocks(block, [([(a[:5], b[:5]), (a[5:], b[5:])], 20) for a, b in columns], count)
    expected = set()
    for pairs in arrays:
        for (job, record), (other, same) in itertools.product(pairs, pairs):
            if record == same and block[job] != block[other]:
                expected.add((int(block[job]), int(block[other])))
    found = {(a, b) for a in range(count) for b in range(count) if a != b and int(met[a]) >> b & 1}
    assert found == expected
    waves = wavefronts(met)
    assert all(waves[a] != waves[b] for a, b in expected)
    assert np.array_equal(np.unique(waves), np.arange(waves.max() + 1))
    most = max((sum(a == b for a, _ in expected) for b in range(count)), default=0)
    assert waves.max() <= most  # one more than the greatest degree is enough


def test_ordered_blocks_do_not_depend_on_threads(subject: Subject) -> None:
    """Blocks that meet run in wavefronts; where all meet in a small array, there are private slots."""
    for name, mark, waves, slots in (("pairs", "flagged", 6, 0), ("states", "members", 1, 1)):
        item = subject(name, mark)
        made = [region_of(item, item.schedule(item.random(3), threads, ORDERED)) for threads in (1, 2, 8)]
        assert (int(made[0].blocks.waves.max()) + 1, len(made[0].privates)) == (waves, slots)
        for other in made[1:]:
            assert np.array_equal(made[0].jobs, other.jobs) and made[0].privates == other.privates
            assert np.array_equal(made[0].blocks.bounds, other.blocks.bounds)
            assert np.array_equal(made[0].blocks.waves, other.blocks.waves)
