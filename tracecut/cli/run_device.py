"""`tracecut run --device`: the loops that have kernels run on a card, or on one that this CPU stands for.

All that can fail before the program begins is tried first: a card, its driver, the kernels. What fails is a remark, and
the program runs on the CPU alone.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tracecut.pipeline.output.folder import damaged, digest_of
from tracecut.support.errors import TracecutError
from tracecut.support.process.load_and_run import loading

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from tracecut.codegen.devices.device import Device
    from tracecut.codegen.offload.device_host import Loaded
    from tracecut.codegen.runtime.schedule_file import ScopeFile

MOST_REMARKS = 20  # of one run
GPU, EMULATED = "gpu", "emulated"
HERE = "; the CPU runs all loops"  # ends what is said where it cannot be
NONE = "this result has no kernels for the program's place: make it with `tracecut optimize --gpu CARD`"
NO_LOOP = "no loop of this result could get a kernel for the program's place (its report says why)"


def prepare(output: Path, listing: Mapping[str, Any], which: str, say: Callable[[str], None]) -> Prepared | str:
    """Open the card and load the kernels. Returns why that cannot be; raises ArtefactError for a damaged result."""
    entry = listing.get("device")
    if not entry:
        return NONE if entry is None else NO_LOOP
    for name in (entry["library"], *(name for pair in entry["scopes"] for name in pair)):
        if digest_of((output / name).read_bytes()) != listing["files"].get(name):
            raise damaged(f"{output / name} is damaged: it is not the file that tracecut wrote")
    try:
        with loading():
            return _loaded(output, entry, which, say)
    except MemoryError:
        return "there is not enough memory to load kernels"
    except (ImportError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        text = str(error).partition(". ")[0]  # a library is not there, or has no room
        return f"what loads kernels cannot be loaded itself ({text})"


def _loaded(output: Path, entry: Mapping[str, Any], which: str, say: Callable[[str], None]) -> Prepared | str:
    """As `prepare`, of a result whose files are whole. Raises also what comes of modules that cannot be loaded."""
    from tracecut.codegen.devices.device import open_device
    from tracecut.codegen.offload.device_loop import DeviceScope
    from tracecut.codegen.offload.load_kernels import load_kernels
    from tracecut.codegen.runtime.schedule_file import ScopeFile

    files = [ScopeFile.load(output / names[0]) for names in entry["scopes"]]
    scopes = [[DeviceScope.load(output / name) for name in names[1:]] for names in entry["scopes"]]
    try:
        device = open_device(0 if which == GPU else EMULATED, alone=True)
        loaded = {file.number: load_kernels(device, *found) for file, found in zip(files, scopes, strict=True)}
        device.get(device.put(*_first_bytes()))  # threads that the driver needs are there from now on
        say(f"kernels for {entry['gpu']} on {device.description}")
    except TracecutError as error:
        return error.message
    return Prepared(entry, files, device, loaded)


def _first_bytes() -> tuple[Any]:
    import numpy as np

    return (np.zeros(256, np.uint8),)


class Prepared:
    """A card with the kernels of a result."""

    def __init__(
        self, entry: Mapping[str, Any], files: Sequence[ScopeFile], device: Device, loaded: Mapping[int, Loaded]
    ) -> None:
        self.entry, self.files, self.device, self.loaded = entry, files, device, loaded

    def run(
        self,
        library: ctypes.CDLL,
        words: Sequence[str],
        place: int,
        *,
        cpus: Sequence[int],
        say: Callable[[str], None],
        report: Callable[[dict[str, Any]], None],
    ) -> NoReturn:
        """Run the program; exits as it does. `place`: address of its argv."""
        from tracecut.codegen.offload.device_host import DeviceHost
        from tracecut.support.process.load_and_run import at_exit, run_main

        said: set[str] = set()

        def once(text: str) -> None:
            if text not in said and len(said) < MOST_REMARKS:
                said.add(text)
                say(text)

        host = DeviceHost(
            library,
            self.files,
            self.entry["globals"],
            cpus,
            say=once,
            device=self.device,
            scopes=self.loaded,
            end=_end,
        )
        started, process = time.perf_counter(), os.getpid()

        def over() -> None:
            if os.getpid() == process:
                report({**host.summary(), "seconds": time.perf_counter() - started})

        at_exit(over)
        run_main(library, words, place)


def _end(text: str) -> NoReturn:
    """End a program whose data are lost."""
    try:
        sys.stdout.flush()
        os.write(2, f"tracecut: error: {text}\n".encode())
    finally:
        os._exit(1)


def conclusion(found: Mapping[str, Any], sweep_ms: Mapping[str, float | None]) -> list[str]:
    """Lines on what ran on the card, and when the copies pay. sweep_ms: loop → what the program's own takes."""
    counts = found["device"]
    lines = [
        f"on the card: {counts['launches']} launches, {counts['running'] / 1e9:.3f} s; copies "
        f"{counts['sent'] / 1e6:.0f} MB there, {counts['fetched'] / 1e6:.0f} MB back, {counts['copying'] / 1e9:.3f} s"
    ]
    for loop, before in sweep_ms.items():
        region = found["regions"].get(loop, {})
        if before is None or not region.get("calls"):
            continue
        after = counts["loops"][int(loop)] / region["calls"] / 1e6
        what = (
            f"loop {loop}: {after:.3g} ms a sweep there, {before:.3g} ms on one thread of the CPU when it was optimized"
        )
        once = (counts["copying"] + sum(scope["nanoseconds"] for scope in found["scopes"].values())) / 1e6
        pays = f"; copies and guards pay from {once / (before - after):.0f} sweeps on" if before > after else ""
        lines.append(what + pays)
    return lines
