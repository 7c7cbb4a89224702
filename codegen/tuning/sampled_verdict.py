"""What a sample of its iterations says of a captured loop: what can make it faster, and if that is worth a look.

Of loops that are too short for a sample all iterations are looked at, in the loop by itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tracecut.codegen.schedule.graph.candidate_orders import NEARLY
from tracecut.codegen.schedule.graph.scope_graph import scope_graph
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.nest_json import from_json, to_json
from tracecut.ir.machine.machine import Machine
from tracecut.support.optional_parts import optional
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import Memory
from tracecut.tracer.legality.sampled_lines import FEWEST, sample_lines, seconds_in_all
from tracecut.tracer.runtime.hook_slots import named_numbers

from .inspect_variant import Captured, Wanted, inspect_variant
from .region_statistics import fetches_once

SECOND = 1  # the cache beyond which each line is fetched about once where an order leaves nothing to gain
LIMIT = 1 << 30  # bytes that the sample may take
# An inspection and the trial of one order take at least so many times what the addresses of all iterations do: 2.1 to 4
# times in `tests/programs`.
WHOLE = 2.0
SHORT = 1 << 22  # iterations of a loop and of all in it up to which all are looked at
ANYWAY = 1.5  # seconds that the loops of a program may be inspected for, whatever can be gained


def sampled_verdict(found: Captured, machine: Machine, spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a sample says of a loop, as a part of the worker's result; {} if nothing.

    `once`: in the program's own order each cache line is fetched about once, so that nothing but threads can make it
    faster. `passed_over`, with the verdict: an inspection would take longer than all that they can save in a run of the
    program.

    Args:
        found, machine, spec: as of the worker. `worth` of `spec`: None if the loop is inspected whatever can be saved,
            else `seconds` of the program, the `share` of its work that the loop has, and that of all that is looked at
            with it (`around`).
    """
    worth, threads = spec["worth"], max(1, len(spec["cpus"]))
    if worth is None:
        return {}
    saved = float(worth["seconds"]) * (1 - 1 / threads)
    takes, sampled, limit = None, True, min(LIMIT, int(spec["memory"]))
    with optional("a sample of the iterations", []):  # not known: it is inspected
        takes = _least_seconds(found, machine, limit)
    if takes is None:
        sampled = False
        with optional("a look at a short loop by itself", []):
            takes = _seconds_alone(found, machine, Wanted(bool(spec["renumber"]), bool(spec["exact"]), limit))
    if takes is None:
        return {}
    share, around = float(worth["share"]), float(worth["around"])
    if takes * around <= share * share * (ANYWAY + saved):
        return {"once": True} if sampled else {}
    gain = f"threads could save {saved:.2g} s of the program at most" if threads > 1 else "there is one thread alone"
    why = f"its own order already fetches each cache line about once, and {gain}: less than an inspection takes"
    return {"once": True, "class": "rejected", "reason": why, "places": [], "passed_over": True}


def passed_over_too(found: Captured, machine: Machine, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Verdicts on other captured loops of the program that are passed over, by loop: each spares a process.

    `spec`: of the worker; `others`: what of it is another one for these, `region`, `capture` and `worth`.
    """
    passed = {}
    for other in spec["others"]:
        began = time.process_time()
        with optional("a look at another loop", []):  # not known: a process of its own looks at it
            capture = Capture.load(other["capture"])
            one = replace(found, capture=capture, region=int(other["region"]))
            verdict = sampled_verdict(one, machine, {**spec, **other})
            if "passed_over" in verdict:
                passed[str(other["region"])] = verdict | {"inspected": time.process_time() - began}
    return passed


def _least_seconds(found: Captured, machine: Machine, limit: int) -> float | None:
    """Seconds that an inspection takes at the least where the program's own order fetches each line about once; else
    None."""
    if len(machine.caches) <= SECOND:
        return None
    nest, memory, numbers = _described(found)
    cache = machine.caches[SECOND].size
    sample = sample_lines(nest, memory, numbers, cache=cache, nearly=NEARLY, limit=limit)
    if sample is None or not sample.once(NEARLY):
        return None
    return WHOLE * seconds_in_all(nest, memory, numbers, limit=limit)


def _seconds_alone(found: Captured, machine: Machine, wanted: Wanted) -> float | None:
    """Seconds of the processor that a short loop took to be looked at by itself, where its iterations may run in any
    order, all that they gather could move, and the program's own order fetches each line about once; else None.

    In a scope around it, there is no less to look at.
    """
    if len(machine.caches) <= SECOND or not _is_short(*_described(found), wanted.limit):
        return None
    began, region = time.process_time(), found.region
    _, inspection = inspect_variant(found, region, (), wanted)
    if not inspection.verdicts[region].movable or inspection.gathered(region)[1]:
        return None
    once = fetches_once(inspection, scope_graph(inspection.plan), machine)
    return time.process_time() - began if once else None


def _is_short(nest: Nest, memory: Memory, numbers: Mapping[str, int | float], limit: int | None) -> bool:
    """Whether a loop is too short for a sample, and runs few iterations of all loops in it."""
    asked, left = Evaluation(nest, memory, numbers, limit=limit), SHORT
    count = asked.root_size()
    if count is None or count >= FEWEST or any(info.trip is None for info in nest.loops.values()):
        return False
    for loop in nest.loops:
        domain = asked.domain(loop)
        left -= left if domain is None else domain.size
        if left <= 0:
            return False
    return True


def _described(found: Captured) -> tuple[Nest, Memory, dict[str, int | float]]:
    """A loop by itself, with the memory that it found and the numbers that were live into it."""
    region, capture = found.region, found.capture
    nest = from_json(to_json(found.analysis.nest(region)))
    numbers = named_numbers(list(found.values[region]), capture.values[region])
    return nest, capture.seen_by(nest, numbers).memory, numbers
