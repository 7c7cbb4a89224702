"""The artefacts that travel between the stages, their files, and the measures taken on them.

Names are imported when they are first used: whoever needs one does not pay for the others.
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
