"""PageRank, HITS and random walks on stand-ins of TileSpMV's four graphs, beside its Tables 1, 4 and 5.

    python benchmarks/tile_mining.py --json FILE [--merit results/tile_formats.json] [--only NAME …]

On the CPU: CPU seconds of tracecut on one thread, a random walk as the mean of 25 in one sweep. On cards: iterations
times the modelled product of a format, which `tile_formats.py --parts merit` has left in `--merit`, twice where both
directions are multiplied (HITS; RWR's links are undirected); additions and norms are left out. Nothing ran on a card.
The published seconds are of the whole graphs, most stand-ins of a part of one: comparable is what the formats take of
each other (`HYB over tile-composite`).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import cpu_seconds
from rows import Row, kept_rows, print_rows, read_rows, write_rows
from tile_formats import GRAPHS, csr_of, power_law

import tracecut

NAMES = ("Flickr-like", "LiveJournal-like", "Wikipedia-like", "Youtube-like")
FORMATS = ("COO", "HYB", "tile-COO", "tile-composite")
QUERIES = 25
# CPU, COO, HYB, tile-COO, tile-composite: Tables 1, 4 and 5.
PUBLISHED = {
    "PageRank": (
        *((23.99, 1.67, 1.60, 0.90, 0.83), (82.23, 6.19, 5.57, 3.75, 3.44)),
        *((52.12, 2.99, 2.83, 1.76, 1.63), (11.81, 0.72, 0.66, 0.68, 0.65)),
    ),
    "HITS": (
        *((4.97, 0.40, 0.38, 0.23, 0.21), (44.88, 3.82, 3.33, 2.41, 2.24)),
        *((39.36, 2.73, 2.45, 1.52, 1.37), (4.35, 0.33, 0.30, 0.26, 0.25)),
    ),
    "RWR": (
        *((8.25, 0.59, 0.56, 0.33, 0.29), (36.99, 2.85, 2.60, 1.73, 1.52)),
        *((23.23, 1.46, 1.35, 0.71, 0.62), (2.32, 0.14, 0.13, 0.14, 0.13)),
    ),
}
DIRECTIONS = {"PageRank": 1, "HITS": 2, "RWR": 2}


def algorithms(matrix: Any) -> dict[str, Callable[[], tuple[int, int]]]:
    """Each by name: what runs it, and returns its iterations and how many results it had."""
    queries = np.random.default_rng(0).choice(matrix.shape[0], QUERIES, replace=False).tolist()
    return {
        "PageRank": lambda: (tracecut.pagerank(matrix, threads=1).iterations, 1),
        "HITS": lambda: (tracecut.hits(matrix, threads=1)[0].iterations, 1),
        "RWR": lambda: (tracecut.rwr(matrix, queries, threads=1).iterations, QUERIES),
    }


def rows_of(name: str, merit: Path) -> list[Row]:
    """Those of one graph."""
    modelled = read_rows(merit)
    for run in algorithms(csr_of(power_law("", 1000, 5000, 2.0, "small")).to_scipy()).values():
        run()  # compiles
    matrix = csr_of(GRAPHS[name]()).to_scipy()
    found = []
    for algorithm, run in algorithms(matrix).items():
        start = cpu_seconds()
        iterations, results = run()
        seconds = (cpu_seconds() - start) / results
        published = dict(zip(("CPU", *FORMATS), PUBLISHED[algorithm][NAMES.index(name)], strict=True))
        note = f"{matrix.nnz} links, {iterations} iterations"
        found.append(Row(name, "CPU", f"{algorithm}: s", seconds, "published, CPU", published["CPU"], note))
        for card, where in (("C1060", "memory"), ("H200", "L2")):
            each: dict[str, float] = {}
            for fmt in FORMATS:
                row = modelled.get((name, card, f"{fmt}: {where} B an entry, modelled"))
                said = re.search(r"(\d+) us,", row.note) if row else None
                if said is None:
                    continue
                product = 1e-6 * int(said[1])
                each[fmt] = DIRECTIONS[algorithm] * iterations * product
                metric = f"{algorithm}, {fmt}: s, modelled"
                found.append(Row(name, card, metric, each[fmt], "published, C1060", published[fmt], note))
            if {"HYB", "tile-composite"} <= each.keys():
                metric, times = f"{algorithm}: HYB over tile-composite", each["HYB"] / each["tile-composite"]
                other = published["HYB"] / published["tile-composite"]
                found.append(Row(name, card, metric, times, "published, C1060", other, "modelled"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="for the rows; others in it stay")
    default = Path(__file__).parent / "results" / "tile_formats.json"
    parser.add_argument("--merit", type=Path, default=default, metavar="FILE", help="rows of tile_formats.py")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=NAMES, choices=NAMES, help="graphs (default: all)")
    options = parser.parse_args()
    for name in options.only:
        found = rows_of(name, options.merit)
        print_rows(found)
        write_rows(options.json, "tile_mining", kept_rows(options.json, found))


if __name__ == "__main__":
    main()
