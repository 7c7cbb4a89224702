"""Artefacts whose file is whole, but whose header or arrays are not those of their kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering
from tracecut.ir.placement import Placement
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import write_arrays

pytestmark = pytest.mark.quick
ONE = np.zeros(1, np.int32)
ORDER = {"jobs": ONE, "data": ONE, "blocks": np.array([0, 1], np.int64)}
GRAPH = {
    "offsets": np.array([0, 1], np.int64),
    "data": ONE,
    "access": np.ones(1, np.uint8),
    "site": ONE,
    "space_offsets": np.array([0, 1], np.int64),
    "job_weights": np.zeros(0),
    "data_weights": np.zeros(0),
}
CLUSTERS = {"k": 1, "labels_of": "data", "method": "m", "seed": 0, "options": {}}


@pytest.mark.parametrize(
    ("kind", "arrays", "meta"),
    [
        (Placement, {"core_of": ONE}, {}),
        (Placement, {"core_of": ONE}, {"n_cores": 4}),
        (Placement, {"core_of": ONE}, {"n_cores": "x", "method": "m"}),
        (Placement, {"core_of": ONE}, {"n_cores": None, "method": "m"}),
        (Placement, {"core_of": ONE}, {"n_cores": [4], "method": "m"}),
        (Placement, {"core_of": ONE + 3}, {"n_cores": 2, "method": "m"}),
        (Clustering, {"labels": ONE}, {}),
        (Clustering, {"labels": ONE}, {**CLUSTERS, "k": "x"}),
        (Clustering, {"labels": ONE}, {**CLUSTERS, "options": 3}),
        (Clustering, {"labels": ONE + 1}, CLUSTERS),
        (Ordering, ORDER, {}),
        (Ordering, {**ORDER, "jobs": ONE + 1}, {"method": "m"}),
        (LocalityGraph, GRAPH, {}),
        (LocalityGraph, GRAPH, {"n_data": "x", "names": ["a"]}),
        (LocalityGraph, GRAPH, {"n_data": 1, "names": 3}),
        (LocalityGraph, {**GRAPH, "data": ONE + 1}, {"n_data": 1, "names": ["a"]}),
    ],
)
def test_what_a_file_holds_is_checked(
    kind: Any, arrays: dict[str, np.ndarray[Any, Any]], meta: dict[str, object], tmp_path: Path
) -> None:
    path = write_arrays(tmp_path / "file.npz", kind.__name__, arrays, meta)
    with pytest.raises(ArtefactError, match=r"file\.npz holds no"):
        kind.load(path)


def test_good_files_are_read(tmp_path: Path) -> None:
    placed = Placement.load(Placement(ONE, np.int64(4), "m").save(tmp_path / "p.npz"))  # type: ignore[arg-type]
    assert placed.n_cores == 4 and placed.core_of.tolist() == [0]
    path = write_arrays(tmp_path / "c.npz", "Clustering", {"labels": ONE}, CLUSTERS)
    assert Clustering.load(path).k == 1
    path = write_arrays(tmp_path / "o.npz", "Ordering", ORDER, {"method": "m"})
    assert Ordering.load(path).method == "m"
    path = write_arrays(tmp_path / "g.npz", "LocalityGraph", GRAPH, {"n_data": 1, "names": ["a"]})
    assert LocalityGraph.load(path).n_jobs == 1


@pytest.mark.parametrize("cores", [0, 1.5, "a", None])
def test_numbers_of_cores(cores: Any) -> None:
    with pytest.raises(ArgumentError, match="n_cores is"):
        Placement(ONE, cores)
