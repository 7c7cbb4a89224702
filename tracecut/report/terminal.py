"""The summary for a terminal: the answer first, one row per loop, and what to do next. One screen, plain ASCII."""

from __future__ import annotations

import io
import math
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import units
from .data import MachineLine, RegionReport, ReportData
from .headline import answer, heaviest
from .source_excerpt import Place
from .terminal_text import fit, fit_words, harmless, plain, quote

REASONS = 6  # lines for all reasons
FULL = 3  # regions with a row of their own; the others share one line
NARROWEST, SHORTEST_NAME = 40, 14


def render_summary(data: ReportData, width: int = 80, *, color: bool = False, ascii_only: bool = True) -> str:
    """The summary as text. At most 24 lines for any number of regions.

    Args:
        width: columns; at least 40. Only paths and commands, which are exact, may be longer.
        color: add ANSI colours.
        ascii_only: write non-ASCII characters of the user's names as \\xe9 or \\u4e2d.
    """
    width = max(width, NARROWEST)
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        height=50,
        force_terminal=color,
        force_interactive=False,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    _Summary(data, console, ascii_only).write()
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def print_summary(data: ReportData, stream: TextIO | None = None) -> None:
    """Write the summary to a stream, standard output by default.

    Colours only on a terminal that has them, and never when NO_COLOR is set; ASCII only where the stream's encoding
    is not Unicode; 80 columns when piped.
    """
    stream = sys.stdout if stream is None else stream
    terminal = stream.isatty()
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    width = shutil.get_terminal_size().columns if terminal else 80
    unicode = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").startswith("utf")
    stream.write(render_summary(data, width, color=color, ascii_only=not unicode))


@dataclass(frozen=True)
class _Summary:
    data: ReportData
    console: Console
    ascii_only: bool

    def write(self) -> None:
        """All parts in order."""
        ranked = sorted(self.data.regions, key=lambda region: (not region.optimized, -(region.share or 0.0)))
        self._headline()
        for note in self.data.notes[:2]:
            self._paragraph(note, "yellow", 2)
        if ranked:
            self.console.print()
            self._regions(ranked[:FULL])
            self._folded(ranked[FULL:])
            self._reasons(ranked[:FULL])
            self._gpu(ranked[:FULL])
        self._tail()

    def _headline(self) -> None:
        found = answer(self.data)
        if not found.changed:
            known = self.data.predicted_for == MachineLine() and not self.data.untraced
            head = "nothing to gain" if known else "nothing is changed"
            self._paragraph(f"{head}: {found.why}", "bold yellow", 6)
            return
        name = self._name(", ".join(self.data.sources) or "program", self.console.width // 2)
        if found.before:
            gain = f" ({units.ratio(found.speedup)}x)" if found.speedup is not None else ""
            text = f"{name}: {found.before} -> {found.after}{gain}, {found.output}"
        else:
            changed = f"{len(self.data.optimized)} of {units.plural(len(self.data.regions), 'loop')}"
            text = f"{name}: {changed} in a new order, program not timed, {found.output}"
        good = not found.differs and (found.speedup is None or found.speedup >= 1)
        self._paragraph(text, "bold green" if good else "bold red", 3)

    def _regions(self, regions: Sequence[RegionReport]) -> None:
        rows = [self._row(region) for region in regions]
        threads = next((region.all_threads for region in regions if (region.all_threads or 1) > 1), None)
        each = f"1 / {threads} threads" if threads else "1 / all threads"
        head = ("loop", "class", "decision", "order", f"sweep, ms\n{each}", "pays off\n(sweeps)")
        widths = [max(map(cell_len, [*column[1:], *column[0].split("\n")])) for column in zip(head, *rows, strict=True)]
        left = self.console.width - sum(widths[1:]) - 2 * (len(widths) - 1)
        if left < min(widths[0], SHORTEST_NAME):
            self._stacked(rows, each)
            return
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, collapse_padding=True, header_style="dim")
        for place, (title, width) in enumerate(zip(head, widths, strict=True)):
            number = place >= 4
            table.add_column(
                title,
                justify="right" if number else "left",
                vertical="bottom",
                no_wrap=True,
                width=min(width, left) if place == 0 else width,
            )
        for region, row in zip(regions, rows, strict=True):
            table.add_row(fit(row[0], left), *row[1:], style="green" if region.optimized else None)
        self.console.print(table)

    def _stacked(self, rows: Sequence[Sequence[str]], each: str) -> None:
        """For a narrow terminal: two lines a region."""
        for loop, kind, decision, order, times, sweeps in rows:
            self._line(f"{fit(loop, self.console.width - 24)}: {kind}, {decision}")
            self._line(f"  {times} ms ({each})" + (f", order {order}" if order != "-" else ""))
            if sweeps != "-":
                self._line(f"  pays off after {sweeps} sweeps")

    def _row(self, region: RegionReport) -> tuple[str, ...]:
        order = self._name(region.method, 12) or "-"
        sweeps = region.pays_off_sweeps
        return (
            self._name(str(region.place), 60),
            region.kind,
            region.decision,
            order,
            _times(region),
            plain(units.count(None if sweeps is None else max(1, math.ceil(sweeps)))),
        )

    def _folded(self, regions: Sequence[RegionReport]) -> None:
        if regions:
            changed = sum(region.optimized for region in regions)
            self._line(f"and {len(regions)} more: {changed} optimized, {len(regions) - changed} refused", "dim")

    def _reasons(self, regions: Sequence[RegionReport]) -> None:
        told = None if self.data.optimized else heaviest(self.data.regions)
        refused = [region for region in regions if not region.optimized and region.reason and region is not told]
        if refused:
            self.console.print()
        for region in refused:
            evidence = self._evidence(region)
            where = f" ({evidence})" if evidence else ""
            self._paragraph(f"refused {_short(region.place)}: {region.reason}{where}", "", REASONS // len(refused))
        if told is not None and self._evidence(told):
            self.console.print()
            self._paragraph(f"evidence: {self._evidence(told)}", "", 1)

    def _gpu(self, regions: Sequence[RegionReport]) -> None:
        """A line for each loop: the kernel that the memory model chose, or why there is none."""
        found = [region.gpu for region in regions if region.gpu is not None]
        if found:
            self.console.print()
        for choice in found:
            self._paragraph(f"GPU {_short(choice.place)}: {choice.words}", "", 1)

    def _evidence(self, region: RegionReport) -> str:
        """The source lines behind a verdict, unless they are the loop itself."""
        places = list(dict.fromkeys(str(place) for place in region.evidence))
        return "" if places in ([], [str(region.place)]) else " and ".join(places[:2])

    def _tail(self) -> None:
        data = self.data
        if not data.folder:
            return
        self.console.print()
        self._exact("output  ", quote(data.folder, self.ascii_only))
        if data.report:
            self._exact("report  ", quote(data.report, self.ascii_only))
        if data.optimized and data.run:
            self._command("run it  ", data.run, 3)
        if data.on_card:
            self._command("on card ", data.on_card, 5)

    def _command(self, label: str, words: Sequence[str], own: int) -> None:
        """A command to copy; without the program's arguments, behind its `own` words, where they are very long."""
        command = " ".join(quote(word, self.ascii_only) for word in words)
        if len(command) > 4 * self.console.width:
            command = " ".join(quote(word, self.ascii_only) for word in words[:own]) + " -- ARGUMENTS"
        self._exact(label, command)

    def _name(self, text: str, cells: int) -> str:
        return fit(harmless(text, self.ascii_only), cells)

    def _paragraph(self, text: str, style: str, most: int) -> None:
        """Text over at most this many lines; continuation lines are indented."""
        room = self.console.width - 2
        words = fit_words(harmless(plain(text), self.ascii_only), room * most)
        lines = [line.plain.rstrip() for line in Text(words).wrap(self.console, room)]
        if len(lines) > most:
            lines[most - 1 :] = [fit_words(" ".join(lines[most - 1 :]), room)]
        for place, line in enumerate(lines):
            self._line(("  " if place else "") + line, style)

    def _line(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style=style), no_wrap=True, overflow="crop")

    def _exact(self, label: str, text: str) -> None:
        self.console.print(Text.assemble((label, "dim"), text), soft_wrap=True)


def _times(region: RegionReport) -> str:
    """`48.1 -> 9.8 / 5.2`: the original on one thread, the new one on one and on all threads."""
    times = (region.original_ms, region.one_thread_ms, region.all_threads_ms)
    before, one, every = map(plain, units.column(times))
    if region.one_thread_ms is None and region.all_threads_ms is None:
        return before
    return f"{before} -> {one} / {every}"


def _short(place: Place) -> str:
    return str(Place(place.file.rsplit("/", 1)[-1], place.line))
