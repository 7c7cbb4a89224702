"""The dependence graphs of the ten programs in `samples/vertexcut`, beside Table 4 of the vertex-cut paper.

`python benchmarks/table4.py --json benchmarks/results/table4.json` takes about a minute; `--programs` picks some (the
rows of the others stay as they are in the file). Both forms are traced: `O1`, the canonical one, and `seed`, the
unoptimised code that the paper describes.

The paper does not say how it fits its exponent, nor which paths it averages, so each is given in two ways, as
`DependenceGraph.stats` has them: `exponent_all` and `exponent_tail`, `path_directed` and `path_any` (from 64 random
vertices). Nor does it say which operands of an instruction become edges. Rows whose metric begins with `one_source_`
are of the graph in which it is one register for each instruction (`DependenceGraph.with_one_source`).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rows import Row, print_rows, write_rows
from tracecut.ir.graph_statistics import continuous_exponent

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


def rows_of(name: str, opt: str) -> list[Row]:
    """All numbers of one program."""
    graph = tracecut.dependence_graph([FOLDER / f"{name}.c", *FLAGS, "-lm"], opt=opt)
    stats = graph.stats(sources=SOURCES)
    nodes, edges, exponent, path = TABLE[name]
    single = graph.with_one_source()
    values = (
        ("nodes", graph.n, nodes),
        ("edges", graph.m, edges),
        ("edges_per_node", stats["edges_per_node"], edges / nodes),
        ("exponent_all", stats["exponent_all"], exponent),
        ("exponent_tail", stats["exponent_tail"], exponent),
        ("path_directed", stats["path_directed"], path),
        ("path_any", stats["path_length"], path),
        ("one_source_edges", single.m, edges),
        ("one_source_edges_per_node", single.m / single.n, edges / nodes),
        ("one_source_exponent_all", continuous_exponent(single.degrees()), exponent),
    )
    found = [Row(name, opt, metric, float(value), PAPER, float(peer)) for metric, value, peer in values]
    return [*found, Row(name, opt, "exponent_tail_p", float(stats["exponent_tail_p"]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    parser.add_argument("--programs", nargs="+", choices=sorted(TABLE), default=list(TABLE))
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.programs:
        for opt in ("O1", "seed"):
            rows += rows_of(name, opt)
            print_rows(rows[-11:])
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
