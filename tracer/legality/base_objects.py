"""The object of an address of which only the base pointer is known.

What a search finds, and where a descent in a tree goes, is no expression of the nest: only the iteration itself knows
it. But an access whose address is made by adding to a pointer into an object stays inside of that object, as C has it
(C11 6.5.6, 8): any byte of it may be meant, and none of another one. So a loop that reads so may be reordered when
nothing in it writes to the object, and the object stays where it is and as it is: what is read there does not depend on
the order.
"""

from __future__ import annotations

from tracecut.ir.loops.expressions import Expr, pointer_roots
from tracecut.ir.loops.nest import Nest
from tracecut.tracer.loops.row_numbers import BEHIND

from .evaluation.evaluate import Evaluation
from .evaluation.memory import STACK, Object

LOADED_ANEW = ": its pointer is loaded anew in each iteration"
RECORD = 4096  # bytes of the largest element of an array that is counted from 1


def object_of_base(evaluation: Evaluation, address: Expr) -> Object | None:
    """The object that every base pointer of an address lies in, None when there are several, or that is not certain.

    It is not where a pointer may lie outside of its object (`Nest.loose`), where it may be the end of the object in
    front, and where it is loaded from other places in other iterations. Nor where it lies in one object and another one
    begins less than `RECORD` bytes behind it: programs that count from 1 let `x - 1` stand for an array, which C does
    not allow. Numbers in the places of row pointers lie in the copy of their table. O(nodes of the address).
    """
    items = {_home(evaluation, root) for root in pointer_roots(address)}
    item = items.pop() if len(items) == 1 else None
    if item is None or not is_whole(evaluation.nest, address, item):
        return None
    copies = evaluation.memory.rows.numbers
    behind = copies and any(node.kind == "live" and str(node.data[0]).startswith(BEHIND) for node in address.args)
    return copies.get(item) if behind else item


def is_whole(nest: Nest, address: Expr, item: Object) -> bool:
    """Whether what is known as an object is all of it for an address that leads there.

    Of a variable on a caller's stack nothing is known but the members that a loop reaches at fixed places
    (`Nest.stack`, `Nest.lent`); what comes to one of them by another pointer, and goes on from there, may leave it.
    """
    if item.kind != STACK:
        return True
    lent = {id(pointer) for pointer, _ in nest.lent}
    return all(root.data[0] in nest.stack or id(root) in lent for root in pointer_roots(address) if root.data)


def _home(evaluation: Evaluation, root: Expr) -> Object | None:
    """The object that a base pointer lies in for certain."""
    if root.kind not in ("live", "load") or root.data[1] != "ptr" or root.data[0] in evaluation.nest.loose:
        return None
    value = evaluation.alone(root)
    item = None if value is None else evaluation.memory.find(value)
    if item is None or value is None:
        return None
    if value != item.base:
        return None if evaluation.memory.beside(value, RECORD)[1] is not None else item
    whole = root.kind == "live" and str(root.data[0]).startswith("@")  # the first byte of a variable of that name
    behind = evaluation.memory.find(value - 1) is not None
    return item if whole or not behind else None


def unknown_base(nest: Nest, address: Expr) -> str:
    """Words for what is not known of the base pointers of an address, to stand at the end of a sentence."""
    for root in pointer_roots(address):
        if root.kind == "opaque":
            return f": its pointer is {root.data[0]}"
        if root.kind == "load" and root.data[1] == "ptr" and root.has("counter", "opaque", "any"):
            return LOADED_ANEW
        if root.kind == "live" and root.data[0] in nest.loose:
            return ": its pointer may lie outside of its array"
    return ""
