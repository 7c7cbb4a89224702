"""The scopes of a region with the exits that they may have, in the order in which they are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Variant = tuple[int, tuple[str, ...], int]


def scope_variants(spec: Mapping[str, Any], entries: Mapping[int, int]) -> list[Variant]:
    """(scope, blocks at which its exits begin, how often its layout is entered), rarest first; then the outermost.

    Args:
        spec: of a worker: `scopes`, outermost first, and `exits`: scope → sets of exits, and how often they ran.
        entries: loop → how often it was entered.
    """
    found = [
        (scope, tuple(exits), max(1, entries.get(scope, 1)) + int(count))
        for scope in spec["scopes"]
        for exits, count in spec["exits"].get(str(scope), [((), 0)])
    ]
    return sorted(found, key=lambda item: item[2])
