"""The search for a kernel: few runs of the model, nothing that an exhaustive search finds much faster."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tracecut.codegen.kernels import choose_kernel as module
from tracecut.codegen.kernels.choose_kernel import CHOICES, JOBS, THREADS, KernelSearch, Wanted, choose_kernel
from tracecut.codegen.kernels.make_region_kernel import BLOCK_VARIANTS
from tracecut.codegen.kernels.predict_blocks import (
    SLOPE,
    BlockCounts,
    fitted_slope,
    least_seconds,
    predict,
    same_blocks,
)
from tracecut.ir.gpu.description import gpu
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.ir.gpu.roofline import PARTS
from tracecut.support.errors import UnsupportedError

from ..harness import Inspected
from .running import source_of
from .test_kernels import edge_loop

Catalogue = Callable[[str], dict[str, Inspected | str]]
CARD = gpu("h200")


@pytest.fixture(scope="module")
def search(inspected: Catalogue) -> KernelSearch:
    """A search that has chosen."""
    made = KernelSearch(source_of(edge_loop(inspected)), Wanted(method="rcm"), CARD)
    made.run()
    return made


def test_all_variants_are_looked_at_and_few_kernels_run(search: KernelSearch) -> None:
    table = search.table()
    assert {item.variant for item in table} == set(CHOICES)
    assert len(search.tried) <= 16
    assert all((item.seconds is None) == bool(item.why) for item in table)
    assert [item.seconds is None for item in table] == sorted(item.seconds is None for item in table)


def test_an_exhaustive_search_finds_nothing_much_faster(search: KernelSearch) -> None:
    chosen = search._best().report.time
    slow = KernelSearch(search.source, search.wanted, CARD)
    slow.orders, slow._registers = search.orders, search._registers
    for variant in CHOICES:
        for threads in THREADS[::2]:
            for jobs in JOBS[::2] if variant in BLOCK_VARIANTS else (1024,):
                slow.look_at(variant, threads, jobs)
    assert len(slow.tried) > 2 * len(CHOICES)
    assert chosen <= 1.03 * min(item.report.time for item in slow.tried.values())


@pytest.mark.parametrize("looks", [0, 1, 3, 9, 12])
def test_when_the_time_is_over_the_best_so_far_is_taken(search: KernelSearch, looks: int) -> None:
    """The first kernel is looked at in any case, and nothing is begun after the end."""
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        found.ends = -math.inf if len(said) > looks else math.inf

    found = KernelSearch(search.source, search.wanted, CARD, say, ends=-math.inf)
    found.orders, found._registers = search.orders, search._registers
    chosen = found.run()
    assert len(said) == looks + 1 and 1 <= len(found.tried) <= looks + 1
    assert [item.chosen for item in chosen.considered].count(True) == 1
    assert ("original", 256, 1024) in found.tried


def test_a_bound_is_never_above_the_time(search: KernelSearch) -> None:
    for item in search.tried.values():
        if item.kernel.schedule is not None:
            assert least_seconds(search._counted(item.kernel), CARD) <= item.report.time


def test_a_prediction_for_the_same_blocks_is_the_time(search: KernelSearch) -> None:
    item = next(item for item in search.tried.values() if item.kernel.schedule is not None)
    counts = search._counted(item.kernel)
    assert predict(item.report, counts, counts, CARD) == pytest.approx(item.report.time, rel=1e-12)
    more = replace(counts, copied=counts.copied + (1 << 30))
    assert predict(item.report, counts, more, CARD) > item.report.time + SLOPE * (1 << 30) / CARD.l2_bandwidth / 2
    busier = replace(counts, busiest=1000 * counts.busiest)
    assert predict(item.report, counts, busier, CARD) > item.report.time
    fewer = replace(counts, copied=counts.copied - (1 << 40))
    assert 0 < predict(item.report, counts, fewer, CARD) <= item.report.time, "no more is saved than there is"


def test_slopes_are_fitted_to_what_was_run(search: KernelSearch) -> None:
    report = next(iter(search.tried.values())).report
    sites = report.counts.shape[0]
    assert sites > 0

    class Bytes:
        def __init__(self, l2_bytes: int) -> None:
            self.l2_bytes = l2_bytes

    def known(*pairs: tuple[int, int]) -> list[tuple[BlockCounts, MemoryReport]]:
        return [(BlockCounts(copied, 1), Bytes(size)) for copied, size in pairs]  # type: ignore[misc]

    assert fitted_slope(known((100, 900))) == SLOPE
    assert fitted_slope(known((100, 900), (100, 950))) == SLOPE
    assert fitted_slope(known((100, 900), (200, 1500), (150, 7))) == 6.0
    assert fitted_slope(known((100, 900), (200, 800))) == 1.0


def test_what_is_asked_for_stays(search: KernelSearch) -> None:
    wanted = Wanted(method="rcm", threads=128, jobs=256)
    found = choose_kernel(search.source, wanted, CARD, lambda text: None)
    assert found.threads == 128
    assert {(item.threads, item.jobs) for item in found.considered} == {(128, 256)}


def test_a_variant_that_is_asked_for_needs_no_model(search: KernelSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **options: Any) -> MemoryReport:
        raise AssertionError("the model ran")

    monkeypatch.setattr(module, "gpu_model", fail)
    found = choose_kernel(search.source, Wanted("smem", method="rcm"), CARD, lambda text: None)
    assert (found.variant, found.threads, found.considered) == ("smem", 256, ())


def test_other_threads_are_tried_from_numbers_that_are_no_powers(search: KernelSearch) -> None:
    found = choose_kernel(search.source, Wanted(method="rcm", threads=96), CARD, lambda text: None)
    assert found.threads == 96


def test_small_gains_leave_the_programs_order(search: KernelSearch) -> None:
    """Two per cent have to be saved."""
    plain = search._of("original")
    assert plain is not None
    for factor, kept in ((0.985, True), (0.975, False)):
        made = KernelSearch(search.source, search.wanted, CARD)
        faster = replace(
            plain, report=replace(plain.report, seconds=(factor * plain.report.time, *(0.0,) * 5), launch=0.0)
        )
        made.tried = {("original", 256, 1024): plain, ("swap", 256, 1024): faster}
        assert (made._best() is plain) == kept


def test_only_what_would_be_slow_without_waiting_is_given_up(search: KernelSearch) -> None:
    """Other blocks have other numbers of warps, which wait at the same time."""
    plain = search._of("original")
    assert plain is not None
    made = KernelSearch(search.source, search.wanted, CARD)
    made.tried = {("original", 256, 1024): plain}
    for place, given_up in ((PARTS.index("HBM"), True), (PARTS.index("latency"), False)):
        seconds = [0.0] * len(PARTS)
        seconds[place] = 3 * plain.report.time
        other = replace(plain, report=replace(plain.report, seconds=tuple(seconds)))
        assert made._hopeless(other) == given_up
        assert other.report.busy <= other.report.time


def test_without_any_kernel_all_reasons_are_told(search: KernelSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: KernelSearch, variant: str, threads: int, jobs: int) -> Any:
        raise UnsupportedError(f"no {variant}")

    monkeypatch.setattr(KernelSearch, "make", refuse)
    with pytest.raises(UnsupportedError, match=r"no original; no swap; no smem; no readonly"):
        choose_kernel(search.source, Wanted(), CARD, lambda text: None)


def test_blocks_are_compared_by_their_jobs(search: KernelSearch) -> None:
    first, second = search.make("smem", 64, 128), search.make("smem", 64, 256)
    assert same_blocks(first.schedule, search.make("smem", 128, 128).schedule)
    assert not same_blocks(first.schedule, second.schedule) and not same_blocks(first.schedule, None)
    assert same_blocks(None, None)
