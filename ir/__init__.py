"""The artefacts that travel between the stages, their files, and the measures taken on them."""

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
