"""The experiments of the heterogeneous-clusters paper (Hetero §V, §VI): Table IV and Figures 1 to 5.

`python benchmarks/hetero_tables.py --json benchmarks/results/hetero_tables.json` takes up to twenty minutes of CPU time
on one thread. Who plays which of the paper's eight tools stands in each row and in `tools` of the file. All get
the target sizes of Algorithm 1 and memories of 1.2 times the load; clusters of METIS are brought within the memories in
the same way as ours, and its seconds are those inside its library and of that. TOPO2 has the sizes of the published
files. The paper's meshes are not at hand: real ones of `../shared/data` and generated ones of the same kind
(`graphs.py`) stand beside them, 5,000 to 500,000 vertices instead of 1 to 578 million. Seconds are CPU time of single
runs.

Rows, T being a tool:

- `Table IV, t1_f8: T: edge cut` (maximum communication volume, CPU s): the value of geoKM is the peer; a second row has
  that ratio beside the printed one. `edge cut / √n` of a triangulation of random points stands beside that of NLR, a
  triangulation as well: this number does not depend on the size;
- `Fig. 1, MACHINE: hkmeans: edge cut` (volume, CPU s): over kmeans, geometric mean of five positions of the mesh in
  space, of which single ones differ by a per cent or two;
- `Fig. 2, t1_f8_fs2: T: edge cut`: over geoKM, geometric mean of three meshes as hugeX and two 3-D ones as alya. The
  16 machines are TOPO1 and TOPO2 with 8 and 16 of 96 units of speeds 2, 4, 8, 16;
- `Fig. 3, k=384` to `k=12288`, and `Fig. 4`: many units of TOPO2, a twelfth of them fast, of speed 16;
- `Fig. 5, MACHINE, NETWORK: T: cg`: by `mapping/iteration_time.py` on TOPO3 of 4 and 8 nodes. The paper does not say
  what joins its nodes: `own` is the machine's network (16 bytes and 2 cycles a hop, which suit a chip), `cluster` has
  100 Gbit/s, and a microsecond between nodes, for units of 2.3 GHz. Predictions, not measurements.

`agreements` in the file has a record for each claim of the paper and each case that it speaks of
(`hetero_claims.py`): how often it holds of how often it was looked at; rows `agrees: CLAIM` add them up. Two thirds of
all hold. What does not, and why:

- the best tool of a column (1 of 28 cuts, 1 of 28 volumes): nearly always geoRef here, geoPMRef or a ParMETIS there.
  Our pairwise searches find more than those of the paper, our greedy moves in geoPMRef less than ParMETIS's;
- the order of two tools (77 % of cuts, 63 % of volumes), and ratios within 10 % (65 %, 36 %): mostly the same pairs;
  333SP and alya have other forms than what stands beside them, and there rcb is best on a grid that is parallel to its
  axes. A maximum volume is that of one cluster, and changes by tens of per cent with the mesh;
- the refinement of geoRef is slower than that of geoPMRef (0 of 48): greedy moves on one thread are quick;
- rcb and rib are slower than k-means on 250,000 vertices (dual250k), and faster on all that are smaller or in space;
- the cut of Zoltan's methods does not grow with the speed of the fast units more than geoKM's (33 of 60, as by chance);
- with 6,144 units and more, clusters of Fig. 3 have 80 vertices and fewer, where those of the paper have thousands;
- Fig. 5: maximum volumes differ more than cuts, times of an iteration by at most 6 %, since the slowest unit computes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import graphs
import hetero_table_4 as paper
import numpy as np
from hetero import BALANCE, MEMORY, OURS, PLAYED, Made, made, topology
from hetero_claims import Agreement, Case, geomean, of_figure_5, of_figures_2, of_figures_3_and_4, of_table_4
from measuring import Input, cpu_seconds, load
from rows import Row, print_rows, write_rows
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network
from tracecut.mapping.iteration_time import iteration_time
from tracecut.partition import partition

# Ours, and the graph of Table IV that is of its kind.
BESIDE = {
    "graded250k": "333SP",
    "tri-stanford-bunny": "NLR",
    "bubbles-00010": "hugebubbles-00020",
    "trace-00008": "hugetrace-00020",
    "delaunay250k": "NLR",
    "tet-bunny": "alyaTestCase",
    "grid3d63": "alyaTestCase",
}
HUGE = ("bubbles-00010", "trace-00008", "dual250k")
ALYA = ("tet-bunny", "grid3d63")
SPATIAL = frozenset({*ALYA, "rgg3d250k", "rdg3d100k"})
TOPOLOGIES = tuple(f"{kind}_f{fast}_fs{speed}" for kind in ("t1", "t2") for fast in (8, 16) for speed in (2, 4, 8, 16))
MADE: dict[str, Callable[[], graphs.Graph]] = {
    "graded250k": graphs.graded,
    "dual250k": graphs.dual,
    "dual500k": lambda: graphs.dual("dual500k", 250_000),
    "rdg3d100k": graphs.delaunay3d,
}
HIERARCHIES = ("topo3:4:1:4", "topo3:8:2:4", "tree:4x24", "tree:4x4x6")
POSITIONS = 5
MANY = tuple(24 * 2**i for i in range(4, 10))
SOME = MANY[:4]
CLUSTER = {"bandwidth": 12.5 / 2.3, "hop_latency": 575, "flit": 8}  # bytes a cycle; four links between two nodes
METRICS = (("edge cut", "cut"), ("maximum communication volume", "volume"), ("CPU s", "seconds"))


def loaded(name: str) -> Input | None:
    if name not in MADE:
        return load(name)
    found = MADE[name]()
    return Input(name, found.locality(), found.coords, found)


def case_of(given: Input, machine: Machine, name: str) -> Case:
    return Case(given.name, name, {tool: made(tool, given, machine) for tool in PLAYED}, given.name not in SPATIAL)


def rows_of(case: Case, head: str) -> Iterator[Row]:
    for tool, each in case.made.items():
        for words, what in METRICS:
            metric = f"{head}: {tool} ({PLAYED[tool]}): {words}"
            yield Row(case.input, "natural", metric, getattr(each, what), "geoKM", getattr(case.made["geoKM"], what))
        yield from violations(case, tool, each, head)


def violations(case: Case, tool: str, each: Made, head: str) -> Iterator[Row]:
    count = each.clustering.memory_violations()
    if count:
        yield Row(case.input, "natural", f"{head}: {tool} ({PLAYED[tool]}): memory violations", float(count))


def beside_geokm(given: Input, cases: dict[tuple[str, str], Case]) -> Iterator[Row]:
    """Our k-means as it is beside the paper's."""
    for (name, word), case in cases.items():
        if name == given.name and word.endswith("fs16"):
            ours = made(OURS, given, topology(word))
            for words, what in METRICS:
                metric = f"Table IV, {word.removesuffix('_fs16')}: {OURS}, borders follow the graph: {words}"
                yield Row(name, "natural", metric, getattr(ours, what), "geoKM", getattr(case.made["geoKM"], what))


def table_4(cases: dict[tuple[str, str], Case]) -> Iterator[Row | Agreement]:
    for (name, word), case in cases.items():
        column = word.removesuffix("_fs16")
        if name not in BESIDE or column not in paper.COLUMNS:
            continue
        graph, at = BESIDE[name], paper.COLUMNS.index(column)
        yield from rows_of(case, f"Table IV, {column}")
        for words, what, table in (("edge cut", "cut", paper.CUT), (METRICS[1][0], "volume", paper.VOLUME)):
            for tool in paper.TOOLS[1:]:
                ours = getattr(case.made[tool], what) / getattr(case.made["geoKM"], what)
                theirs = table[graph][tool][at] / table[graph]["geoKM"][at]
                metric = f"Table IV, {column}: {tool} ({PLAYED[tool]}): {words} over geoKM's"
                yield Row(name, "natural", metric, ours, f"Hetero, {graph}", theirs)
        if name == "delaunay250k":
            for tool in paper.TOOLS:
                metric = f"Table IV, {column}: {tool} ({PLAYED[tool]}): edge cut / √n"
                theirs = paper.CUT[graph][tool][at] / paper.NLR**0.5
                yield Row(name, "natural", metric, case.made[tool].cut / 500.0, f"Hetero, {graph}", theirs)
        yield from of_table_4(graph, column, case)


def figure_1() -> Iterator[Row | Agreement]:
    for name in ("delaunay250k", "graded250k", "grid3d63", *HUGE, "tri-stanford-bunny", "tet-bunny"):
        given = loaded(name)
        for word in HIERARCHIES if given is not None else ():
            machine = Machine.named(word)
            memory = MEMORY if word.startswith("topo") else None
            found: dict[str, list[Made]] = {"hkmeans": [], "kmeans": []}
            for turn in range(POSITIONS):
                points = turned(given.coords, turn)
                for method in found:
                    shared = {"of": "data", "machine": machine, "memory": memory, "threads": 1, "balance": BALANCE}
                    start = cpu_seconds()
                    one = partition(given.graph, None, method, coords=points, **shared)
                    found[method].append(Made(one, cpu_seconds() - start))
            for words, what in METRICS:
                mine, flat = (geomean([getattr(one, what) for one in found[method]]) for method in found)
                yield Row(name, "natural", f"Fig. 1, {word}: hkmeans: {words}", mine, "kmeans", flat)
                if what == "cut":
                    claim = "hkmeans cuts within 1 % of kmeans"
                    yield Agreement(
                        "Fig. 1", claim, name, word, int(abs(mine / flat - 1) <= 0.01), 1, f"{mine / flat:.4f}"
                    )


def turned(points: np.ndarray, turn: int) -> np.ndarray:
    """The points after a rotation drawn by a fixed seed; those of a plane stay in it. Turn 0 leaves them."""
    if turn == 0:
        return points
    flat = points[:, np.ptp(points, axis=0) > 0]
    axes, _ = np.linalg.qr(np.random.default_rng(turn).normal(size=(flat.shape[1],) * 2))
    return flat @ axes


def figure_2(cases: dict[tuple[str, str], Case]) -> Iterator[Row | Agreement]:
    for label, names in (("hugeX", HUGE), ("alya", ALYA)):
        there = [name for name in names if (name, TOPOLOGIES[0]) in cases]
        for word in TOPOLOGIES if there else ():
            group = [cases[name, word] for name in there]
            for tool in PLAYED:
                for words, what in METRICS:
                    ratios = [getattr(case.made[tool], what) / getattr(case.made["geoKM"], what) for case in group]
                    metric = f"Fig. 2, {word}: {tool} ({PLAYED[tool]}): {words} over geoKM's"
                    yield Row(f"{label}: {', '.join(there)}", "natural", metric, geomean(ratios))
            for case in group:
                weaker = word.replace("fs16", "fs2") if word.endswith("fs16") else None
                yield from of_figures_2(case, cases[case.input, weaker] if weaker else None)


def figures_3_and_4() -> Iterator[Row | Agreement]:
    for name, counts in (("dual500k", MANY), ("rgg3d250k", SOME), ("rdg3d100k", SOME[:3])):
        given = loaded(name)
        assert given is not None
        for k in counts:
            machine = Machine.topo2(k, k // 12, 4, files=True)
            case = case_of(given, machine, f"k={k}")
            yield from rows_of(case, f"{'Fig. 3' if case.planar else 'Fig. 4'}, k={k}")
            yield from of_figures_3_and_4(case)


def figure_5() -> Iterator[Row | Agreement]:
    given = loaded("delaunay250k")
    assert given is not None
    for nodes, fast in ((4, 1), (4, 2), (8, 1), (8, 2)):
        machine = Machine.topo3(nodes, fast, 4)
        case = case_of(given, machine, machine.name)
        yield from rows_of(case, f"Fig. 5, {machine.name}")
        assert machine.network is not None
        far = Network("tree", machine.network.shape, **CLUSTER)
        solved = {}
        for network, on in (("own network", machine), ("cluster network", replace(machine, network=far))):
            for kernel in ("cg", "spmv"):
                cycles = {
                    tool: iteration_time(given.graph, each.clustering, on, kernel).cycles
                    for tool, each in case.made.items()
                }
                head = f"Fig. 5, {machine.name}, {network}"
                for tool, each in cycles.items():
                    metric = f"{head}: {tool} ({PLAYED[tool]}): {kernel}, cycles of an iteration (predicted)"
                    yield Row(given.name, "natural", metric, each, "geoKM", cycles["geoKM"])
                if kernel == "cg":
                    solved[network] = cycles
        yield from of_figure_5(case, solved)


def totals(found: list[Agreement]) -> Iterator[Row]:
    held, of = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for each in found:
        held[each.figure, each.claim] += each.held
        of[each.figure, each.claim] += each.of
    for (figure, claim), cases in of.items():
        yield Row("all", "natural", f"agrees: {figure}: {claim}", float(held[figure, claim]), "cases", float(cases))
    yield Row("all", "natural", "agrees: all claims", float(held.total()), "cases", float(of.total()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="results file to write")
    parser.add_argument("--figures", default="1,2,3,5", help="2: with Table IV; 3: with Fig. 4 (default: all)")
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    warm = loaded("graded250k")
    assert warm is not None
    case_of(warm, topology(TOPOLOGIES[-1]), "")  # compiles
    start = cpu_seconds()
    rows: list[Row] = []
    agreements: list[Agreement] = []

    def take(found: Iterator[Row | Agreement]) -> None:
        for each in found:
            (rows if isinstance(each, Row) else agreements).append(each)  # type: ignore[arg-type]
            if isinstance(each, Row):
                print_rows([each])

    wanted = options.figures.split(",")
    if "1" in wanted:
        take(figure_1())
        hierarchical = [row.ratio for row in rows if row.metric.endswith("hkmeans: edge cut") and row.ratio]
        rows.append(
            Row("geomean", "natural", "Fig. 1: hkmeans: edge cut / kmeans", geomean(hierarchical), "bar ≤", 1.01)
        )
    if "2" in wanted:
        cases: dict[tuple[str, str], Case] = {}
        for name in {**BESIDE, **dict.fromkeys(HUGE)}:
            given = loaded(name)
            for word in TOPOLOGIES if given is not None else ():
                if name in (*HUGE, *ALYA) or word.endswith("fs16"):
                    cases[name, word] = case_of(given, topology(word), word)
            take(beside_geokm(given, cases) if given is not None else iter(()))
        take(table_4(cases))
        take(figure_2(cases))
    if "3" in wanted:
        take(figures_3_and_4())
    if "5" in wanted:
        take(figure_5())
    rows += totals(agreements)
    print_rows(list(totals(agreements)))
    spent = cpu_seconds() - start
    print(f"# {spent:.0f} CPU seconds")
    if options.json is not None:
        notes = {"tools": PLAYED, "cpu_seconds": spent, "agreements": [asdict(each) for each in agreements]}
        write_rows(options.json, "hetero_tables", rows, balance=BALANCE, memory=MEMORY, **notes)


if __name__ == "__main__":
    main()
