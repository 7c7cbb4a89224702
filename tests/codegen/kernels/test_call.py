"""Kernels that are called on arrays of any library, in this process and on a card that is made up."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.devices.cupy_backend import CupyBackend
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import make_region_kernel
from tracecut.support.errors import ArgumentError, KernelError

from ..devices.capsules import Producer
from ..harness import Inspected
from .fake_driver import APART, FakeDriver, in_place
from .running import source_of
from .test_kernel_file import kernel as by_hand

Catalogue = Callable[[str], dict[str, Inspected | str]]
EXPECTED = [*range(8), *range(16, 32, 2)]


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Callable[[Kernel], FakeDriver]:
    """Puts a made-up driver in the place of the library, on a machine without cupy."""
    return partial(in_place, monkeypatch)


def numbers() -> Any:
    return np.arange(16.0)


def there(fake: FakeDriver, array: Any, *, number: int = 0, **how: Any) -> Producer:
    """An array of another library on the made-up card."""
    place = APART * (7 + len(fake.memory))
    fake.memory[place] = array.view(np.uint8).reshape(-1)
    return Producer(array, (2, number), place=place, **how)


@pytest.mark.quick
@pytest.mark.parametrize(
    "array", [numbers(), numbers().reshape(4, 4), Producer(numbers()), Producer(numbers(), (3, 0))]
)
def test_arrays_of_this_process_are_changed_in_place(array: Any) -> None:
    for _ in range(2):
        held = array.array if isinstance(array, Producer) else array
        held[:] = numbers().reshape(held.shape)
        report = by_hand()(array, device="emulated")
        assert held.reshape(-1).tolist() == EXPECTED and (report.mode, report.threads) == ("emulated", 8)


@pytest.mark.quick
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_nothing_on_a_card(copied: Callable[[Kernel], Kernel]) -> None:
    made, array = by_hand(), numbers()
    made(array, device="emulated")
    other = copied(made)
    assert made.on_cards and not other.on_cards
    array[:] = numbers()
    other(array, device="emulated")
    assert array.tolist() == EXPECTED


@pytest.mark.quick
def test_run_gpu_takes_what_other_libraries_hand_over() -> None:
    array = numbers()
    assert by_hand().run_gpu([Producer(array)], device="emulated").memory[0].view("f8").tolist() == EXPECTED
    assert array.tolist() == EXPECTED
    with pytest.raises(ArgumentError, match=r"array 0 \(x\) lies on card 0, an array of this process was expected"):
        by_hand().run_gpu([Producer(numbers(), (2, 0), place=1 << 40)], device="emulated")


@pytest.mark.quick
def test_arrays_on_a_card_stay_there(card: Callable[..., FakeDriver]) -> None:
    made = by_hand(host=replace(by_hand().host, guard=replace(by_hand().host.guard, loads=())))
    fake = card(made)
    array = numbers()
    for _ in range(3):
        array[:] = numbers()
        made(there(fake, array))
        assert array.tolist() == EXPECTED
    assert fake.launched == fake.synchronized == 3
    assert fake.said.count("cuModuleLoadData") == 1, "code stays on the card"
    assert not {"cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemAlloc_v2"} & set(fake.said)


@pytest.mark.quick
def test_indices_on_a_card_are_compared(card: Callable[..., FakeDriver]) -> None:
    made = by_hand()
    fake = card(made)
    array = numbers()
    made(there(fake, array))
    assert array.tolist() == EXPECTED
    other = numbers()
    other[1] = 7
    with pytest.raises(ArgumentError, match=r"array 0 \(x\) has other indices at byte 0"):
        made(there(fake, other))


def test_a_kernel_with_blocks_and_its_own_numbers(inspected: Catalogue, card: Callable[..., FakeDriver]) -> None:
    item = inspected("edges")["products"]
    assert not isinstance(item, str)
    kernel = make_region_kernel(source_of(item), item.random(1), "smem", threads=64, jobs=50)
    fake, expected = card(kernel), kernel.run_cpu().memory
    memory = kernel.memory()
    places = {n: there(fake, data) for n, data in enumerate(memory) if not kernel.arrays[n].fixed}
    given = [places.get(n) for n in range(len(memory))]
    kernel(*given)
    allocated = fake.said.count("cuMemAlloc_v2")
    for n, data in enumerate(memory):
        data[:] = kernel.arrays[n].data
    kernel(*given)
    assert fake.said.count("cuMemAlloc_v2") == allocated, "its own numbers stay on the card"
    assert all(np.array_equal(a, b) for a, b in zip(memory, expected, strict=True))


def test_sums_in_an_order(inspected: Catalogue) -> None:
    item = inspected("edges")["products"]
    assert not isinstance(item, str)
    kernel = make_region_kernel(source_of(item), item.random(1), "smem", threads=64, jobs=50, reduce="ordered")
    memory, expected = kernel.memory(), kernel.run_cpu().memory
    kernel(*(None if held.fixed else data for held, data in zip(kernel.arrays, memory, strict=True)), device="emulated")
    assert all(np.array_equal(a, b) for a, b in zip(memory, expected, strict=True))


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: np.zeros(32, np.float32), r"array 0 \(x\) has the type float32, float64 was expected, or bytes"),
    (lambda: np.zeros(16, np.int64), r"array 0 \(x\) has the type int64, float64 was expected, or bytes"),
    (lambda: numbers()[:-1], r"array 0 \(x\) has 120 bytes \(shape \(15,\)\), 128 were expected"),
    (lambda: np.arange(32.0)[::2], "does not lie in one piece in C order"),
    (lambda: numbers().reshape(4, 4).T, "does not lie in one piece in C order"),
    (lambda: Producer(numbers().reshape(4, 4).T), "does not lie in one piece in C order"),
    (lambda: Producer(numbers(), read_only=True), "is read-only; a C-contiguous, writable array"),
    (lambda: Producer(numbers(), (10, 0)), r"array 0 \(x\) lies on a device of kind 10"),
    (lambda: Producer(np.zeros(16, np.float32)), "has 64 bytes"),
    (lambda: numbers().tolist(), "is a list, a NumPy array or one that knows DLPack was expected"),
    (lambda: None, "is a NoneType, a NumPy array"),
]


@pytest.mark.quick
@pytest.mark.parametrize(("make", "said"), REFUSED)
def test_what_does_not_fit_is_refused_with_its_name(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        by_hand()(make(), device="emulated")


ELSEWHERE: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"number": 1}, {"device": 0}, r"array 0 \(x\) lies on card 1, memory of card 0 was expected"),
    ({}, {"device": "emulated"}, r"array 0 \(x\) lies on card 0, memory of device 'emulated' was expected"),
    ({"read_only": True}, {}, "is read-only"),
    ({"code": 4}, {}, "none of NumPy's numbers"),
    ({"offset": 4}, {}, "lies at an address that is no multiple of 8"),
    ({"number": 5}, {}, "device is 5, this machine has 1"),
]


@pytest.mark.quick
@pytest.mark.parametrize(("how", "asked", "said"), ELSEWHERE)
def test_arrays_on_a_card_that_do_not_fit_are_refused(
    how: dict[str, Any], asked: dict[str, Any], said: str, card: Callable[..., FakeDriver]
) -> None:
    fake = card(by_hand())
    with pytest.raises(ArgumentError, match=said):
        by_hand()(there(fake, numbers(), **how), **asked)
    assert fake.launched == 0


@pytest.mark.quick
def test_arrays_that_share_memory_and_arrays_too_many(card: Callable[..., FakeDriver]) -> None:
    made = by_hand(arrays=by_hand().arrays * 2)
    fake = card(made)
    one = there(fake, numbers())
    with pytest.raises(ArgumentError, match=r"array 0 \(x\) and array 1 \(x\) share memory"):
        made(one, Producer(numbers(), (2, 0), place=one.place + 120))
    with pytest.raises(ArgumentError, match="takes 1 arrays, more were given"):
        by_hand()(numbers(), numbers(), device="emulated")
    with pytest.raises(ArgumentError, match="takes 1 arrays, 0 were given"):
        by_hand()(device="emulated")


@pytest.mark.quick
def test_a_kernel_that_fails_says_so(card: Callable[..., FakeDriver]) -> None:
    fake = card(by_hand(), fails={"cuLaunchKernel": 700})
    with pytest.raises(KernelError, match="failed on card 0"):
        by_hand()(there(fake, numbers()))


@pytest.mark.quick
def test_cupy_sees_memory_of_others_where_it_lies() -> None:
    said: list[Any] = []

    class Card:
        def __init__(self, number: int) -> None:
            said.append(number)

        def __enter__(self) -> Card:
            return self

        def __exit__(self, *_: object) -> None:
            said.append("left")

        def synchronize(self) -> None:
            said.append("waited")

    cuda = SimpleNamespace(
        Device=Card, UnownedMemory=lambda *given: given, MemoryPointer=lambda memory, first: (memory, first)
    )
    cupy = SimpleNamespace(cuda=cuda, ndarray=lambda *given: given)
    array = CupyBackend(cupy).borrow(1, 1 << 40, 24)
    assert array == ((24,), np.uint8, ((1 << 40, 24, None, 1), 0)) and said == [1, "waited", "left"]
