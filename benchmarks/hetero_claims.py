"""What the heterogeneous-clusters paper (Hetero §V, §VI) says of its tools, held against what was measured.

A claim is counted once for each case that it speaks of: an input and a machine. Claims on running times of parallel
runs (that ParMETIS gets slow with many units) are not comparable with one thread and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

import hetero_table_4 as paper
from hetero import WITH_GRAPH, ZOLTAN, Made


@dataclass(frozen=True)
class Case:
    """What each tool made of an input for a machine; `planar`: a mesh of the plane or of a surface."""

    input: str
    machine: str
    made: Mapping[str, Made]
    planar: bool


@dataclass(frozen=True)
class Agreement:
    """One claim in one case: `held` times out of `of` it is as the paper says."""

    figure: str
    claim: str
    input: str
    machine: str
    held: int
    of: int = 1
    here: str = ""


def of_figures_2(case: Case, weaker: Case | None) -> Iterator[Agreement]:
    """§VI-A. `weaker`: the same input and machine with fast units of speed 2, for fast ones of speed 16."""
    cut = {tool: each.cut for tool, each in case.made.items()}
    seconds = {tool: each.seconds for tool, each in case.made.items()}
    best = min(cut, key=cut.__getitem__)
    geometric = [cut[tool] for tool in ZOLTAN]

    def told(claim: str, held: bool | int, of: int = 1, here: str = "") -> Agreement:
        return Agreement("Fig. 2", claim, case.input, case.machine, int(held), of, here)

    yield told("geoKM cuts least of the geometric methods", cut["geoKM"] < min(geometric))
    yield told("geoRef cuts less than geoKM", cut["geoRef"] < cut["geoKM"])
    if case.planar:
        yield told("geoRef or geoPMRef cuts least of all (2-D)", best in ("geoRef", "geoPMRef"), here=best)
        quicker = seconds["geoRef"] < seconds["geoPMRef"]
        yield told("the refinement of geoRef is faster than that of geoPMRef (2-D)", quicker)
    slowest = max(seconds[tool] for tool in ZOLTAN)
    yield told("Zoltan's geometric methods are the fastest", slowest < min(seconds[t] for t in (*WITH_GRAPH, "geoKM")))
    if weaker is not None:
        before = {tool: each.cut for tool, each in weaker.made.items()}
        grown = [cut[tool] / cut["geoKM"] > before[tool] / before["geoKM"] for tool in ZOLTAN]
        yield told("cuts of Zoltan's methods over geoKM's grow from speed 2 to 16", sum(grown), len(grown))


def of_figures_3_and_4(case: Case) -> Iterator[Agreement]:
    """§VI-B: many units on TOPO2."""
    figure = "Fig. 3" if case.planar else "Fig. 4"
    for what in ("cut", "volume"):
        value = {tool: float(getattr(each, what)) for tool, each in case.made.items()}
        best = min(value, key=value.__getitem__)

        def told(claim: str, held: bool, here: str = "", what: str = what) -> Agreement:
            return Agreement(figure, f"{what}: {claim}", case.input, case.machine, int(held), 1, here)

        if case.planar:
            yield told("geoRef or geoPMRef is the least", best in ("geoRef", "geoPMRef"), best)
        yield told("geoKM is below Zoltan's geometric methods", value["geoKM"] < min(value[t] for t in ZOLTAN))
        if not case.planar:
            worst = max(value[tool] for tool in WITH_GRAPH)
            yield told("all that know the graph are below all geometric ones", worst < min(value[t] for t in ZOLTAN))


def of_figure_5(case: Case, cycles: Mapping[str, Mapping[str, float]]) -> Iterator[Agreement]:
    """§VI-C: edge cut and time of a CG iteration on TOPO3. `cycles`: by network and tool."""
    cut = {tool: each.cut for tool, each in case.made.items()}
    volume = {tool: each.volume for tool, each in case.made.items()}
    best = min(cut, key=cut.__getitem__)
    held = best in ("geoRef", "geoPMRef")
    yield Agreement("Fig. 5", "geoRef or geoPMRef cuts least", case.input, case.machine, int(held), 1, best)
    measured = [("volumes", "", volume)]
    measured += [("times of a CG iteration", f", {name}", dict(each)) for name, each in cycles.items()]
    for name, network, values in measured:
        claim = f"{name} of the tools are closer to each other than their cuts"
        here = f"spreads: {spread(cut):.3f} and {spread(values):.3f}"
        held = spread(values) < spread(cut)
        yield Agreement("Fig. 5", claim, case.input, f"{case.machine}{network}", int(held), 1, here)


def spread(values: Mapping[str, float]) -> float:
    """Largest over smallest."""
    return max(values.values()) / min(values.values())


def of_table_4(graph: str, column: str, case: Case) -> Iterator[Agreement]:
    """Ours against the printed numbers of a graph of the same kind: the best tool, each pair of tools, the ratios."""
    at = paper.COLUMNS.index(column)
    for what, table in (("cut", paper.CUT), ("volume", paper.VOLUME)):
        printed = {tool: float(values[at]) for tool, values in table[graph].items()}
        found = {tool: float(getattr(case.made[tool], what)) for tool in printed}
        best = [min(values, key=values.__getitem__) for values in (found, printed)]
        where = (f"{case.input} beside {graph}", column)
        yield Agreement(
            "Table IV", f"{what}: best tool", *where, int(best[0] == best[1]), 1, f"{best[0]}, there {best[1]}"
        )
        pairs = [
            (found[a] < found[b], found[a] > found[b]) == (printed[a] < printed[b], printed[a] > printed[b])
            for a, b in combinations(printed, 2)
        ]
        yield Agreement("Table IV", f"{what}: order of two tools", *where, sum(pairs), len(pairs))
        near = [
            abs(found[tool] / found["geoKM"] / (printed[tool] / printed["geoKM"]) - 1) <= 0.1
            for tool in printed
            if tool != "geoKM"
        ]
        yield Agreement(
            "Table IV", f"{what}: over geoKM's within 10 % of the printed ratio", *where, sum(near), len(near)
        )


def geomean(values: list[float]) -> float:
    return prod(values) ** (1.0 / len(values))
