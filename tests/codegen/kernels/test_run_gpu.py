"""Launches on a card, with one that is made up; and what is said where something is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.devices import driver_backend
from tracecut.codegen.devices.device import Device, open_device
from tracecut.codegen.kernels.kernel import Address, Kernel
from tracecut.codegen.kernels.make_region_kernel import make_region_kernel
from tracecut.codegen.ptx import ptxas
from tracecut.support.errors import ArgumentError, KernelError, ToolchainError, UnsupportedError

from ..harness import Inspected
from .fake_cupy import FakeCupy
from .running import source_of
from .test_kernel_file import kernel as by_hand

NO_BACKEND: Any = None
Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.fixture(scope="module")
def kernel(inspected: Catalogue) -> Kernel:
    """A loop with several types of arrays, of which blocks keep data."""
    item = inspected("edges")["products"]
    assert not isinstance(item, str)
    return make_region_kernel(source_of(item), item.random(1), "smem", threads=64, jobs=50)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeCupy]:
    """Puts a made-up cupy in the place of cupy."""

    def put(made: Kernel, **options: Any) -> FakeCupy:
        fake = FakeCupy(made, **options)
        monkeypatch.setitem(sys.modules, "cupy", fake)  # type: ignore[arg-type]
        return fake

    return put


def test_it_leaves_what_a_run_on_the_cpu_leaves(kernel: Kernel, install: Callable[..., FakeCupy]) -> None:
    fake = install(kernel)
    run, expected = kernel.run_gpu(), kernel.run_cpu()
    assert all(np.array_equal(a, b) for a, b in zip(run.memory, expected.memory, strict=True))
    assert run.results.keys() == expected.results.keys() and run.faults == ()
    assert (run.report.mode, run.report.threads, run.report.completed) == ("gpu", kernel.blocks * 64, True)
    load, launch = fake.said
    assert load[:2] == ("load", ".cubin") and load[2] == kernel.cubin
    assert launch == ("launch", kernel.name, (kernel.blocks,), (64,), kernel.shared_bytes, 48 << 10)
    assert fake.synchronized == 1 and fake.on == []


def test_it_works_on_the_callers_arrays(kernel: Kernel, install: Callable[..., FakeCupy]) -> None:
    install(kernel)
    memory = kernel.memory()
    run = kernel.run_gpu(memory)
    assert all(a.ctypes.data == b.ctypes.data for a, b in zip(run.memory, memory, strict=True))
    changed = [not np.array_equal(a, item.data) for a, item in zip(memory, kernel.arrays, strict=True)]
    assert any(changed) and not any(c for c, item in zip(changed, kernel.arrays, strict=True) if item.fixed)


def test_scalars_and_places_within_arrays(install: Callable[..., FakeCupy]) -> None:
    for offset in (64, 0):
        made = by_hand(arguments=(Address(0, offset), 2.5))
        install(made)
        assert np.array_equal(made.run_gpu().memory[0], made.run_cpu().memory[0])


def test_much_shared_memory_is_asked_for(install: Callable[..., FakeCupy]) -> None:
    made = by_hand(shared_bytes=100_000)
    fake = install(made)
    made.run_gpu()
    assert fake.said[-1][-2:] == (100_000, 100_000)


def test_other_cards_get_ptx(install: Callable[..., FakeCupy]) -> None:
    made = by_hand()
    fake = install(made, capability="120")
    made.run_gpu()
    assert fake.said[0] == ("load", ".ptx", made.ptx.encode())


def test_without_ptxas_cards_get_ptx(install: Callable[..., FakeCupy], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptxas, "find_ptxas", lambda: None)
    made = by_hand()
    fake = install(made)
    made.run_gpu()
    assert fake.said[0][1] == ".ptx"


def test_machine_code_runs_on_the_same_generation() -> None:
    found = {cc: Device(NO_BACKEND, 0, cc).takes_machine_code("sm_80") for cc in ((8, 0), (8, 6), (9, 0), (12, 0))}
    assert found == {(8, 0): True, (8, 6): True, (9, 0): False, (12, 0): False}
    assert Device(NO_BACKEND, 0, (10, 3)).arch == "sm_103"
    for arch in ("sm_86", "sm_90", "sm_100"):
        with pytest.raises(UnsupportedError, match=rf"made for {arch}, card 0 is sm_80"):
            Device(NO_BACKEND, 0, (8, 0)).takes_machine_code(arch)


def test_arrays_that_do_not_fit_are_refused_before_a_card_is_needed(kernel: Kernel) -> None:
    memory = kernel.memory()
    with pytest.raises(ArgumentError, match=r"arrays, .* were given"):
        kernel.run_gpu(memory[:-1])
    fixed = next(n for n, item in enumerate(kernel.arrays) if item.fixed and item.data.size > 16)
    memory[fixed][3] ^= 1
    with pytest.raises(ArgumentError, match="other numbers"):
        kernel.run_gpu(memory)


def test_without_cupy_and_driver_the_error_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # type: ignore[arg-type]
    monkeypatch.setattr(driver_backend, "LIBRARY", "libcuda.no-such-library.so")
    with pytest.raises(ToolchainError, match=r"has no card that CUDA can use(.|\n)*no NVIDIA driver is installed"):
        by_hand().run_gpu()


MISSING = [
    ({"count_fails": "cudaErrorNoDevice: no CUDA-capable device is detected"}, "has no card that CUDA can use"),
    ({"count": 0}, "has no card that CUDA can use"),
    ({"count_fails": "cudaErrorInsufficientDriver: CUDA driver version is insufficient"}, "driver .* is too old"),
    ({"load_fails": "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an unsupported toolchain."},
     "driver .* is too old"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "reason"), MISSING)
def test_what_is_missing_is_named(options: dict[str, Any], reason: str, install: Callable[..., FakeCupy]) -> None:
    install(by_hand(), **options)
    with pytest.raises(ToolchainError, match=reason):
        by_hand().run_gpu()


FAILING = [
    ({"launch_fails": "CUDA_ERROR_ILLEGAL_ADDRESS"}, "failed on card 0: 1 blocks of 8"),
    ({"load_fails": "CUDA_ERROR_INVALID_IMAGE"}, "does not load the kernel twice"),
    ({"room": 16}, "no room for an array of 128 bytes"),
]


@pytest.mark.parametrize(("options", "reason"), FAILING)
def test_failures_on_the_card_are_told(options: dict[str, Any], reason: str, install: Callable[..., FakeCupy]) -> None:
    install(by_hand(), **options)
    with pytest.raises(KernelError, match=reason):
        by_hand().run_gpu()


def test_cards_are_numbered(install: Callable[..., FakeCupy]) -> None:
    made = by_hand()
    install(made, count=2)
    assert open_device(1).number == 1
    for number, reason in ((2, "this machine has 2"), (-1, "number of a card"), (True, "number of a card")):
        with pytest.raises(ArgumentError, match=reason):
            made.run_gpu(device=number)


def test_a_card_older_than_the_kernel_is_refused(install: Callable[..., FakeCupy]) -> None:
    made = replace(by_hand(), arch="sm_100")
    install(made, capability="90")
    with pytest.raises(UnsupportedError, match=r"made for sm_100, card 0 is sm_90(.|\n)*sm_90"):
        made.run_gpu()
