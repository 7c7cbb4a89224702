"""What the process of a captured run is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracecut.tracer.loops.flatten_rows import RowTable


@dataclass(frozen=True)
class CaptureRequest:
    """A program to run and what to keep of it.

    Attributes:
        library: the instrumented program. argv: its words. folder: where the captures go.
        first_entry: at which entry a loop is captured. min_jobs: smallest loop that is.
        byte_limit: of all captures. memory: of this process. n_loops: of the program. n_blocks: that are counted.
        globals: names of its variables.
        values: hooked loop → (name, type) of what its hook reports. nests: hooked loop → its nest, of `nest_json`.
        flattened: the same of the flattened program, for loops with rows behind pointers. tables: of these pointers.
        watch: the library that is loaded to see which files the program looks at, of `watch.py`.
    """

    library: Path
    argv: tuple[str, ...]
    folder: Path
    first_entry: int
    min_jobs: int
    byte_limit: int
    memory: int
    n_loops: int
    n_blocks: int
    globals: tuple[str, ...]
    values: Mapping[int, tuple[tuple[str, str], ...]]
    nests: Mapping[int, Any]
    flattened: Mapping[int, Any]
    tables: tuple[RowTable, ...]
    watch: Path | None = None
