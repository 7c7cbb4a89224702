"""The terminal's answer."""

from __future__ import annotations

from .pipeline import Optimized


def print_summary(result: Optimized) -> None:
    """Print what was found and what to do next; fits one screen."""
    program = result.manifest["program"]
    print(f"{program['original_seconds']:.2f} s -> {program['optimized_seconds']:.2f} s")
    for region in result.manifest["regions"]:
        print(
            region["file"],
            region["line"],
            region["class"],
            region["decision"],
            region["reason"],
            region["method"],
            region["original_ms"],
            region["optimized_ms"],
            region["speedup_1t"],
            region["speedup_all"],
        )
