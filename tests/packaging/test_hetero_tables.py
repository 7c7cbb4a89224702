"""What `hetero_tables.py` counts as agreement, and that its tools make what they are said to make."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tracecut.ir.machine.machine import Machine
from tracecut.ir.metrics import memory_violations

from tests.partition.meshes import delaunay

FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def case(claims: ModuleType, cut: dict[str, float], volume: dict[str, float], seconds: dict[str, float]) -> Any:
    made = {tool: SimpleNamespace(cut=cut[tool], volume=volume[tool], seconds=seconds[tool]) for tool in cut}
    return claims.Case("mesh", "t1_f8_fs16", made, True)


def counted(found: Any) -> dict[str, tuple[int, int]]:
    return {each.claim: (each.held, each.of) for each in found}


def test_the_printed_table_agrees_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    claims, paper = (benchmark(name, monkeypatch) for name in ("hetero_claims", "hetero_table_4"))
    for at, column in enumerate(paper.COLUMNS):
        for graph in paper.CUT:
            tables = (paper.CUT[graph], paper.VOLUME[graph])
            assert all(set(table) == set(paper.TOOLS) for table in tables)
            cut, volume = ({tool: values[at] for tool, values in table.items()} for table in tables)
            same = case(claims, cut, volume, cut)
            for held, of in counted(claims.of_table_4(graph, column, same)).values():
                assert held == of in (1, 7, 28)
            turned = case(claims, *({tool: 1e6 / value for tool, value in each.items()} for each in (cut, volume)), cut)
            found = counted(claims.of_table_4(graph, column, turned))
            assert found["cut: order of two tools"] == (0, 28) and found["cut: best tool"] == (0, 1)


def test_claims_are_held_against_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = benchmark("hetero_claims", monkeypatch)
    tools = ("geoRef", "geoPMRef", "pmGraph", "pmGeom", "geoKM", "zSFC", "zRCB", "zRIB")
    rising = {tool: 100.0 + place for place, tool in enumerate(tools)}
    quick = {tool: 100.0 - place for place, tool in enumerate(tools)} | {"geoRef": 98.0}
    good = case(claims, rising, rising, quick)
    bad = case(claims, quick, quick, rising | {"geoRef": 150.0})
    stronger = {tool: value * (1.5 if tool.startswith("z") else 1.0) for tool, value in rising.items()}
    for found, of in (
        (list(claims.of_figures_2(good, None)), 5),
        (list(claims.of_figures_2(case(claims, stronger, rising, quick), good)), 6),
        (list(claims.of_figures_3_and_4(good)), 4),
    ):
        assert len(found) == of and all(each.held == each.of for each in found)
    assert counted(claims.of_figures_2(good, case(claims, stronger, rising, quick)))[
        "cuts of Zoltan's methods over geoKM's grow from speed 2 to 16"
    ] == (0, 3)
    assert not any(each.held for each in claims.of_figures_2(bad, None) if "geoRef cuts less" not in each.claim)
    assert not any(each.held for each in claims.of_figures_3_and_4(bad))
    even = dict.fromkeys(tools, 5.0)
    held = [each.held for each in claims.of_figure_5(good, {"own": even, "other": {**even, "zRIB": 50.0}})]
    assert held == [1, 0, 1, 0]


def test_all_tools_keep_the_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    hetero, measuring = (benchmark(name, monkeypatch) for name in ("hetero", "measuring"))
    graph, points = delaunay(3000)
    given = measuring.Input("mesh", graph, points, None)
    machine = Machine.topo1(12, 2, 4)
    room = np.asarray(hetero.request_of(graph, machine).capacities)
    cuts = {}
    for tool in hetero.PLAYED:
        found = hetero.made(tool, given, machine)
        assert memory_violations(graph, found.clustering, room) == 0 and found.seconds > 0
        cuts[tool] = found.cut
    assert max(cuts[tool] for tool in hetero.WITH_GRAPH) < 1.3 * min(cuts.values())
    assert cuts["pmGeom"] != cuts["pmGraph"]
    speeds = hetero.topology("t2_f16_fs8").speeds()
    assert (speeds[:16] == 8).all() and (speeds[16:] == 1).all()
