"""Plans of `spmv` as files: what comes back is the same, and what is damaged or of another matrix is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tracecut.codegen.sparse.orders import ORDERS
from tracecut.codegen.sparse.plan import SpmvPlan
from tracecut.support.errors import ArgumentError, ArtefactError

import tracecut

from .test_orders import grid

pytestmark = pytest.mark.quick


def same_plan(one: SpmvPlan, other: SpmvPlan) -> bool:
    names = [name for name in SpmvPlan.__dataclass_fields__ if name != "places"]
    parts = [(one.places.rows, other.places.rows), (one.places.columns, other.places.columns)]
    return all(getattr(one, name) == getattr(other, name) for name in names) and all(
        (a is None and b is None) or np.array_equal(a, b) for a, b in parts
    )


@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize("cols", [64, 40])
def test_plans_are_saved(tmp_path: Path, order: str, cols: int) -> None:
    matrix = grid(8, seed=1).to_scipy()[:, :cols]
    if order == "rcm" and cols != 64:
        return
    first = tracecut.spmv(matrix, method="sliced", order=order)
    path = first.plan.save(tmp_path / "mesh.plan")
    loaded = tracecut.SpmvPlan.load(path)
    assert same_plan(first.plan, loaded)
    x = np.random.default_rng(1).random(cols)
    for plan in (first.plan, loaded, path, str(path)):
        again = tracecut.spmv(matrix, plan=plan)
        assert (again @ x).tobytes() == (first @ x).tobytes()
    other = matrix.copy()
    other.data *= 3
    np.testing.assert_allclose(tracecut.spmv(other, plan=loaded) @ x, 3 * (matrix @ x))


def test_foreign_and_damaged_plans(tmp_path: Path) -> None:
    matrix = grid(8, seed=1).to_scipy()
    plan = tracecut.spmv(matrix, order="rcm").plan
    moved = matrix.copy()
    moved.indices[0] = (moved.indices[0] + 1) % 64
    for other, message in (
        (matrix[:30], "the plan is of a matrix 64 × 64 with"),
        (moved, "the plan is of another matrix of this size"),
        (matrix.astype("f4"), "the plan is of float64 values, A holds float32"),
    ):
        with pytest.raises(ArgumentError, match=message):
            tracecut.spmv(other, plan=plan)
    with pytest.raises(ArgumentError, match="plan is a int, a SpmvPlan or the path of one was expected"):
        tracecut.spmv(matrix, plan=3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="the plan has both"):
        tracecut.spmv(matrix, plan=plan, order="rcm")
    path = plan.save(tmp_path / "plan")
    whole = path.read_bytes()
    for place in (10, len(whole) // 2, len(whole) - 12):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(ArtefactError, match="plan"):
            tracecut.spmv(matrix, plan=path)
    rows = plan.places.rows.copy()
    rows[0] = rows[1]
    for bad, message in (
        (replace(plan, places=replace(plan.places, rows=rows)), "order of rows is not a permutation"),
        (replace(plan, places=replace(plan.places, rows=rows[:9])), "order of rows has 9 entries, the matrix 64"),
        (replace(plan, format="crs"), "the plan has the format 'crs'"),
        (replace(plan, order="best"), "in the order 'best'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            bad.verify()
        with pytest.raises(ArtefactError, match=message):
            SpmvPlan.load(bad.save(path))
