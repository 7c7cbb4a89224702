"""`tracecut map`: place the clusters of a graph on the cores of a machine, or partition and place in one step."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

from tracecut.support.errors import UsageError

from .clustered_graph import COUNTED, add_clusters, check_names, clusters_of, dependence_graph_of, rows, told_while
from .machine import MACHINE, write_picture
from .words import Parser, handle_signals

if TYPE_CHECKING:
    from tracecut.mapping.tasks.cluster_graph import ClusterGraph

USAGE = "tracecut map GRAPH --machine MACHINE [--place METHOD (--parts FILE | -k K)] [options]"


def run_map(words: list[str]) -> int:
    """The command. Returns the exit status. Raises UsageError, ArgumentError, ArtefactError, OutputError."""
    options = _parser().parse_args(words)
    options.prog = "tracecut map"
    placing = options.place is not None or options.parts is not None or options.k is not None
    if placing and options.memory is not None:
        raise UsageError(
            "--memory needs a graph without --place, -k and --parts: clusters that are given have fixed sizes",
            hint=USAGE,
        )
    if options.budget is not None and not placing:
        raise UsageError("--budget is for the clusters that -k makes: give -k as well", hint=USAGE)
    check_names(options)
    handle_signals()
    from tracecut.ir.machine.machine import Machine

    machine = Machine.named(options.machine)
    found = _placed(options, machine) if placing else _joint(options, machine)
    core_of, work, links = found.pop("core_of"), found.pop("work"), found.pop("links")
    if options.svg is not None:
        from tracecut.report.machine_picture import machine_picture

        legend = f"darkest core: work {max(work):,.0f}; reddest link: {max(links, default=0.0):,.0f} messages"
        write_picture(options.svg, machine_picture(machine, work, f"load of {machine.name}", links, legend))

    def write(file: BinaryIO) -> None:
        file.write("".join(f"{core}\n" for core in core_of.tolist()).encode())

    if options.output is not None:
        from tracecut.support.files import write_atomic

        write_atomic(options.output, write)
    if options.json:
        print(json.dumps(found, indent=1))
    elif options.output is None:
        sys.stdout.write("".join(f"{core}\n" for core in core_of.tolist()))
    else:
        print(f"{found.pop('what')} on {machine.name}")
        print(rows({name.replace("_", " "): _short(value) for name, value in found.items()}))
        print(f"cores in {options.output}")
    return 0


def _placed(options: argparse.Namespace, machine: Any) -> dict[str, Any]:
    """Clusters on cores."""
    import numpy as np

    from tracecut.mapping.link_loads import message_link_loads
    from tracecut.mapping.place import interactions, place
    from tracecut.mapping.placing.costs import busiest, hop_cycles, hop_messages
    from tracecut.partition.inputs.as_graph import as_graph
    from tracecut.support.files import holds

    saved = holds(options.graph, "DependenceGraph")
    dependences = dependence_graph_of(options.graph) if saved else None
    graph = as_graph(options.graph if dependences is None else dependences, unweighted=options.unweighted)
    clustering = clusters_of(options, graph, "wb-libra" if dependences is not None else "auto")
    clusters = interactions(clustering, dependences)
    method = options.place or "memory-centric"
    with told_while(f"placing {clusters.k} clusters by {method}"):
        placed = place(clusters, machine, method, options.seed)
    links = message_link_loads(clusters, placed, machine)
    if options.save is not None:
        placed.save(options.save)
    return {
        "what": f"{clusters.k} clusters, {clusters.src.size} interactions, placed by {placed.method}",
        "machine": machine.name,
        **_bytes(clusters),
        "messages": float(clusters.messages.sum()),
        "messages_times_hops": hop_messages(clusters, placed.core_of, machine.distances()),
        "cycles_on_the_way": hop_cycles(clusters, placed.core_of, machine),
        "busiest_link_messages": float(links.max(initial=0.0)),
        "busiest_core_cycles": busiest(clusters, placed.core_of, machine),
        "core_of": placed.core_of,
        "work": np.bincount(placed.core_of, clusters.load, len(machine.cores)).tolist(),
        "links": links.tolist(),
    }


def _joint(options: argparse.Namespace, machine: Any) -> dict[str, Any]:
    """The graph's data on cores."""
    import numpy as np

    from tracecut.ir.metrics import edge_cut, hop_cost, loads
    from tracecut.mapping.link_loads import link_loads
    from tracecut.mapping.map_onto import map_onto
    from tracecut.mapping.place import interactions
    from tracecut.partition.inputs.arguments import check_number
    from tracecut.partition.inputs.graph_files import read_graph
    from tracecut.partition.inputs.machine_arguments import capacities_for
    from tracecut.support.files import holds

    if holds(options.graph, "DependenceGraph"):
        raise UsageError(f"{options.graph}: a dependence graph needs clusters", hint="Give -k or --parts.")
    if options.method is not None:
        raise UsageError("--method makes clusters: give -k as well", hint=USAGE)
    graph = read_graph(options.graph, unweighted=options.unweighted)
    weights = graph.data_weights
    load = float(weights.sum()) if weights.size else float(graph.n_data)
    if options.memory is not None:
        check_number("memory", options.memory, 0.0)
    room = capacities_for(machine, load, options.memory, whole=not weights.size)
    with told_while(f"mapping {graph.n_data} data to {machine.name}"):
        clustering, placed = map_onto(graph, machine, capacities=room, seed=options.seed, balance=options.balance)
    core_of = placed.core_of[clustering.labels]
    links = link_loads(graph, clustering, placed, machine)
    if options.save is not None:
        placed.save(options.save)
    return {
        "what": f"{graph.n_data} data, {graph.n_jobs} jobs, partitioned into the machine",
        "machine": machine.name,
        "hop_cost": hop_cost(graph, clustering, machine.distances()),
        "busiest_link": float(links.max(initial=0.0)),
        "edge_cut": edge_cut(graph, clustering),
        **_bytes(interactions(clustering)),
        "imbalance": clustering.imbalance(),
        **({"kept_balance": clustering.options["kept_balance"]} if "kept_balance" in clustering.options else {}),
        **({} if room is None else {"memory_violations": clustering.memory_violations()}),
        "core_of": core_of,
        "work": np.bincount(placed.core_of, loads(graph, clustering), len(machine.cores)).tolist(),
        "links": links.tolist(),
    }


def _bytes(clusters: ClusterGraph) -> dict[str, int]:
    """What moves between clusters, both ways of counting."""
    from tracecut.mapping.tasks.task_graph import WORD

    moved, counted = int(clusters.messages.sum()), int(clusters.words.sum())
    return {"bytes_moved": WORD * moved, "bytes_as_vertexcut_counts": WORD * counted}


def _short(value: Any) -> str:
    return (
        f"{value:,.4g}"
        if isinstance(value, float) and abs(value) < 100
        else f"{value:,.0f}"
        if not isinstance(value, str)
        else value
    )


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="tracecut map",
        usage=USAGE,
        description="Map a graph to a machine. Without --place, -k and --parts, vertices are partitioned and placed "
        "in one step, for few hops between data of the same job. With them, clusters are placed on "
        "cores. GRAPH is a file that `partition` reads, or a dependence graph (.npz). The output has one "
        "core per line.",
        epilog=COUNTED,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("graph", metavar="GRAPH", help="the graph")
    add("--machine", required=True, metavar="MACHINE", help=MACHINE)
    add(
        "--place",
        metavar="METHOD",
        help="memory-centric, memory-centric-greedy, hierarchical, swap, round-robin or random",
    )
    add_clusters(parser)
    add("--balance", type=float, default=1.03, help="largest load of a core over its target (default: 1.03)")
    add(
        "--memory",
        type=float,
        metavar="X",
        help="total memory of the machine as a multiple of the total load (default: its bytes, 8 per unit of load)",
    )
    add("--unweighted", action="store_true", help="ignore the weights in the file")
    add("-o", "--output", metavar="FILE", help="file for the core of each vertex or cluster (default: standard output)")
    add("--save", metavar="FILE", help="file for the placement, for `simulate --placement`")
    add("--svg", metavar="FILE", help="file for a heat map (SVG) of the work of cores and the load of links")
    add("--json", action="store_true", help="print the numbers as JSON")
    return parser
