"""Loops whose work is picked by what they load: only these can gain by another order."""

from __future__ import annotations

from .expressions import Expr
from .nest import Nest

FIELDS = 8  # iterations of an inner loop that goes through the members of one record


def is_indirect(nest: Nest, loop: int) -> bool:
    """Whether some address in a loop is made of a loaded number, or is that of a record which a loaded pointer picks.

    Pieces of arrays that loaded pointers lead to (`a[i][j]`) are walked along: that alone is regular. O(nodes).
    """
    return any(_is_picked(nest, site.address) for site in nest.sites_in(loop))


def _is_picked(nest: Nest, address: Expr) -> bool:
    loads = (node for node in address.walk() if node.kind == "load")
    return any(
        _leads_to_record(nest, node, address) if node.data[1] == "ptr" else node is not address for node in loads
    )


def _leads_to_record(nest: Nest, pointer: Expr, address: Expr) -> bool:
    """Whether a pointer that is loaded from places that vary is followed at distances that do not."""
    return pointer.args[0].has("counter") and all(_is_fixed(nest, part) for part in _distances(address, pointer))


def _distances(address: Expr, pointer: Expr) -> list[Expr]:
    """What is added to a pointer; the address itself where the pointer is no part of such a sum."""
    found: list[Expr] = []
    stack, seen = [address], False
    while stack:
        part = stack.pop()
        if part is pointer:
            seen = True
        elif part.kind == "op" and part.data[0] == "add":
            stack.extend(part.args)
        else:
            found.append(part)
    return found if seen else [address]


def _is_fixed(nest: Nest, part: Expr) -> bool:
    """Whether a distance is the same in all iterations, but for those of a loop along the members of a record."""
    if part.has("load", "opaque", "any"):
        return False
    counters = {int(node.data[0]) for node in part.walk() if node.kind == "counter"}
    return all(_is_short(nest, loop) for loop in counters)


def _is_short(nest: Nest, loop: int) -> bool:
    trip = nest.loops[loop].trip if loop in nest.loops else None
    if trip is None or any(part.kind != "const" for part in trip.args):
        return False
    first, step, bound = (int(part.data[0]) for part in trip.args)
    return step != 0 and abs(bound - first) <= FIELDS * abs(step)
