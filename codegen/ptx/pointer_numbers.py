"""Pointers of which a job uses the number alone, as in `i = (int)(p - first)`: these stay addresses of the host.

No memory is reached through them, and device addresses would do only if all of them lay in one array.
"""

from __future__ import annotations

from collections.abc import Iterable

from tracecut.codegen.schedule.plan.range_function import Outlined

from .job_body import Job

_NUMBERS = ("ptrtoint", "ptrtoaddr")


def pointer_numbers(job: Job, outlined: Outlined) -> frozenset[str]:
    """Values of the range function's slots that are such pointers, and the pointers that are computed from them."""
    users: dict[str, list[tuple[str, str | None]]] = {}
    for _, made in job.instructions():
        for name in made.uses:
            users.setdefault(name, []).append((made.op, made.result))
    found: set[str] = set()
    for slot in outlined.slots:
        if slot.kind == "live" and slot.type == "ptr":
            reached = _only_numbers(slot.value, users)
            found.update(reached)
    return frozenset(found)


def _only_numbers(pointer: str, users: dict[str, list[tuple[str, str | None]]]) -> Iterable[str]:
    """The pointer and all that are computed from it; none if one of them is used otherwise, or none as a number."""
    reached, stack, numbered = {pointer}, [pointer], False
    while stack:
        for operation, result in users.get(stack.pop(), ()):
            if operation == "getelementptr" and result is not None:
                if result not in reached:
                    reached.add(result)
                    stack.append(result)
            elif operation in _NUMBERS:
                numbered = True
            else:
                return ()
    return reached if numbered else ()
