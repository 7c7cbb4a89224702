"""Draw the README's picture from a result: `python docs/picture.py OUT docs/mesh_flux.svg`."""

from __future__ import annotations

import sys
from pathlib import Path

from tracecut.support.files import load_json

from tracecut.report.charts import bars
from tracecut.report.markup import el

# A picture in a README has no style sheet but its own, and lies on light and on dark pages.
STYLE = """
svg { font: 11px system-ui, sans-serif; }
text { fill: #58626a; } .old { fill: #8b969d; } .new { fill: #0b6b63; } .soft { fill: #8cc4bc; }
@media (prefers-color-scheme: dark) { text { fill: #9ba6ad; } .new { fill: #53c5b7; } .soft { fill: #2d776e; } }
"""


def main() -> None:
    """Time of one sweep of the first loop that was optimized."""
    manifest = load_json(Path(sys.argv[1]) / "manifest.json")
    region = next(region for region in manifest["regions"] if region["decision"] == "optimized")
    one = region["original_ms"] / region["speedup_1t"]
    rows = [
        ("as written, 1 thread", region["original_ms"], "old"),
        ("rescheduled, 1 thread", one, "soft"),
        (f"rescheduled, {region['threads']} threads", region["optimized_ms"], "new"),
    ]
    shown = [f"{value:.0f} ms" for _, value, _ in rows]
    label = "Time of one sweep: " + "; ".join(f"{row[0]} {text}" for row, text in zip(rows, shown, strict=True))
    picture = str(bars(rows, label, shown)).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    head, sep, rest = picture.partition(">")
    Path(sys.argv[2]).write_text(f"{head}{sep}{el('style', STYLE)}{rest}\n")


if __name__ == "__main__":
    main()
