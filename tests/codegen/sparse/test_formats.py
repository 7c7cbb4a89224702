"""Storage formats: there and back entry by entry, products, bytes and padding; Fig. 1 of TileSpMV."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.formats.coo import Coo
from tracecut.codegen.sparse.formats.dia import Dia
from tracecut.codegen.sparse.formats.ell import Ell, Hyb, hyb_width
from tracecut.codegen.sparse.formats.slots import Format
from tracecut.codegen.sparse.formats.tile_composite import TileComposite, rectangles
from tracecut.codegen.sparse.formats.tile_coo import TileCoo
from tracecut.codegen.sparse.formats.tiles import tiles_of, tiling
from tracecut.support.errors import ArgumentError

from .matrices import dense, matrices, same_entries, whole_numbers

pytestmark = pytest.mark.quick

MAKERS: dict[str, Callable[[Csr], Format]] = {
    "coo": Coo.of,
    "ell": Ell.of,
    "hyb": Hyb.of,
    "hyb, 2 wide": lambda matrix: Hyb.of(matrix, 2),
    "dia": Dia.of,
    "tile-coo": lambda matrix: TileCoo.of(matrix, 3),
    "tile-composite": lambda matrix: TileComposite.of(matrix, 3),
    "tile-composite, small warps": lambda matrix: TileComposite.of(matrix, 2, workload=6, warp=2, camping=True),
}


@given(matrices(), st.sampled_from(sorted(MAKERS)))
def test_there_and_back_and_products(matrix: Csr, name: str) -> None:
    made = MAKERS[name](matrix)
    assert same_entries(made.to_csr(), matrix)
    x = whole_numbers(matrix, matrix.shape[1])
    np.testing.assert_array_equal(made.times(x), dense(matrix) @ x)
    assert made.padding >= 1
    assert made.bytes >= matrix.entries * matrix.values.itemsize
    with pytest.raises(ArgumentError, match="x has the shape"):
        made.times(np.ones(matrix.shape[1] + 1))


@given(st.integers(0, 100), st.sampled_from(sorted(MAKERS)))
def test_larger_matrices(seed: int, name: str) -> None:
    random = np.random.default_rng(seed)
    columns = np.minimum(random.zipf(1.5, 3000) - 1, 199)
    matrix = Csr.of(sp.coo_array((random.random(3000), (random.integers(0, 150, 3000), columns)), shape=(150, 200)))
    made = MAKERS[name](matrix)
    assert same_entries(made.to_csr(), matrix)
    x = random.random(200)
    np.testing.assert_allclose(made.times(x), matrix.to_scipy() @ x)


def small() -> Csr:
    return Csr.of(np.array([[1.0, 2, 0, 0], [0, 3, 0, 4], [5, 6, 7, 8]]))


def test_bytes_and_padding_by_hand() -> None:
    coo = Coo.of(small())
    assert (coo.bytes, coo.padding) == (32 * 16, 4.0)
    ell = Ell.of(small())
    assert ell.columns.tolist() == [[0, 1, 0], [1, 3, 1], [-1, -1, 2], [-1, -1, 3]]
    assert (ell.bytes, ell.padding) == (12 * 12, 1.5)
    hyb = Hyb.of(small(), 2)
    assert hyb.coo.columns.tolist() == [2, 3]
    assert (hyb.bytes, hyb.padding) == (6 * 12 + 32 * 16, 38 / 8)
    dia = Dia.of(small())
    assert dia.offsets.tolist() == [-2, -1, 0, 1, 2]
    assert dia.values[2].tolist() == [1, 3, 7]
    assert (dia.bytes, dia.padding) == (5 * 4 + 15 * 8, 15 / 8)


def test_width_of_hyb() -> None:
    """The most entries of a row that a third of the rows have, and 4096 at least."""
    assert hyb_width(np.repeat([1, 3, 9], [6000, 5000, 4000])) == 3
    assert hyb_width(np.repeat([1, 3], [8000, 4096])) == 3
    assert hyb_width(np.repeat([1, 3], [8000, 4095])) == 1
    assert hyb_width(np.full(4095, 7)) == 0
    assert hyb_width(np.zeros(9000, int)) == 0


def test_places_that_are_stored_twice_have_two_diagonals() -> None:
    matrix = Csr(np.array([0, 3]), np.array([1, 0, 1]), np.array([1.0, 2, 3]), (1, 2))
    dia = Dia.of(matrix)
    assert dia.offsets.tolist() == [0, 1, 1]
    assert dia.times([1, 10]).tolist() == [42]
    assert same_entries(dia.to_csr(), matrix)


# As TileSpMV's Fig. 1 is described: columns of two entries and more make the denser part, tiles are two columns wide,
# warps have two threads, workloads four entries. Tile 0 has four rows of two entries and four of one.
FIGURE_1 = """
    . X . X . . . .
    . X . X . X . .
    . X . X X . . .
    . . X X . . . .
    . X . X . X . .
    X . . X . X . .
    X X . . . . . X
    . . . X . . X .
"""


def figure_1() -> Csr:
    cells = [line.split() for line in FIGURE_1.strip().splitlines()]
    return Csr.of(sp.csr_array(np.array([[cell == "X" for cell in line] for line in cells], float)))


def listing(matrix: Csr) -> str:
    """The composite storage of a matrix of ones, as Fig. 1 draws it."""
    made = TileComposite.of(matrix, 2, workload=4, warp=2)
    lines = [f"columns by length: {made.tiling.columns.tolist()}, {made.tiling.dense} dense tiles"]
    for number, tile in enumerate(made.tiles):
        starts, ends = made.tiling.starts[number : number + 2]
        lines.append(f"tile {number}: columns {made.tiling.columns[starts:ends].tolist()}")
        row = 0
        for warp, height in enumerate(tile.height.tolist()):
            slots = slice(*tile.starts[warp : warp + 2])
            how = "row-major" if tile.row_major[warp] else "column-major"
            cells = [
                "." if column < 0 else f"{line},{column}"
                for line, column in zip(tile.row_of_slots()[slots], tile.columns[slots], strict=True)
            ]
            rows = tile.rows[row : row + height].tolist()
            lines.append(f"  warp {warp}: rows {rows}, {tile.width[warp]} x {height} {how}: {' '.join(cells)}")
            row += height
    return "\n".join(lines) + "\n"


def test_figure_1(golden: Callable[[str, str], None]) -> None:
    golden("tile-composite.txt", listing(figure_1()))


def test_figure_1_by_hand() -> None:
    """What the text says of tile 0: two warps by rows, each with two of two entries, one by columns of four of one."""
    tile = TileComposite.of(figure_1(), 2, workload=4, warp=2).tiles[0]
    assert list(zip(tile.width.tolist(), tile.height.tolist(), tile.row_major.tolist(), strict=True)) == [
        (2, 2, True),
        (2, 2, True),
        (1, 4, False),
    ]


def test_tiles_end_at_columns_of_one_entry() -> None:
    lengths = [5, 4, 3, 2, 2, 1, 1, 1, 0]
    rows = np.concatenate([np.arange(length) for length in lengths])
    matrix = Csr.of(sp.coo_array((np.ones(rows.size), (rows, np.repeat(np.arange(9), lengths))), shape=(5, 9)))
    assert [tiling(matrix, width).starts.tolist() for width in (1, 2, 3, 4, 100)] == [
        [0, 1, 2, 3, 4, 5, 9],
        [0, 2, 4, 6, 9],
        [0, 3, 6, 9],
        [0, 4, 8],
        [0, 9],
    ]
    assert [tiling(matrix, width).dense for width in (1, 2, 3, 4, 100)] == [5, 3, 2, 2, 1]
    diagonal = tiling(Csr.of(sp.eye_array(4)), 2)
    assert (diagonal.dense, diagonal.starts.tolist()) == (0, [0, 4])
    assert tiling(Csr.of(sp.csr_array((3, 4)))).starts.tolist() == [0]


@given(matrices(), st.integers(1, 4))
def test_rows_of_a_tile_by_falling_length(matrix: Csr, width: int) -> None:
    cut = tiling(matrix, width)
    seen: list[int] = []
    for number, tile in enumerate(tiles_of(matrix, cut)):
        own = set(cut.columns[cut.starts[number] : cut.starts[number + 1]].tolist())
        assert set(tile.columns.tolist()) <= own
        ranked = list(zip((-tile.lengths).tolist(), tile.rows.tolist(), strict=True))
        assert ranked == sorted(ranked)
        assert tile.lengths.min(initial=1) > 0
        seen += tile.origin.tolist()
    assert sorted(seen) == list(range(matrix.entries))


@given(st.lists(st.integers(1, 30), max_size=60), st.integers(1, 64))
def test_rectangles_hold_their_work(found: list[int], workload: int) -> None:
    lengths = np.array(sorted(found, reverse=True), int)
    width, height = rectangles(lengths, workload)
    assert height.sum() == lengths.size
    row = 0
    for w, h in zip(width.tolist(), height.tolist(), strict=True):
        assert w == lengths[row]
        assert h == 1 or w * h <= workload
        assert row + h == lengths.size or w * (h + 1) > workload
        row += h


def test_memory_partitions() -> None:
    """256 bytes after workloads of a multiple of 2048 bytes, on request."""
    matrix = Csr.of(np.ones((3, 512), np.float32))
    plain, camping = (TileComposite.of(matrix, 512, workload=512, camping=wish) for wish in (False, True))
    assert plain.tiles[0].starts.tolist() == [0, 512, 1024, 1536]
    assert camping.tiles[0].starts.tolist() == [0, 576, 1152, 1728]
    assert same_entries(camping.to_csr(), matrix)


def arrow(rows: int) -> Csr:
    """One full row, the diagonal, and nothing else."""
    found = sp.eye_array(rows, format="lil")
    found[0] = 1
    return Csr.of(found)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Ell.of(arrow(3000)), r"ELL would take 9,000,000 slots for 5,999 entries(?s:.*)'hyb'"),
        (lambda: Dia.of(arrow(3000)), "DIA would take 9,000,000 slots"),
        (lambda: Hyb.of(small(), -1), "width is -1"),
        (lambda: TileCoo.of(small(), 0), "width is 0"),
        (lambda: TileComposite.of(small(), 0), "width is 0"),
        (lambda: TileComposite.of(small(), workload=0), "workload is 0"),
        (lambda: TileComposite.of(small(), warp=0), "warp is 0"),
        (lambda: Coo.of(Csr(np.zeros(2, "i8"), np.zeros(0, "i8"), np.zeros(0), (1, 2**31))), "fewer than 2"),
        (lambda: Coo.of(small()).times(np.ones((4, 2))), r"x has the shape \(4, 2\)"),
    ],
)
def test_refused(made: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        made()


def test_they_are_frozen() -> None:
    for make in MAKERS.values():
        with pytest.raises(FrozenInstanceError):
            make(small()).shape = (1, 1)  # type: ignore[misc]


def test_fewer_tiles_and_a_workload_for_each() -> None:
    """The columns of the tiles that are left out go to the sparser part."""
    matrix = figure_1()
    for most in (0, 1, 2):
        made = TileComposite.of(matrix, 2, workload=[4] * (most + 1), most=most)
        assert made.tiling.dense == most == len(made.tiles) - 1
        assert same_entries(made.to_csr(), matrix)
        assert same_entries(TileCoo.of(matrix, 2, most).to_csr(), matrix)
    assert [tile.size for tile in TileComposite.of(matrix, 2, workload=(2, 4, 6)).tiles] == [2, 4, 6]
    for wrong, message in (([4], "workload has 1 sizes"), ([1, 0, 1], "workload is 0")):
        with pytest.raises(ArgumentError, match=message):
            TileComposite.of(matrix, 2, workload=wrong)
    with pytest.raises(ArgumentError, match="most is -1"):
        TileCoo.of(matrix, 2, -1)
