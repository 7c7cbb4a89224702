"""What of an input is not as a schedule assumes, in the words of the user's program. Light: `light_host.py` asks at
once.
"""

from __future__ import annotations

from tracecut.tracer.runtime.hook_slots import same_number

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping


def named(kind: str, made: str, otherwise: object) -> str:
    """A value as the user knows it: by what `Nest.made` says of it, or by what it is called in our form."""
    if not made:
        return f"{kind} {otherwise}"
    return made if made.startswith("parameter ") else f"the {kind} made at {made}"


def other_number(expected: Mapping[str, int | float], found: Mapping[str, int | float], made: Mapping[str, str]) -> str:
    """The first number that is not as expected, "" when all are. `made`: as in `Nest.made`."""
    for name, number in expected.items():
        if name not in found or not same_number(number, found[name]):
            return f"{named('value', made.get(name, ''), name)} is {found.get(name)}, it was {number}"
    return ""
