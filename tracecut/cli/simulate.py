"""`tracecut simulate`: time and traffic of a clustered dependence graph on a modelled machine."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tracecut.support.errors import ArtefactError, UsageError

from .clustered_graph import COUNTED, add_clusters, check_names, clusters_of, dependence_graph_of, rows
from .machine import MACHINE, write_picture
from .words import Parser, handle_signals

if TYPE_CHECKING:
    from tracecut.ir.machine.machine import Machine
    from tracecut.ir.placement import Placement
    from tracecut.mapping.simulation.result import Simulation

FOUND = {
    "own": "hits_in_own_l1",
    "under_way": "hits_on_lines_under_way",
    "shared": "hits_in_shared_cache",
    "other": "hits_in_other_l1",
    "memory": "misses_to_memory",
}
CACHES = {"auto": None, "on": True, "off": False}
USAGE = "tracecut simulate GRAPH.npz --machine MACHINE (--parts FILE | -k K) [options]"


def run_simulate(words: list[str]) -> int:
    """The command. Returns the exit status. Raises UsageError, ArgumentError, ArtefactError, OutputError."""
    options = _parser().parse_args(words)
    options.prog = "tracecut simulate"
    if options.placement is not None and options.place is not None:
        raise UsageError(
            "--placement and --place exclude each other: both say which core runs which cluster", hint=USAGE
        )
    check_names(options)
    handle_signals()
    import numpy as np

    from tracecut.ir.machine.machine import Machine
    from tracecut.mapping.place import place
    from tracecut.mapping.simulate import simulate

    machine = Machine.named(options.machine)
    graph = dependence_graph_of(options.graph)
    clustering = clusters_of(options, graph.as_locality(), "wb-libra")
    if options.placement is not None:
        placed = _saved(options.placement)
    else:
        placed = place(clustering, machine, options.place or "memory-centric", options.seed, graph=graph)
    found = simulate(graph, clustering, placed, machine, caches=CACHES[options.caches])
    if options.timeline is not None:
        found.timeline(options.timeline)
    if options.svg is not None:
        write_picture(options.svg, _heat_map(machine, found))
    if options.gantt is not None:
        write_picture(options.gantt, _chart(found, f"{clustering.k} clusters on {machine.name}: busy cores over time"))
    if options.output is not None:
        found.save(options.output)
    alone = int(np.asarray(graph.time, np.int64).clip(1).sum())
    numbers = {
        "cycles": found.time,
        "cycles_of_all_instructions": alone,
        "messages_between_cores": found.messages,
        "bytes_moved": found.bytes_moved,
        "bytes_as_vertexcut_counts": found.bytes_by_seed,
        "busiest_link_bytes": found.busiest_link(),
        "mean_utilisation": float(found.utilisation.mean()),
        "critical_path_instructions": int(found.critical_path.size),
    }
    caches = {
        **{FOUND[name]: count for name, count in found.accesses().items()},
        "invalidations": found.invalidations,
        "lines_written_back": found.written_back,
        "words_and_lines_for_caches": found.asked,
        "busiest_bank_lines": int(found.bank_load.max(initial=0)),
    }
    numbers |= {} if found.stated else caches
    notes = [
        f"memory accesses take the cycles that the graph states: {found.stated}"
        if found.stated
        else "lines that are written back and invalidations take no links",
        *machine.notes,
    ]
    if options.json:
        more = {"machine": machine.name, "method": clustering.method, "placement": placed.method, "k": clustering.k}
        told = {
            "caches": not found.stated,
            "notes": notes,
            "why_no_caches": found.stated,
            "bank_lines": found.bank_load.tolist(),
        }
        print(json.dumps({**more, **numbers, **told, "utilisation": found.utilisation.tolist()}, indent=1))
        return 0
    print(f"{graph.n:,} instructions in {clustering.k} clusters on {machine.name}, predicted by simulation")
    print(
        rows(
            {
                name.replace("_", " "): f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
                for name, value in numbers.items()
            }
        )
    )
    if machine.clock:
        print(f"  {'seconds':<28} {found.seconds:>14.3g}")
    print("\n".join(f"  note: {note}" for note in notes))
    return 0


def _saved(path: str) -> Placement:
    """The placement in a file. Raises ArtefactError, also for the text that `map -o` writes."""
    from tracecut.ir.placement import Placement
    from tracecut.support.file_kinds import is_folder

    if Path(path).exists() and not is_folder(path):
        with open(path, "rb") as file:
            start = file.read(2)
        if start != b"PK":  # of each .npz, also of a damaged one
            raise ArtefactError(
                f"--placement {path}: not a placement, which `tracecut map --save FILE` writes",
                hint="`tracecut map -o` writes the cores as text, for other programs.",
            )
    return Placement.load(path)


def _heat_map(machine: Machine, found: Simulation) -> str:
    """A heat map of the use of cores and links."""
    from tracecut.report.machine_picture import machine_picture

    legend = f"darkest core: {found.utilisation.max():.1%} of its issue slots; reddest link: {found.busiest_link():,} B"
    label = f"{machine.name}: use of cores and links"
    return machine_picture(machine, found.utilisation.tolist(), label, found.link_load.tolist(), legend)


def _chart(found: Simulation, label: str) -> str:
    """A chart of when each core is busy."""
    import numpy as np

    from tracecut.report.gantt import gantt

    path = found.critical_path
    steps = np.stack([found.core[path], found.begin[path], found.cycles[path]], 1).astype(np.int64)
    return gantt(found.spans(), steps, found.time, label)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="tracecut simulate",
        usage=USAGE,
        description="Simulate a clustered dependence graph (`tracecut graph SOURCE -o GRAPH.npz`) on this or a "
        "modelled machine. All numbers are predictions.",
        epilog=COUNTED,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("graph", metavar="GRAPH.npz", help="the dependence graph")
    add("--machine", required=True, metavar="MACHINE", help=MACHINE)
    add_clusters(parser)
    add(
        "--place",
        metavar="METHOD",
        help="method that places the clusters (default: memory-centric)",
    )
    add("--placement", metavar="FILE", help="a placement that `map --save` wrote, instead of --place")
    add(
        "--caches",
        choices=tuple(CACHES),
        default="auto",
        help="simulate caches, coherence and memory banks; off: accesses take the cycles that the graph states; "
        "auto: on if the graph has addresses (`tracecut graph --addresses`) (default: auto)",
    )
    add("--timeline", metavar="FILE", help="file for a timeline that Perfetto opens")
    add("--gantt", metavar="FILE", help="file for a chart (SVG) of when each core is busy, with the critical path")
    add("--svg", metavar="FILE", help="file for a heat map (SVG) of cores and links")
    add("-o", "--output", metavar="FILE", help="file for all results (.npz)")
    add("--json", action="store_true", help="print the numbers as JSON")
    return parser
