"""The example of docs/extending.md on partitioners: a function and an entry, and every caller knows the method."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.partition import METHODS, partition
from tracecut.partition.methods import methods
from tracecut.support.errors import ArgumentError

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
NAME = "by-first-datum"


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function in the file that the page names, and its entry in `METHODS`."""
    section = PAGE.read_text().split("\n## A partitioner\n")[1].split("\n## ")[0]
    function, entry = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (path,) = re.findall(r"in the file `(partition/.*?)\.py`", section)
    module = ModuleType("tracecut." + path.replace("/", "."))
    exec(compile(function, str(PAGE), "exec", dont_inherit=True), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(METHODS, NAME, METHODS["chunks"])  # what the entry puts in its place is undone after the test
    exec(compile(entry, str(PAGE), "exec", dont_inherit=True), {})


@pytest.mark.usefixtures("added")
def test_a_partitioner() -> None:
    graph = LocalityGraph(np.array([0, 2, 3, 3, 5, 6]), np.array([3, 0, 0, 1, 2, 1], np.int32), 4)
    assert NAME in [method.name for method in methods("jobs")]
    assert partition(graph, 5, NAME).labels.tolist() == [3, 0, 4, 1, 2]
    assert partition(graph, 2, NAME, targets=[0.8, 0.2]).labels.tolist() == [0, 0, 1, 0, 0]
    heavy = partition(graph, 2, NAME, weights=[1, 1, 1, 4, 1], balance=1.3)
    assert heavy.labels.tolist() == [1, 0, 1, 0, 1] and heavy.method == NAME
    assert partition(graph, 5, NAME, block=4).labels.tolist() == [0, 1, 4, 2, 3]
    with pytest.raises(ArgumentError, match=f"method '{NAME}' does not use coords"):
        partition(graph, 2, NAME, coords=np.zeros((4, 2)))
    with pytest.raises(ArgumentError, match="has no option 'blocks'"):
        partition(graph, 2, NAME, blocks=2)
    with pytest.raises(ArgumentError, match=r"block = 0\.5 is not valid"):
        partition(graph, 2, NAME, block=0.5)
