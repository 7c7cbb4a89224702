"""The stages of machines against means over all pairs of cores."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.joint.core_regions import SCALE, stages

pytestmark = pytest.mark.quick


def slow_table(distances: np.ndarray, region_of: np.ndarray) -> np.ndarray:
    count = int(region_of.max()) + 1
    cores = [np.flatnonzero(region_of == region) for region in range(count)]
    means = np.array([[np.mean([[distances[a, b] for b in other] for a in one]) for other in cores] for one in cores])
    inside = np.diag(means)
    found = np.maximum(0, np.rint(SCALE * (means - (inside[:, None] + inside[None, :]) / 2)))
    np.fill_diagonal(found, 0)
    return found


@pytest.mark.parametrize("word", ["mesh:4x4", "mesh:5x3", "mesh:7x1", "mesh:8x8", "tree:2x3@10,1", "uma:5"])
def test_distances_between_regions(word: str) -> None:
    machine = Machine.named(word)
    distances = machine.distances()
    found = stages(machine, distances)
    above = np.zeros(len(machine.cores), np.int64)
    for stage in found:
        assert stage.parent[stage.region_of].tolist() == above.tolist()
        assert np.bincount(stage.parent).max() <= 2
        above = stage.region_of.astype(np.int64)
        if stage is found[-1]:
            order = np.argsort(stage.region_of)
            assert stage.table.tolist() == distances[np.ix_(order, order)].tolist()
        else:
            assert np.abs(stage.table - slow_table(distances, stage.region_of)).max() <= 1  # roundings of halves
    assert np.bincount(above).tolist() == [1] * len(machine.cores)


def test_a_mesh_is_halved_across_its_longer_side() -> None:
    machine = Machine.mesh(8, 4)
    x = np.arange(32) % 8
    first, second = stages(machine, machine.distances())[:2]
    assert first.region_of.tolist() == (x >= 4).tolist()
    assert [np.flatnonzero(second.region_of == region).size for region in range(4)] == [8] * 4
    assert stages(Machine.mesh(1, 1), Machine.mesh(1, 1).distances()) == []
