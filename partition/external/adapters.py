"""Calls of the external partitioners. Runs in the worker's process only: a bad call may end the process.

Every function takes the arrays and settings that `backend` wrote and checked, and returns labels. `arrays` holds int64
`offsets` and int32 `members` (neighbours of each vertex, or pins of each net), int64 `edge_weights` and
`vertex_weights` (for METIS perhaps of several columns), and perhaps float64 `targets` (shares). `meta` holds `size`
(vertices), `k`, `balance`, `seed`, `threads` and `options`.
"""

from __future__ import annotations

import ctypes
import math
import tempfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

METIS_OPTIONS, METIS_OK = 40, 1
LIGHT = 0.25  # of a mean load: where no vertex is heavier, tools find the partitions that there are
Arrays = Mapping[str, npt.NDArray[Any]]
Meta = Mapping[str, Any]


def metis(arrays: Arrays, meta: Meta) -> Any:
    """METIS 5 through pymetis."""
    import pymetis

    options = pymetis.Options()
    options.seed = int(meta["seed"]) + 1  # the C library takes 0 and 1 for the same seed
    if arrays["vertex_weights"].ndim == 2:
        return _metis_of_several(arrays, meta, options)
    options.ufactor = max(1, round((float(meta["balance"]) - 1) * 1000))
    _, labels = pymetis.part_graph(
        int(meta["k"]),
        pymetis.CSRAdjacency(arrays["offsets"], arrays["members"].astype(np.int64)),
        eweights=arrays["edge_weights"],
        vweights=arrays["vertex_weights"],
        tpwgts=arrays["targets"].tolist() if "targets" in arrays else None,
        recursive=meta["options"].get("recursive"),  # None lets k decide
        options=options,
    )
    return labels


def _metis_of_several(arrays: Arrays, meta: Meta, chosen: Any) -> Any:
    """METIS with several weights a vertex, which pymetis does not pass on: the C function in its library."""
    import pymetis._internal as binding

    if binding._idx_type_width() != 64:
        raise RuntimeError("METIS was built for numbers of 32 bits; several weights a vertex need the build of 64")
    library = ctypes.CDLL(binding.__file__)
    weights = np.ascontiguousarray(arrays["vertex_weights"])
    size, loads, k = int(meta["size"]), weights.shape[1], int(meta["k"])
    recursive = meta["options"].get("recursive")
    call = library.METIS_PartGraphRecursive if (k <= 8 if recursive is None else recursive) else (
        library.METIS_PartGraphKway
    )  # fmt: skip
    shares = arrays["targets"] if "targets" in arrays else np.full(k, 1.0 / k)
    settings = np.array([chosen._get(place) for place in range(METIS_OPTIONS)], np.int64)
    labels, cut = np.zeros(size, np.int64), np.zeros(1, np.int64)
    given = (
        *(np.array([count], np.int64) for count in (size, loads)),
        *(arrays["offsets"], arrays["members"].astype(np.int64), weights, None, arrays["edge_weights"]),
        *(np.array([k], np.int64), np.repeat(shares, loads).astype(np.float32)),
        *(np.full(loads, meta["balance"], np.float32), settings, cut, labels),
    )
    status = call(*(None if array is None else array.ctypes.data_as(ctypes.c_void_p) for array in given))
    if status != METIS_OK:
        raise RuntimeError(f"METIS ended with status {status}")
    return labels


def kahip(arrays: Arrays, meta: Meta) -> Any:
    """KaFFPa of KaHIP."""
    import kahip

    _, labels = kahip.kaffpa(
        arrays["vertex_weights"].tolist(),
        arrays["offsets"].tolist(),
        arrays["edge_weights"].tolist(),
        arrays["members"].tolist(),
        int(meta["k"]),
        _slack(arrays, meta),
        True,
        int(meta["seed"]),
        getattr(kahip, meta["options"]["mode"].upper()),
    )
    return labels


def kaminpar(arrays: Arrays, meta: Meta) -> Any:
    """KaMinPar, which takes a graph from a file only."""
    import kaminpar

    with tempfile.NamedTemporaryFile(suffix=".parhip", dir=meta["folder"]) as file:
        write_parhip(Path(file.name), arrays)
        graph = kaminpar.load_graph(file.name, kaminpar.GraphFileFormat.PARHIP)
    kaminpar.reseed(int(meta["seed"]))
    solver = kaminpar.KaMinPar(int(meta["threads"]), kaminpar.context_by_name(meta["options"]["preset"]))
    if "targets" in arrays:
        return solver.compute_partition(graph, _largest_loads(arrays, meta))
    return solver.compute_partition(graph, int(meta["k"]), _slack(arrays, meta))


def mtkahypar(arrays: Arrays, meta: Meta) -> Any:
    """Mt-KaHyPar on a graph, for the cut."""
    library, session, context = _mtkahypar(arrays, meta, "CUT")
    ends = np.repeat(np.arange(meta["size"], dtype=np.int32), np.diff(arrays["offsets"]))
    once = ends < arrays["members"]
    edges = list(zip(ends[once].tolist(), arrays["members"][once].tolist(), strict=True))
    weights = arrays["vertex_weights"].tolist(), arrays["edge_weights"][once].tolist()
    library.set_seed(int(meta["seed"]))
    return session.create_graph(context, int(meta["size"]), len(edges), edges, *weights).partition(context)


def mtkahypar_km1(arrays: Arrays, meta: Meta) -> Any:
    """Mt-KaHyPar on a hypergraph, for Σ over nets of (parts of the net − 1)."""
    library, session, context = _mtkahypar(arrays, meta, "KM1")
    pins, offsets = arrays["members"].tolist(), arrays["offsets"].tolist()
    nets = [pins[begin:end] for begin, end in pairwise(offsets)]
    weights = arrays["vertex_weights"].tolist(), arrays["edge_weights"].tolist()
    library.set_seed(int(meta["seed"]))
    return session.create_hypergraph(context, int(meta["size"]), len(nets), nets, *weights).partition(context)


CALLS: dict[str, Callable[[Arrays, Meta], Any]] = {
    "metis": metis,
    "kahip": kahip,
    "kaminpar": kaminpar,
    "mtkahypar": mtkahypar,
    "mtkahypar-km1": mtkahypar_km1,
}


def call(tool: str, arrays: Arrays, meta: Meta) -> npt.NDArray[np.int32]:
    """Labels by the tool of this name, int32 (vertices)."""
    found = CALLS[tool](arrays, meta)
    labels = found.get_partition() if hasattr(found, "get_partition") else found
    return np.asarray(labels).astype(np.int32)


def write_parhip(path: Path, arrays: Arrays) -> None:
    """The binary graph format of ParHIP: all numbers 64 bits, with weights of vertices and of edges."""
    offsets = arrays["offsets"]
    size = offsets.size - 1
    first = 8 * (3 + offsets.size)  # bytes before the neighbours; offsets count bytes from the begin of the file
    with open(path, "wb") as file:
        file.write(np.array([0, size, offsets[-1]], np.uint64).tobytes())
        file.write((first + 8 * offsets).astype(np.uint64).tobytes())
        file.write(arrays["members"].astype(np.uint64).tobytes())
        file.write(arrays["vertex_weights"].tobytes())
        file.write(arrays["edge_weights"].tobytes())


def _mtkahypar(arrays: Arrays, meta: Meta, objective: str) -> tuple[Any, Any, Any]:
    import mtkahypar

    session = mtkahypar.initialize(int(meta["threads"]), False)
    preset = meta["options"]["preset"].upper().replace("-", "_")
    context = session.context_from_preset(getattr(mtkahypar.PresetType, preset))
    context.logging = False
    context.set_partitioning_parameters(int(meta["k"]), _slack(arrays, meta), getattr(mtkahypar.Objective, objective))
    if "targets" in arrays:
        context.set_individual_target_block_weights(_largest_loads(arrays, meta))
    return mtkahypar, session, context


def _slack(arrays: Arrays, meta: Meta) -> float:
    """Largest load over the mean, less 1, that some partition keeps: KaHIP never ends where none does."""
    mean = float(arrays["vertex_weights"].sum()) / meta["k"]
    heaviest = float(arrays["vertex_weights"].max())
    sure = heaviest * (1 - 1 / meta["k"]) / mean if mean else 0.0
    if "least" in meta and sure <= LIGHT and heaviest > float(arrays["vertex_weights"].min()):
        # Tools round the mean load up before they multiply: so much of it is asked for that they keep the bound.
        allowed = math.floor(float(meta["least"]) * mean * (1 + 1e-12))
        return max(allowed / math.ceil(mean) - 1, 0.0)
    return max(float(meta["balance"]) - 1, sure)


def _largest_loads(arrays: Arrays, meta: Meta) -> list[int]:
    """The most that each part may hold, whole numbers."""
    total = float(arrays["vertex_weights"].sum())
    heaviest = float(arrays["vertex_weights"].max())
    return [math.ceil(max(meta["balance"] * total * share, total * share + heaviest)) for share in arrays["targets"]]
