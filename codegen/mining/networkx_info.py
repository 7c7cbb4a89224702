"""What networkx asks of its backends whenever it is imported: so this imports nothing."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all that is imported here
if TYPE_CHECKING:
    from typing import Any


def get_info() -> dict[str, Any]:
    """Of the entry point `networkx.backend_info`."""
    return {
        "backend_name": "tracecut",
        "project": "tracecut",
        "package": "tracecut",
        "short_summary": "PageRank and HITS on all cores, converted and iterated in compiled loops.",
        "functions": {
            "pagerank": {"additional_docs": "Negative weights are refused. `tol` is of the sum of all changes over n."},
            "hits": {"additional_docs": "The power method, then Lanczos steps; only normalized scores."},
        },
    }
