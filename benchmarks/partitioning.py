"""The partitioners against their peers: cost, imbalance and CPU time, family by family.

`python benchmarks/partitioning.py --json benchmarks/results/partitioning.json` takes hours; `--family NAME` one family,
`--minutes 20` begins nothing new after so long. It writes after every input of every family and, when it is started
again, goes on with what the file lacks, which is also what it has from fewer runs than `--repeat` asks for; `--again`
measures anew whatever `--family` and `--inputs` name, the other rows stay as they are. `parts` in the file says by
family and input how many rows that gave, from how many runs, and in how many seconds.

Times are medians of CPU seconds after a warm-up, of ours and of the peers in turn in the same run (wall seconds where
the row says so). `ratio` is ours / peer. Peers without a wheel have the figures that their authors' code gave on the
same graphs (2PS and HEP, one thread).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from graphs import GENERATED
from measuring import PLACED, REAL, Options, load
from partition_choices import HELD_OUT, SEEN, choices, choices_elsewhere, summed_choices, two_threads
from partition_cuts import HEP, MULTILEVEL, SPAC, WEIGHTED_METIS, expansion, large, multilevel, real_graphs, spac
from partition_cuts import weighted_vertex_partition as wvp
from partition_meshes import copies, geometric, parcubed, peers_on_data
from partition_shapes import shapes
from partition_streaming import TWO_PHASE, restreaming, streaming
from rows import Row, print_rows, write_rows
from shapes import SHAPES

MADE = frozenset({"ba2m_d16", "delaunay1m"})  # what their families make themselves
SUMMARY = "geomean"


@dataclass(frozen=True)
class Family:
    """`rows(input, options)` for each of `inputs`; of the metrics in `summed` the file gets geometric means as well."""

    rows: Callable[[Any, Options], Iterator[Row]]
    inputs: tuple[str, ...]
    summed: tuple[str, ...] = ()


@dataclass
class Part:
    """What one input of a family gave: from how many timed runs, and in how many seconds of the wall clock."""

    runs: int
    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0


Parts = dict[tuple[str, str], Part]

FAMILIES = {
    "streaming": Family(streaming, tuple(GENERATED)),
    "restreaming": Family(restreaming, tuple(TWO_PHASE)),
    "expansion": Family(expansion, tuple(HEP), ("cost",)),
    "spac": Family(spac, SPAC, ("cost",)),
    "large": Family(large, ("ba2m_d16",)),
    "multilevel": Family(multilevel, MULTILEVEL, ("cost", "CPU s")),
    "meshes": Family(copies, ("delaunay250k",)),
    "parcubed": Family(parcubed, ("delaunay1m", "grid3d63")),
    "geometric": Family(geometric, PLACED, ("edge cut", "edge cut / kmeans")),
    "peers": Family(peers_on_data, ("delaunay250k", "grid3d63", "memplus", "email-Enron")),
    "threads": Family(two_threads, ("delaunay250k", "grid3d63", "ba50k_d8")),
    "auto": Family(choices, (*GENERATED, *REAL)),
    "auto-elsewhere": Family(choices_elsewhere, (*SEEN, *HELD_OUT)),
    "wvp": Family(wvp, tuple(WEIGHTED_METIS)),
    "real": Family(real_graphs, REAL),
    "shapes": Family(shapes, tuple(SHAPES)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="file for the rows; measured again only with --again")
    parser.add_argument("--family", default=",".join(FAMILIES), help="comma-separated (default: %(default)s)")
    parser.add_argument("--inputs", help="comma-separated names of graphs (default: all of each family)")
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="time one run")
    parser.add_argument("--again", action="store_true", help="measure what the file has already")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further input after so long")
    options = parser.parse_args()
    families = options.family.split(",")
    unknown = [name for name in families if name not in FAMILIES]
    if unknown:
        parser.error(f"no family {unknown[0]!r}; known: {', '.join(FAMILIES)}")
    wanted = None if options.inputs is None else set(options.inputs.split(","))
    runs = 1 if options.quick else options.repeat
    done = _earlier(options.json)
    due = [
        (family, name)
        for family in families
        for name in FAMILIES[family].inputs
        if (wanted is None or name in wanted)
        and (options.again or (family, name) not in done or done[family, name].runs < runs)
    ]
    started = time.perf_counter()
    for place, (family, name) in enumerate(due):
        begun = time.perf_counter()
        if begun - started > 60 * options.minutes:
            print(f"# {len(due) - place} inputs are left, the next is {name} of {family}: the same command goes on")
            break
        given = None if name in MADE else load(name)
        if given is None and name not in MADE:
            print(f"# {name} is not there")
            continue
        part = Part(runs)
        for row in FAMILIES[family].rows(given, Options(runs)):
            part.rows.append(row)
            print_rows([row])
        part.seconds = time.perf_counter() - begun
        done[family, name] = part
        if options.json:
            _write(options.json, done)
    print_rows(_summaries(done))
    for family in families:
        seconds = sum(part.seconds for (other, _), part in done.items() if other == family)
        print(f"# {family}: {seconds / 60:.1f} minutes")


def _earlier(path: Path | None) -> Parts:
    """Rows of an earlier run by family and input, empty where there is none of this form."""
    if path is None or not path.is_file():
        return {}
    data = json.loads(path.read_text())
    rows = [
        Row(*(row[key] for key in ("input", "order", "metric", "value", "peer", "peer_value"))) for row in data["rows"]
    ]
    found, start = {}, 0
    for family, name, count, *rest in data.get("parts", []):
        runs, seconds = rest or (1, 0.0)  # files of older versions do not say
        found[family, name] = Part(runs, rows[start : start + count], seconds)
        start += count
    return found


def _write(path: Path, done: Parts) -> None:
    order = [(family, name) for family in FAMILIES for name in FAMILIES[family].inputs if (family, name) in done]
    rows = [row for key in order for row in done[key].rows]
    parts = [[*key, len(done[key].rows), done[key].runs, round(done[key].seconds, 1)] for key in order]
    quick = any(done[key].runs == 1 for key in order)
    write_rows(path, "partitioning", [*rows, *_summaries(done)], quick=quick, parts=parts)


def _summaries(done: Parts) -> list[Row]:
    """Geometric mean and worst of the ratios to each peer over a family's inputs, and how often `auto` is near."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for (family, _), part in done.items():
        for row in part.rows:
            kind = row.metric.split(": ")[-1]
            if kind in FAMILIES[family].summed and row.ratio:
                groups.setdefault((family, row.metric, row.peer), []).append(row.ratio)
    found = []
    for (family, metric, peer), ratios in groups.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        found.append(Row(f"{family}: {SUMMARY} of {len(ratios)}", "", metric, mean, peer, 1.0))
        found.append(Row(f"{family}: worst of {len(ratios)}", "", metric, max(ratios), peer, 1.0))
    return [*found, *summed_choices([row for part in done.values() for row in part.rows])]


if __name__ == "__main__":
    main()
