"""`method="auto"`: chooses methods within a budget of seconds, by the shape of the graph and the results of cheap
methods.

The seconds of a method are predicted from counts alone (pins, and the vertex copies that expansion left), never
measured: the same call makes the same choice on every machine, under any load and on any number of threads. They are
CPU seconds of one core at about 2.5 GHz, mostly within a factor of two on the graphs that they were fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition.inputs.arguments import Request
from tracecut.support.errors import BackendError

SKEWED = 16  # a largest degree above this many times the mean: hubs, which are better copied than kept whole
BUDGET = 20.0
Run = Callable[[str, Mapping[str, Any]], Clustering]

SPARSE = 0.1  # copies that expansion left, per pin, below which hubs leave much to others than multilevel

# Seconds: a fixed part, then microseconds a pin, a copy that expansion left, a job of the coarsest graph (160 k), and a
# job that multilevel bisects there.
SECONDS = {
    "chunks": (0.0, 0.005, 0.0, 0.0, 0.0),
    "wb-libra": (0.001, 0.006, 0.02, 0.0, 0.0),
    "wb-libra, 2 passes": (0.0, 0.045, 0.06, 0.0, 0.0),
    "expansion": (0.0, 0.04, 0.2, 0.0, 0.0),
    "expansion, km1": (0.0, 0.42, 11.0, 0.0, 0.0),
    "multilevel": (0.02, 0.45, 26.0, 0.0, 2.4),
    "spac": (0.145, 0.085, 20.0, 0.0, 0.0),
    "spac, km1": (0.02, 0.42, 6.0, 0.0, 0.0),
    "spac, km1, behind METIS": (0.14, 0.52, 36.0, 0.0, 0.0),
    "metis": (0.15, 0.06, 11.0, 0.0, 0.0),
    "metis, km1": (0.13, 0.5, 40.0, 0.0, 0.0),
    "geographer-r, km1": (0.09, 0.75, 30.0, 0.0, 0.0),
    "geographer-r": (0.12, 1.0, 0.0, 10.0, 0.0),
    "parcubed-det": (0.002, 0.03, 0.0, 0.3, 0.0),
}
COARSE = 160
LITTLE = 0.1  # of the seconds spent so far: a candidate that costs no more is tried in any case
BESIDE_HUBS = 1.2  # times longer takes refinement where it has to look at many clusters of one datum
FOREIGN = frozenset({"metis", "spac"})  # run METIS in a process of its own, which could hang
PATIENCE = 20  # times the predicted seconds, and a minute, that such a process is waited for


@dataclass(frozen=True)
class Size:
    """What the seconds of a method are predicted from.

    Attributes:
        pins: of the graph. small: whether SPAC starts from METIS even where refinement follows (`split_connect.SMALL`).
        coarse: jobs of the coarsest graph.
        bisected: the same as often as multilevel repeats a bisection of them, for 64 clusters; for others by the depths
            of the recursion.
        hubs: whether a few data have far more jobs than most.
    """

    pins: int
    small: bool
    coarse: int
    bisected: float
    hubs: bool

    @classmethod
    def of(cls, graph: LocalityGraph, k: int) -> Size:
        """Counts alone. O(pins)."""
        from tracecut.partition.edge_cut.split_connect import SMALL

        # imported only if a method runs, since these modules load the libraries of methods
        from tracecut.partition.multilevel.driver import (
            REPEATS,
            SHRUNK,
            TINY,
        )

        pins, jobs = graph.n_pins, graph.n_jobs
        coarse = min(jobs, COARSE * k)
        repeats = REPEATS if pins < TINY or jobs > SHRUNK * coarse else 1
        hubs = bool(graph.degrees().max(initial=0) * graph.n_data > SKEWED * pins)
        return cls(pins, pins <= SMALL, coarse, coarse * repeats * math.log2(max(k, 2)) / 6, hubs)


@dataclass(frozen=True)
class Trial:
    """One candidate: a method, changes to the arguments of the call, and its name in `SECONDS`."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        passes = self.changes.get("passes")
        extra = [f"{passes} passes"] if passes else []
        return ", ".join([self.name, *extra, *([self.changes["refine"]] if "refine" in self.changes else [])])

    def seconds(self, size: Size, copies: float) -> float:
        """Predicted CPU seconds; `copies` is what expansion left."""
        behind = f"{self.title}, behind METIS"
        rates = SECONDS[behind if size.small and behind in SECONDS else self.title]
        counts = (size.pins, copies, size.coarse, size.bisected)
        seconds = rates[0] + sum(rate * count for rate, count in zip(rates[1:], counts, strict=True)) * 1e-6
        refined = "refine" in self.changes or self.name == "multilevel"
        return seconds * BESIDE_HUBS if size.hubs and refined else seconds


class _Search:
    """The candidates run so far, the best of them, and the rest of the budget."""

    def __init__(self, graph: LocalityGraph, k: int, run: Run, budget: float | None) -> None:
        self.graph, self.size, self.run = graph, Size.of(graph, k), run
        self.copies, self.spent = 0.0, 0.0
        self.left = float("inf") if budget is None else budget
        self.best: Clustering | None = None
        self.lines: list[str] = []

    def try_(self, trial: Trial) -> Clustering | None:
        """Run a candidate if the budget has room for it; None if not, or if it failed."""
        seconds = trial.seconds(self.size, self.copies)
        if seconds > self.left:
            self.lines.append(f"{trial.title}: not run, about {seconds:.2g} s, {self.left:.2g} s are left")
            return None
        limit = {"time_limit": 60.0 + PATIENCE * seconds} if trial.name in FOREIGN else {}
        try:
            found = self.run(trial.name, {**trial.changes, **limit})
        except BackendError as error:
            self.lines.append(f"{trial.title}: {error.message}")
            return None
        self.left -= seconds
        self.spent += seconds
        cost = found.cost()
        self.lines.append(f"{trial.title}: cost {cost:.0f}, about {seconds:.2g} s")
        if self.best is None or cost < self.best.cost():
            self.best = found
        return found

    def first(self, trials: list[Trial]) -> str:
        """Run the first of the candidates that the budget has room for and that does not fail; its title or none."""
        for trial in trials:
            if self.try_(trial) is not None:
                return trial.title
        return ""


def choose(graph: LocalityGraph, request: Request, run: Run, *, budget: float | None = BUDGET) -> Clustering:
    """The best clustering that candidates give within the budget, with the reasons in `why`.

    Jobs: contiguous chunks and neighbourhood expansion first (streaming where the budget has no room for that), then
    the strongest that still fits: k-means with Geographer's refinement and km1 where there are coordinates and no hubs,
    multilevel, SPAC with short cycles, expansion with km1, METIS. What is left goes to rivals that now and then beat
    these: multilevel behind Geographer's, METIS with km1 behind multilevel, expansion with km1 behind SPAC; with hubs,
    where few data are copied, SPAC and METIS with km1. Last, expansion with km1 where that costs little beside what was
    spent, and with hubs streaming: it costs next to nothing, and on some graphs (links of a web, hubs on one side only)
    expansion gives twice its copies.
    Data: ParCubed, then Geographer-R with coordinates, else METIS.

    Args:
        graph: the locality graph.
        request: what `partition` was called with.
        run: runs a method by name, with changes to the request.
        budget: CPU seconds, predicted (see above); None has no end. Contiguous chunks are always run.

    Returns:
        The clustering of lowest cost among those run.
    """
    search = _Search(graph, request.k, run, budget)
    placed = request.coords is not None
    search.lines.append(
        f"{graph.n_jobs} jobs on {graph.n_data} data, {'with' if search.size.hubs else 'without'} hubs, "
        f"{'with' if placed else 'without'} coordinates"
    )
    (_for_jobs if request.of == "jobs" else _for_data)(search, request.k, placed)
    assert search.best is not None  # the first candidates never fail and are always run
    best = search.best
    return replace(best, why=(*search.lines, f"{best.method} had the lowest cost"))


def _for_jobs(search: _Search, k: int, placed: bool) -> None:
    left, search.left = search.left, float("inf")
    search.try_(Trial("chunks"))
    search.left = left
    if k == 1 or search.size.pins == 0:
        return
    streamed = Trial("wb-libra", {"passes": 2})
    grown = search.try_(Trial("expansion"))
    if grown is None:
        search.try_(Trial("wb-libra"))
        search.try_(streamed)
        return
    search.copies = vertex_copies(search.graph, grown)
    if search.copies == 0:
        return
    refined = {"refine": "km1"}
    geometric = [Trial("geographer-r", refined)] if placed and not search.size.hubs else []
    multilevel, cycles, regrown = Trial("multilevel"), Trial("spac", refined), Trial("expansion", refined)
    ran = search.first([*geometric, multilevel, cycles, regrown, Trial("metis")])
    if geometric and ran == geometric[0].title:
        search.try_(multilevel)
    elif ran == cycles.title:
        search.try_(regrown)
    elif ran == multilevel.title and not search.size.hubs:
        search.try_(Trial("metis", refined))
    elif ran == multilevel.title and search.copies < SPARSE * search.size.pins:
        search.try_(cycles)
        search.try_(Trial("metis", refined))
    if ran not in (cycles.title, regrown.title) and regrown.seconds(search.size, search.copies) < LITTLE * search.spent:
        search.try_(regrown)
    if search.size.hubs:
        search.try_(streamed)


def _for_data(search: _Search, k: int, placed: bool) -> None:
    left, search.left = search.left, float("inf")
    search.try_(Trial("parcubed-det"))
    search.left = left
    if k > 1 and search.size.pins:
        search.first([*([Trial("geographer-r")] if placed and not search.size.hubs else []), Trial("metis")])
