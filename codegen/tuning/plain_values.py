"""What is found of a region as plain values, for the result of a worker."""

from __future__ import annotations

from typing import Any

from .trial import Candidate


def candidate_out(item: Candidate) -> dict[str, Any]:
    """An order that was considered."""
    return {
        "method": item.method,
        "inspect_ms": item.inspect_ms,
        "region_ms": item.region_ms,
        "region_all_ms": item.region_all_ms,
        "copy_ms": item.copy_ms,
        "check_ms": item.check_ms,
        "threads": item.threads,
        "variant": item.variant,
        "predicted_misses": item.predicted[min(1, len(item.predicted) - 1)] if item.predicted else None,
        "shared": item.shared,
        "clusters": item.clusters,
        "compared": item.compared,
        "apart_ms": {str(count): ms for count, ms in item.apart_ms.items()},
        "chosen": sorted(item.chosen),
        "note": item.note,
    }


def comparison_out(item: Candidate) -> dict[str, Any]:
    """How its results compare with those of the original order, empty where they were not compared."""
    found = item.comparison
    return {} if found is None else {"bit_equal": found.bit_equal, "max_rel_error": found.max_rel_error}


def place_out(place: Any) -> list[Any]:
    """File, line, column and function of a place in the program."""
    own = place.own
    return [own.file, own.line, own.column, own.function]
