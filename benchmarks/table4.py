"""The dependence graphs of the ten programs in `samples/vertexcut`, beside Table 4 of the vertex-cut paper.

`python benchmarks/table4.py --json benchmarks/results/table4.json` takes about a minute; `--programs` picks some (the
rows of the others stay as they are in the file). Both forms are traced: `O1`, the canonical one, and `seed`, the
unoptimised code that the paper describes.

The paper does not say how it fits its exponent, nor which paths it averages. So each is given in two ways: the exponent
by maximum likelihood over all degrees from 1 on, continuous (`exponent_all`, the closest to the paper's numbers), and
over the tail where a power law is least implausible (`exponent_tail`, with `exponent_tail_p`: below 0.1 it is none);
the mean length of shortest paths along the dependences (`path_directed`) and in any direction (`path_any`), both from
64 random vertices.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))

from rows import Row, print_rows, write_rows
from tracecut.ir.dependence import DependenceGraph
from tracecut.ir.graphstats import average_path_length

import tracecut

FOLDER = Path(__file__).resolve().parents[1] / "samples" / "vertexcut"
PAPER = "VertexCut Table 4"
# Nodes, edges, exponent, average path length, as the paper's table states them.
TABLE = {
    "dijkstra": (248_959, 291_112, 2.29, 136.4),
    "fft": (109_295, 143_183, 2.21, 194.56),
    "kmeans": (98_592, 119_112, 2.24, 479.4),
    "mandelbrot": (235_051, 260_042, 2.43, 42.67),
    "md": (1_799_353, 2_361_213, 2.17, 524.61),
    "nn": (124_496, 161_428, 2.16, 171.52),
    "neuron": (57_883, 73_431, 2.20, 179.25),
    "cnn": (573_694, 758_712, 2.13, 824.37),
    "strassen8": (36_831, 46_756, 2.21, 21.22),
    "strassen16": (197_827, 254_392, 2.20, 123.94),
}
SOURCES = 64
# The paper's clang, of 2020, did not contract a product and a sum into one operation unless it was asked to.
FLAGS = ("-std=c11", "-ffp-contract=off")


def exponent_of_all(degrees: npt.NDArray[np.int64]) -> float:
    """Maximum-likelihood exponent of a continuous power law from degree 1 on; vertices without an edge are left out."""
    found = degrees[degrees > 0]
    return float(1 + found.size / np.log(found).sum())


def directed_path_length(graph: DependenceGraph) -> float:
    """Mean number of edges from random vertices to all that depend on them."""
    order = np.argsort(graph.src, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(graph.src, minlength=graph.n)))).astype(np.int64)
    return average_path_length(offsets, graph.dst[order], sources=SOURCES)


def rows_of(name: str, opt: str) -> list[Row]:
    """All numbers of one program."""
    graph = tracecut.dependence_graph([FOLDER / f"{name}.c", *FLAGS, "-lm"], opt=opt)
    stats = graph.stats(sources=SOURCES)
    nodes, edges, exponent, path = TABLE[name]
    values = (
        ("nodes", graph.n, nodes),
        ("edges", graph.m, edges),
        ("edges_per_node", graph.m / graph.n, edges / nodes),
        ("exponent_all", exponent_of_all(graph.degrees()), exponent),
        ("exponent_tail", stats["exponent"], exponent),
        ("path_directed", directed_path_length(graph), path),
        ("path_any", stats["path_length"], path),
    )
    found = [Row(name, opt, metric, float(value), PAPER, float(peer)) for metric, value, peer in values]
    return [*found, Row(name, opt, "exponent_tail_p", float(stats["exponent_p"]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    parser.add_argument("--programs", nargs="+", choices=sorted(TABLE), default=list(TABLE))
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.programs:
        for opt in ("O1", "seed"):
            rows += rows_of(name, opt)
            print_rows(rows[-8:])
    if options.json is None:
        return
    if options.json.exists():
        kept = json.loads(options.json.read_text())["rows"]
        rows = [
            Row(**{key: value for key, value in row.items() if key != "ratio"})
            for row in kept
            if row["input"] not in options.programs
        ] + rows
    write_rows(options.json, "table4", rows, path_sources=SOURCES, flags=list(FLAGS))


if __name__ == "__main__":
    main()
