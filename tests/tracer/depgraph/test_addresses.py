"""Addresses of accesses in dependence graphs: the places of the model's memory, whatever the system gave out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tracecut.ir.dependence_graph import READ, WRITE, DependenceGraph
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import write_arrays
from tracecut.tracer.depgraph.builder import dependence_graph

import tracecut

PROGRAM = """
#include <stdlib.h>
#include <string.h>
int main(void) {
  int *a = malloc(40);
  for (int i = 0; i < 10; i++) a[i] = i;
  int s = 0;
  for (int i = 0; i < 10; i++) s += a[i];
  __atomic_fetch_add(&a[3], 1, __ATOMIC_SEQ_CST);
  memset(a, 0, 40);
  volatile int *last = a;
  return s + last[9] != 45;
}
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tracecut.Trace:
    folder = tmp_path_factory.mktemp("addresses")
    (folder / "walk.c").write_text(PROGRAM)
    return tracecut.trace(folder / "walk.c", output=folder / "walk.tct", opt="O1")


def test_each_access_has_its_place(traced: tracecut.Trace) -> None:
    graph = tracecut.dependence_graph(traced, addresses=True)
    assert graph.address is not None and graph.access is not None
    accessed = graph.access > 0
    found = list(zip(graph.address[accessed].tolist(), graph.access[accessed].tolist(), strict=True))
    start = found[0][0]
    walk = [(start + 4 * i, WRITE) for i in range(10)] + [(start + 4 * i, READ) for i in range(10)]
    assert found[:20] == walk
    assert found[20] == (start + 12, READ + WRITE)
    assert found[21] == (start, WRITE)
    assert (graph.address[~accessed] == -1).all()


def test_addresses_change_nothing_else_and_are_the_same_in_every_run(traced: tracecut.Trace, tmp_path: Path) -> None:
    plain, kept = tracecut.dependence_graph(traced), tracecut.dependence_graph(traced, addresses=True)
    for name in ("src", "dst", "weight", "kind", "instruction", "time"):
        assert np.array_equal(getattr(plain, name), getattr(kept, name)), name
    (tmp_path / "walk.c").write_text(PROGRAM)
    again = tracecut.dependence_graph(tmp_path / "walk.c", addresses=True, opt="O1", weights="unit")
    assert kept.address is not None and again.address is not None
    assert np.array_equal(kept.address, again.address)


def test_the_compiled_walk_finds_the_same_places(traced: tracecut.Trace) -> None:
    words = [words for _, words in traced.chunks()]
    compiled, plain = (dependence_graph(traced.static, words, addresses=True, few=few) for few in (0, 1 << 20))
    assert compiled.address is not None and np.array_equal(compiled.address, plain.address)
    assert compiled.access is not None and np.array_equal(compiled.access, plain.access)


def test_files_with_and_without_addresses(traced: tracecut.Trace, tmp_path: Path) -> None:
    kept = tracecut.dependence_graph(traced, addresses=True)
    loaded = DependenceGraph.load(kept.save(tmp_path / "with.npz"))
    assert kept.address is not None and np.array_equal(loaded.address, kept.address)
    assert np.array_equal(loaded.with_one_source().access, kept.access)
    without = DependenceGraph.load(tracecut.dependence_graph(traced).save(tmp_path / "without.npz"))
    assert without.address is None and without.access is None
    with np.load(tmp_path / "with.npz") as members:
        arrays = {name: members[name] for name in members.files if name not in ("access", "meta.json")}
    write_arrays(tmp_path / "half.npz", "DependenceGraph", arrays, {}, bare=True)
    with pytest.raises(ArtefactError, match="address and access belong together"):
        DependenceGraph.load(tmp_path / "half.npz")


@pytest.mark.parametrize(
    ("address", "access", "why"),
    [
        ([0], None, "belong together"),
        ([0], [1], "address has 1 entries, 2 expected"),
        ([0, -2], [1, 1], "below -1"),
        ([0, 0], [1, 4], "neither read nor write"),
    ],
)
def test_what_is_no_access(address: list[int], access: list[int] | None, why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        DependenceGraph([0], [1], [1], [1], [0, 0], [1, 1], None, address, access)  # type: ignore[arg-type]


def test_totals_keep_no_addresses(traced: tracecut.Trace) -> None:
    with pytest.raises(ArgumentError, match="totals keep no addresses"):
        dependence_graph(traced.static, [], totals=True, addresses=True)


def test_only_a_graph_file_keeps_addresses(tmp_path: Path) -> None:
    (tmp_path / "walk.c").write_text(PROGRAM)
    command = [sys.executable, "-m", "tracecut", "graph", "walk.c", "--addresses"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--addresses" in done.stderr
    done = subprocess.run([*command, "-o", "g.npz", "-q"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert DependenceGraph.load(tmp_path / "g.npz").address is not None
