"""A kernel that is called again and again, on arrays in this process and on cards; its code stays there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tracecut.codegen.devices.device import Device, open_device
from tracecut.codegen.emulation.run_kernel import RunReport
from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.support.errors import ArgumentError

from .device_run import LoadedKernel, load, run_loaded
from .given_arrays import OnCard, Place, check_numbers, given_arrays, name_of
from .launchable import CallableKernel


@dataclass(frozen=True, eq=False)
class Called:
    """What calls have left on a card: the code of a kernel and of its `combine`, and the kernel's own arrays."""

    device: Device
    first: LoadedKernel
    second: LoadedKernel | None
    own: dict[int, Any] = field(default_factory=dict)


def call_on_card(kernel: CallableKernel, arrays: Sequence[Any], device: int | str | None) -> RunReport:
    """As `Kernel.__call__`."""
    memory = given_arrays(kernel, arrays, own=True)
    called = _called(kernel, _card_of(kernel, memory, device))
    card = called.device
    there = {
        number: card.borrow(item.place, item.bytes) for number, item in enumerate(memory) if isinstance(item, OnCard)
    }
    # Each array on a card is read back at most once, and only where there are numbers in it.
    read = {id(memory[number]): array for number, array in there.items()}
    check_numbers(kernel, memory, lambda item: card.get(read[id(item)]))
    for number, item in enumerate(memory):
        if item is None:
            if number not in called.own:
                called.own[number] = card.put(kernel.arrays[number].data)
            there[number] = called.own[number]
        elif not isinstance(item, OnCard):
            there[number] = card.put(item)
    ordered = [there[number] for number in range(len(memory))]
    report = run_loaded(kernel, called.first, ordered, card)
    if called.second is not None and kernel.combine is not None:
        kernel.check_flag({number: card.get(ordered[number]) for number in kernel.flags()})
        run_loaded(kernel.combine, called.second, ordered, card)
    for number, wanted in enumerate(kernel.arrays):
        if not wanted.fixed:
            _bring(card, ordered, memory, number)
    return report


def _bring(card: Device, there: Sequence[Any], memory: Sequence[Place | None], number: int) -> None:
    """Copy what an array holds on the card into the caller's, if that is in this process."""
    here = memory[number]
    if here is not None and not isinstance(here, OnCard):
        data: Bytes = card.get(there[number])
        here[:] = data


def _card_of(kernel: CallableKernel, memory: Sequence[Place | None], device: int | str | None) -> int | str:
    """Where a kernel runs. Raises ArgumentError for arrays on different cards, or on another one than `device`."""
    places = {number: item.card for number, item in enumerate(memory) if isinstance(item, OnCard)}
    wanted = device if device is not None else next(iter(places.values()), 0)
    for number, card in places.items():
        if isinstance(wanted, bool) or card != wanted:
            where = f"card {wanted}" if isinstance(wanted, int) else f"device {wanted!r}"
            raise ArgumentError(f"{name_of(kernel, number)} lies on card {card}, memory of {where} was expected")
    return wanted


def _called(kernel: CallableKernel, device: int | str) -> Called:
    known: dict[int | str, Called] = kernel.on_cards
    if type(device) not in (int, str) or device not in known:
        card = open_device(device)
        second = None if kernel.combine is None else load(kernel.combine, card)
        known[device] = Called(card, load(kernel, card), second)
    return known[device]
