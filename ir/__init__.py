"""The artefacts that travel between the stages, their files, and the measures taken on them.

Names are imported when they are first used: whoever needs only the errors does not pay for NumPy.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

    from .clustering import Clustering
    from .errors import (
        ArgumentError,
        ArtefactError,
        BackendError,
        OutputError,
        ProgramError,
        ScheduleError,
        SourceError,
        ToolchainError,
        TracecutError,
        UnsupportedError,
        UsageError,
        UserError,
    )
    from .graph import LocalityGraph
    from .machine import Cache, Core, Machine
    from .ordering import Ordering
    from .placement import Placement

__all__ = [
    "ArgumentError",
    "ArtefactError",
    "BackendError",
    "Cache",
    "Clustering",
    "Core",
    "LocalityGraph",
    "Machine",
    "Ordering",
    "OutputError",
    "Placement",
    "ProgramError",
    "ScheduleError",
    "SourceError",
    "ToolchainError",
    "TracecutError",
    "UnsupportedError",
    "UsageError",
    "UserError",
]

_HOMES = {
    "Clustering": "clustering",
    "LocalityGraph": "graph",
    "Cache": "machine",
    "Core": "machine",
    "Machine": "machine",
    "Ordering": "ordering",
    "Placement": "placement",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES.get(name, 'errors')}", __name__), name)
