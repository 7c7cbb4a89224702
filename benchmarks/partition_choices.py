"""Two threads against one, and what `auto` chooses against each of its candidates.

`auto` predicts the time of its candidates by rates that were fitted, and its rules were made, on the inputs of
`choices`, with 64 clusters in natural order. What it is worth elsewhere is measured by `choices_elsewhere`, on other
graphs, other numbers of clusters and another order. Of these graphs some were looked at when rules were mended, the
others, `HELD_OUT`, never: a rule that came out of what is measured on them would spoil them for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from graphs import shuffled
from measuring import Input, Options, bar, cpu_seconds, interleaved, timed, wall
from rows import Row
from tracecut.ir import Clustering, LocalityGraph
from tracecut.partition import partition
from tracecut.partition.auto import Size, Trial, choose
from tracecut.partition.balance.rebalance import equal_targets
from tracecut.partition.inputs.arguments import check_request
from tracecut.partition.multilevel.driver import refine_km1
from tracecut.support.arrays import Ints

ROUNDS = 9  # of calls that take a tenth of a second, of which each other program on the machine makes one longer

BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0)
KM1 = {"refine": "km1"}
CANDIDATES = (
    Trial("chunks"),
    Trial("wb-libra"),
    Trial("wb-libra", {"passes": 2}),
    Trial("expansion"),
    Trial("expansion", KM1),
    Trial("spac"),
    Trial("spac", KM1),
    Trial("metis"),
    Trial("metis", KM1),
    Trial("multilevel"),
    Trial("geographer-r", KM1),
)
HOPELESS = 2 * max(BUDGETS)  # predicted seconds from which a candidate is left out: it fits no budget
NEAR = 1.05
SHORT = 1.0  # seconds up to which a candidate is run as often as the options say; others once, after no warm-up

# Graphs of the data folder that nothing was fitted to; every second one of each class is held out.
SEEN = (
    *("bcsstk16", "4elt", "whitaker3", "fe_sphere", "cti", "pyamg-local_disc_galerkin_diffusion", "pyamg-airfoil"),
    *("add32", "sparcT1_core", "musae-github", "astro-ph", "musae-wiki-crocodile", "USA-road-COL"),
)
HELD_OUT = (
    *("fe_4elt2", "3elt", "airfoil1", "data", "trace-00008", "md-dhfr", "pyamg-bar"),
    *("ibm01", "lp1", "facebook-combined", "dblp-coauthor", "wiki-Vote", "USA-road-FLA"),
)
KINDS = ("fitted", "not fitted", "held out")
ELSEWHERE = (("natural", 64), ("natural", 16), ("natural", 256), ("shuffled", 64))


def two_threads(given: Input, options: Options) -> Iterator[Row]:
    """Wall seconds on two threads against one; the labels must be the same.

    Refinement is measured by itself, from the labels of expansion, and together with that, which has one thread.
    """
    graph, data = given.graph, {"of": "data", "weights": np.ones(given.graph.n_data)}
    grown, loads, shares = partition(graph, 64, "expansion").labels, np.ones(graph.n_jobs), equal_targets(64)

    def method(**arguments: Any) -> Callable[[int], Ints]:
        return lambda threads: partition(graph, 64, threads=threads, **arguments).labels

    def refined(threads: int) -> Ints:
        return refine_km1(graph, grown, weights=loads, targets=shares, threads=threads)

    cases: dict[str, Callable[[int], Ints]] = {
        "km1 refinement": refined,
        "expansion + km1": method(method="expansion", refine="km1"),
        "multilevel": method(method="multilevel"),
        "parcubed-det": method(method="parcubed-det", **data),
    }
    if given.coords is not None:
        cases["kmeans"] = method(method="kmeans", coords=given.coords, **data)
        cases["geographer-r"] = method(method="geographer-r", coords=given.coords, **data)
    for name, call in cases.items():
        calls = {str(threads): partial(call, threads) for threads in (1, 2)}
        found = interleaved(calls, max(options.repeat, ROUNDS), clock=wall)
        (one, alone), (two, batch) = found["1"], found["2"]
        if one.tolist() != two.tolist():
            raise AssertionError(f"{name} on {given.name}: other labels on two threads than on one")
        yield Row(given.name, "natural", f"{name} k=64, 2 threads: wall s", batch, "1 thread", alone)
        if name != "expansion + km1":
            yield bar(given.name, f"{name} k=64: speedup of 2 threads", alone / batch, "≥", 1.6)


def choices(given: Input, options: Options) -> Iterator[Row]:
    """`auto` at several budgets against the best of its candidates that take no longer, where it was fitted."""
    yield from _Choices(given, "natural", 64, "fitted", options).rows()


def choices_elsewhere(given: Input, options: Options) -> Iterator[Row]:
    """The same where it was not."""
    words = "held out" if given.name in HELD_OUT else "not fitted"
    for order, k in ELSEWHERE:
        yield from _Choices(given, order, k, words, options).rows()


def summed_choices(rows: Sequence[Row]) -> list[Row]:
    """How often `auto` is within 5 % of the best candidate of its budget, and within its budget, by kind of input."""
    near: dict[str, list[bool]] = {}
    kept: dict[str, list[bool]] = {}
    for row in rows:
        words = f"{row.metric}, ".split(", ")[1] if row.metric.startswith("auto k=") else ""
        if words not in KINDS or row.value is None or row.peer_value is None:
            continue
        if row.peer.startswith("best, "):
            near.setdefault(words, []).append(row.value <= NEAR * row.peer_value)
        elif row.peer == "budget":
            kept.setdefault(words, []).append(row.value <= row.peer_value)
    found = []
    for metric, groups, bound in (("within 5 % of the best candidate", near, 0.8), ("CPU s within budget", kept, None)):
        for words, flags in groups.items():
            share = sum(flags) / len(flags)
            name = f"auto, {words}: share of {len(flags)}"
            found.append(Row(name, "", metric, share, "" if bound is None else "bar ≥", bound))
    return found


class _Choices:
    """Every candidate once, by title, on one thread; and what `auto` makes of them.

    All candidates give the same labels each time, so that `auto` at one budget after the other need not run them
    again: it gets those that are known, and took the sum of their seconds. One call in earnest checks that.
    """

    def __init__(self, given: Input, order: str, k: int, words: str, options: Options) -> None:
        self.graph = given.graph if order == "natural" else shuffled(given.graph)
        self.coords, self.k, self.options = given.coords, k, options
        self.name, self.order, self.words = given.name, order, words
        self.known: dict[str, tuple[Clustering, float]] = {}

    def rows(self) -> Iterator[Row]:
        for trial in CANDIDATES:
            if (trial.name == "geographer-r" and self.coords is None) or self._hopeless(trial):
                continue
            found, seconds = self._run(trial.name, trial.changes)
            yield self._row(f"{trial.title} k={self.k}: cost", found.cost())
            yield self._row(f"{trial.title} k={self.k}: imbalance", found.imbalance(), "allowed", 1.03)
            yield self._row(f"{trial.title} k={self.k}: CPU s", seconds)
        request = check_request(self.graph, self.k, coords=self.coords, threads=1)
        for budget in BUDGETS:
            fitting = {name: found.cost() for name, (found, seconds) in self.known.items() if seconds <= budget}
            if not fitting:
                continue
            ran: list[float] = []

            def run(name: str, changes: Mapping[str, Any], ran: list[float] = ran) -> Clustering:
                found, seconds = self._run(name, changes)
                ran.append(seconds)
                return found

            found = choose(self.graph, request, run, budget=budget)
            if budget == 1.0:
                self._check(found, budget)
            best = min(fitting, key=lambda name: fitting[name])
            metric = f"auto k={self.k}, {self.words}, budget {budget:g} s"
            yield self._row(f"{metric}: cost", found.cost(), f"best, {best}", fitting[best])
            yield self._row(f"{metric}: imbalance", found.imbalance(), "allowed", 1.03)
            yield self._row(f"{metric}: CPU s", sum(ran), "budget", budget)

    def _row(self, metric: str, value: float, peer: str = "", other: float | None = None) -> Row:
        return Row(self.name, self.order, metric, value, peer, other)

    def _run(self, name: str, changes: Mapping[str, Any]) -> tuple[Clustering, float]:
        """A candidate's clustering and its CPU seconds: those of an earlier call with the same changes, if any."""
        own = {key: value for key, value in changes.items() if key != "time_limit"}
        title = Trial(name, own).title
        if title not in self.known:
            places = {"coords": self.coords} if name == "geographer-r" else {}

            def call() -> Clustering:
                return partition(self.graph, self.k, name, threads=1, **own, **places)

            _warm_up(name, own)
            start = cpu_seconds()
            found = call()
            seconds = cpu_seconds() - start
            if seconds <= SHORT and self.options.repeat > 1:
                found, seconds = timed(call, self.options.repeat)
            self.known[title] = found, seconds
        return self.known[title]

    def _hopeless(self, trial: Trial) -> bool:
        copies = self.known["expansion"][0].cost() if "expansion" in self.known else 0.0
        return trial.seconds(Size.of(self.graph, self.k), copies) > HOPELESS

    def _check(self, found: Clustering, budget: float) -> None:
        """Raises AssertionError where `auto` itself gives other labels than the known candidates did."""
        again = partition(self.graph, self.k, "auto", budget=budget, coords=self.coords, threads=1)
        if again.labels.tolist() != found.labels.tolist():
            raise AssertionError(f"auto on {self.name}, k = {self.k}: other labels than its candidates gave")


def _warm_up(name: str, changes: Mapping[str, Any]) -> None:
    """One run on a small mesh, once a process: loading compiled code is no part of any time."""
    if (name, str(changes)) not in _WARM:
        side = 48
        cells = np.arange(side * side, dtype=np.int32).reshape(side, side)
        u = np.concatenate([cells[1:].ravel(), cells[:, 1:].ravel()])
        v = np.concatenate([cells[:-1].ravel(), cells[:, :-1].ravel()])
        places = np.stack(np.divmod(cells.ravel(), side), 1).astype(float)
        mesh = LocalityGraph.from_edges(u, v, cells.size)
        partition(mesh, 8, name, threads=1, **changes, **({"coords": places} if name == "geographer-r" else {}))
        _WARM.add((name, str(changes)))


_WARM: set[tuple[str, str]] = set()
