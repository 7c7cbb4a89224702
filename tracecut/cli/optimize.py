"""The terminal's answer."""

from __future__ import annotations

from pathlib import Path

from tracecut.pipeline.supervise import Optimized
from tracecut.report import ReportData
from tracecut.report import print_summary as print_report
from tracecut.support.optional_parts import reason_of


def print_summary(result: Optimized, name: Path) -> None:
    """Print what was found and what to do next; fits one screen. `name`: what the user calls the output folder.

    The result is there by now: where it can not be summed up, the folder and the reason are printed.
    """
    try:
        print_report(ReportData.from_manifest(result.manifest, folder=str(name)))
    except OSError:
        raise
    except Exception as error:
        print(f"output  {str(name)!r}\nno summary: {reason_of(error)}")
