"""`tracecut methods`: the partitioning and ordering methods."""

from __future__ import annotations

import json

from .words import Parser


def run_methods(words: list[str]) -> int:
    """The command. Returns the exit status."""
    parser = Parser(prog="tracecut methods", description="List the methods for --method.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(words)
    from tracecut.partition import methods

    if options.json:
        keys = ("name", "kind", "source", "complexity", "note", "repeatable", "installed")
        rows = [{key: getattr(method, key) for key in keys} | {"uses": sorted(method.uses)} for method in methods()]
        print(json.dumps(rows, indent=1))
        return 0
    for method in methods():
        notes = [method.note] if method.note else []
        notes += [] if method.installed else ["not installed: pip install 'tracecut[partitioners]'"]
        told = f" ({'; '.join(notes)})" if notes else ""
        print(f"{method.name:<18} {method.kind:<6} {method.complexity:<28} {method.source}{told}")
    return 0
