"""Which orders are tried, on a clock that the test turns and with orders whose times it states."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.tuning import choose_order, nothing_left
from tracecut.codegen.tuning.time_limits import TimeLimits
from tracecut.codegen.tuning.trial import ALONE

pytestmark = pytest.mark.quick


class Orders:
    """Orders that take ten seconds each to try. `made`: those that were tried; `looked`: how often the close ones were
    measured again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, misses: float = 2.0, milliseconds: float = 2.0) -> None:
        """`misses`: lines a job that the original fetches, where one is the least; `milliseconds`: of every order."""
        self.now, self.milliseconds, self.misses, self.shared = 100.0, milliseconds, misses, 0.0
        self.made: list[str] = []
        self.looked = 0
        self.note = ""  # of orders that do not run
        self.original = choose_order.Candidate("original", region_ms=1.0)
        for name, value in {
            "measure_original": lambda _: (self.original, None),
            "predict": lambda *_: [misses, misses],
            "unchanged": lambda _: None,
            "default_clusters": lambda *_: 4,
            "linear_methods": lambda _: ("a", "b", "c"),
            "LINEAR": ("a", "b", "c"),
            "_may_wait": lambda _: False,
            "cluster_methods": lambda _: (),
            "least_misses": lambda _: 1.0,
            "look_again": self.look_again,
            "second_look": lambda *_: None,
            "try_order": self.order,
        }.items():
            monkeypatch.setattr(choose_order, name, value)
        monkeypatch.setattr(nothing_left, "least_misses", lambda _: 1.0)

    def look_again(self, *_: Any) -> None:
        self.looked += 1

    def order(self, bench: Any, name: str, **_: Any) -> choose_order.Candidate:
        self.made.append(name)
        self.now += 10.0
        if self.note:
            return choose_order.Candidate(name, note=self.note)
        return choose_order.Candidate(
            name, region_ms=self.milliseconds, predicted=[self.misses, self.misses], shared=self.shared
        )

    def tune(self, deadline: float | None = None, **words: Any) -> tuple[dict[str, str], str]:
        """Name of each order → its note, and the best."""
        subject: Any = SimpleNamespace(graph=SimpleNamespace(graph=SimpleNamespace(n_jobs=8)), entries=5)
        machine: Any = None
        limits = {"budget": 20.0, **{name: words.pop(name) for name in ("budget", "in_proportion") if name in words}}
        found, best = choose_order.tune(
            subject,
            machine,
            TimeLimits(**limits, deadline=deadline, clock=lambda: self.now),
            method="auto",
            seed=0,
            k=None,
            **{"sweeps": 1.0, "threads": 1, **words},
            say=lambda _: None,
        )
        return {item.method: item.note for item in found}, "original" if best is None else best.method


@pytest.mark.parametrize(("deadline", "tried"), [(None, "abc"), (112.0, "ab"), (99.0, "a")])
def test_orders_are_tried_until_the_deadline(
    monkeypatch: pytest.MonkeyPatch, deadline: float | None, tried: str
) -> None:
    """The first is always tried."""
    orders = Orders(monkeypatch)
    notes, best = orders.tune(deadline)
    assert (orders.made, best, orders.looked) == (list(tried), "original", 1)
    assert [name for name in "abc" if notes[name] == choose_order.SPENT] == [
        name for name in "abc" if name not in tried
    ]


@pytest.mark.parametrize(
    ("misses", "milliseconds", "tried"),
    [(1.1, 2.0, "a"), (1.1, 0.95, "a"), (1.1, 0.8, "abc"), (1.2, 2.0, "abc")],
)
def test_nothing_more_is_tried_where_nothing_is_left_to_gain(
    monkeypatch: pytest.MonkeyPatch, misses: float, milliseconds: float, tried: str
) -> None:
    """The original fetches each line about once, and the first order is no faster."""
    orders = Orders(monkeypatch, misses=misses, milliseconds=milliseconds)
    notes, _ = orders.tune()
    assert orders.made == list(tried)
    assert orders.looked == (0 if tried == "a" else 1)
    for name in set("abc") - set(tried):
        assert notes[name] == "not tried: the program's own order already fetches each cache line about once"


@pytest.mark.parametrize(("milliseconds", "tried"), [(2.0, ["a"]), (0.5, ["a", "a+z", "b", "b+z", "c", "c+z"])])
def test_an_order_that_shows_that_nothing_is_left_is_not_tried_along_the_curve(
    monkeypatch: pytest.MonkeyPatch, milliseconds: float, tried: list[str]
) -> None:
    orders = Orders(monkeypatch, misses=1.1, milliseconds=milliseconds)
    monkeypatch.setattr(choose_order, "_may_wait", lambda _: True)
    notes, _ = orders.tune()
    assert orders.made == tried
    assert notes["a+z"].startswith("not tried: the program's own order") == (milliseconds > 1)


@pytest.mark.parametrize(
    ("misses", "threads", "milliseconds", "tried", "looked"),
    [
        (1.1, 2, 2.0, ["own"], 0),
        (1.1, 2, 0.6, ["own"], 1),
        (1.1, 1, 2.0, ["a"], 0),  # the program runs it as it is
        (1.2, 2, 2.0, ["a", "b", "c"], 1),  # fewer misses may be worth more than threads
    ],
)
def test_a_good_order_is_tried_on_all_threads_before_others(
    monkeypatch: pytest.MonkeyPatch, misses: float, threads: int, milliseconds: float, tried: list[str], looked: int
) -> None:
    """Whether it gains or not: others fetch no less. What seems to gain is measured again."""
    orders = Orders(monkeypatch, misses=misses, milliseconds=milliseconds)
    _, best = orders.tune(threads=threads)
    assert (orders.made, orders.looked) == (tried, looked)
    assert best == ("own" if milliseconds < 1 else "original")


@pytest.mark.parametrize(("threads", "made"), [(2, ["own"]), (1, [])])
@pytest.mark.parametrize("milliseconds", [0.5, 2.0])
def test_where_a_sample_shows_lines_fetched_once_only_threads_are_tried(
    monkeypatch: pytest.MonkeyPatch, threads: int, made: list[str], milliseconds: float
) -> None:
    orders = Orders(monkeypatch, misses=9.0, milliseconds=milliseconds)
    notes, best = orders.tune(threads=threads, once=True)
    assert orders.made == made and list(notes) == ["original", *made]
    assert best == ("own" if made and milliseconds < 1 else "original")


@pytest.mark.parametrize("note", [ALONE, "refused: sums that nearly cancel change"])
def test_a_good_order_that_no_threads_can_share_is_left_alone(monkeypatch: pytest.MonkeyPatch, note: str) -> None:
    orders = Orders(monkeypatch, misses=1.1)
    orders.note = note
    notes, best = orders.tune(threads=2)
    assert (orders.made, orders.looked, best) == (["own"], 0, "original")
    assert all(notes[name].startswith("not tried: the program's own order already") for name in "abc")


@pytest.mark.parametrize(("shared", "rest"), [(0.01, "abc"), (0.5, "")])
def test_threads_that_share_much_may_gain_by_another_order(
    monkeypatch: pytest.MonkeyPatch, shared: float, rest: str
) -> None:
    orders = Orders(monkeypatch, misses=1.1, milliseconds=0.6)
    orders.shared = shared
    notes, _ = orders.tune(threads=2)
    assert "".join(name for name in "abc" if "threads share little" in notes[name]) == rest


@pytest.mark.parametrize(
    ("original", "first", "milliseconds", "why"),
    [
        ([3.0, 1.0], [2.0, 1.0], 1.2, "it avoids most of the cache misses that can be avoided, and gains nothing"),
        ([3.0, 1.0], [2.1, 1.0], 1.2, ""),  # more than half of them are left
        ([3.0, 3.0], [1.0, 2.1], 1.2, ""),  # beyond one cache
        ([3.0, 1.0], [2.0, 1.0], 0.95, ""),  # as much again would pay
        ([3.0, 1.0], [2.0], 1.2, ""),  # not known
        ([], [2.0], 1.2, ""),
    ],
)
def test_an_order_that_avoids_most_misses_shows_what_that_is_worth(
    monkeypatch: pytest.MonkeyPatch, original: list[float], first: list[float], milliseconds: float, why: str
) -> None:
    monkeypatch.setattr(nothing_left, "least_misses", lambda _: 1.0)
    subject: Any = None
    candidates = [
        choose_order.Candidate("original", region_ms=1.0, predicted=original),
        choose_order.Candidate("it", region_ms=milliseconds, predicted=first),
    ]
    assert nothing_left.nothing_left(subject, candidates, 1.0) == why


@pytest.mark.parametrize(("copies", "sweeps", "outweigh"), [(8.0, 4.0, True), (8.0, 4.1, False), (None, 1.0, False)])
def test_copies_that_take_longer_than_the_loop_outweigh_any_order(
    copies: float | None, sweeps: float, outweigh: bool
) -> None:
    """Another order needs half of them at least."""
    candidates = [
        choose_order.Candidate("original", region_ms=1.0, copy_ms=0.0),
        choose_order.Candidate("a", region_ms=0.1, copy_ms=copies),
        choose_order.Candidate("b", note="failed"),
    ]
    assert bool(nothing_left.copies_outweigh(candidates, sweeps)) is outweigh


def test_an_order_that_seems_to_gain_nothing_gets_a_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was measured while the machine was busy: the others are tried as if it had not been."""
    orders = Orders(monkeypatch, misses=1.1, milliseconds=2.0)

    def second_look(_: Any, original: choose_order.Candidate, first: choose_order.Candidate) -> None:
        assert (original.method, first.method) == ("original", "a")
        first.region_ms = 0.5

    monkeypatch.setattr(choose_order, "second_look", second_look)
    _, best = orders.tune()
    assert (orders.made, best) == (["a", "b", "c"], "a")


def test_every_order_has_those_that_ran_as_its_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is predicted to be worse in every respect is then not measured (`try_order`)."""
    orders = Orders(monkeypatch, misses=3.0, milliseconds=0.5)
    rivals = []

    def order(bench: Any, name: str, **words: Any) -> choose_order.Candidate:
        rivals.append([item.method for item in words["rivals"]])
        return orders.order(bench, name)

    monkeypatch.setattr(choose_order, "try_order", order)
    orders.tune()
    assert rivals == [[], ["a"], ["a", "b"]]


@pytest.mark.parametrize(("milliseconds", "unless"), [(0.9, "original"), (0.89, "")])
def test_where_an_order_gains_nothing_others_have_to_avoid_misses(
    monkeypatch: pytest.MonkeyPatch, milliseconds: float, unless: str
) -> None:
    orders = Orders(monkeypatch, misses=3.0, milliseconds=milliseconds)
    asked = []

    def order(bench: Any, name: str, **words: Any) -> choose_order.Candidate:
        asked.append(words["unless"].method if words.get("unless") else "")
        return orders.order(bench, name)

    monkeypatch.setattr(choose_order, "try_order", order)
    orders.tune()
    assert asked == ["", unless, unless]


@pytest.mark.parametrize(
    ("misses", "shared", "alone", "together", "threads", "found"),
    [
        ([3.0, 1.1], 0.01, 0.5, 0.3, 2, "a"),
        ([3.0, 1.1], 0.01, None, 0.3, 2, "a"),
        ([3.0, 1.1], 0.01, 0.5, None, 1, "a"),
        ([3.0, 1.2], 0.01, 0.5, 0.3, 2, ""),  # of which more can be avoided
        ([3.0, 1.1], 0.03, 0.5, 0.3, 2, ""),  # threads share much
        ([3.0, 1.1], 0.01, 0.3, 0.5, 2, ""),  # threads gain nothing
        ([3.0, 1.1], 0.01, 0.5, None, 2, ""),
        ([], 0.01, 0.5, 0.3, 2, ""),  # not known
        ([3.0, 1.1], 0.01, 0.95, 0.95, 2, "original"),
    ],
)
def test_an_order_that_leaves_little_is_what_others_have_to_beat(
    misses: list[float], shared: float, alone: float | None, together: float | None, threads: int, found: str
) -> None:
    candidates = [
        choose_order.Candidate("original", region_ms=1.0),
        choose_order.Candidate("a", region_ms=alone, region_all_ms=together, predicted=misses, shared=shared),
        choose_order.Candidate("b", region_ms=0.7, predicted=[9.0, 9.0]),
        choose_order.Candidate("c", note="failed"),
    ]
    if found == "original":
        del candidates[2]
    best = nothing_left.to_beat(candidates, 1.0, threads, 1.0)
    assert ("" if best is None else best.method) == found


@pytest.mark.parametrize(
    ("sweeps", "in_proportion", "tried"), [(100, True, "ab"), (800, True, "abc"), (1, False, "abc")]
)
def test_clusters_are_looked_for_in_proportion_to_the_loop(
    monkeypatch: pytest.MonkeyPatch, sweeps: float, in_proportion: bool, tried: str
) -> None:
    """`b` and `c` may take 4 s each, and do take 10: the loop, entered five times, takes 0.5 or 4 s in all."""
    orders = Orders(monkeypatch, milliseconds=2.0)
    for name, value in {
        "linear_methods": lambda _: ("a",),
        "cluster_methods": lambda _: ("b", "c"),
        "no_reason": lambda *_: "",
        "block_copies": lambda *_: 1.0,
        "seconds": lambda *_: 4.0,
    }.items():
        monkeypatch.setattr(choose_order, name, value)
    notes, _ = orders.tune(sweeps=sweeps, in_proportion=in_proportion, budget=100.0)
    assert orders.made == list(tried)
    if "c" not in tried:
        assert notes["c"] == "not tried: may need 4 s, the loop takes 0.5 s in a run of the program"
