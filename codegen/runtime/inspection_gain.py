"""What an inspection in the running program is expected to gain. Light."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracecut.tracer.legality.evaluation.memory import Memory

    from .schedule_file import ScopeFile

MARGIN = 1.3  # it has to save this many times what it costs


def why_not(
    costs: Mapping[str, float], jobs: float, sweeps: float, per_call: float, *, beside: bool = False, made: bool = False
) -> str | None:
    """None when an inspection is expected to pay, else why not.

    Args:
        costs: nanoseconds a job when it was optimized (`ScopeFile`). jobs: iterations of the region.
        sweeps: how often they still run. per_call: nanoseconds that a sweep takes in the original order.
        beside: sweeps go on while it is made. made: it has been; the data are to be moved.
    """
    saved = per_call - costs["optimized"] * jobs
    if saved <= 0:
        return "the original order is as fast as a new one"
    inspection, price = 0.0 if made else costs["inspect"] * jobs, MARGIN * costs["copy"] * jobs
    price += inspection / max(1.0, per_call) * saved if beside else MARGIN * inspection
    if sweeps * saved < price:
        return f"an inspection would pay after {price / saved:.0f} sweeps, {max(sweeps, 0):.0f} are expected"
    return None


def expected_gain(
    file: ScopeFile,
    numbers: Mapping[str, int | float],
    memory: Memory,
    per_call: float,
    *,
    beside: bool = False,
    made: bool = False,
    done: int = 1,
) -> str | None:
    """As `why_not`, for a scope of the running program. `done`: how often its main region has run in this entry."""
    from tracecut.tracer.legality.evaluation.evaluate import Evaluation
    from tracecut.tracer.legality.evaluation.iteration_domains import steps_around

    single, region = bool(file.options["single"]), int(file.options["region"])
    steps = steps_around(file.nest, region) if single else frozenset[int]()
    domain = Evaluation(file.nest, memory, numbers, single=single, steps=steps).whole(region)
    if domain is None:
        return "the size of its loop is not known"
    left = expected_sweeps(file, numbers, memory) - done
    if left <= 0 and made:
        left = done  # as many again, where there are more than expected
    return why_not(file.costs, domain.size, left, per_call, beside=beside, made=made)


def expected_sweeps(file: ScopeFile, numbers: Mapping[str, int | float], memory: Memory) -> float:
    """How often the region will run in this entry: by the scope's own trip count, else as often as when traced."""
    from tracecut.tracer.legality.evaluation.evaluate import Evaluation

    root = file.nest.loops[file.nest.root]
    if not file.options.get("single") or root.trip is None:
        return file.costs["sweeps"]
    domain = Evaluation(file.nest, memory, numbers).whole(root.id)
    if domain is None:
        return file.costs["sweeps"]
    return max(float(domain.size), file.costs["sweeps"] if file.nested else 0.0)
