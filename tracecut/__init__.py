"""tracecut makes irregular programs fast."""

__version__ = "0.1.0"
