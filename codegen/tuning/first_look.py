"""Whether it is worth the time to inspect a captured loop, by a sample of its iterations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracecut.codegen.schedule.graph.candidate_orders import NEARLY
from tracecut.ir.loops.nest_json import from_json, to_json
from tracecut.ir.machine.machine import Machine
from tracecut.support.optional_parts import optional
from tracecut.tracer.legality.sampled_lines import sample_lines, seconds_in_all
from tracecut.tracer.runtime.hook_slots import named_numbers

from .inspect_variant import Captured

SECOND = 1  # the cache beyond which each line is fetched about once where an order leaves nothing to gain
LIMIT = 1 << 30  # bytes that the sample may take
ANYWAY = 1.5  # seconds that the loops of a program may be inspected for, whatever can be gained


def passed_over(found: Captured, machine: Machine, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What is found of a loop that need not be inspected, as the worker's result; {} if it should be inspected.

    In the program's own order each cache line is fetched about once, so that nothing but threads can make it faster;
    and an inspection takes longer than all that they can save in a run of the program.

    Args:
        found, machine, spec: as of the worker. `worth` of `spec`: None if the loop is inspected whatever can be saved,
            else `seconds` of the program and the `share` of its work that the loop has.
    """
    worth, threads = spec["worth"], max(1, len(spec["cpus"]))
    if worth is None:
        return {}
    saved = float(worth["seconds"]) * (1 - 1 / threads)
    takes = 0.0
    with optional("a sample of the iterations", []):  # not known: it is inspected
        takes = _least_seconds(found, machine, min(LIMIT, int(spec["memory"])))
    if takes <= float(worth["share"]) * (ANYWAY + saved):
        return {}
    gain = f"threads could save {saved:.2g} s of the program at most" if threads > 1 else "there is one thread alone"
    why = f"its own order already fetches each cache line about once, and {gain}: less than an inspection takes"
    return {"class": "rejected", "reason": why, "places": [], "passed_over": True}


def _least_seconds(found: Captured, machine: Machine, limit: int) -> float:
    """Seconds that the addresses of all iterations take, less than an inspection, where the program's own order fetches
    each line about once; else 0."""
    if len(machine.caches) <= SECOND:
        return 0.0
    region, capture = found.region, found.capture
    nest = from_json(to_json(found.analysis.nest(region)))
    numbers = named_numbers(list(found.values[region]), capture.values[region])
    memory = capture.seen_by(nest, numbers).memory
    sample = sample_lines(nest, memory, numbers, cache=machine.caches[SECOND].size, limit=limit)
    if sample is None or not sample.once(NEARLY):
        return 0.0
    return seconds_in_all(nest, memory, numbers, limit=limit)
