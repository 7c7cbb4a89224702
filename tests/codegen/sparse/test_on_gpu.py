"""What kernels of the formats ask of a GPU's memory: beside slow counts, request by request; orders of merit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.formats.coo import Coo
from tracecut.codegen.sparse.formats.csr_vector import CsrVector
from tracecut.codegen.sparse.formats.dia import Dia
from tracecut.codegen.sparse.formats.ell import Ell, Hyb
from tracecut.codegen.sparse.formats.packets import Pkt
from tracecut.codegen.sparse.formats.spac_blocked import SpacBlocked
from tracecut.codegen.sparse.formats.tile_composite import TileComposite
from tracecut.codegen.sparse.formats.tile_coo import TileCoo
from tracecut.codegen.sparse.on_gpu.kernels import active_warps, launches
from tracecut.codegen.sparse.on_gpu.lane_walks import Launch, Phase, modelled
from tracecut.ir.gpu.description import gpu
from tracecut.support.errors import ArgumentError

from .matrices import matrices
from .test_orders import grid

pytestmark = pytest.mark.quick

# No cache: each request is served by the memory, so that bytes are those of its sectors. Eight warps at a time.
BARE = replace(
    gpu("h200"),
    l1_size=0,
    read_only_size=0,
    l2_size=0,
    l2_bandwidth=0.0,
    l1_global=False,
    carveouts=(),
    multiprocessors=1,
    max_warps=8,
    max_threads=256,
    max_block_threads=256,
)
Request = list[tuple[str, int, int]]  # of each lane: array, element, bytes


def sector_bytes(requests: Iterable[Request], only: str = "") -> int:
    """32 for each sector of each request, twice for those that are read and written."""
    found = 0
    for request in requests:
        of = [(array, place * size + byte) for array, place, size in request for byte in range(size)]
        found += 32 * len({(array, byte // 32) for array, byte in of if only in ("", array)})
    return found


def by_lanes(lanes: list[list[list[tuple[str, int, int]]]]) -> Iterable[Request]:
    """Requests of warps in step: lanes[l][k] is what lane l asks in its step k, one access an array."""
    for first in range(0, len(lanes), 32):
        warp = lanes[first : first + 32]
        for step in range(max(map(len, warp))):
            here = [access for lane in warp if step < len(lane) for access in lane[step]]
            for array in sorted({array for array, _, _ in here}):
                yield [access for access in here if access[0] == array]


def entry(matrix: Any, slot: int, size: int) -> list[tuple[str, int, int]]:
    column = int(matrix.columns.ravel()[slot])
    x = [("x", column, size)] if column >= 0 else []
    return [("values", slot, size), ("columns", slot, 4), *x]


def slow_csr(matrix: Csr) -> list[Request]:
    size = matrix.values.itemsize
    rows = range(matrix.shape[0])
    lanes = [[entry(matrix, k, size) for k in range(matrix.offsets[row], matrix.offsets[row + 1])] for row in rows]
    ends = [[[("starts", row, 4), ("y", row, size)]] for row in rows]
    return [*by_lanes(lanes), *by_lanes(ends)] if lanes else []


def slow_ell(made: Ell) -> list[Request]:
    size, (width, rows) = made.values.itemsize, made.values.shape
    lanes = [[entry(made, k * rows + row, size) for k in range(width)] for row in range(rows)]
    return [*by_lanes(lanes), *by_lanes([[[("y", row, size)]] for row in range(rows)])] if lanes else []


def slow_csr_vector(made: CsrVector) -> list[Request]:
    size = made.values.itemsize
    lanes: list[Any] = []
    ends: list[Any] = []
    for row in range(made.lengths.size):
        begin, end = map(int, made.starts[row : row + 2])
        for thread in range(made.lanes):
            slots = range(begin + thread, end, made.lanes)
            lanes.append([_padded(entry(made, slot, size), size) for slot in slots])
            ends.append([[("starts", row, 4), ("y", row, size)]] if thread == 0 else [])
    return [*by_lanes(lanes), *by_lanes(ends)] if lanes else []


def _padded(accesses: list[tuple[str, int, int]], size: int) -> list[tuple[str, int, int]]:
    return accesses if len(accesses) == 3 else [*accesses, ("x", 0, size)]


SLOW: dict[str, tuple[Callable[[Csr], Any], Callable[[Any], list[Request]]]] = {
    "csr": (lambda matrix: matrix, slow_csr),
    "csr-vector": (CsrVector.of, slow_csr_vector),
    "half-warp": (CsrVector.half_warp, slow_csr_vector),
    "ell": (Ell.of, slow_ell),
}


@given(matrices(largest=40), st.sampled_from(sorted(SLOW)))
@settings(max_examples=60)
def test_bytes_are_those_of_each_request(matrix: Csr, name: str) -> None:
    make, slow = SLOW[name]
    made = make(matrix)
    expected = slow(made)
    kernels = launches(made, BARE)
    if not kernels or kernels[0].warps == 0:
        assert not expected
        return
    found = modelled(kernels, BARE, matrix.values.itemsize)
    assert found.l2_bytes == sector_bytes(expected)
    assert found.x_bytes == sector_bytes(expected, "x")
    assert found.requests == len(expected)


ALL: dict[str, Callable[[Csr], Any]] = {
    **{name: make for name, (make, _) in SLOW.items()},
    "coo": Coo.of,
    "hyb": lambda matrix: Hyb.of(matrix, 3),
    "dia": Dia.of,
    "pkt": lambda matrix: Pkt.of(matrix, threads=32, shared=2048),
    "tile-coo": lambda matrix: TileCoo.of(matrix, 64),
    "tile-composite": lambda matrix: TileComposite.of(matrix, 64, workload=40),
    "spac": lambda matrix: SpacBlocked.of(matrix, entries=300),
}


def accesses(kernels: list[Launch], use: str) -> int:
    """Elements of x or y that all lanes name, one by one."""
    found = 0
    for phase in (phase for each in kernels for phase in each.phases if phase.use == use and phase.elements.size):
        for begin, stride, count in zip(phase.begin, phase.stride, phase.count, strict=True):
            found += sum(int(phase.elements[begin + step * stride]) >= 0 for step in range(count))
    return found


@pytest.mark.parametrize("name", sorted(ALL))
def test_each_slot_is_read_once_and_each_row_is_written(name: str) -> None:
    """A mesh of 400 points: all slots of a format are read, x once an entry (once a block where it is copied)."""
    matrix = grid(20, seed=1)
    made = ALL[name](matrix)
    kernels = launches(made, gpu("h200"))
    read = sum(int(phase.count.sum()) for each in kernels for phase in each.phases[:1] if phase.streams)
    x = accesses(kernels, "x")
    if name == "pkt":
        assert x == 400 + made.rest_origin.size
    elif name == "spac":
        assert x == made.x.size
        assert accesses(kernels, "store") == made.owned.sum()
        assert accesses(kernels, "atomic") == made.y.size - made.owned.sum()
    elif name == "tile-composite":
        assert x == read == sum(tile.values.size for tile in made.tiles)
        assert accesses(kernels, "add") == sum(tile.rows.size for tile in made.tiles)
    elif name == "half-warp":
        assert x == read == made.values.size
    elif name == "dia":
        assert x == sum(400 - abs(int(offset)) for offset in made.offsets) < read
    else:
        assert x == matrix.entries
    if name not in ("pkt", "spac", "tile-coo", "tile-composite", "coo", "hyb"):
        assert accesses(kernels, "store") == 400
    whole = modelled(kernels, gpu("h200"), 8)
    assert whole.l2_bytes >= matrix.entries * 8 and whole.seconds > len(kernels) * gpu("h200").launch_overhead


def test_sums_of_coo_end_with_rows_and_intervals() -> None:
    """960 warps of the seed's card; here eight: intervals of 64 entries of rows of 100."""
    matrix = Csr(np.array([0, 100, 200, 300]), np.zeros(300, int), np.ones(300), (3, 1))
    assert active_warps(gpu("c1060")) == 960 and active_warps(BARE) == 8
    (kernel,) = launches(Coo.of(matrix), BARE)
    sums = kernel.phases[1].elements
    assert np.flatnonzero(sums >= 0).tolist() == [63, 99, 127, 191, 199, 255, 299]
    assert sums[[63, 99, 127, 299]].tolist() == [0, 0, 1, 2]
    assert kernel.warps == 5


def test_tiles_read_x_side_by_side() -> None:
    """Columns that are read most are anywhere; in the order of the tiles they share sectors."""
    hubs = np.arange(0, 4096, 512)
    matrix = Csr(np.arange(0, 8 * 512 + 1, 8), np.tile(hubs, 512), np.ones(4096, np.float32), (512, 4096))
    near = modelled(launches(TileComposite.of(matrix, 32, workload=256), BARE), BARE, 4)
    far = modelled(launches(Coo.of(matrix), BARE), BARE, 4)
    assert near.x_bytes < far.x_bytes / 4


def test_the_l2_keeps_x_between_launches() -> None:
    matrix = Csr(np.arange(0, 4097), np.arange(4096), np.ones(4096), (4096, 4096))
    (kernel,) = launches(matrix, gpu("h200"))
    once, twice = (modelled([kernel] * times, gpu("h200"), 8) for times in (1, 2))
    assert twice.l2_bytes == 2 * once.l2_bytes
    assert once.hbm_bytes == twice.hbm_bytes, "what the first launch changed is not written twice"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: launches("csr", BARE), "a str is no format"),
        (lambda: modelled([], BARE, 4), "blocks of \\[\\] warps"),
        (lambda: Phase(*np.zeros((3, 32), np.int64), (), use="write"), "use is 'write'"),
        (lambda: Phase(*np.zeros((3, 31), np.int64), ()), "begin has 31 entries"),
        (lambda: Phase(*np.ones((3, 32), np.int64), (), np.zeros(1, np.int32)), "places 1 to 1 of 1"),
    ],
)
def test_refused(made: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        made()
