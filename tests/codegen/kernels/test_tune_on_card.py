"""Kernels timed on a made-up card with a clock of its own: which one is taken, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.devices.backend import CUDA
from tracecut.codegen.devices.device import Device
from tracecut.codegen.kernels import tune_on_card as module
from tracecut.codegen.kernels.choose_kernel import TIMED, KernelSearch, Wanted, choose_kernel
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.tune_on_card import LAUNCHES, fastest, times_on_card
from tracecut.codegen.tuning import emit_worker
from tracecut.ir.gpu.description import gpu
from tracecut.support.errors import ToolchainError

from ..harness import Inspected
from .running import source_of
from .test_kernel_file import kernel as by_hand
from .test_kernels import edge_loop

Catalogue = Callable[[str], dict[str, Inspected | str]]


class Card:
    """A backend whose launches take what `seconds` says of their threads and blocks; None: they fail."""

    takes: tuple[str, ...] = CUDA

    def __init__(self, seconds: Callable[[int, int], float | None], name: str = "Made-up card, CUDA 13.2") -> None:
        self.seconds, self.name, self.now, self.launches, self.room = seconds, name, 100.0, 0, 1 << 40

    def count(self) -> int:
        return 1

    def capability(self, number: int) -> tuple[int, int]:
        return 9, 0

    def describe(self, number: int) -> str:
        return self.name

    def load(self, number: int, code: bytes, name: str, ending: str) -> Any:
        assert code and ending in ("cubin", "ptx")
        return name

    def put(self, number: int, data: Any) -> Any:
        if data.nbytes > self.room:
            raise MemoryError("out of memory")
        return data.copy()

    def get(self, number: int, array: Any) -> Any:
        raise AssertionError("nothing is read back")

    def address(self, array: Any) -> int:
        return 1 << 20

    def launch(self, number: int, kernel: Any, blocks: int, threads: int, shared: int, arguments: Any) -> None:
        self.launches += 1
        took = self.seconds(threads, blocks)
        if took is None:
            raise RuntimeError("an illegal memory access was encountered")
        # The first launch takes long, and one of the others is disturbed.
        self.now += took * (50 if self.launches == 1 else 10 if self.launches == 4 else 1)


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Card, Device]]:
    """A card, whose clock is the module's; what is remembered lies in a folder of the test."""

    def made(seconds: Callable[[int, int], float | None], name: str = "Made-up card, CUDA 13.2") -> tuple[Card, Device]:
        backend = Card(seconds, name)
        monkeypatch.setattr(module.time, "perf_counter", lambda: backend.now)
        return backend, Device(backend, 0, (9, 0))

    monkeypatch.setattr(module, "cache_home", lambda: tmp_path)
    return made


def kernels() -> list[Kernel]:
    return [by_hand(), replace(by_hand(), threads=by_hand().threads * 2)]


def per_thread(threads: int, blocks: int) -> float:
    return 1e-6 * threads


def test_the_median_of_launches(card: Callable[..., tuple[Card, Device]]) -> None:
    backend, device = card(per_thread)
    both = kernels()
    assert times_on_card(both, device) == pytest.approx([1e-6 * item.threads for item in both], rel=1e-6)
    assert backend.launches == 2 * (1 + LAUNCHES)


def test_times_are_remembered_for_these_kernels_input_card_and_driver(card: Callable[..., tuple[Card, Device]]) -> None:
    backend, device = card(per_thread)
    first = times_on_card(kernels(), device)
    before = backend.launches
    assert times_on_card(kernels(), device) == first and backend.launches == before
    (changed, other) = kernels()
    data = changed.arrays[0].data.copy()
    data[0] ^= 1
    changed = replace(changed, arrays=(replace(changed.arrays[0], data=data), *changed.arrays[1:]))
    times_on_card([changed, other], device)
    assert backend.launches == 2 * before
    newer, device = card(per_thread, "Made-up card, CUDA 14.0")
    times_on_card(kernels(), device)
    assert newer.launches == before


@pytest.mark.parametrize("text", ["", "[1.0]", "[1.0, -2.0]", '["a", 1.0]', "{}", "[NaN, 1.0]", "[1.0, 2.0"])
def test_damaged_memories_are_measured_anew(
    text: str, card: Callable[..., tuple[Card, Device]], tmp_path: Path
) -> None:
    backend, device = card(per_thread)
    first = times_on_card(kernels(), device)
    (path,) = (tmp_path / "tuned").iterdir()
    path.write_text(text)
    before = backend.launches
    assert times_on_card(kernels(), device) == pytest.approx(first) and backend.launches == 2 * before


def test_what_fails_on_the_card_has_no_time(card: Callable[..., tuple[Card, Device]]) -> None:
    slow = by_hand().threads
    _, device = card(lambda threads, blocks: None if threads == slow else 1e-6)
    assert times_on_card(kernels(), device) == [None, pytest.approx(1e-6)]
    backend, device = card(per_thread, "A card without room, CUDA 13.2")
    backend.room = 0
    assert times_on_card(kernels(), device) == [None, None]


def test_a_cache_that_cannot_be_written_costs_a_measurement(
    card: Callable[..., tuple[Card, Device]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backend, device = card(per_thread)
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(module, "cache_home", lambda: tmp_path / "file")
    for turn in (1, 2):
        times_on_card(kernels(), device)
        assert backend.launches == turn * 2 * (1 + LAUNCHES)


@pytest.mark.parametrize(
    ("predicted", "measured", "place"),
    [
        ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0], 1),
        ([1.0, 2.0, 3.0], [1.02, 1.0, 1.01], 0),
        ([2.0, 1.0, 3.0], [1.02, None, 1.0], 0),
        ([2.0, 1.0], [None, None], 1),
        ([2.0, 1.0], [1.04, 1.0], 1),
        ([1.0, 2.0], [1.04, 1.0], 1),
    ],
)
def test_the_model_decides_between_what_is_as_fast(
    predicted: list[float], measured: list[float | None], place: int
) -> None:
    assert fastest(predicted, measured) == place


def test_the_search_takes_what_is_fastest_on_the_card(
    inspected: Catalogue, card: Callable[..., tuple[Card, Device]]
) -> None:
    source, wanted, described = source_of(edge_loop(inspected)), Wanted(method="rcm"), gpu("h200")
    plain = choose_kernel(source, wanted, described, lambda text: None)
    assert [item.measured for item in plain.considered if item.chosen] == [None]
    other = next(item for item in best_kernels(source, wanted) if item.variant != plain.variant)
    _, device = card(lambda threads, blocks: 1e-6 if (threads, blocks) == (other.threads, other.blocks) else 1e-3)
    said: list[str] = []
    found = choose_kernel(source, wanted, described, said.append, device)
    assert (found.threads, found.blocks) == (other.threads, other.blocks)
    (chosen,) = (item for item in found.considered if item.chosen)
    assert chosen.variant == found.variant and chosen.measured == pytest.approx(1e-6)
    timed = sum(item.measured is not None for item in found.considered)
    assert TIMED <= timed <= TIMED + 4 and any("Made-up card" in text for text in said)
    _, device = card(lambda threads, blocks: None, "A broken card, CUDA 13.2")
    same = choose_kernel(source, wanted, described, said.append, device)
    assert (same.variant, same.threads) == (plain.variant, plain.threads)


def best_kernels(source: Any, wanted: Wanted) -> list[Kernel]:
    """The best kernel of each variant by the model."""
    search = KernelSearch(source, wanted, gpu("h200"))
    search.run()
    best = {key[0]: search._of(key[0]) for key in search.tried}
    return [item.kernel for item in best.values() if item is not None]


def test_a_card_is_asked_only_where_there_is_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Device:
        raise ToolchainError("this machine has no card that CUDA can use")

    monkeypatch.setattr(emit_worker, "open_device", missing)
    assert emit_worker._card_for(Wanted()) is None
    device = Device(Card(per_thread), 0, (9, 0))
    monkeypatch.setattr(emit_worker, "open_device", lambda: device)
    assert emit_worker._card_for(Wanted(arch="sm_90")) is device
    assert emit_worker._card_for(Wanted(arch="sm_90"), "Made-up card") is device
    assert emit_worker._card_for(Wanted(arch="sm_90"), "NVIDIA H200") is None, "the kernel is for another card"
    assert emit_worker._card_for(Wanted(arch="sm_90"), "Made-up") is None, "this one has a longer name"
    assert emit_worker._card_for(Wanted(arch="sm_80")) is None, "another major number"
    assert emit_worker._card_for(Wanted(arch="sm_100")) is None, "newer than the card"
    assert emit_worker._card_for(Wanted(variant="smem")) is None
    silent = Device(Card(per_thread, ""), 0, (9, 0))
    monkeypatch.setattr(emit_worker, "open_device", lambda: silent)
    assert emit_worker._card_for(Wanted(arch="sm_90")) is None


def test_arrays_of_the_kernel_stay_as_they_are(card: Callable[..., tuple[Card, Device]]) -> None:
    (one, _) = kernels()
    before = [item.data.copy() for item in one.arrays]
    _, device = card(per_thread)
    times_on_card([one], device)
    assert all(np.array_equal(a, b.data) for a, b in zip(before, one.arrays, strict=True))
