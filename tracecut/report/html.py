"""The report as one HTML file: works offline, without scripts, can be printed, and has no private paths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

from . import svg, units
from .charts import bars
from .data import MachineLine, RegionReport, ReportData
from .headline import Answer, answer
from .markup import Content, Html, clip, command, el, join, markup, table, user
from .region_cards import LONG, card, chip
from .remarks import Remark
from .source_excerpt import Place

FEW = 6  # number of cards that are always open
OUTCOMES = {"passed": "done", "missed": "missed", "analysis": "note"}


def render_report(data: ReportData) -> str:
    """The whole report. Every string of the user's program is escaped. O(size of the data)."""
    found = answer(data)
    contents = (
        el("header", *_headline(data, found)),
        el("main", *_sections(data)),
        el("footer", *_footer(data)),
    )
    return Template(_asset("page.html")).substitute(
        generator=markup(f"tracecut {data.version}".replace('"', "")),
        title=markup(clip(f"{_name(data)} – tracecut report", 200)),
        style=_asset("style.css"),
        body=join(*contents),
    )


def _asset(name: str) -> str:
    return (files(__package__ or "tracecut.report") / name).read_text(encoding="utf-8")


def _name(data: ReportData) -> str:
    return ", ".join(data.sources) or "program"


def _headline(data: ReportData, found: Answer) -> Iterable[Content]:
    arguments = command(data.arguments, 300) if data.arguments else None
    yield el("p", "tracecut report", cls="brand")
    yield el("h1", user(_name(data)), " ", arguments)
    if not found.changed:
        yield el("p", "Nothing was changed", cls="answer none")
        yield el("p", "because of " if data.regions else "because ", user(found.why.rstrip("."), LONG), ".")
    elif found.before:
        new = el("strong", found.after)
        slower = found.speedup is not None and found.speedup < 1
        gain = (
            el("span", f"{units.ratio(found.speedup)}×", cls="gain slower" if slower else "gain")
            if found.speedup
            else None
        )
        yield el("p", found.before, el("span", " → ", cls="arrow"), new, " ", gain, cls="answer")
        yield _equality(found)
        yield _program_bars(data)
    else:
        changed = units.plural(len(data.optimized), "loop")
        yield el("p", f"{changed} in a new order", cls="answer none")
        yield el("p", "The program as a whole was not timed.")
        yield _equality(found)
    for note in data.notes:
        yield el("p", user(note, LONG), ".")
    yield el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in _summary(data)), cls="facts")


def _equality(found: Answer) -> Html:
    words = {
        "output equal": "✓ The output is equal to that of the original program.",
        "OUTPUT DIFFERS": "The output differs from that of the original program. Do not use the result.",
        "output not compared": "The output was not compared.",
    }
    return el("p", words[found.output], cls="alarm" if found.differs else "check")


def _program_bars(data: ReportData) -> Html | None:
    before, after = data.program.original_seconds, data.program.optimized_seconds
    if before is None or after is None or min(before, after) < 0:
        return None
    shown = units.change(before, after)
    label = f"Seconds of the whole program: original {shown[0]}, new {shown[1]}"
    return el("div", bars([("original", before, "old"), ("new", after, "new")], label, shown), cls="program")


def _summary(data: ReportData) -> Iterable[tuple[str, Content]]:
    total, changed = len(data.regions), len(data.optimized)
    yield "Loops", f"{changed} optimized, {total - changed} refused" if total else "none found"
    if data.machine != MachineLine():
        yield "Machine", _machine(data.machine)
    if data.predicted_for != MachineLine():
        yield "Predicted for", _machine(data.predicted_for)
        if data.predicted_for.notes:
            yield (
                "The model has",
                join(*(join("; " if at else "", user(note)) for at, note in enumerate(data.predicted_for.notes))),
            )
    if data.capture_run_seconds is not None and data.original_run_seconds:
        took, before = data.capture_run_seconds, data.original_run_seconds
        yield (
            "Captured run",
            f"{units.seconds(took)}, {units.ratio(took / before)}× the original {units.seconds(before)}",
        )
    elif data.original_run_seconds is not None:
        yield "Original run", units.seconds(data.original_run_seconds)
    spent = sum(seconds for _, seconds in data.timings)
    if spent > 0:
        yield "Time spent by tracecut", units.seconds(spent)


def _machine(machine: MachineLine) -> Content:
    parts: list[Content] = [user(machine.name)] if machine.name else []
    if machine.cores is not None:
        parts.append(units.plural(machine.cores, "core"))
    parts += [f"{name} {units.size(size)}" for name, size in machine.caches]
    if machine.memory is not None:
        parts.append(f"{units.size(machine.memory)} memory")
    return join(*(join(", " if place else "", part) for place, part in enumerate(parts)))


def _sections(data: ReportData) -> Iterable[Content]:
    if len(data.regions) > 1:
        yield el("section", el("h2", "Loops"), _index(data.regions))
    few = len(data.regions) <= FEW
    yield from (card(region, number, few or region.optimized) for number, region in enumerate(data.regions, 1))
    if data.remarks:
        yield el("section", el("h2", "Remarks"), _remarks(data.remarks))
    if data.timings:
        yield el("section", el("h2", "Where tracecut spent its time"), _stages(data.timings))


def _index(regions: Sequence[RegionReport]) -> Html:
    olds = units.column([region.original_ms for region in regions])
    news = units.column([region.best_ms for region in regions])
    body = (
        el(
            "tr",
            el("th", el("a", user(str(region.place), 80), href=f"#region-{number}"), scope="row"),
            el("td", chip(region), cls="words"),
            el("td", old),
            el("td", new),
            el("td", units.percent(region.share)),
            el("td", region.kind, cls="words extra"),
            el("td", user(region.function or units.ABSENT, 60), cls="words extra"),
        )
        for number, (region, old, new) in enumerate(zip(regions, olds, news, strict=True), 1)
    )
    head = ["loop", "decision", "sweep, ms", "new, ms", "share", "class", "function"]
    return table(head, body, words=("decision", "class", "function"), extra=("class", "function"))


def _remarks(remarks: Sequence[Remark]) -> Html:
    body = (
        el(
            "tr",
            el("th", user(str(Place(remark.file, remark.line)), 80), scope="row"),
            el("td", OUTCOMES[remark.kind], cls="words done" if remark.kind == "passed" else "words"),
            el("td", el("code", user(remark.function, 60)), cls="words extra"),
            el("td", user(remark.message, LONG), cls="words wide"),
        )
        for remark in remarks
    )
    head = ["place", "result", "function", "remark"]
    return table(head, body, words=("result", "function", "remark"), extra=("function",))


def _stages(timings: Sequence[tuple[str, float]]) -> Html:
    total = sum(seconds for _, seconds in timings) or 1.0
    longest = max(seconds for _, seconds in timings) or 1.0
    shown = units.column([seconds for _, seconds in timings])
    body = (
        el(
            "tr",
            el("th", user(name, 60), scope="row"),
            el("td", text),
            el("td", units.percent(max(0.0, seconds) / total)),
            el("td", _stage_bar(max(0.0, seconds) / longest), cls="words wide"),
        )
        for (name, seconds), text in zip(timings, shown, strict=True)
    )
    return table(["stage", "seconds", "share", ""], body)


def _stage_bar(share: float) -> Html:
    shapes = svg.rect(0, 0, 160 * share, 10, "new")
    return el("svg", shapes, viewBox="0 0 160 10", width="160", height="10", aria_hidden="true", cls="inline")


def _footer(data: ReportData) -> Iterable[Content]:
    result = ["tracecut", "run", "OUT", *(["--", *data.arguments] if data.arguments else [])]
    rows: list[tuple[str, Content]] = [("Made by", user(f"tracecut {data.version}"))]
    if data.seed is not None:
        rows.append(("Seed", str(data.seed)))
    if data.input_hash:
        rows.append(("Input hash", el("code", user(data.input_hash))))
    rows.append(("Command", command(data.command)))
    if data.optimized:
        rows.append(("Run the result", join(command(result), " (OUT: folder of this report)")))
    yield el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in rows), cls="facts")
    other = join(" for ", user(data.predicted_for.name, 80)) if data.predicted_for != MachineLine() else ""
    yield el("p", "Times are wall-clock times measured on the machine above, misses are predicted by simulation", other,
             ". Paths outside the working directory are shortened to file names.", cls="caption")  # fmt: skip
