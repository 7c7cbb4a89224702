"""Rows of a benchmark, and the file that they are written to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tracecut.ir.machine.machine import Machine
from tracecut.support.version import package_versions


@dataclass(frozen=True)
class Row:
    """One measured number. `ratio` is value / peer_value: below 1 is better for times and costs.

    `note`: what the number is of, or why there is none.
    """

    input: str
    order: str
    metric: str
    value: float | None
    peer: str = ""
    peer_value: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        if self.value is None or not self.peer_value:
            return None
        return self.value / self.peer_value


def write_rows(path: Path, name: str, rows: list[Row], **meta: Any) -> None:
    """Write a results file: what was measured, on what, with which versions."""
    data = {
        "benchmark": name,
        "machine": Machine.detect().summary(),
        "versions": package_versions(),
        **meta,
        "rows": [_plain(row) for row in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")


def read_rows(path: Path | None) -> dict[tuple[str, str, str], Row]:
    """The rows of a results file by input, order and metric; none where there is no file."""
    return {(row.input, row.order, row.metric): row for row in kept_rows(path)}


def kept_rows(path: Path | None, new: list[Row] | None = None) -> list[Row]:
    """The rows of a results file, none where there is no file; new ones take the place of those with the same peer."""
    old: list[Row] = []
    if path is not None and path.is_file():
        names = [field.name for field in fields(Row)]
        items = json.loads(path.read_text())["rows"]
        old = [Row(**{name: item[name] for name in names if name in item}) for item in items]
    found = {(row.input, row.order, row.metric, row.peer): row for row in [*old, *(new or [])]}
    return list(found.values())


def _plain(row: Row) -> dict[str, Any]:
    found = {**asdict(row), "ratio": row.ratio}
    return found if row.note else {name: value for name, value in found.items() if name != "note"}


def print_rows(rows: list[Row]) -> None:
    """A plain table of the rows."""
    for row in rows:
        value = "-" if row.value is None else f"{row.value:.4g}"
        peer = "" if row.peer_value is None else f"{row.peer} {row.peer_value:.4g}"
        ratio = "" if row.ratio is None else f"{row.ratio:.3f}"
        print(
            f"{row.input:<28} {row.order:<10} {row.metric:<34} {value:>12}  {peer:<28} {ratio:>8}  {row.note}".rstrip(),
            flush=True,
        )
