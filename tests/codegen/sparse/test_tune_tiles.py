"""The tuning of tile-composite: tables by shape, shares of x, Algorithms 1 to 3 beside slow ones, what is chosen."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.formats.csr_vector import CsrVector
from tracecut.codegen.sparse.formats.tile_composite import TileComposite
from tracecut.codegen.sparse.on_gpu import measure_shapes, shape_table
from tracecut.codegen.sparse.on_gpu.kernels import active_warps, launches
from tracecut.codegen.sparse.on_gpu.lane_walks import modelled
from tracecut.codegen.sparse.on_gpu.shape_table import (
    L2,
    MEMORY,
    NEAR,
    ShapeTable,
    read_table,
    shape_of_speeds,
    shapes,
    write_table,
)
from tracecut.codegen.sparse.on_gpu.tune_tiles import (
    predicted_formats,
    predicted_seconds,
    seconds_of,
    tile_width,
    try_tiles,
    tune_tiles,
    workload_sizes,
)
from tracecut.codegen.sparse.on_gpu.x_shares import misses, x_shares
from tracecut.ir.gpu.description import Gpu, gpu
from tracecut.support.errors import ArgumentError, OutputError

pytestmark = pytest.mark.quick

H200 = gpu("h200")
# A small card: 2 multiprocessors of 8 warps, tiles of 512 fp32 columns.
SMALL = replace(
    H200,
    multiprocessors=2,
    carveouts=(),
    l1_size=2 << 10,
    l2_size=64 << 10,
    l1_ways=4,
    max_warps=8,
    max_threads=256,
    max_block_threads=256,
    l2_bandwidth=H200.l2_bandwidth / 66,
    hbm_bandwidth=H200.hbm_bandwidth / 66,
    launch_overhead=1e-7,
)


@cache
def small_table() -> ShapeTable:
    """Of workloads up to 1024 slots, which takes little time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shape_table, "LARGEST", 1024)
        return measure_shapes.measure_shapes(SMALL)


def made_table(speed: Any = 1e9, alone: float = 1e-9) -> ShapeTable:
    """Speeds by a function of x, lines and warps, or all the same."""
    grids = [np.full(shape_of_speeds(), np.nan) for _ in range(2)]
    for row_major, across, along in shapes():
        for where in (NEAR, L2, MEMORY):
            place = (int(row_major), where, across, along)
            grids[0][place] = speed(where, across, along) if callable(speed) else speed
            grids[1][place] = alone
    return ShapeTable("made", 4, *grids, launch=1e-6, source="made")


def power_law(rows: int = 4096, entries: int = 20_000, skew: float = 2.2) -> Csr:
    draw = np.random.default_rng(4)
    u, v = ((rows * draw.random(entries) ** skew).astype(np.int64) for _ in range(2))
    key = np.unique(draw.permutation(rows)[u] * rows + draw.permutation(rows)[v])
    offsets = np.searchsorted(key, rows * np.arange(rows + 1)).astype(np.int32)
    return Csr(offsets, (key % rows).astype(np.int32), np.ones(key.size, np.float32), (rows, rows))


def test_shapes_are_those_of_the_seed() -> None:
    """One side is whole warps, the longer one is along the memory, and none has more than 32,768 slots."""
    found = shapes()
    assert len(set(found)) == len(found)
    sizes = {(kind, 1 << across, 32 << along) for kind, across, along in found}
    assert all(across * along <= 32_768 for _, across, along in sizes)
    assert all(across <= along if kind else across < along for kind, across, along in sizes)
    assert {(True, 32, 32), (True, 1, 32_768), (True, 128, 256), (False, 1, 32_768), (False, 16, 32)} <= sizes


def test_speeds_are_measured_and_interpolated() -> None:
    table = small_table()
    near, l2, memory = (table.performance([128], [4], [True], shares)[0] for shares in np.eye(3).tolist())
    assert near > l2 > memory > 0
    half = table.performance([128], [4], [True], (0.5, 0.0, 0.5))[0]
    assert half == pytest.approx(2 / (1 / near + 1 / memory)), "slots with either take their time one after the other"
    rising = made_table(lambda where, across, along: 1e9 * 2.0**along)
    assert rising.performance([32, 64, 96, 1 << 20], [1, 3, 2, 1], [True] * 4, (1.0, 0.0, 0.0)) == pytest.approx(
        [1e9, 2e9, 3e9, 1024e9]
    )
    assert made_table(alone=1e-6).waiting([32_768, 65_536], [1, 2], [True, True], (0, 1.0, 0)) == pytest.approx(
        [1e-6, 4e-6]
    )


def test_tables_are_kept_and_those_of_other_cards_are_not_used(tmp_path: Path) -> None:
    path, table = tmp_path / "table.json", made_table()
    write_table(path, table, SMALL)
    found = read_table(path, SMALL, 4)
    assert found is not None
    np.testing.assert_array_equal(found.speeds, table.speeds)
    assert found.launch == table.launch
    assert read_table(path, H200, 4) is None and read_table(path, SMALL, 8) is None
    whole = json.loads(path.read_text())
    odd = json.loads(path.read_text())
    odd["speeds"][0][0][0][0] = None
    for other in ({**whole, "version": 0}, {**whole, "speeds": []}, odd, {**whole, "alone": whole["speeds"]}, [1], {}):
        path.write_text(json.dumps(other))
        assert read_table(path, SMALL, 4) is None, other
    path.write_text("{")
    assert read_table(path, SMALL, 4) is None and read_table(tmp_path / "none", SMALL, 4) is None
    with pytest.raises(OutputError, match="does not hold"):
        write_table(path, replace(table, speeds=table.speeds[:1]), SMALL)


def test_a_table_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Gpu] = []

    def made(card: Gpu, size: int, said: Any) -> ShapeTable:
        calls.append(card)
        return made_table()

    monkeypatch.setattr(measure_shapes, "measure_shapes", made)
    monkeypatch.setattr(measure_shapes, "table_path", lambda card, size: tmp_path / f"{card.multiprocessors}.json")
    for card in (SMALL, SMALL, replace(SMALL, multiprocessors=3), SMALL):
        measure_shapes.known_table(card)
    assert [card.multiprocessors for card in calls] == [2, 3]
    with pytest.raises(ArgumentError, match="size is 3"):
        measure_shapes.known_table(SMALL, 3)


@given(st.integers(5, 60), st.integers(1, 3), st.integers(0, 99))
def test_misses_beside_a_cache(lines: int, skew: int, seed: int) -> None:
    """A fully associative cache of least recent use, on independent reads: within 5 % of all reads."""
    draw = np.random.default_rng(seed)
    rates = (np.arange(50) + 1.0) ** -skew
    rates /= rates.sum()
    reads, held, missed = draw.choice(50, 3000, p=rates).tolist(), dict[int, None](), 0
    for each in reads:
        missed += each not in held
        held.pop(each, None)
        held[each] = None
        if len(held) > lines:
            del held[next(iter(held))]
    assert misses(rates, 3000, lines) == pytest.approx(missed, abs=0.05 * 3000)
    assert misses(rates, 3000, 0) == 3000


def test_shares_of_x() -> None:
    assert x_shares(np.zeros(8, int), 4, SMALL) == (1.0, 0.0, 0.0)
    near, l2, memory = x_shares(np.full(256, 1000), 4, SMALL)
    assert near > 0.99, "1 KiB fits into 2 KiB"
    near, l2, memory = x_shares(np.full(8192, 1000), 4, SMALL)
    assert near < 0.1 and l2 > 0.9 and memory < 0.001, "32 KiB fit into the L2 of 64 KiB alone"
    near, l2, memory = x_shares(np.full(1 << 20, 10), 4, SMALL)
    assert near + l2 < 0.05 and near + l2 + memory == pytest.approx(1)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=300), st.integers(1, 20))
def test_workloads_that_are_tried(found: list[int], warps: int) -> None:
    lengths = np.array(sorted(found, reverse=True))
    sizes = workload_sizes(lengths, warps)
    assert sizes == sorted(set(sizes))
    own = [size for size in sizes if size >= lengths[0]]
    assert own[0] == lengths[0] and all(size % lengths[0] == 0 for size in own)
    assert own[-1] <= max(lengths[0], lengths.sum() // warps)
    if lengths.sum() // warps // lengths[0] <= 24:
        assert len(own) == max(1, lengths.sum() // warps // lengths[0])
    assert all(size & (size - 1) == 0 for size in sizes if size < lengths[0])


def slow_prediction(lengths: list[int], workload: int, table: ShapeTable, card: Gpu) -> float:
    """Algorithm 3 line by line, for a table whose speed is the same wherever x is."""
    most = card.multiprocessors * card.max_warps
    performance: dict[int, list[float]] = {}
    size: dict[int, int] = {}
    row = warp = 0
    while row < len(lengths):
        w = lengths[row]
        h = min(max(1, workload // w), len(lengths) - row)
        row += h
        row_major = w >= h
        if row_major:
            w = -(-w // 32) * 32
        else:
            h = -(-h // 32) * 32
        iteration = warp // most
        speed = float(table.performance([max(w, h)], [min(w, h)], [row_major], (1.0, 0.0, 0.0))[0])
        performance.setdefault(iteration, []).append(speed)
        size[iteration] = size.get(iteration, 0) + w * h
        warp += 1
    return sum(size[i] / (sum(performance[i]) / len(performance[i])) for i in size)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=200), st.integers(1, 2000))
def test_algorithm_3_line_by_line(found: list[int], workload: int) -> None:
    lengths = sorted(found, reverse=True)
    table = made_table(lambda where, across, along: 1e9 * (1 + across + 3 * along), alone=1e-15)
    own = predicted_seconds(np.array(lengths), workload, table, (1.0, 0.0, 0.0), SMALL)
    assert own == pytest.approx(slow_prediction(lengths, workload, table, SMALL), rel=1e-3)


def test_few_warps_wait() -> None:
    """One block on one of two multiprocessors: its warps wait alone, four at a time."""
    table = made_table(1e15, alone=1e-3)
    one = seconds_of(np.full(8, 32), np.ones(8, int), np.ones(8, bool), table, (1.0, 0, 0), SMALL)
    assert one == pytest.approx(8 * 1e-3 / 4, rel=0.2)
    assert seconds_of(np.zeros(0, int), np.zeros(0, int), np.zeros(0, bool), table, (1.0, 0, 0), SMALL) == 0


def test_widths_and_warps_are_the_cards() -> None:
    seeds = replace(gpu("c1060"), l2_size=256 << 10, l2_bandwidth=1e12)
    assert (tile_width(seeds, 4), active_warps(seeds)) == (65_536, 960)
    assert (tile_width(H200, 4), tile_width(H200, 8), active_warps(H200)) == (65_536, 32_768, 8448)
    assert tile_width(gpu("c1060"), 4) == 2048


def test_the_choice_is_near_the_best_and_predicted() -> None:
    """On a small card: within 3 % of exhaustive search after a few trials, predicted within 30 %."""
    matrix = power_law()
    choice = tune_tiles(matrix, SMALL, small_table())
    assert 0 <= choice.tiles <= choice.seed_tiles == len(choice.by_tiles) - 1
    assert choice.seconds == min(choice.by_tiles)

    def seconds(tiles: int, workload: Any) -> float:
        made = TileComposite.of(matrix, choice.width, workload=workload, most=tiles)
        return modelled(launches(made, SMALL), SMALL, 4).seconds

    own = seconds(choice.tiles, choice.workloads)
    best = min(seconds(tiles, 32 << power) for tiles in range(choice.seed_tiles + 1) for power in range(6))
    worst = max(seconds(choice.tiles, 32 << power) for power in range(10))
    assert own < 1.3 * best < worst
    assert choice.seconds == pytest.approx(own, rel=0.3)
    tried = try_tiles(matrix, SMALL, choice)
    assert seconds(tried.tiles, tried.workloads) <= 1.03 * best
    assert tried.seconds == pytest.approx(seconds(tried.tiles, tried.workloads), rel=0.01)


def test_formats_are_special_cases() -> None:
    """Rows of 64 entries are best for CSR-vector; its prediction is that of the modelled kernel, within 30 %."""
    rows = 2048
    draw = np.random.default_rng(1)
    columns = draw.integers(0, 4096, 64 * rows).astype(np.int32)
    matrix = Csr(np.arange(0, 64 * rows + 1, 64, dtype=np.int32), columns, np.ones(64 * rows, np.float32), (rows, 4096))
    found = predicted_formats(matrix, SMALL, small_table())
    made = modelled(launches(CsrVector.of(matrix), SMALL), SMALL, 4).seconds
    assert found["csr-vector"] == pytest.approx(made, rel=0.3)
    assert set(found) == {"tile-composite", "csr-vector", "ell"}
    hub = Csr(np.array([0, 4000, *range(4001, 5000)]), np.zeros(4999, int), np.ones(4999), (1000, 5000))
    assert "ell" not in predicted_formats(hub, SMALL, small_table())


def test_matrices_without_entries() -> None:
    empty = Csr(np.zeros(4, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32), (3, 5))
    choice = tune_tiles(empty, SMALL, made_table())
    assert (choice.tiles, choice.workloads, choice.seconds) == (0, (), 0.0)
    assert try_tiles(empty, SMALL, choice) == choice
    with pytest.raises(ArgumentError, match="width"):
        tune_tiles(empty, SMALL, made_table(), 0)
