"""Index loads that read local numbers of 16 bits instead of the program's wider ones.

A copy of indices alone is written again with each index in half (or a quarter) of its width; the address of a load
keeps its distance from the base, divided by the same factor. Of starts of pieces the copy has the lower halves, and the
block's first start makes up for the others (`codegen/gpu/packed_starts.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tracecut.codegen.schedule.plan.range_function import Group, Outlined
from tracecut.ir.llvm import Instruction, int_bits

from .job_body import Job

BEGIN = "%tc.begin"  # i32: the first start of the thread's block


def pack_index_loads(
    job: Job, groups: Collection[Group], factors: Mapping[int, int], starts: Collection[int] = ()
) -> None:
    """Rewrite the loads from the bases of some groups, in place.

    `factors`: group → how many times narrower. `starts`: those of them that are starts of pieces.
    """
    group_of = {site: group.id for group in groups if group.id in factors for site in group.sites}
    for block in job.blocks:
        made: list[Instruction] = []
        for instruction in block.instructions:
            group = group_of.get(str(instruction.result)) if instruction.op == "load" else None
            if group is None:
                made.append(instruction)
            else:
                made += _narrower(instruction, group, factors[group])
                made += _whole_start(instruction) if group in starts else [_wider(instruction)]
        block.instructions = made


def packable(outlined: Outlined, group: int, factor: int, indices: Collection[str] | None = None) -> bool:
    """Whether all loads from the base of a group are of `indices`, and the factor leaves 16 bits of each.

    `indices`: None where all that is loaded from there may be narrower.
    """
    found = next(item for item in outlined.groups if item.id == group)
    sites = set(found.sites)
    if not sites or (indices is not None and not sites <= set(indices)):
        return False
    types = [made.type for block in outlined.code.blocks for made in block.instructions if made.result in sites]
    return bool(types) and all(int_bits(type) == 16 * factor for type in types)


def _narrower(load: Instruction, group: int, factor: int) -> list[Instruction]:
    name, pointer = str(load.result), load.operands[0].text
    base = f"%tc.base{group}"
    bits = {2: 1, 4: 2}[factor]
    return [
        Instruction(f"{name}.tc.at = ptrtoint ptr {pointer} to i64"),
        Instruction(f"{name}.tc.from = ptrtoint ptr {base} to i64"),
        Instruction(f"{name}.tc.by = sub i64 {name}.tc.at, {name}.tc.from"),
        Instruction(f"{name}.tc.less = ashr exact i64 {name}.tc.by, {bits}"),
        Instruction(f"{name}.tc.place = getelementptr i8, ptr {base}, i64 {name}.tc.less"),
        Instruction(f"{name}.tc.short = load i16, ptr {name}.tc.place, align 2"),
    ]


def _wider(load: Instruction) -> Instruction:
    return Instruction(f"{load.result} = zext i16 {load.result}.tc.short to {load.type}")


def _whole_start(load: Instruction) -> list[Instruction]:
    name, type, begin = str(load.result), load.type, BEGIN
    lines = [f"{name}.tc.half = zext i16 {name}.tc.short to {type}"]
    if type != "i32":
        begin = f"{name}.tc.begin"
        lines.append(f"{begin} = zext i32 {BEGIN} to {type}")
    lines += [
        f"{name}.tc.past = sub {type} {name}.tc.half, {begin}",
        f"{name}.tc.ahead = and {type} {name}.tc.past, 65535",
        f"{name} = add {type} {name}.tc.ahead, {begin}",
    ]
    return [Instruction(line) for line in lines]
