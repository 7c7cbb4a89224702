"""Removes irrelevant values from guards: trip counts of loops that are unrelated to the data that are moved.

An example is a loop of the scope that only fills a log. The trip count of every loop is needed to know what it touches;
it is not needed for a loop that satisfies all of the following in any later run:

- it is no region, lies in none and holds none, so no order of iterations is made from it;
- each of its addresses starts from a pointer that the guard places: in the same object, as many bytes behind its first;
- these objects are no others' than its own: nothing in them is moved, copied or touched by a region, and no index,
  branch or pointer that the guard relies on was loaded from them.

An access that starts from a pointer into an object stays inside of that object, as C has it, however often it is made.
So such a loop can reach neither the data in their new order nor what the schedule was made from, and the numbers that
only its own expressions mention (how often it runs, whether it is entered, its strides) may be any. A number that
anything else mentions is compared as before, and so is everything of a loop that walks what is moved: it has to visit
just the records that there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tracecut.codegen.schedule.plan.scope_plan import ScopePlan
from tracecut.codegen.schedule.schedule import Guard
from tracecut.ir.loops.expressions import Expr, pointer_roots, walk_all
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.path_conditions import literals
from tracecut.tracer.legality.evaluation.memory import Object

from .make_guard import place_pointers, pointer_values, pointers_of


def unrelated_numbers(guard: Guard, objects: Sequence[Object], plan: ScopePlan) -> set[str]:
    """The numbers of a guard that only loops mention which no order depends on. O(expressions of the scope)."""
    accesses = plan.accesses
    nest, evaluation = accesses.nest, accesses.evaluation
    taken = {access.object for region in plan.uses for access in accesses.inside(region)}
    taken |= {plan.arrays[place].object for space in plan.spaces for place in space.arrays}
    taken |= {objects[load.object] for load in guard.loads}
    for node in evaluation.grounds():
        if node.kind == "load":
            touched = accesses.touched(node)
            if touched is None:
                return set()
            taken.add(touched[0])
    found = place_pointers(accesses.memory, pointer_values(nest, accesses.memory, accesses.lives))
    placed = dict(zip(pointers_of(nest), found, strict=True))
    free = [loop for loop in nest.loops if _is_free(plan, loop, taken, placed)]
    inside = {number for loop in free for number in nest.inside(loop)}
    mentioned = set(walk_all(_expressions(nest, inside)))
    elsewhere = set(walk_all(_expressions(nest, nest.loops.keys() - inside)))
    elsewhere |= set(walk_all(nest.values.values()))
    own = mentioned - elsewhere
    relied = [expr for expr in evaluation.relied.values() if expr not in own]
    needed = {node.data[0] for node in walk_all(relied) if node.kind == "live"}
    return guard.numbers.keys() - needed


def _is_free(
    plan: ScopePlan, loop: int, taken: set[Object | None], placed: Mapping[Expr, tuple[Object, int] | None]
) -> bool:
    """Whether a loop stays in objects of its own, however often it runs."""
    accesses, nest = plan.accesses, plan.accesses.nest
    numbers = nest.inside(loop)
    if loop == nest.root or any(numbers & nest.inside(region) or loop in _above(nest, region) for region in plan.uses):
        return False
    if any(nest.loops[number].obstacles or nest.loops[number].early for number in numbers):
        return False
    for access in accesses.inside(loop):
        roots = [placed.get(root) for root in pointer_roots(access.site.address)]
        if access.object is None or access.object in taken:
            return False
        if any(root is None or root[0] is not access.object for root in roots):
            return False
    return True


def _above(nest: Nest, loop: int) -> set[int]:
    found = set()
    parent = nest.loops[loop].parent
    while parent is not None:
        found.add(parent)
        parent = nest.loops[parent].parent
    return found


def _expressions(nest: Nest, loops: Iterable[int]) -> list[Expr]:
    """All expressions of loops themselves, of what lies directly in them, and of loops that leave a number to it."""
    found: list[Expr] = []
    chosen, known = set(loops), set[int]()
    for site in nest.sites:
        if site.loop in chosen:
            found += [site.address] if site.length is None else [site.address, site.length]
            found += [expr for term in literals(site.reach) for expr, _ in term]
    while chosen:
        ended: list[Expr] = []
        for number in sorted(chosen):
            info = nest.loops[number]
            ended += [] if info.trip is None else [info.trip]
            for condition in (info.reach, *(taken for _, taken in info.early)):
                ended += [expr for term in literals(condition) for expr, _ in term]
        asked = {int(node.data[0]) for node in walk_all([*found, *ended]) if node.kind == "left"}
        known, found = {*known, *chosen}, [*found, *ended]
        chosen = asked - known
    return found
