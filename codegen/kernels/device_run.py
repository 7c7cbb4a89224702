"""A kernel on a card: its code, its arrays there and back, one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tracecut.codegen.devices.device import NUMBERS, Device
from tracecut.codegen.devices.emulated_backend import IR
from tracecut.codegen.emulation.run_kernel import RunReport, kernel_sites
from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.ir.gpu.sites import Sites
from tracecut.support.errors import ToolchainError

from .launchable import Launchable


@dataclass(frozen=True, eq=False)
class LoadedKernel:
    """A kernel's code on a card. `sites`: its accesses."""

    code: Any
    sites: Sites


def load(kernel: Launchable, device: Device) -> LoadedKernel:
    """Give a card the kernel's code.

    Machine code is taken where the card's architecture has the same major number, PTX otherwise, and without ptxas.
    Raises UnsupportedError for a card older than the kernel's architecture.
    """
    code, ending = code_for(kernel, device)
    return LoadedKernel(device.load(code, kernel.name, ending=ending), kernel_sites(kernel.ir, kernel.name))


def run_on_device(kernel: Launchable, memory: Sequence[Bytes], device: Device) -> RunReport:
    """Run the kernel on copies of its arrays, put what it leaves into `memory`, and say what ran. O(bytes).

    Raises as `load`, KernelError where the kernel fails.
    """
    loaded = load(kernel, device)
    there = [device.put(data) for data in memory]
    report = run_loaded(kernel, loaded, there, device)
    for item, array, data in zip(kernel.arrays, there, memory, strict=True):
        if not item.fixed:
            data[:] = device.get(array)
    return report


def run_loaded(kernel: Launchable, loaded: LoadedKernel, there: Sequence[Any], device: Device) -> RunReport:
    """Run a kernel on its arrays on the card, and say what ran. Raises KernelError where it fails."""
    arguments = arguments_on_card(kernel, there, device.address)
    device.launch(loaded.code, kernel.blocks, kernel.threads, kernel.shared_bytes, arguments)
    grid, block = (kernel.blocks, 1, 1), (kernel.threads, 1, 1)
    mode, threads = "emulated" if IR in device.backend.takes else "gpu", kernel.blocks * kernel.threads
    return RunReport(kernel.name, mode, grid, block, kernel.blocks, threads, 0, 0, loaded.sites, (), True)


def arguments_on_card(
    kernel: Launchable, there: Sequence[Any], address: Callable[[Any, int], np.uint64]
) -> list[np.generic]:
    """What the kernel is launched with. `there`: its arrays on the card. address: of a byte of such an array."""
    return [
        NUMBERS[parameter.type](value) if isinstance(value, int | float) else address(there[value.array], value.offset)
        for parameter, value in zip(kernel.parameters, kernel.arguments, strict=True)
    ]


def code_for(kernel: Launchable, device: Device) -> tuple[bytes, str]:
    """What a card is given, and what that is: machine code ("cubin"), PTX ("ptx"), or the module of both ("ir").

    Raises UnsupportedError.
    """
    if IR in device.backend.takes:
        return kernel.ir.encode(), IR
    if device.takes_machine_code(kernel.arch):
        try:
            return kernel.cubin, "cubin"
        except ToolchainError:
            pass  # the driver compiles PTX too
    return kernel.ptx.encode(), "ptx"
