"""What is to be recorded of a module: its functions cut into segments, its loops that are compacted, and all ids.

It is computed once; the static tables and the rewriting take everything from it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Function, Module, parse_module
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.tracer.trace.events.event_words import SLACK_WORDS, Kind
from tracecut.tracer.trace.events.memory_operations import Item, Sites

from .loop_runs import Run, runs_of
from .segment import ENTRY, LANDING, LEAVES, RETURNED_TWICE, Segment
from .strided_loops import Region, Short, regions_of


@dataclass(frozen=True)
class FunctionPlan:
    """A function, its segments, and its loops that are recorded as runs and regions. `first`: ids of the first ones."""

    function: Function
    segments: Sequence[Segment]
    runs: Sequence[Run]
    regions: Sequence[Region]
    first: Ids

    @property
    def shorts(self) -> list[Short]:
        """The short records of its regions."""
        return [short for region in self.regions for short in region.shorts]


@dataclass(frozen=True)
class Ids:
    """Ids in the stream: segments from 1 on, then short records, regions and runs."""

    segment: int
    short: int
    region: int
    run: int


@dataclass(frozen=True)
class Plan:
    """A parsed module and what is to be recorded of it. Names and errors as of `static_tables.static_of`."""

    module: Module
    sites: Sites
    globals: tuple[tuple[str, int], ...]
    parts: tuple[FunctionPlan, ...]
    timed: bool


def plan_of(
    source: str | Module, functions: Collection[str] | None = None, *, timed: bool = False, compact: bool = True
) -> Plan:
    """Plan the recording of a module, given as text or parsed. Rewriting then changes that module.

    Other arguments and errors as of `static_tables.static_of`. O(length of the text).
    """
    module = parse_module(source) if isinstance(source, str) else source
    sites = Sites(module)
    chosen = chosen_functions(module, functions)
    sites.check(chosen)
    found = []
    for function in chosen:
        segments = segments_of(function, sites, timed=timed)
        found.append(
            (function, segments, *(compacted(function, segments, sites) if compact and not timed else ([], [])))
        )
    short = 1 + sum(len(segments) for _, segments, _, _ in found)
    region = short + sum(len(each.shorts) for *_, regions in found for each in regions)
    first = Ids(1, short, region, region + sum(len(regions) for *_, regions in found))
    parts = []
    for function, segments, runs, regions in found:
        parts.append(part := FunctionPlan(function, segments, runs, regions, first))
        first = Ids(
            first.segment + len(segments),
            first.short + len(part.shorts),
            first.region + len(regions),
            first.run + len(runs),
        )
    return Plan(module, sites, global_sizes(module), tuple(parts), timed)


def segments_of(function: Function, sites: Sites, *, timed: bool = False) -> list[Segment]:
    """Segments of a function in order. Blocks and instructions are numbered from 0, the latter in each block."""
    allocas = sites.allocas(function)
    framed = sites.needs_frames(function)
    found = []
    for number, block in enumerate(function.blocks):
        first = 0
        items: list[tuple[int, Item]] = []
        role = ENTRY if number == 0 else 0
        if any(instruction.op == "landingpad" for instruction in block.instructions):
            role |= LANDING
        count = len(block.instructions)
        for place, instruction in enumerate(block.instructions):
            if place == first and framed and role:
                items.append((place, Item(Kind.FRAME, 0)))
            if place == 0 and number == 0:
                items.extend((place, item) for item in sites.copied_parameters(function))
            items.extend((place, item) for item in sites.items(instruction, allocas))
            if place == count - 1:
                role |= LEAVES if instruction.op in ("ret", "resume", "unreachable") else 0
            elif not sites.splits(instruction):
                continue
            found.append(Segment.of(number, first, place + 1, role, items, timed=timed))
            first, items = place + 1, []
            role = RETURNED_TWICE if sites.returns_twice(instruction) else 0
    return found


def compacted(function: Function, segments: Sequence[Segment], sites: Sites) -> tuple[list[Run], list[Region]]:
    """The runs and regions of a function; none where its records may be too long for the room behind a chunk."""
    runs = runs_of(function, segments, sites.types)
    regions = regions_of(function, segments, runs, sites.types)
    total = sum(1 + segment.words for segment in segments)
    total += sum(run.header_words for run in runs) + sum(region.header_words for region in regions)
    return (runs, regions) if total <= SLACK_WORDS else ([], [])


def chosen_functions(module: Module, names: Collection[str] | None) -> list[Function]:
    """The functions with these names in the order of the module; all of them for None. Never those that are `naked`."""
    defined, naked = module.functions, module.naked()
    if names is None:
        return [function for name, function in defined.items() if name not in naked]
    wanted = {name if name.startswith("@") else f"@{name}" for name in names}
    missing = sorted(wanted - set(defined))
    if missing:
        some = ", ".join(name.removeprefix("@") for name in list(defined)[:10])
        raise ArgumentError(
            f"functions: the program defines no {missing[0].removeprefix('@')!r}",
            hint=f"It may have been inlined. There are: {some}{' …' if len(defined) > 10 else ''}.",
        )
    return [function for name, function in defined.items() if name in wanted - naked]


def global_sizes(module: Module) -> tuple[tuple[str, int], ...]:
    """(name, bytes) of the global variables that the module defines, apart from thread-local ones and LLVM's own."""
    types = module.types()
    found = []
    for name, variable in module.globals.items():
        if not variable.defined or variable.thread_local or name.startswith("@llvm."):
            continue
        try:
            found.append((name, types.size(variable.type)))
        except ValueError as error:
            raise UnsupportedError(f"the global {name} cannot be traced: {error}") from error
    return tuple(found)
