"""Checks that both hosts of a rescheduled program make before they move data, and their summary at its end. Light."""

from __future__ import annotations

import ctypes

from tracecut.support.process.load_and_run import handled_signals, thread_count

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Protocol

    from .coming_schedule import ComingSchedule
    from .executor import Executor
    from .pauses import Pause

    class State(Protocol):
        """What happened to a scope, as a host counts it."""

        entries: int
        used: int
        nanoseconds: int
        guard_nanoseconds: int
        refused: str
        executor: Executor | None
        pause: Pause
        before: int
        coming: ComingSchedule


def why_closed(own_threads: int, own_signals: int) -> str:
    """Why nothing may be moved now; "" when it may. Args: threads of the process, signals handled, that are ours."""
    if thread_count() != own_threads:
        return "the program runs threads of its own"
    if handled_signals() & ~own_signals:
        return "the program handles signals, and a handler could see the data in the new order"
    return ""


def told(error: Exception) -> str:
    """An error as the user is told of it: errors of ours by their words, others by their kind, too."""
    return str(getattr(error, "message", "") or f"{type(error).__name__}: {error}")


def run_summary(
    library: ctypes.CDLL,
    times: Any,
    regions: Mapping[int, int],
    scopes: Iterable[tuple[int, State]],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Counts and times of every region and scope.

    Args:
        times: of the regions, by number. regions: loop → number. scopes: (loop, what happened to it).
    """
    cramped = ctypes.c_int32.in_dll(library, "tc_cramped").value
    if cramped:
        say(f"{cramped} times the stack had no room for the host; the original order ran")
    counted = ("calls", "declined", "nanoseconds", "original_nanoseconds")
    told = ("entries", "used", "nanoseconds", "guard_nanoseconds", "refused")
    return {
        "regions": {str(loop): _picked(times[number], counted) for loop, number in regions.items()},
        "scopes": {str(loop): _picked(state, told) for loop, state in scopes},
    }


def _picked(item: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}
