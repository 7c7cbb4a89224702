"""The process that external partitioners run in: `python -m tracecut.partition.external.worker GRAPH LABELS`.

Reads a graph file that `client` wrote and writes the labels.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from tracecut.support.errors import TracecutError
from tracecut.support.files import read_arrays, write_arrays

from .adapters import call

GRAPH_KIND, LABELS_KIND = "ForeignGraph", "ForeignLabels"
GRAPH_MEMBERS = {
    "offsets": "int64",
    "members": "int32",
    "edge_weights": "int64",
    "vertex_weights": "int64",
    "targets?": "float64",
}
LABELS_MEMBERS = {"labels": "int32"}


def main(arguments: list[str]) -> int:
    """Partition one graph file; the exit status is 0, or 1 with one line on stderr."""
    graph, labels = arguments
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        _partition(graph, labels)
    except (TracecutError, OSError, RuntimeError, ValueError, TypeError, ImportError, MemoryError) as error:
        print(f"{type(error).__name__}: {error}"[:2000], file=sys.stderr)
        return 1
    return 0


def _partition(graph: str, labels: str) -> None:
    arrays, meta = read_arrays(graph, GRAPH_KIND, GRAPH_MEMBERS)
    before = time.process_time()
    found = call(meta["tool"], arrays, {**meta, "folder": str(Path(labels).absolute().parent)})
    seconds = time.process_time() - before
    write_arrays(labels, LABELS_KIND, {"labels": found}, {"cpu_seconds": seconds})


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # Mt-KaHyPar can crash while Python ends, with the labels written
