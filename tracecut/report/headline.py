"""The first line of every report: the gain, or why nothing was changed."""

from __future__ import annotations

from dataclasses import dataclass

from . import units
from .data import RegionReport, ReportData


@dataclass(frozen=True)
class Answer:
    """The result in a few words.

    Attributes:
        changed: some loop runs in a new order.
        before, after: seconds of the whole program, in words; empty if it was not measured.
        speedup: how many times as fast, None if not measured.
        output: whether the output equals the original's, in words.
        differs: whether the output is known to differ.
        why: why nothing was changed; empty if something was.
    """

    changed: bool
    before: str = ""
    after: str = ""
    speedup: float | None = None
    output: str = ""
    differs: bool = False
    why: str = ""


def answer(data: ReportData) -> Answer:
    """The answer for a report."""
    if not data.optimized:
        return Answer(False, why=_why(data.regions, data.program.reason))
    program = data.program
    old, new = program.original_seconds, program.optimized_seconds
    before, after = units.change(old, new) if old is not None and new is not None else ("", "")
    speedup = program.speedup
    if speedup is None and old and new:
        speedup = old / new
    output = {True: "output equal", False: "OUTPUT DIFFERS", None: "output not compared"}[program.output_equal]
    return Answer(True, before, after, speedup, output, program.output_equal is False)


def heaviest(regions: tuple[RegionReport, ...]) -> RegionReport:
    """The region with the largest share of the work; the first one if shares are not known."""
    return max(regions, key=lambda region: region.share or 0.0)


def _why(regions: tuple[RegionReport, ...], known: str) -> str:
    if not regions:
        return known or "no loop was found whose iterations could be reordered"
    region = heaviest(regions)
    share = f" ({units.percent(region.share)} of the work)" if region.share is not None else ""
    return f"{region.place}{share}: {region.reason or 'no reason was given'}"
