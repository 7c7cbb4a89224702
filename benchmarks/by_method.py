"""The main job with every family of orders on one region each: region times, break-even points, and what `auto` takes.

`optimize` makes its choice first, by its own measurements among what it would try in any case. Then all orders, those
that are only compared with it too, are measured again in turns, and the rows hold these times alone: also the row of
`auto`, of which the choice therefore had no part in the figures that it is compared with.

The inputs are of four kinds: a mesh, particle pairs, an R-MAT graph and a circuit matrix (where the shared data are
there; else the circuit is left out). They are smaller than the defaults of the samples, so that the dear families fit
a sitting; their data are larger than the second cache, those of the circuits are not.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import Row
from tracecut.partition import METHODS
from tracecut.support.progress import Progress
from tracecut.tracer.toolchain.clang import Flags

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

SAMPLES = Path(__file__).parent.parent / "samples"
SHARED = Path(__file__).parent.parent.parent / "shared" / "data"
CIRCUITS = {"memplus": "20000", "add32": "250000", "bayer10": "20000"}  # with sweeps, of 0.07, 0.02 and 0.1 ms each

# One of each family that needs no coordinates and keeps to what it can do without a server's worth of time.
FAMILIES = (
    "rcm",
    "degree-z",
    "first-touch",
    "random",
    "chunks",
    "wb-libra",
    "dbh",
    "expansion",
    "multilevel",
    "metis",
    "spac",
    "wvp-greedy",
    "parcubed-det",
    "gpart",
)
PEERS = ("kaminpar", "mtkahypar-km1")  # where they are installed
SLOW = frozenset({"spac", "wvp-greedy", "mtkahypar-km1"})  # minutes on graphs of millions of pins with hubs


@dataclass(frozen=True)
class MethodCase:
    """A program with its arguments; `skip`: families that would take minutes on it."""

    name: str
    source: str
    order: str
    argv: tuple[str, ...]
    skip: frozenset[str] = frozenset()


def method_cases(folder: Path, *, quick: bool) -> list[MethodCase]:
    """The inputs; circuits are unpacked into `folder`."""
    sizes = ("1", "0", "14") if quick else ("3", "1", "18")
    mesh, pairs, graph = (("--scale", size) for size in sizes)
    # Enough for copies and a start to pay: where they do not, the program's own order is rightly kept.
    short, long, sweeps = ("--steps", "8"), ("--steps", "200"), ("--steps", "200", "--every", "200")
    cases = [
        MethodCase("mesh", "mesh_flux.c", "scattered", (*mesh, *short), SLOW),
        MethodCase("mesh", "mesh_flux.c", "natural", ("--natural", *mesh, *(short if quick else long)), SLOW),
        MethodCase("pairs", "md_forces.c", "scattered", (*pairs, *short), SLOW | {"metis"}),
        MethodCase("rmat", "graph_heat.c", "scattered", (*graph, *sweeps), frozenset() if quick else SLOW | {"metis"}),
    ]
    for name in CIRCUITS:
        source = SHARED / f"{name}.mtx.gz"
        if source.exists():
            target = folder / f"{name}.mtx"
            with gzip.open(source) as packed, open(target, "wb") as plain:
                shutil.copyfileobj(packed, plain)
            steps = "400" if quick else CIRCUITS[name]
            for order in ("natural", "scattered"):
                words = ("--natural",) if order == "natural" else ()
                many = (*words, "--steps", steps, "--every", steps, str(target))
                cases.append(MethodCase(name, "graph_heat.c", order, many))
    return cases


def measure_methods(case: MethodCase, folder: Path) -> tuple[list[Row], str]:
    """Rows of one case, and the hash of its input."""
    installed = [name for name in PEERS if name in METHODS and METHODS[name].installed]
    compare = tuple(name for name in (*FAMILIES, *installed) if name not in case.skip)
    settings = Settings(
        (str(SAMPLES / case.source),), Flags(libraries=("m",)), case.argv, folder, compare=compare, region=_region(case)
    )
    manifest = optimize_program(settings, Progress()).manifest
    (region,) = manifest["regions"]
    name = f"{case.name}:{region['line']}"
    return [Row(name, case.order, *row) for row in _rows(region)], str(manifest["input_hash"])


def _region(case: MethodCase) -> str:
    """The loop that matters: the first `for` behind the head of the function that the sample is about."""
    function = {"mesh_flux.c": "edge_fluxes", "md_forces.c": "pair_forces", "graph_heat.c": "edge_flows"}[case.source]
    lines = (SAMPLES / case.source).read_text().splitlines()
    head = next(i for i, line in enumerate(lines) if f"static void {function}(" in line or f" {function}(" in line)
    place = next(i for i in range(head, len(lines)) if lines[i].lstrip().startswith("for ("))
    return f"{case.source}:{place + 1}"


def _rows(region: Mapping[str, Any]) -> list[tuple[str, float | None, str, float | None]]:
    """(metric, value, peer, value of the peer) of a region's candidates, on one thread and on all."""
    candidates: Sequence[Mapping[str, Any]] = region["candidates"]
    original, *others = candidates
    before = original["apart_ms"]["1"]
    rows: list[tuple[str, float | None, str, float | None]] = []
    for threads in sorted({1, *(count for item in candidates for count in item["chosen"])}):
        for item in others:
            ms = item["apart_ms"].get(str(threads))
            rows.append((f"region_ms@{item['method']},{threads}", ms, "original order", before))
            if ms is not None:
                cost = (item["inspect_ms"] or 0.0) + (item["copy_ms"] or 0.0)
                gain = before - ms
                rows.append(
                    (f"break_even_sweeps@{item['method']},{threads}", cost / gain if gain > 0 else None, "", None)
                )
        taken, mine = auto_choice(region, threads)
        best, name = min(
            (ms, item["method"])
            for item in candidates
            for count, ms in item["apart_ms"].items()
            if int(count) <= threads
        )
        rows.append((f"region_ms@auto,{threads}", mine, f"best of all, {name}; auto took {taken}", best))
    return rows


def auto_choice(region: Mapping[str, Any], threads: int) -> tuple[str, float]:
    """What `optimize` takes on so many threads by its own measurements, and what that takes by those made apart.

    The program's own order where it keeps to that.
    """
    candidates: Sequence[Mapping[str, Any]] = region["candidates"]
    found = next(item for item in candidates if threads in item["chosen"])
    if threads > 1 and region["decision"] != "optimized":
        found = candidates[0]
    alone = threads == 1 or found["region_all_ms"] is None or found["region_all_ms"] > found["region_ms"]
    return found["method"], found["apart_ms"]["1" if alone else str(threads)]
