"""Emitting the range functions of a scope's regions, and loading them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites
from tracecut.codegen.schedule.plan.range_function import Group, Outlined
from tracecut.ir.llvm import Function, Instruction
from tracecut.ir.llvm.passes.only_reached import only_reached
from tracecut.ir.llvm.substitute import replaced
from tracecut.ir.loops.nest import Nest
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.capture.instrument import with_own_allocators
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.evaluation.memory import Memory
from tracecut.tracer.loops.flatten_rows import ARENA
from tracecut.tracer.loops.pointer_rotation import split
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.loops.updates.reductions import Uses
from tracecut.tracer.runtime.binding import Native
from tracecut.tracer.runtime.link import runtime_object, shared_library
from tracecut.tracer.toolchain.clang import Flags, optimised_object

from .compute_then_update import batched
from .index_tests import with_tests
from .outline_loop import outline
from .vector_versions import add_versions

DISTANCES = ("icmp", "sub")  # of two pointers to rows: what comes out is no pointer


def outline_regions(
    analysis: Analysis,
    nest: Nest,
    views: Mapping[int, Mapping[str, str]],
    numbers: Mapping[int, Mapping[str, tuple[int, int]]] | None = None,
) -> tuple[dict[int, list[Group]], dict[int, Outlined]]:
    """Groups and range function of each region.

    `views`: region → site key → new or old numbers. `numbers`: region → load → those that it may read new ones of
    (`renumbered`); without them every comparison is made by old numbers.

    Raises UnsupportedError if a region cannot be outlined.
    """
    groups: dict[int, list[Group]] = {}
    outlined: dict[int, Outlined] = {}
    for region, view in views.items():
        function = analysis.view_of(region)
        loop = function.loops[region]
        groups[region] = group_sites(function, nest, loop, view)
        groups[region] = with_tests(Uses(function), loop, groups[region], (numbers or {}).get(region, {}))
        outlined[region] = outline(function, nest, loop, f"tc.loop.{region}", groups[region])
        if ARENA in outlined[region].text:
            _replace_arenas(outlined[region])
    return groups, outlined


def _replace_arenas(item: Outlined) -> None:
    """Take the names of arenas of rows out of a range function: the program has no such variables.

    Accesses have other bases already. What compares pointers to rows, or asks how far they are apart, does so wherever
    the arena is, as long as it is in the same place for both. Raises UnsupportedError where something else is left.
    """
    function = item.code
    _drop_unused(function)
    bases = {slot.name: slot.value for slot in item.slots[::-1] if slot.kind == "base" and slot.name.startswith(ARENA)}
    derived: set[str] = set()
    before = -1
    while len(derived) > before:  # a phi may stand in front of what it takes from the latch
        before = len(derived)
        for _, instruction in function.instructions():
            arenas = [name for name in instruction.globals if name.startswith(ARENA)]
            if arenas or derived & set(instruction.uses):
                known = instruction.op in ("getelementptr", "phi", "select", "freeze", "ptrtoint", *DISTANCES)
                if not known or any(name not in bases for name in arenas):
                    raise UnsupportedError("rows behind pointers are reached through a choice of pointers")
                if instruction.op not in DISTANCES:
                    derived.add(str(instruction.result))
    for block in function.blocks:
        block.instructions[:] = [
            Instruction(replaced(made, bases), made.meta) if ARENA in made.text else made for made in block.instructions
        ]


def _drop_unused(function: Function) -> None:
    """Remove addresses that nothing uses."""
    while True:
        used = {name for _, instruction in function.instructions() for name in instruction.uses}
        dropped = 0
        for block in function.blocks:
            known = ((item, item.op in ("getelementptr", "ptrtoint")) for item in block.instructions)
            kept = [item for item, idle in known if not idle or item.result in used]
            dropped += len(block.instructions) - len(kept)
            block.instructions[:] = kept
        if not dropped:
            return


def _compared_there(function: Function, places: Mapping[str, str]) -> Function:
    """A function that compares pointers with functions where those lie in another process."""
    made = function.copy()
    for block in made.blocks if places else ():
        block.instructions[:] = [
            Instruction(replaced(item, places), item.meta) if item.op == "icmp" else item for item in block.instructions
        ]
    return made


def batch_regions(outlined: Mapping[int, Outlined], accesses: Accesses) -> dict[int, Outlined]:
    """Range functions in batches, for the regions in which no job reads what another one writes."""
    found = {}
    for region, item in outlined.items():
        made = batched(item, f"tc.batch.{region}") if reads_stay(accesses, region) else None
        if made is not None:
            found[region] = made
    return found


def reads_stay(accesses: Accesses, region: int) -> bool:
    """Whether a region writes no object that it also only reads."""
    touched = [access for access in accesses.inside(region) if access.runs and access.site.private is None]
    if any(access.site.private is not None for access in accesses.inside(region)):
        return False
    for together in split(touched):
        written = {access.object for access in together if access.site.writes}
        read = {access.object for access in together if not access.site.writes}
        if written & read or None in written | read:
            return False
    return True


def load_regions(
    analysis: Analysis,
    outlined: Mapping[int, Outlined],
    batches: Mapping[int, Outlined],
    flags: Flags,
    target: Path,
    memory: Memory,
) -> Native:
    """Compile range functions, with what they need of the program, and load them into this process.

    `memory`: what they will run on. Pointers to functions in it mean functions of the process that it was captured in.
    """
    module = analysis.module.copy()
    known = memory.columns().names
    functions = analysis.own | module.declarations.keys()
    there = {name: f"inttoptr (i64 {base} to ptr)" for base, name in known.items() if name in functions}
    made = [_compared_there(item.code, there) for item in (*outlined.values(), *batches.values())]
    module.items += made
    module = only_reached(module, [item.name for item in made])
    add_versions(module, alone=not flags.objects)
    text = with_own_allocators(module, analysis)
    library = shared_library(
        [optimised_object(text, flags, target.parent, target.stem), runtime_object()], flags, target
    )
    return Native(ctypes.CDLL(str(library)))
