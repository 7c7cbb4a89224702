"""Why a loop whose iterations may be reordered keeps its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.tracer.loops.program import Analysis

from .settings import Settings

ALIKE = 1.02  # times within this factor are considered equal
SWEEPS = ("region_ms", "region_all_ms")


def no_order(candidates: Sequence[Mapping[str, Any]], sweeps: float = 1.0, apart: str = "", stays: str = "") -> str:
    """Why no order is used: all failed, none was faster, or copies cost more than the fastest order gains.

    `sweeps`: executions of the loop per entry of the layout. `apart`: why the layout is not kept for longer. `stays`:
    why some data did not move along (`Inspection.stays`).
    """
    tried = [item for item in candidates if item["method"] != "original" and not item["compared"]]
    failed = [f"{item['method']} {item['note']}" for item in tried if item["note"].startswith(("failed", "refused"))]
    if failed and all(item.get("region_ms") is None for item in tried):
        return f"no order could be made: {'; '.join(failed)}"
    before = next((item.get("region_ms") for item in candidates if item["method"] == "original"), None)
    times = [(min(ms), item) for item in tried if (ms := [item[key] for key in SWEEPS if item.get(key) is not None])]
    if before is not None and times:
        after, item = min(times, key=lambda pair: pair[0])
        if after * ALIKE < before:
            return _copies_cost(str(item["method"]), before, after, item["copy_ms"] or 0.0, sweeps, apart)
    found = "no order was faster than the original order"
    return f"{found}: in each of them {stays}" if stays else found


def _copies_cost(method: str, before: float, after: float, copy: float, sweeps: float, apart: str) -> str:
    """The message that copies outweigh a faster loop, with the milliseconds of a sweep before and after, and of the
    copies."""
    often = "each sweep" if round(sweeps) <= 1 else f"every {round(sweeps)} sweeps"
    return (
        f"with {method} a sweep is {before / after:.3g} times as fast ({before:.3g} -> {after:.3g} ms), but copying "
        f"the data to the new layout and back takes {copy:.3g} ms {often}, which uses up the gain{apart}"
    )


def kept_apart(analysis: Analysis, data: Mapping[str, Any]) -> str:
    """Why the layout is left before the next iteration of the loop around its scope; empty if not known."""
    refused = data.get("scopes_refused", {})
    scope = data.get("scope")
    above = None if scope is None else analysis.parent(int(scope))
    while above is not None and str(above) not in refused:
        above = analysis.parent(above)
    if above is None:
        return ""
    place = next(record.place for record in analysis.records if record.id == above)
    return f"; it cannot be kept over the loop at {place.told}: {refused[str(above)]}"


def too_costly(settings: Settings, data: Mapping[str, Any], scope: ScopeFile, apart: str) -> str:
    """Why the gain does not outweigh the cost of entering and leaving the layout; empty if it does."""
    costs = scope.costs
    saved = costs["sweeps"] * (costs["original"] - costs["optimized"]) - costs["copy"]
    if settings.force or saved > settings.min_gain * costs["sweeps"] * costs["original"]:
        return ""
    jobs = max(1, data.get("jobs") or 1) / 1e6
    before, after, copy = (costs[name] * jobs for name in ("original", "optimized", "copy"))
    return _copies_cost(str(data["method"]), before, after, copy, costs["sweeps"], apart)
