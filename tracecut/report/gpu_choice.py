"""The GPU kernel of a loop in a manifest: what the memory model chose, and what it was chosen from."""

from __future__ import annotations

from dataclasses import dataclass

from .reading.manifest_reader import Fields
from .reading.path_privacy import Root
from .source_excerpt import Place


@dataclass(frozen=True)
class GpuRow:
    """A kernel that was considered. Without seconds, `why` says why there is none. `measured`: seconds on a card."""

    variant: str
    threads: int | None = None
    jobs: int | None = None
    seconds: float | None = None
    l2_bytes: float | None = None
    hbm_bytes: float | None = None
    why: str = ""
    measured: float | None = None


@dataclass(frozen=True)
class GpuChoice:
    """The kernel for one GPU; without a path, `reason` says why there is none. `place`: the loop that it is of.

    `seconds`, `original_seconds`: predicted, of the kernel and of the program's own order. `measured`: of the kernel,
    on the card of the machine that chose it; None where it had none. `beside`: the loop in whose scope it runs there.
    `alone`: why it is for launches from Python alone, and `tracecut run --device` leaves the loop to the CPU.
    """

    gpu: str
    place: Place
    path: str = ""
    reason: str = ""
    variant: str = ""
    threads: int | None = None
    blocks: int | None = None
    shared_bytes: float | None = None
    seconds: float | None = None
    original_seconds: float | None = None
    rows: tuple[GpuRow, ...] = ()
    measured: float | None = None
    beside: str = ""
    alone: str = ""

    @property
    def words(self) -> str:
        """One sentence."""
        if self.beside:
            return f"runs beside {self.beside} on {self.gpu}"
        if not self.path:
            return f"no kernel for {self.gpu}: {self.reason}"
        times = ""
        if self.seconds and self.original_seconds:
            before, after = 1e6 * self.original_seconds, 1e6 * self.seconds
            times = f", {before:.3g} -> {after:.3g} us predicted"
            times += f", {1e6 * self.measured:.3g} us measured" if self.measured else ""
        return f"{self.variant}{times} on {self.gpu}"


def gpu_choice(item: Fields, shown: Root) -> GpuChoice:
    """From the manifest."""
    rows = tuple(
        GpuRow(
            row.text("variant"),
            row.count("threads"),
            row.count("jobs"),
            row.number("seconds"),
            row.number("l2_bytes"),
            row.number("hbm_bytes"),
            shown.text(row.text("why")),
            row.number("measured"),
        )
        for row in item.children("considered")
    )
    return GpuChoice(
        item.text("gpu"),
        Place(shown.path(item.text("file")), item.count("line") or 0),
        shown.path(item.text("path")),
        shown.text(item.text("reason")),
        item.text("variant"),
        item.count("threads"),
        item.count("blocks"),
        item.number("shared_bytes"),
        item.number("seconds"),
        item.number("original_seconds"),
        rows,
        item.number("measured"),
        shown.text(item.text("beside")),
        shown.text(item.text("alone")),
    )
