"""Products on a card: the kernels in the emulator beside SciPy, what they compile to, and what is refused."""

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.emulation.run_kernel import run_kernel
from tracecut.codegen.products import card_forms, card_tiles
from tracecut.codegen.products.card_tiles import CardTiles
from tracecut.codegen.products.product_kernels import RECTANGLES, kernel_texts
from tracecut.codegen.ptx.nvptx import compile_ptx
from tracecut.codegen.ptx.ptxas import assemble, find_ptxas
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.formats.tile_composite import TileComposite
from tracecut.codegen.sparse.forms import CARD_FORMATS
from tracecut.codegen.sparse.native_code import VALUE_TYPES
from tracecut.support.errors import ArgumentError, ToolchainError

import tracecut

from ..sparse.matrices import dense, matrices, whole_numbers
from ..sparse.test_orders import grid, skewed

pytestmark = pytest.mark.quick
SCALES = st.sampled_from([(1, 0), (2, 0), (1, 1), (-2, 3)])


@settings(max_examples=60, deadline=None)
@given(
    matrices(longest=80),
    st.sampled_from(CARD_FORMATS),
    st.sampled_from(["auto", "natural", "degree"]),
    st.sampled_from([None, 3]),
    SCALES,
)
def test_products_in_every_form_and_order(
    matrix: Csr, method: str, order: str, count: int | None, scale: tuple[int, int]
) -> None:
    operator = tracecut.spmv(matrix.to_scipy(), method=method, order=order, device="emulated")
    alpha, beta = scale
    side = () if count is None else (count,)
    for turned in (False, True):
        whole = dense(matrix).T if turned else dense(matrix)
        x, y = whole_numbers(matrix, whole.shape[1], *side), whole_numbers(matrix, whole.shape[0], *side)
        times = operator.transposed_times if turned else operator.times
        np.testing.assert_array_equal(times(x, out=y.copy(), alpha=alpha, beta=beta), alpha * (whole @ x) + beta * y)
    values = matrix.values[::-1].copy()
    operator.update(values)
    x = whole_numbers(matrix, matrix.shape[1], *side)
    np.testing.assert_array_equal(operator @ x, dense(matrix.with_values(values)) @ x)
    np.testing.assert_array_equal(operator.from_permuted(operator.permuted @ operator.to_permuted(x)), operator @ x)


@pytest.mark.parametrize("workload", [1, 32, 200, 3000])
@pytest.mark.parametrize("tiles", [0, 1, None])
def test_rectangles_of_both_kinds(monkeypatch: pytest.MonkeyPatch, workload: int, tiles: int | None) -> None:
    monkeypatch.setattr(card_forms, "tiles_for", lambda device, matrix: CardTiles(300, tiles, workload))
    matrix = skewed()
    made = TileComposite.of(matrix, 300, workload=workload, most=tiles)
    kinds = {bool(kind) for tile in made.tiles for kind in tile.row_major}
    assert workload not in (1, 3000) or (workload == 1) in kinds  # a row each; and rows beside each other
    operator = tracecut.spmv(matrix.to_scipy(), method="tile-composite", order="natural", device="emulated")
    x = np.random.default_rng(1).random(matrix.shape[1])
    np.testing.assert_allclose(operator @ x, matrix.to_scipy() @ x, rtol=1e-13)


@pytest.mark.parametrize("method", CARD_FORMATS)
def test_what_is_not_stored_takes_no_part(method: str) -> None:
    """Nor does padding, nor what y held."""
    matrix = sp.csr_array(np.array([[0.0, 2, 0], [1, 0, 0], [0, 0, 0]]))
    operator = tracecut.spmv(matrix, method=method, device="emulated")
    y = np.array([np.nan, np.inf, np.nan])
    operator.times(np.array([3.0, np.inf, np.nan]), out=y)
    np.testing.assert_array_equal(y, [np.inf, 3, 0])
    stored = sp.csr_array((np.array([0.0]), np.array([1]), np.array([0, 1, 1, 1])), shape=(3, 3))
    zero = tracecut.spmv(stored, method=method, device="emulated")
    np.testing.assert_array_equal(zero @ np.array([0.0, np.inf, np.nan]), [np.nan, 0, 0])


@pytest.mark.parametrize("dtype", VALUE_TYPES)
def test_kernels_become_machine_code_of_cards(dtype: np.dtype[Any]) -> None:
    for name, text in kernel_texts(dtype, 8).items():
        for arch in ("sm_75", "sm_90"):
            ptx = compile_ptx(text, name, arch, libdevice=False)
            assert "ld.global" in ptx or "ld.param" in ptx
            if find_ptxas() is not None:
                assert assemble(ptx, arch).spill_store_bytes == 0


@pytest.mark.parametrize("workload", [40, 3000])
def test_no_warp_is_in_the_way_of_another(workload: int) -> None:
    """The strict mode of the emulator finds accesses outside of arrays, and races."""
    matrix = skewed()
    (tile,) = TileComposite.of(matrix, 1 << 20, workload=workload).tiles[:1]
    x, y = np.ones(matrix.shape[1]), np.zeros(matrix.shape[0])
    given = [*card_forms._arrays(tile), x, y, np.array([1.0, 0.0]), tile.width.size, 1, 0]
    blocks = -(-tile.width.size * 32 // 256)
    text = kernel_texts("f8")[RECTANGLES]
    report = run_kernel(text, RECTANGLES, given, blocks, 256, mode="strict", races=True)
    assert report.completed
    assert report.faults == ()


def test_solvers_scores_and_other_processes() -> None:
    matrix = sp.csr_array(5 * sp.eye_array(400) - grid(20, seed=1).to_scipy())
    operator = tracecut.spmv(matrix, device="emulated")
    b = np.random.default_rng(1).random(400)
    x, failed = spl.cg(operator, b, rtol=1e-10)
    assert failed == 0
    np.testing.assert_allclose(matrix @ x, b, rtol=1e-6)
    again = copy.deepcopy(operator)  # as another process makes it again
    assert again.plan.device == "emulated"
    np.testing.assert_array_equal(again @ b, operator @ b)


def test_scores_and_systems_through_an_operator_of_a_card() -> None:
    graph = skewed().to_scipy()
    graph.data[:] = 1.0
    operator = tracecut.spmv(graph, device="emulated")
    wanted = tracecut.pagerank(graph, tol=1e-12)
    np.testing.assert_allclose(tracecut.pagerank(graph, tol=1e-12, operator=operator).values, wanted.values, rtol=1e-9)
    matrix = sp.csr_array(5 * sp.eye_array(400) - grid(20, seed=1).to_scipy())
    b = np.random.default_rng(1).random(400)
    found = tracecut.cg(tracecut.spmv(matrix, device="emulated"), b, rtol=1e-10)
    np.testing.assert_allclose(matrix @ found.values, b, rtol=1e-7)


def test_two_threads_call_one_operator() -> None:
    matrix = skewed().to_scipy()
    operator = tracecut.spmv(matrix, device="emulated")
    xs = np.random.default_rng(0).random((8, matrix.shape[1]))
    wanted = [operator @ x for x in xs]
    found: dict[int, Any] = {}

    def run(first: int) -> None:
        for k in range(first, 8, 2):
            found[k] = operator @ xs[k]

    threads = [threading.Thread(target=run, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(8):
        np.testing.assert_array_equal(found[k], wanted[k])


def test_auto_follows_what_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = skewed().to_scipy()
    monkeypatch.setattr(card_tiles, "read_table", lambda path, card, size: None)
    plan = tracecut.spmv(matrix, device="emulated").plan
    assert (plan.format, plan.order, plan.device) == ("csr-vector", "natural", "emulated")
    assert "tracecut tune --device h200 --dtype float64" in plan.reason
    from tracecut.codegen.products import choose_on_card

    for tiles, format, order in ((1e-6, "tile-composite", "degree"), (9e-6, "csr-vector", "natural")):
        told = {"tile-composite": tiles, "csr-vector": 5e-6}
        monkeypatch.setattr(choose_on_card, "predicted", lambda device, matrix, told=told: told)
        plan = tracecut.spmv(matrix, device="emulated").plan
        assert (plan.format, plan.order) == (format, order)
        assert "5 µs" in plan.reason
    assert "paid back" not in tracecut.spmv(matrix, device="emulated").plan.explain()
    assert "budget" in tracecut.spmv(matrix, device="emulated", budget=0).plan.reason


def test_plans_name_their_device(tmp_path: Path) -> None:
    matrix = skewed().to_scipy()
    operator = tracecut.spmv(matrix, device="emulated", method="tile-composite")
    path = operator.plan.save(tmp_path / "plan")
    again = tracecut.spmv(matrix, device="emulated", plan=path)
    assert (again.plan.format, again.plan.device) == ("tile-composite", "emulated")
    x = np.random.default_rng(0).random(matrix.shape[1])
    np.testing.assert_array_equal(again @ x, operator @ x)
    with pytest.raises(ArgumentError, match="the plan is of the device emulated, device is 'cpu'"):
        tracecut.spmv(matrix, plan=path)
    with pytest.raises(ArgumentError, match="the plan is of the device cpu, device is 'emulated'"):
        tracecut.spmv(matrix, device="emulated", plan=tracecut.spmv(matrix).plan)


def test_what_a_card_does_not_have_is_refused() -> None:
    matrix = skewed().to_scipy()
    for device in ("gpu", "cuda", -1, True, 1.5, None):
        with pytest.raises(ArgumentError, match="there is no device"):
            tracecut.spmv(matrix, device=device)  # type: ignore[arg-type]
    for method in ("sliced", "tiled", "csr"):
        with pytest.raises(ArgumentError, match=f"no method '{method}' of products on a card"):
            tracecut.spmv(matrix, device="emulated", method=method)
    with pytest.raises(ArgumentError, match="no method 'tile-composite'"):
        tracecut.spmv(matrix, method="tile-composite")
    wide = sp.csr_array((np.ones(1), np.array([2**31]), np.array([0, 1])), shape=(1, 2**31 + 1))
    with pytest.raises(ArgumentError, match=r"fewer than 2\*\*31 rows"):
        tracecut.spmv(wide, device="emulated")


def test_a_card_that_is_not_there_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracecut.codegen.devices import device

    monkeypatch.setattr(device, "cupy_backend", lambda: None)
    monkeypatch.setattr(device, "driver_backend", lambda: None)
    with pytest.raises(ToolchainError, match="no card that CUDA can use") as error:
        tracecut.spmv(sp.eye_array(3, format="csr"), device=0)
    assert 'device="cpu"' in str(error.value.hint)
