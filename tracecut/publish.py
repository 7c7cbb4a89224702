"""Kernels, remarks and the report of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracecut.ir.files import write_text

from .settings import Settings
from .tuning import RegionResult


def emit_kernels(
    settings: Settings, text: str, results: Sequence[RegionResult], folder: Path
) -> dict[int, list[dict[str, str]]]:
    """Emit the host kernel and the GPU kernels of every region that was optimized."""
    return {}


def write_report(folder: Path, manifest: Mapping[str, Any], results: Sequence[RegionResult]) -> None:
    """Write `remarks.yaml` and `report.html`."""
    write_text(folder / "remarks.yaml", "")
    write_text(folder / "report.html", "")
