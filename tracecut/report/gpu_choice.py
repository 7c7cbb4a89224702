"""The GPU kernel of a loop in a report: what the memory model chose, and the table of what it was chosen from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tracecut.support.memory_amounts import size

from .manifest_reader import Fields
from .markup import Content, Html, el, join, table, user
from .path_privacy import Root
from .source_excerpt import Place

SHOWN = 40  # rows of the table, the fastest first
LONG, NAME = 1200, 60
HEAD = ("kernel", "threads", "jobs a block", "predicted, µs", "of original", "L2", "memory", "")


@dataclass(frozen=True)
class GpuRow:
    """A kernel that was considered. Without seconds, `why` says why there is none."""

    variant: str
    threads: int | None = None
    jobs: int | None = None
    seconds: float | None = None
    l2_bytes: float | None = None
    hbm_bytes: float | None = None
    why: str = ""


@dataclass(frozen=True)
class GpuChoice:
    """The kernel for one GPU; without a path, `reason` says why there is none. `place`: the loop that it is of.

    `seconds`, `original_seconds`: predicted, of the kernel and of the program's own order.
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

    @property
    def words(self) -> str:
        """One sentence."""
        if not self.path:
            return f"no kernel for {self.gpu}: {self.reason}"
        times = ""
        if self.seconds and self.original_seconds:
            before, after = 1e6 * self.original_seconds, 1e6 * self.seconds
            times = f", {before:.3g} -> {after:.3g} us predicted"
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
    )


def gpu_part(choice: GpuChoice) -> Iterable[Content]:
    """What the card of a region says of its GPU kernel."""
    yield el("h3", "GPU kernel")
    if not choice.path:
        yield el("p", el("strong", "none"), " for ", user(choice.gpu, NAME), " – ", user(choice.reason, LONG))
        return
    launch = [f"{choice.blocks} blocks of {choice.threads} threads"] if choice.blocks and choice.threads else []
    launch += [f"{size(int(choice.shared_bytes))} of shared memory each"] if choice.shared_bytes else []
    yield el(
        "p",
        el("strong", user(choice.variant, NAME)),
        " for ",
        user(choice.gpu, NAME),
        f" – {', '.join(launch)}" if launch else "",
        "; ",
        user(choice.reason, LONG),
        ". The loop: ",
        user(str(choice.place)),
        "; file: ",
        el("code", user(choice.path)),
    )
    if choice.rows:
        yield _table(choice)
        yield el("p", "Times are predicted by the memory model; nothing was measured on a card.", cls="caption")


def _table(choice: GpuChoice) -> Html:
    rows = sorted(choice.rows, key=lambda row: (row.seconds is None, row.seconds or 0.0))[:SHOWN]
    body = []
    for row in rows:
        chosen = (
            row.variant == choice.variant
            and row.threads == choice.threads
            and row.seconds == choice.seconds is not None
        )
        name = el("th", user(row.variant, NAME), el("span", "chosen", cls="chip") if chosen else None, scope="row")
        texts = (
            _number(row.threads),
            _number(row.jobs if row.variant in ("smem", "readonly") else None),
            "" if row.seconds is None else f"{1e6 * row.seconds:.4g}",
            f"{row.seconds / choice.original_seconds:.0%}" if row.seconds and choice.original_seconds else "",
            "" if row.l2_bytes is None or row.seconds is None else size(int(row.l2_bytes)),
            "" if row.hbm_bytes is None or row.seconds is None else size(int(row.hbm_bytes)),
        )
        cells = (el("td", text) for text in texts)
        note = user(row.why, LONG) if row.why else None
        body.append(el("tr", name, *cells, el("td", note, cls="words wide"), cls="chosen" if chosen else None))
    left = len(choice.rows) - len(rows)
    found = table(HEAD, body)
    return join(found, el("p", f"and {left} more", cls="caption")) if left else found


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
