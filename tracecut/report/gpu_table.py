"""The GPU kernel of a loop in the HTML report: the choice in a sentence, and the table of considered kernels."""

from __future__ import annotations

from collections.abc import Iterable

from tracecut.support.memory_amounts import size

from .gpu_choice import GpuChoice
from .markup import Content, Html, el, join, table, user

SHOWN = 40  # rows of the table, the fastest first
LONG, NAME = 1200, 60
HEAD = ("kernel", "threads", "jobs a block", "predicted, µs", "of original", "L2", "memory", "")
PREDICTED = "Times are predicted by the memory model; nothing was measured on a card."
MEASURED = "Times are predicted by the memory model; the fastest of them were launched on this machine's card, too."


def gpu_part(choice: GpuChoice) -> Iterable[Content]:
    """What the card of a region says of its GPU kernel."""
    yield el("h3", "GPU kernel")
    if choice.beside:
        yield el("p", user(choice.words, LONG))
        return
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
    if choice.alone:
        yield el("p", "Not in the program's place: ", user(choice.alone, LONG))
    if choice.rows:
        yield _table(choice)
        measured = any(row.measured is not None for row in choice.rows)
        yield el("p", MEASURED if measured else PREDICTED, cls="caption")


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
        note: Content = user(row.why, LONG) if row.why else None
        if row.measured:
            note = f"{1e6 * row.measured:.4g} µs measured"
        body.append(el("tr", name, *cells, el("td", note, cls="words wide"), cls="chosen" if chosen else None))
    left = len(choice.rows) - len(rows)
    found = table(HEAD, body)
    return join(found, el("p", f"and {left} more", cls="caption")) if left else found


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
