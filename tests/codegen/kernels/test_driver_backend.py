"""Launches by the driver alone, with one that is made up; and what is said where it fails."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.devices.device import open_device
from tracecut.codegen.kernels.kernel import Address
from tracecut.codegen.kernels.make_region_kernel import make_region_kernel
from tracecut.codegen.ptx.module import Parameter
from tracecut.support.errors import KernelError, ToolchainError

from ..harness import Inspected
from .fake_driver import FakeDriver, in_place
from .running import source_of
from .test_kernel_file import kernel as by_hand

Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeDriver]:
    """Puts a made-up driver in the place of the library, on a machine without cupy."""
    return partial(in_place, monkeypatch)


def test_it_leaves_what_a_run_on_the_cpu_leaves(inspected: Catalogue, install: Callable[..., FakeDriver]) -> None:
    item = inspected("edges")["products"]
    assert not isinstance(item, str)
    kernel = make_region_kernel(source_of(item), item.random(1), "smem", threads=64, jobs=50)
    fake = install(kernel)
    run, expected = kernel.run_gpu(), kernel.run_cpu()
    assert all(np.array_equal(a, b) for a, b in zip(run.memory, expected.memory, strict=True))
    assert run.results.keys() == expected.results.keys() and fake.launched == fake.synchronized == 1
    gc.collect()
    assert fake.memory == {}, "memory of the card is freed"


def test_a_card_says_what_it_is(install: Callable[..., FakeDriver]) -> None:
    install(by_hand())
    assert open_device().description == "Made-up card, CUDA 13.2"
    install(by_hand(), fails={"cuDriverGetVersion": 100})
    with pytest.raises(KernelError, match="card 0 does not say what it is") as caught:
        _ = open_device().description
    assert "cuDriverGetVersion: CUDA_ERROR_NO_DEVICE" in caught.value.detail


def test_machine_code_or_ptx_by_the_card(install: Callable[..., FakeDriver]) -> None:
    made = by_hand()
    fake = install(made)
    made.run_gpu()
    assert fake.code == made.cubin.split(b"\0")[0]
    fake = install(made, capability=(12, 0))
    made.run_gpu()
    assert fake.code == made.ptx.encode()


def test_numbers_places_and_null_pointers_are_passed_as_they_are(install: Callable[..., FakeDriver]) -> None:
    made = by_hand(arguments=(Address(0, 64), 2.5))
    install(made)
    assert np.array_equal(made.run_gpu().memory[0], made.run_cpu().memory[0])
    ir = made.ir.replace("double %by)", "double %by, ptr addrspace(1) %none)")
    assert ir != made.ir
    more = replace(made, ir=ir, parameters=(*made.parameters, Parameter("live", "none", "ptr")))
    more = replace(more, arguments=(*made.arguments, 0))
    fake = install(more)
    more.run_gpu()
    assert fake.passed[2:] == [0]


def test_much_shared_memory_is_asked_for(install: Callable[..., FakeDriver]) -> None:
    made = by_hand(shared_bytes=100_000)
    fake = install(made)
    made.run_gpu()
    assert fake.shared == 100_000


MISSING = [
    ({"count": 0}, "has no card that CUDA can use"),
    ({"fails": {"cuInit": 100}}, "has no card that CUDA can use"),
    ({"fails": {"cuModuleLoadData": 222}}, "driver .* is too old"),
]


@pytest.mark.parametrize(("options", "reason"), MISSING)
def test_what_is_missing_is_named(options: dict[str, Any], reason: str, install: Callable[..., FakeDriver]) -> None:
    install(by_hand(), **options)
    with pytest.raises(ToolchainError, match=reason):
        by_hand().run_gpu()


FAILING = [
    ({"fails": {"cuModuleLoadData": 200}}, "does not load the kernel twice(.|\n)*device kernel image is invalid"),
    ({"fails": {"cuModuleLoadData": 2}}, "does not load the kernel twice(.|\n)*out of memory"),
    ({"fails": {"cuLaunchKernel": 700}}, "failed on card 0: 1 blocks of 8"),
    ({"fails": {"cuCtxSynchronize": 700, "cuMemFree_v2": 700}}, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ({"room": 16}, "no room for an array of 128 bytes(.|\n)*out of memory"),
]


@pytest.mark.parametrize(("options", "reason"), FAILING)
def test_failures_on_the_card_are_told(
    options: dict[str, Any], reason: str, install: Callable[..., FakeDriver]
) -> None:
    install(by_hand(), **options)
    with pytest.raises(KernelError, match=reason):
        by_hand().run_gpu()
