"""The scope of a region: which of the loops around it the layout is kept over, and which of their paths are exits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tracecut.codegen.schedule.inspector.inspect_scope import Inspection, TooLargeError
from tracecut.support.errors import ArtefactError, UnsupportedError
from tracecut.support.process.cpu_limit import CpuTime, CpuTimeSpentError, cpu_limit
from tracecut.tracer.loops.exits import dominated
from tracecut.tracer.loops.grown_here import is_held
from tracecut.tracer.loops.program import Analysis

from .inspect_variant import Captured, RefusedByTextError, Wanted, inspect_variant, with_used_rows
from .scope_variants import Variant, scope_variants

MANY = 3  # scopes to look at from which on it is asked first whether the region may be reordered in any


@dataclass(frozen=True)
class ChosenScope:
    """A scope of a region.

    Attributes:
        rounds: how often its layout is entered. captured: the region as it was understood. inspection: in this scope.
    """

    scope: int
    rounds: int
    captured: Captured
    inspection: Inspection


@dataclass(frozen=True)
class ScopeChoice:
    """What was found among the scopes of a region.

    Attributes:
        chosen: None if there is none. refused: loop → why the layout is not kept over it, of those around the chosen
            scope. reason: why there is none. unfinished: whether the time was spent before all had been looked at.
    """

    chosen: ChosenScope | None
    refused: Mapping[int, str]
    reason: str = ""
    unfinished: bool = False


def choose_scope(
    captured: Captured,
    spec: Mapping[str, Any],
    entries: Mapping[int, int],
    wanted: Callable[[], Wanted],
    time: CpuTime | None = None,
) -> ScopeChoice:
    """The outermost scope in which everything that the region gathers can move; else the one where most can.

    Where the code beside the region would look up records in loops that never ran, or walk a list that grows, these are
    made exits. Of a loop that keeps its order when it is looked at by itself no other scope is looked at: there is less
    known in them. That is asked once a scope has failed that took time: what its text refuses takes none.

    Args:
        spec: of a worker. entries: loop → how often it was entered. wanted: what an inspection is to look for.
        time: that it may take; then what is best so far is taken. None: any.
    """
    search, variants = _Search(captured, wanted), scope_variants(spec, entries)
    time, unfinished = time or CpuTime(None), False
    alone = next((variant for variant in variants if variant[:2] == (captured.region, ())), None)
    try:
        with cpu_limit(time.left):
            for place, variant in enumerate(variants):
                evaluated = search.look(*variant)
                if evaluated and alone is not None and not search.movable and len(variants) - place > MANY:
                    if search.hopeless(alone):
                        break
                    alone = None
    except CpuTimeSpentError:
        unfinished = True
    best, refused = search.best, search.refused
    if best is None:
        # The reason of the loop itself; why the layout does not extend to the loops around it is reported separately.
        why = search.too_large or refused.get(captured.region) or next(iter(refused.values()), "")
        if unfinished:
            took = f"{time.seconds:.2g} s of CPU time"
            rest = f"{why}; smaller scopes were not looked at, {took} were spent"
            why = rest if why else f"its inspection was stopped after {took}"
        return ScopeChoice(None, refused, why, unfinished)
    if search.movable:
        best = replace(best, captured=with_used_rows(best.captured, best.inspection))
    around = spec["scopes"][: spec["scopes"].index(best.scope)]
    return ScopeChoice(best, {other: refused[other] for other in around if other in refused}, unfinished=unfinished)


class _Search:
    """What was found among the scopes of a region so far.

    `refused`: scope → why it is not the one. `too_large`: what could be allowed, before what could not be helped.
    """

    def __init__(self, captured: Captured, wanted: Callable[[], Wanted]) -> None:
        self.captured, self.wanted = captured, wanted
        self.best: ChosenScope | None = None
        self.enough = False
        self.refused: dict[int, str] = {}
        self.too_large = ""

    @property
    def movable(self) -> bool:
        """Whether the region may be reordered in a scope that was looked at."""
        return self.best is not None and self.best.inspection.verdicts[self.captured.region].movable

    def hopeless(self, alone: Variant) -> bool:
        """Whether the region keeps its order by itself, which is then what is known of it. `alone`: its own scope."""
        other = _Search(self.captured, self.wanted)
        other.look(*alone)
        if other.movable or other.too_large:
            return False  # the scopes around it come first
        self.best, self.refused = other.best or self.best, self.refused | other.refused
        return True

    def look(self, scope: int, exits: tuple[str, ...], rounds: int) -> bool:
        """Look at a variant of a scope, unless what is known is enough. Returns whether its iterations were."""
        region, refused, best = self.captured.region, self.refused, self.best
        if self.enough and best is not None and not _spares(best, self.captured.analysis, scope, exits, rounds):
            return False
        if scope not in self.captured.capture.values:  # of a loop that is entered often, few entries are looked at
            refused[scope] = "the entry that was captured lies in one of its entries that were not looked at"
            return False
        try:
            seen, found = inspect_variant(self.captured, scope, exits, self.wanted())
        except ArtefactError as error:  # what stays needs a loop that is left out
            refused.setdefault(scope, error.message)
            return False
        except UnsupportedError as error:
            refused[scope] = error.message  # what stops the last variant is in the way of all others, too
            if isinstance(error, TooLargeError):
                self.too_large = error.message
            return not isinstance(error, RefusedByTextError)
        if region not in found.verdicts:
            refused[scope] = "the region is part of a larger loop there"
            return True
        if best is None or found.rank(region) > best.inspection.rank(region) or (self.enough and found.enough(region)):
            self.best = ChosenScope(scope, rounds, seen, found)
        if not self.enough:
            refused[scope] = found.why_less(region)
            self.enough = found.enough(region)
        return True


def _spares(best: ChosenScope, analysis: Analysis, scope: int, exits: tuple[str, ...], rounds: int) -> bool:
    """Whether a variant of a scope that is good enough costs no more, and leaves out a loop that looks up records, or
    one that walks a list: it is no array like others, which may not lie elsewhere, if no loop does."""
    if (scope, rounds) != (best.scope, best.rounds):
        return False
    flow, root = analysis.view_of(scope).flow, analysis.loop(scope)
    left_out = frozenset[str]().union(*(dominated(flow, root, head) for head in exits))
    plan, loops = best.inspection.plan, best.inspection.accesses.nest.loops
    looking = {pattern.access.site.loop for patterns in plan.lookups.values() for pattern in patterns}
    walking = {site.loop for site in best.inspection.accesses.nest.sites if not site.apart and is_held(site.address)}
    return any(loops[loop].header in left_out for loop in looking | walking)
