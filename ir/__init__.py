"""The artefacts that stages exchange, their files, and their metrics.

Names are imported on first use, so that unused modules are not loaded.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

    from tracecut.ir.machine.machine import Machine
    from tracecut.ir.machine.parts import Cache, Core

    from .clustering import Clustering
    from .locality_graph import LocalityGraph
    from .ordering import Ordering
    from .placement import Placement

__all__ = [
    "Cache",
    "Clustering",
    "Core",
    "LocalityGraph",
    "Machine",
    "Ordering",
    "Placement",
]

_HOMES = {
    "Clustering": "clustering",
    "LocalityGraph": "locality_graph",
    "Cache": "machine.parts",
    "Core": "machine.parts",
    "Machine": "machine.machine",
    "Ordering": "ordering",
    "Placement": "placement",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
