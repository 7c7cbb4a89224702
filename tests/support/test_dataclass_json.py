"""Dataclasses as plain values and back; what does not fit is named with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Cache, Core
from tracecut.support.dataclass_json import from_json, to_json
from tracecut.support.errors import ArtefactError
from tracecut.tracer.toolchain.flags import Flags

from tracecut.pipeline.stages.settings import OPTIONS, Settings

pytestmark = pytest.mark.quick


@dataclass(frozen=True)
class Leaf:
    name: str
    size: float = 1.5


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[int, str] = (3, "x")
    counts: Mapping[int, int] = field(default_factory=dict)
    path: Path | None = None
    flag: bool = False
    deep: Mapping[str, tuple[Leaf, ...]] = field(default_factory=dict)


leaves = st.builds(Leaf, st.text(), st.floats(allow_nan=False))
trees = st.builds(
    Tree,
    st.lists(leaves).map(tuple),
    st.tuples(st.integers(), st.text()),
    st.dictionaries(st.integers(), st.integers()),
    st.none() | st.sampled_from([Path("a"), Path("/b/c")]),
    st.booleans(),
    st.dictionaries(st.text(), st.lists(leaves, max_size=2).map(tuple), max_size=2),
)


@given(trees)
def test_it_comes_back_through_json(tree: Tree) -> None:
    assert from_json(Tree, json.loads(json.dumps(to_json(tree)))) == tree


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], r"Tree is \[\], Tree was expected"),
        ({"leaves": [{"name": 3}]}, r"Tree\.leaves\[0\]\.name is 3, str was expected"),
        ({"leaves": [{"size": 1}]}, r"Tree\.leaves\[0\]: .*missing 1 required .*'name'"),
        ({"leaves": {"name": "a"}}, r"Tree\.leaves is \{'name': 'a'\}"),
        ({"pair": [1, "a", 2]}, r"Tree\.pair is \[1, 'a', 2\]"),
        ({"flag": 1}, r"Tree\.flag is 1, bool was expected"),
        ({"path": 1}, r"Tree\.path is 1, Path was expected"),
        ({"counts": {"1": 1.5}}, r"Tree\.counts\.1 is 1\.5, int was expected"),
        ({"counts": {"x": 1}}, r"Tree\.counts is \{'x': 1\}"),
        ({"roots": 1}, r"Tree has roots, which Tree does not have"),
    ],
)
def test_what_does_not_fit_is_named(value: Any, message: str) -> None:
    with pytest.raises(ArtefactError, match=message):
        from_json(Tree, value)


def test_settings_come_back_whole() -> None:
    machine = Machine("m", (Core(0), Core(1, 1)), (Cache(1, 1 << 15),), 1 << 30)
    plain = Settings(("a.c",))
    full = Settings(
        ("a.c", "b.c"), Flags(("-O3",), libraries=("m",), openmp=True), ("1",), Path("out"), k=3, timeout=2.5,
        stdin=Path("in"), region="a.c:3", arch=("sm_80", "sm_90"), compare=("metis",), machine=machine, exact=True,
        gpu="a100", budget=60.0, loop_budget=5.0,
    )  # fmt: skip
    for settings in (plain, full):
        assert Settings.from_json(json.loads(json.dumps(to_json(settings)))) == settings
    assert all(getattr(full, name) is not None for name in OPTIONS if name not in ("memory", "threads"))
