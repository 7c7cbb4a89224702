"""Reports: the HTML file, the terminal summary, and remarks for other viewers."""

from .chart_data import RegionFigures, Series
from .data import Candidate, Kernel, MachineLine, ProgramResult, RegionReport, ReportData
from .html import render_report
from .remarks import Remark, remarks_yaml
from .source_excerpt import Excerpt, Line, Place
from .terminal import print_summary, render_summary

__all__ = [
    "Candidate",
    "Excerpt",
    "Kernel",
    "Line",
    "MachineLine",
    "Place",
    "ProgramResult",
    "RegionFigures",
    "RegionReport",
    "Remark",
    "ReportData",
    "Series",
    "print_summary",
    "remarks_yaml",
    "render_report",
    "render_summary",
]
