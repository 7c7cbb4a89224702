"""Times of a few kernels on a card of this machine, and the file that remembers them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

import numpy as np
from tracecut.codegen.devices.device import Device
from tracecut.support.errors import ArtefactError, OutputError, TracecutError
from tracecut.support.files import load_json, write_json
from tracecut.support.version import __version__
from tracecut.tracer.toolchain.find_compilers import cache_home

from .device_run import arguments_on_card, code_for
from .kernel import Kernel
from .launchable import Launchable

LAUNCHES = 11
EVEN = 0.03  # what is faster by less may be as fast: the model decides


def times_on_card(kernels: Sequence[Kernel], device: Device) -> list[float | None]:
    """Seconds of each kernel on a card, None where it does not run there; remembered by kernels, input, card, driver.

    O(bytes) for the memory, which is read once in any case, and a dozen launches of each kernel the first time.
    """
    path = cache_home() / "tuned" / f"{_key(kernels, device)}.json"
    times = _kept(path, len(kernels))
    if times is None:
        times = [_seconds(kernel, device) for kernel in kernels]
        with suppress(OSError, OutputError):  # they are measured again next time
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_json(path, times)
    return times


def fastest(predicted: Sequence[float], measured: Sequence[float | None]) -> int:
    """Place of the kernel to take: the fastest measured; of those within three per cent, the one predicted fastest.

    Where none was measured, the one predicted fastest.
    """
    known = [place for place, seconds in enumerate(measured) if seconds is not None]
    least = min((seconds for seconds in measured if seconds is not None), default=0.0)
    near = [place for place in known if (measured[place] or 0.0) <= (1 + EVEN) * least]
    return min(near or range(len(predicted)), key=lambda place: predicted[place])


def _seconds(kernel: Kernel, device: Device) -> float | None:
    """The median of launches, from the launch to the end as the host sees them. They work on what those before left."""
    try:
        there = [device.put(array.data) for array in kernel.arrays]
        steps: list[Launchable] = [kernel, *([] if kernel.combine is None else [kernel.combine])]
        ready = []
        for step in steps:
            code, ending = code_for(step, device)
            ready.append((step, device.load(code, step.name, ending=ending)))
        found = []
        for _ in range(1 + LAUNCHES):
            begun = time.perf_counter()
            for step, loaded in ready:
                arguments = arguments_on_card(step, there, device.address)
                device.launch(loaded, step.blocks, step.threads, step.shared_bytes, arguments)
            found.append(time.perf_counter() - begun)
        return median(found[1:])  # the first one loads the code
    except TracecutError:
        return None


def _key(kernels: Sequence[Kernel], device: Device) -> str:
    """A name for all that times depend on."""
    total = hashlib.sha256(repr((__version__, device.description, LAUNCHES)).encode())
    for kernel in kernels:
        shape = kernel.name, kernel.arch, kernel.blocks, kernel.threads, kernel.shared_bytes, kernel.arguments
        total.update(repr((shape, kernel.ir, kernel.combine is not None)).encode())
        for array in kernel.arrays:
            total.update(hashlib.blake2b(np.ascontiguousarray(array.data).data).digest())
    return total.hexdigest()


def _kept(path: Path, count: int) -> list[float | None] | None:
    """What a file remembers; None where there is none, or something else stands in it."""
    try:
        found = load_json(path)
    except (OSError, ArtefactError):
        return None
    if not isinstance(found, list) or len(found) != count:
        return None
    good = all(item is None or (isinstance(item, float) and item > 0) for item in found)
    return found if good else None
