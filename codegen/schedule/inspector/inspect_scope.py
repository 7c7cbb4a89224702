"""Inspection of one layout scope: its regions, whether they may be reordered, which arrays may be moved.

The same steps for a captured run and for a running program; only the memory differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracecut.codegen.schedule.guards.address_dependence import check_address_dependence
from tracecut.codegen.schedule.plan.index_spaces import plan_scope
from tracecut.codegen.schedule.plan.row_bounds import BOUNDS
from tracecut.codegen.schedule.plan.scope_facts import BehindPointersError
from tracecut.codegen.schedule.plan.scope_plan import RegionUse, ScopePlan
from tracecut.ir.llvm.debug_info import Place
from tracecut.ir.llvm.passes.aside.look_ahead import look_of
from tracecut.ir.llvm.passes.aside.side_by_side import ASIDE
from tracecut.ir.loops.expressions import NEVER_KNOWN, walk_all
from tracecut.ir.loops.indirect import is_indirect
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.refusals import refusal
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.access_patterns import INDIRECT
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.evaluation.iteration_domains import steps_around
from tracecut.tracer.legality.evaluation.memory import Memory
from tracecut.tracer.legality.judge import Verdict, judge
from tracecut.tracer.legality.row_checks import check_rows, check_written_rows

IN_ORDER = ("moved", "spaced", BOUNDS)  # modes of what is in the order of a space


class TooLargeError(UnsupportedError):
    """An inspection would take more memory than is allowed; the message has the number."""


@dataclass(frozen=True, eq=False)
class Inspection:
    """What an inspection found.

    Attributes:
        accesses: of the scope. verdicts: region → may its iterations be reordered.
        plan: what may be moved. use_data: whether branch conditions on floating-point data were evaluated.
    """

    accesses: Accesses
    verdicts: Mapping[int, Verdict]
    plan: ScopePlan
    use_data: bool

    def rounding(self) -> list[Place]:
        """The loops of the scope that add up floating-point numbers in another order than the program's."""
        regions = [loop for loop in self.plan.uses if loop in self.plan.movable and self.verdicts[loop].rounding]
        loops = self.accesses.nest.loops
        return list(dict.fromkeys(loops[loop].place.own for loop in sorted({*regions, *self.plan.rounds})))

    def gathered(self, region: int) -> tuple[int, int]:
        """(arrays that a region reaches through an index and that move, those that stay).

        Of those that stay some are reached in a way that is no index of this scope, but may be one in a smaller one.
        """
        uses = self._gathered(region)
        moved = sum(use.mode in IN_ORDER for use in uses)
        return moved, len(uses) - moved

    def settled(self, region: int) -> bool:
        """Whether what stays would stay in a smaller scope too: nothing around the region keeps it where it is, and its
        addresses depend on nothing that is known in there alone."""
        evaluation, distrusted = self.accesses.evaluation, self.accesses.distrusted
        stay = [use for use in self._gathered(region) if use.mode not in IN_ORDER]
        addresses = [pattern.access.site.address for use in stay for pattern in use.patterns]
        return not any(use.array in self.plan.kept for use in stay) and not any(
            node.kind in NEVER_KNOWN
            or (node.kind == "load" and node.data[0] in distrusted)
            or (node.kind == "counter" and evaluation.is_step(node.data[0]))
            for node in walk_all(addresses)
        )

    def why_less(self, region: int) -> str:
        """Why a smaller scope may be worth more to a region."""
        if not self.verdicts[region].movable:
            return self.verdicts[region].reason
        return self.stays(region) or "less of what it reaches could be moved there"

    def stays(self, region: int) -> str:
        """Why something that a region reaches through an index stays where it is; empty where nothing does."""
        stay = [use for use in self._gathered(region) if use.mode not in IN_ORDER]
        if not stay:
            return ""
        use = min(stay, key=lambda use: use.array not in self.plan.kept)
        found = f"what is reached at {use.patterns[0].access.site.place.told} would stay where it is"
        if use.array in self.plan.kept:
            return f"{found}: {self.plan.kept[use.array]}"
        loads = (node.data[0] for node in walk_all(p.access.site.address for p in use.patterns) if node.kind == "load")
        doubt = next((self.accesses.distrusted[name] for name in loads if name in self.accesses.distrusted), "")
        return f"{found}: an index {doubt}" if doubt else found

    def enough(self, region: int) -> bool:
        """Whether no smaller scope has to be looked at."""
        moved, stay = self.gathered(region)
        return self.verdicts[region].movable and bool(moved) and (not stay or self.settled(region))

    def _gathered(self, region: int) -> list[RegionUse]:
        """How a region reaches arrays through an index; not pieces, of which the first record is looked at outside."""
        return [
            use
            for use in self.plan.uses.get(region, [])
            if use.mode != "segment"
            and any(pattern.kind == INDIRECT or pattern.access.form is None for pattern in use.patterns)
        ]

    def rank(self, region: int) -> tuple[bool, int]:
        """What a scope is worth to a region, to compare scopes by: may it be reordered, and what moves with it."""
        moved, stay = self.gathered(region)
        return self.verdicts[region].movable, moved - stay


def candidate_regions(nest: Nest, single: bool, steps: frozenset[int] = frozenset()) -> list[int]:
    """Outermost loops of a scope that could run as regions: countable, and indexed by what they load.

    `steps`: loops that run as they are, with the regions inside of them. Loops over pieces that are kept beside the
    joined ones are none: they run where these cannot.
    """
    if not single:
        return [nest.root]
    found: list[int] = []
    stack = [nest.root]
    while stack:
        parent = stack.pop()
        for number, info in nest.loops.items():
            if info.parent != parent:
                continue
            if info.header.startswith(ASIDE):
                continue
            if number not in steps and is_indirect(nest, number) and _can_run(nest, number):
                found.append(number)
            else:
                stack.append(number)
    return sorted(found)


def _may_look(nest: Nest, loop: int, verdicts: Mapping[int, Verdict]) -> bool:
    """Whether a loop does not look ahead, nor is looked through; or that and what looks are independent, both.

    Else what is found in front of a loop need not hold in it.
    """
    pair = _pair_of(nest, loop)
    return not pair or (len(pair) == 2 and all(one in verdicts and verdicts[one].movable for one in pair))


def _pair_of(nest: Nest, loop: int) -> list[int]:
    """A loop that is looked through and the one that looks, if this is one of them."""
    pair = look_of(nest.loops[loop].exit[1])
    return [number for number, info in nest.loops.items() if pair and look_of(info.exit[1]) == pair]


def _can_run(nest: Nest, loop: int) -> bool:
    """Whether a range function could be made of the loop."""
    made_anew = any(site.apart for site in nest.sites_in(loop))
    return nest.loops[loop].trip is not None and refusal(nest, loop) is None and not made_anew


def _why_none(accesses: Accesses, candidates: Sequence[int]) -> str:
    """Why no loop of a scope could run as a region. `candidates`: those that could if they ran once."""
    nest = accesses.nest
    for number in candidates:
        if accesses.evaluation.whole(number) is None:
            place = nest.loops[number].place
            return f"the loop at {place} may run over other iterations each time that it is entered"
    for number, info in nest.loops.items():
        if not is_indirect(nest, number) or _can_run(nest, number):
            continue
        found = refusal(nest, number)
        if found is not None:
            which = "the loop" if number == nest.root else f"the loop at {info.place}"
            return f"{which} {found.says} ({found.places[-1].told})"
        if info.trip is None and info.parent is not None:
            return info.told
    return "no loop in it uses loaded indices and runs once in each iteration"


def _runs_once(accesses: Accesses, loop: int) -> bool:
    """Whether a loop runs a known number of iterations, and in one go, in each iteration of the scope."""
    evaluation = accesses.evaluation
    parent = accesses.nest.loops[loop].parent
    if parent is not None:
        domain = evaluation.whole(parent)
        if domain is None or domain.size > 1:
            return False
    return not accesses.single or evaluation.whole(loop) is not None


def _asks_data(nest: Nest, verdict: Verdict, region: int, single: bool) -> bool:
    """Whether floating-point data may say more of a region: a branch on them, or an index that is computed of them.

    Where iterations may run in any order whatever the index is, it is worth its guard in a scope of several runs alone.
    """
    if verdict.kind == "ordered":
        return True
    nodes = walk_all(site.address for site in nest.sites_in(region))
    computed = any(node.kind == "cast" and node.data[0] in ("fptosi", "fptoui") for node in nodes)
    return computed and (single or not verdict.movable)


def check_pointers(accesses: Accesses) -> None:
    """Refuse rows of pointers: what is known of such an access is known of one object, and there may be many.

    Raises UnsupportedError. Pointers that are loaded from the same place each time (members of a struct) are fine.
    """
    for access in sorted(accesses.all(), key=lambda access: access.site.place.own is not access.site.place):
        for node in access.site.address.walk() if access.runs else ():
            pointer = node.kind == "load" and node.data[1] == "ptr" and node is not access.site.address
            if pointer and node.has("counter", "opaque", "any", "state"):
                raise BehindPointersError(f"rows behind pointers of their own are reached at {access.site.place.told}")


def _check_size(accesses: Accesses, region: int | None) -> None:
    """Refuse a region that has too many iterations to look at. Raises TooLargeError with the number."""
    inside = accesses.nest.inside(region) if region is not None else ()
    for loop, why in accesses.evaluation.too_long.items():
        if loop in inside:
            raise TooLargeError(why)


def inspect_scope(
    nest: Nest,
    memory: Memory,
    lives: Mapping[str, int | float],
    *,
    single: bool,
    renumber: bool = True,
    exact: bool = False,
    region: int | None = None,
    limit: int | None = None,
    look_up: bool = True,
) -> Inspection:
    """Inspect a scope.

    Args:
        nest, memory, lives: the scope, the objects, and the numbers that are live into it.
        single: the scope is a loop around its regions; False: it is the region itself.
        renumber: move data too, not only jobs. exact: what changes the rounding keeps its order, data and all.
        region: the region that matters; when it is not movable by its indices alone, or may be left early, branch
            conditions on data and indices that are computed of them are evaluated too (and guarded).
        limit: bytes that may be taken; a share of what is free when it is not given.
        look_up: whether code beside the regions can look up where records are.

    Raises UnsupportedError when the scope cannot be understood.
    """
    integers = {name: number for name, number in lives.items() if isinstance(number, int)}
    use_data = False
    steps = steps_around(nest, region) if single and region is not None else frozenset[int]()
    accesses = Accesses(nest, memory, integers, single=single, limit=limit, steps=steps)
    if region is not None and nest.loops[region].ends_early and accesses.evaluation.whole(region) is None:
        use_data = True
        accesses = Accesses(nest, memory, lives, single=single, use_data=True, limit=limit, steps=steps)
    _check_size(accesses, region)
    check_pointers(accesses)
    try:
        check_rows(accesses)
    except UnsupportedError:
        if use_data or region is None:
            raise
        use_data, left = True, accesses.evaluation.room.left  # a condition on data may keep it from other rows
        accesses = Accesses(nest, memory, lives, single=single, use_data=True, limit=left, steps=steps)
        _check_size(accesses, region)
        check_pointers(accesses)
        check_rows(accesses)
    candidates = candidate_regions(nest, single, steps)
    regions = [loop for loop in candidates if _runs_once(accesses, loop)]
    if region is not None and use_data and accesses.evaluation.whole(region) is None:
        raise UnsupportedError(nest.loops[region].told)
    verdicts = {loop: judge(accesses, loop) for loop in regions}
    if not use_data and region in verdicts and _asks_data(nest, verdicts[region], region, single):
        left = accesses.evaluation.room.left
        closer = Accesses(nest, memory, lives, single=single, use_data=True, limit=left, steps=steps)
        _check_size(closer, region)
        found = {loop: judge(closer, loop) for loop in regions}
        if found[region].movable:
            accesses, verdicts, use_data = closer, found, True
        elif not verdicts[region].movable:
            verdicts[region] = found[region]  # with all that is known, the true reason
    if region is not None and not (region in verdicts and verdicts[region].movable):
        _check_size(accesses, region)  # what did not fit while the verdict was found is the reason for it
    verdicts = {
        loop: verdict for loop, verdict in verdicts.items() if loop == region or _may_look(nest, loop, verdicts)
    }
    regions = [loop for loop in regions if loop in verdicts]
    if not regions:
        raise UnsupportedError(_why_none(accesses, candidates))
    movable = frozenset(
        loop for loop, verdict in verdicts.items() if verdict.movable and not (exact and verdict.rounding)
    )
    plan = plan_scope(accesses, regions, movable, renumber=renumber, exact=exact, look_up=look_up)
    inspection = Inspection(accesses, verdicts, plan, use_data)
    if renumber and region in verdicts:
        inspection = _with_blocking_loops(inspection, region, exact=exact, look_up=look_up)
        if look_up:
            inspection = _without_fixed_loops(inspection, region, exact=exact)
    check_written_rows(accesses, inspection.plan.uses)
    check_address_dependence(accesses)
    return inspection


def _without_fixed_loops(found: Inspection, region: int, *, exact: bool) -> Inspection:
    """The scope without the regions whose order is fixed, if then more of a region's arrays move.

    Such a loop gains little as a region, and as one it cannot look records up.
    """
    movable, verdicts = found.plan.movable, found.verdicts
    regions = [loop for loop in verdicts if loop in movable or loop == region]
    if len(regions) == len(verdicts) or not found.gathered(region)[1]:
        return found
    try:
        plan = plan_scope(found.accesses, regions, movable, exact=exact)
    except UnsupportedError:  # the scope with them was understood
        return found
    other = Inspection(found.accesses, {loop: verdicts[loop] for loop in regions}, plan, found.use_data)
    return other if other.rank(region) > found.rank(region) else found


def _with_blocking_loops(found: Inspection, region: int, *, exact: bool, look_up: bool) -> Inspection:
    """The scope with loops as further regions that keep arrays in place, if then more of a region's arrays move.

    A loop that runs unchanged needs all that it walks in the new numbering. A region reads the rest by the old numbers.
    """
    accesses, nest = found.accesses, found.accesses.nest
    taken = {loop for each in found.plan.uses for loop in nest.inside(each)}
    verdicts = dict(found.verdicts)
    blocking = dict.fromkeys(one for loop in found.plan.blocking for one in (loop, *_pair_of(nest, loop)))
    for loop in blocking:
        if not taken & nest.inside(loop) and _can_run(nest, loop) and _runs_once(accesses, loop):
            verdicts[loop] = judge(accesses, loop)
            taken |= nest.inside(loop)
    movable_too = {loop for loop in verdicts if verdicts[loop].movable and _may_look(nest, loop, verdicts)}
    regions = sorted(movable_too | {*found.verdicts})
    if len(regions) == len(found.verdicts):
        return found
    movable = frozenset(loop for loop in regions if verdicts[loop].movable and not (exact and verdicts[loop].rounding))
    try:
        plan = plan_scope(accesses, regions, movable, exact=exact, look_up=look_up)
    except UnsupportedError:  # the scope without them was understood
        return found
    other = Inspection(accesses, {loop: verdicts[loop] for loop in regions}, plan, found.use_data)
    more, less = other.rank(region), found.rank(region)
    fewer = sum(map(len, other.plan.lookups.values())) < sum(map(len, found.plan.lookups.values()))
    return other if more > less or (more == less and fewer) else found
