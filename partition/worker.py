"""The process that METIS runs in: `python -m tracecut.partition.worker GRAPH LABELS [PARENT]`.

Reads a graph file that `backend` wrote and writes the labels. PARENT is the process to die with.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

import numpy as np

from ..ir.errors import TracecutError
from ..ir.files import read_arrays, write_arrays

GRAPH_KIND, LABELS_KIND = "MetisGraph", "MetisLabels"
GRAPH_MEMBERS = {
    "offsets": "int64",
    "neighbours": "int32",
    "edge_weights": "int64",
    "vertex_weights?": "int64",
    "targets?": "float64",
}
LABELS_MEMBERS = {"labels": "int32"}
PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Partition one graph file; the exit status is 0, or 1 with one line on stderr."""
    graph, labels = arguments[:2]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if len(arguments) > 2:
        _die_with(int(arguments[2]))
    try:
        _partition(graph, labels)
    except (TracecutError, OSError, RuntimeError, ValueError, MemoryError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _partition(graph: str, labels: str) -> None:
    import pymetis

    arrays, meta = read_arrays(graph, GRAPH_KIND, GRAPH_MEMBERS)
    options = pymetis.Options()
    options.seed = int(meta["seed"]) + 1  # the C library takes 0 and 1 for the same seed
    options.ufactor = max(1, round((float(meta["balance"]) - 1) * 1000))
    _, result = pymetis.part_graph(
        int(meta["k"]),
        pymetis.CSRAdjacency(arrays["offsets"], arrays["neighbours"].astype(np.int64)),
        eweights=arrays["edge_weights"],
        vweights=arrays.get("vertex_weights"),
        tpwgts=arrays["targets"].tolist() if "targets" in arrays else None,
        recursive=meta["recursive"],
        options=options,
    )
    write_arrays(labels, LABELS_KIND, {"labels": np.asarray(result).astype(np.int32)}, {})


def _die_with(parent: int) -> None:
    """Ask the kernel to end this process with its parent; covers a parent that is already gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
