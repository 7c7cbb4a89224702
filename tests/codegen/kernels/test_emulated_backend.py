"""The card that this CPU stands for: kernels take the way to a card, and leave what a run on the CPU leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tracecut.codegen.devices.device import Device, open_device
from tracecut.codegen.devices.emulated_backend import EmulatedBackend
from tracecut.codegen.kernels.kernel import Address
from tracecut.codegen.kernels.make_region_kernel import VARIANTS, make_region_kernel
from tracecut.support.errors import ArgumentError, KernelError

from ..harness import Inspected
from .running import source_of
from .test_kernel_file import kernel as by_hand

Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.fixture(scope="module")
def loop(inspected: Catalogue) -> Inspected:
    item = inspected("edges")["products"]
    assert not isinstance(item, str)
    return item


@pytest.mark.parametrize(("variant", "reduce"), [*((name, "fast") for name in VARIANTS), ("smem", "ordered")])
def test_it_leaves_what_a_run_on_the_cpu_leaves(loop: Inspected, variant: str, reduce: str) -> None:
    kernel = make_region_kernel(source_of(loop), loop.random(1), variant, threads=64, jobs=50, reduce=reduce)
    run, expected = kernel.run_gpu(device="emulated"), kernel.run_cpu()
    assert run.report.mode == "emulated" and run.report.completed and run.faults == ()
    assert all(np.array_equal(a, b) for a, b in zip(run.memory, expected.memory, strict=True))
    assert any(not np.array_equal(a, item.data) for a, item in zip(run.memory, kernel.arrays, strict=True))


def test_it_works_on_the_callers_arrays() -> None:
    kernel = by_hand()
    arrays = kernel.memory()
    kernel.run_gpu(arrays, device="emulated")
    expected = kernel.run_cpu().memory
    assert all(np.array_equal(a, b) for a, b in zip(arrays, expected, strict=True))


def test_an_address_where_no_array_lies_is_told() -> None:
    kernel = by_hand()
    far = tuple(Address(item.array, 1 << 41) if isinstance(item, Address) else item for item in kernel.arguments)
    with pytest.raises(KernelError) as error:
        replace(kernel, arguments=far).run_gpu(device="emulated")
    assert "where no array lies" in error.value.detail


def test_arrays_are_forgotten_with_their_objects() -> None:
    backend = EmulatedBackend()
    card = Device(backend, 0, backend.capability(0))
    one, other = card.put(np.arange(3)), card.put(np.arange(4.0))
    assert card.get(one).view(np.int64).tolist() == [0, 1, 2] and card.address(one) != card.address(other)
    assert len(backend._arrays) == 2
    del one
    assert len(backend._arrays) == 1 and card.get(other).nbytes == 32


def test_what_is_put_there_is_a_copy() -> None:
    card = open_device("emulated")
    data = np.arange(6).reshape(2, 3)
    there = card.put(data.T)
    data[:] = 0
    assert card.get(there).view(np.int64).tolist() == [0, 3, 1, 4, 2, 5]


def test_other_code_and_other_arguments_are_refused() -> None:
    kernel, card = by_hand(), open_device("emulated")
    with pytest.raises(KernelError, match="does not load the kernel twice") as error:
        card.load(b"\x7fELF", "twice", ending="cubin")
    assert "takes ir, no cubin" in error.value.detail
    loaded = card.load(kernel.ir.encode(), kernel.name, ending="ir")
    with pytest.raises(KernelError) as error:
        card.launch(loaded, 1, 32, 0, [])
    assert "2 parameters, 0 were given" in error.value.detail


@pytest.mark.parametrize("device", ["gpu", "Emulated", "", -1, True, 1.0, None])
def test_other_devices_are_refused(device: object) -> None:
    with pytest.raises(ArgumentError, match=r'the number of a card .* or "emulated" was expected'):
        by_hand().run_gpu(device=device)  # type: ignore[arg-type]
