"""What an inspection in the running program is expected to gain. Light."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping

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
