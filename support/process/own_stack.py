"""The stack of a program in this process, and the variables on it that a loop reaches."""

from __future__ import annotations

import contextlib

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from collections.abc import Iterable


def own_stack() -> tuple[int, int]:
    """The stack of the main thread of this process: first byte, and behind the last. (0, 0) where that is not known."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/maps", "rb") as maps:
        for line in maps:
            if line.rstrip().endswith(b"[stack]"):
                low, high = line.split(maxsplit=1)[0].split(b"-")
                return int(low, 16), int(high, 16)
    return 0, 0


def variables_on(stack: tuple[int, int], found: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Variables on a stack, (address, bytes) each, by address; those that share bytes are one.

    Compilers give one place to variables that are not needed at the same time. What lies elsewhere is left out.
    """
    made: list[tuple[int, int]] = []
    for base, size in sorted(item for item in found if item[1]):
        if base < stack[0] or base + size > stack[1]:
            continue
        if made and base < sum(made[-1]):
            base, size = made[-1][0], max(sum(made[-1]), base + size) - made.pop()[0]
        made.append((base, size))
    return made
