"""One card per region: where it is, the verdict with its source lines, the decision, and what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tracecut.support.optional_parts import optional

from . import units
from .charts import region_charts
from .data import Candidate, Kernel, RegionReport
from .gpu_table import gpu_part
from .markup import Content, Html, el, join, table, user
from .source_excerpt import Excerpt

MEANING = {
    "parallel": "iterations are independent",
    "reduction": "iterations interact only through reductions",
    "ordered": "iterations depend on earlier ones",
    "rejected": "not reordered",
}
LONG, NAME = 1200, 60


def card(region: RegionReport, number: int, opened: bool) -> Html:
    """The card of one region; `number`: its place in the report."""
    head = el(
        "summary",
        el("h2", user(str(region.place))),
        el("span", "in ", el("code", user(region.function))) if region.function else None,
        chip(region),
    )
    return el(
        "section",
        el("details", head, *_body(region), open="" if opened else None),
        cls="card",
        id=f"region-{number}",
    )


def chip(region: RegionReport) -> Html:
    """The decision as a small label."""
    return el("span", region.decision, cls="chip" if region.optimized else "chip quiet")


def _body(region: RegionReport) -> Iterable[Content]:
    meaning = user(region.reason, LONG) if region.optimized and region.reason else MEANING[region.kind]
    yield el("p", el("strong", region.kind), " – ", meaning, cls="verdict")
    if region.reason and not region.optimized:
        yield el("p", el("strong", "refused"), " – ", user(region.reason, LONG), cls="reason")
    yield from (excerpt(item) for item in region.excerpts)
    facts = list(_facts(region))
    if facts:
        yield el("dl", *(el("div", el("dt", name), el("dd", content)) for name, content in facts), cls="facts")
    if region.kept:
        yield el("h3", "Limits")
        yield el("ul", *(el("li", user(line, LONG)) for line in region.kept), cls="plain")
    failures: list[str] = []
    charts: list[Html] = []
    with optional("a chart", failures):
        charts = list(region_charts(region))
    for why in failures:
        yield el("p", user(why, LONG), cls="caption")
    if charts:
        yield el("div", *charts, cls="charts")
    if region.candidates:
        yield el("h3", "Orders")
        yield candidates(region)
    if region.kernels:
        yield el("h3", "Kernels")
        yield kernels(region.kernels)
    if region.gpu is not None:
        yield from gpu_part(region.gpu)


def excerpt(item: Excerpt) -> Html:
    """Source lines with their numbers; marked lines have a note."""
    rows: list[Content] = []
    last = item.lines[0].number - 1
    width = len(str(item.lines[-1].number))
    for row in item.lines:
        if row.number != last + 1:
            rows.append(el("span", " " * (width - 1), "⋮\n", cls="gap"))
        last = row.number
        content = join(el("span", f"{row.number:>{width}}", cls="number"), "  ", el("bdi", row.text or " ", dir="ltr"))
        note = el("i", row.note) if row.note else None
        evidence = bool(row.note) and row.note != "loop"
        rows += [el("mark" if evidence else "span", content, note, cls="here" if note else None), "\n"]
    name = el("p", user(item.file), cls="file")
    code = el("pre", *rows, tabindex="0", dir="ltr", role="region", aria_label=f"Source of {item.file}"[:200])
    return el("div", name, code, cls="excerpt")


def _facts(region: RegionReport) -> Iterable[tuple[str, Content]]:
    if region.share is not None:
        yield "Share of the work", units.percent(region.share)
    if region.jobs is not None:
        yield "Jobs", units.count(region.jobs)
    if region.data is not None:
        yield "Data", units.count(region.data)
    if region.method:
        yield "Order", user(region.method)
    yield from _times(region)
    if region.scope is not None:
        yield "New layout inside", user(str(region.scope))
    if region.copy_ms is not None:
        yield "Copies, in and out", units.milliseconds(region.copy_ms)
    if region.inspect_ms is not None:
        yield "Inspection", units.milliseconds(region.inspect_ms)
    if region.pays_off_sweeps is not None:
        yield "Copies pay off after", units.plural(max(1, math.ceil(region.pays_off_sweeps)), "sweep")
    if region.break_even_sweeps is not None:
        yield "With a new inspection, after", units.plural(max(1, math.ceil(region.break_even_sweeps)), "sweep")
    before, after = region.replication_before, region.replication_after
    if before is not None and after is not None:
        yield "Blocks touching a datum", f"{before:.2f} → {after:.2f}"
    sizes = region.figures.cluster_sizes if region.figures else ()
    if sizes and max(sizes) - min(sizes) <= 1:
        yield "Blocks", f"{units.count(len(sizes))} of {units.count(max(sizes))} jobs each"
    if region.optimized and region.threads is not None:
        yield "Runs on", units.plural(region.threads, "thread")
        if region.placed and region.threads > 1:
            yield "Threads on", user(region.placed, LONG)
    yield from _predictions(region)
    yield from _exactness(region)


def _predictions(region: RegionReport) -> Iterable[tuple[str, Content]]:
    found = region.predicted
    if found is not None and found.before is not None and found.after is not None:
        best = join(", with ", user(found.method)) if found.method != "original" else ", the original order is best"
        change = f"{found.before:.4g} → {found.after:.4g} {found.unit}"
        yield "Predicted", join("for ", user(found.machine, NAME), f": {change}", best)
    before, after = region.remote_before, region.remote_after
    if before is not None and after is not None:
        yield "Values from other nodes, predicted", f"{units.percent(before)} → {units.percent(after)}"


def _times(region: RegionReport) -> Iterable[tuple[str, Content]]:
    original = region.original_ms
    if original is None:
        return
    many = f"Sweep, {units.plural(region.all_threads, 'thread')}" if region.all_threads else "Sweep, all threads"
    known = (("Sweep, 1 thread", region.one_thread_ms), (many, region.all_threads_ms if region.parallel else None))
    pairs = [(name, new) for name, new in known if new is not None]
    if not pairs:
        yield "Sweep", units.milliseconds(original)
    for name, new in pairs:
        before, after = units.change(original / 1e3, new / 1e3)
        gain = el("b", f"{units.ratio(original / new)}×") if new > 0 else None
        yield name, join(f"{before} → {after} ", gain)


def _exactness(region: RegionReport) -> Iterable[tuple[str, Content]]:
    if region.bit_equal:
        yield "Results", "equal in every bit"
    elif region.max_rel_error is not None:
        allowed = ", ".join(f"{units.error(value)} ({type})" for type, value in region.tolerance)
        yield "Largest relative error", units.error(region.max_rel_error) + (f"; allowed: {allowed}" if allowed else "")
    elif region.bit_equal is False:
        yield "Results", "not equal in every bit"
    if region.rounding:
        yield (
            "Reordered sums",
            f"{', '.join(region.rounding)}: rounded differently while the new layout is active",
        )


def candidates(region: RegionReport) -> Html:
    """The candidate orders, with the cost and gain of each."""
    rows = region.candidates
    first = next((row.region_ms for row in rows if row.method == "original"), None) or region.original_ms
    threads = next((row.threads for row in rows if row.threads and row.threads > 1), None)
    columns = [
        ("inspection, ms", units.column([row.inspect_ms for row in rows])),
        ("sweep, ms", units.column([row.region_ms for row in rows])),
        ("of original", [_part(row.region_ms, first) for row in rows]),
    ]
    if any(row.region_all_ms is not None for row in rows):
        many = f"{threads} threads" if threads else "all threads"
        columns.append((f"{many}, ms", units.column([row.region_all_ms for row in rows])))
        columns.append(("of original", [_part(row.region_all_ms, first) for row in rows]))
    if any(row.predicted_misses is not None for row in rows):
        columns.append(("predicted L2 misses per job", units.column([row.predicted_misses for row in rows])))
    body = []
    for place, row in enumerate(rows):
        chosen = bool(region.method) and row.method == region.method
        name = el("th", user(row.method, NAME), el("span", "chosen", cls="chip") if chosen else None, scope="row")
        numbers = (el("td", texts[place]) for _, texts in columns)
        body.append(el("tr", name, *numbers, el("td", _note(row), cls="words wide"), cls="chosen" if chosen else None))
    return table(["order", *(title for title, _ in columns), ""], body)


def _part(value: float | None, whole: float | None) -> str:
    return units.percent(value / whole) if value is not None and whole else units.ABSENT


def _note(row: Candidate) -> Html | None:
    if row.region_ms is not None:
        return user(row.note, LONG) if row.note else None
    if row.note.startswith("predicted"):
        return user(row.note, LONG)
    note = row.note.removeprefix("not tried").removeprefix(":").strip()
    return join("not tried: ", user(note, LONG)) if note else join("not tried")


def kernels(rows: Iterable[Kernel]) -> Html:
    """The emitted kernels, or why there are none."""
    body = []
    for row in rows:
        made = (
            el("code", user(row.path)) if row.path else join("not emitted: ", user(row.note or "no reason given", LONG))
        )
        registers = el("td", units.count(row.registers))
        variant = el("td", user(row.variant or units.ABSENT), cls="words")
        body.append(
            el("tr", el("th", user(row.target), scope="row"), variant, registers, el("td", made, cls="words wide"))
        )
    return table(["target", "variant", "registers", "file"], body, words=("variant", "file"))
