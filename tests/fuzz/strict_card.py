"""An emulated card whose warps take turns in a random order, and that ends a program with a race or a stray access."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.codegen.devices.device import EMULATED, Device, open_device
from tracecut.codegen.devices.emulated_backend import EmulatedBackend, EmulatedKernel
from tracecut.codegen.emulation.run_kernel import run_kernel


class StrictBackend(EmulatedBackend):
    """As `EmulatedBackend`. `seed`: of the order; it is another one in each launch."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def launch(
        self, number: int, kernel: EmulatedKernel, blocks: int, threads: int, shared: int, given: Sequence[np.generic]
    ) -> None:
        self.seed += 1
        report = run_kernel(
            kernel.text,
            kernel.name,
            self.arguments(kernel, given),
            blocks,
            threads,
            shared,
            mode="strict",
            races=True,
            seed=self.seed,
        )
        if report.faults:
            raise RuntimeError(str(report.faults[0]))


def strict_card(seed: int) -> Device:
    """It."""
    backend = StrictBackend(seed)
    return Device(backend, 0, backend.capability(0))


def emulated_card() -> Device:
    """The card that `--device emulated` opens."""
    return open_device(EMULATED)
