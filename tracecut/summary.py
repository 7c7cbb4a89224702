"""The terminal's answer."""

from __future__ import annotations

from pathlib import Path

from tracecut.report import ReportData
from tracecut.report import print_summary as print_report

from .pipeline import Optimized


def print_summary(result: Optimized, name: Path) -> None:
    """Print what was found and what to do next; fits one screen. `name`: what the user calls the output folder."""
    print_report(ReportData.from_manifest(result.manifest, folder=str(name)))
