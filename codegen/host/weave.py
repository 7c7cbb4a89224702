"""Insert rescheduled regions, their layout scopes and hooks into the program, beside the original loops.

```
preheader:                               preheader:
  br header                                tc_scope_enter(scope, values)         (once per layout scope)
                                   →       ran = tc_region(region, in, out)
                                           br ran ? done : original
                                         original:  br header                    (the untouched loop)
                                         done:      results from out; br exit
exit:                                    exit:      tc_region_done; tc_scope_leave
what runs seldom:                        what runs seldom:  tc_scope_pause
```

The original loop is unchanged: it runs whenever the executor declines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.edit import add_array, at_start, before_end, edit_phis, store_values
from tracecut.ir.loops.expressions import Pool
from tracecut.ir.loops.nest import Exit, ValueKind
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.loops.flatten_rows import ARENA
from tracecut.tracer.loops.phi_sources import entry_and_latch
from tracecut.tracer.loops.scalar_evolution import ScalarView

from .induction_values import affine
from .lookups import Places, accesses_at, add_lookups
from .target import HostTarget, RegionCode, check_loop, check_slots

DECLARATIONS = (
    "declare i32 @tc_region(i32, ptr, ptr)",
    "declare void @tc_region_done(i32)",
    "declare void @tc_scope_enter(i32, ptr)",
    "declare void @tc_scope_leave(i32)",
    "declare void @tc_scope_pause(i32, i32)",
    "declare void @tc_block_fill(i32, ptr, i8, i64)",
    "declare void @tc_block_copy(i32, ptr, ptr, i64)",
)


@dataclass(frozen=True)
class WovenScope:
    """A layout scope to weave in: the loop, the values that are passed to the executor at its entry, and its exits.

    `calls`: keys of the sites that fill or copy blocks of bytes, which the host may do elsewhere. lookups: accesses
    that look their records up.
    """

    number: int
    view: FunctionView
    loop: Loop
    values: tuple[tuple[str, str], ...]
    exits: tuple[Exit, ...] = ()
    calls: tuple[str, ...] = ()
    lookups: Places = field(default_factory=dict)


def weave(module: Module, regions: list[RegionCode], scopes: list[WovenScope]) -> None:
    """Add hooks and range functions to `module`, in place. Raises UnsupportedError when a loop cannot take them.

    `module` is a copy of the one that the regions are described in. Every check is made before anything is changed.
    """
    for region in regions:
        HostTarget().check(region)
    for scope in scopes:
        check_loop(scope.view, scope.loop)
        check_slots(scope.view, list(scope.values))
    functions = module.functions
    blocks = {name: function.by_name() for name, function in functions.items()}
    for scope in scopes:  # before anything has another place
        for key in scope.calls:
            _weave_call(scope, key, blocks[scope.view.function.name])
    asked = accesses_at(module, _together(scope.lookups for scope in scopes))
    for scope in scopes:  # first, so that entering a scope comes before its first region
        name = scope.view.function.name
        _weave_scope(scope, functions[name], blocks[name])
    for region in regions:
        name = region.view.function.name
        _weave_region(region, functions[name], blocks[name])
        module.items.append(region.outlined.code)
    add_lookups(module, functions.values(), asked)  # at last: blocks are cut
    for line in DECLARATIONS:
        module.append(line)


def _weave_scope(scope: WovenScope, function: Function, blocks: Mapping[str, Block]) -> None:
    prefix = f"%tc.scope{scope.number}"
    array = add_array(function, f"{prefix}.values", len(scope.values))
    lines = store_values(scope.values, array, f"{prefix}.v")
    lines.append(Instruction(f"call void @tc_scope_enter(i32 {scope.number}, ptr {array})"))
    before_end(blocks[str(scope.loop.preheader)], lines)
    for target in dict.fromkeys(target for _, target in scope.loop.exits):
        at_start(blocks[target], [Instruction(f"call void @tc_scope_leave(i32 {scope.number})")])
    for item in scope.exits:
        call = Instruction(f"call void @tc_scope_pause(i32 {scope.number}, i32 {int(item.final)})")
        at_start(blocks[item.block], [call])


def _together(found: Iterable[Places]) -> Places:
    """Lookups of several scopes; an access may be in more than one."""
    places: Places = {}
    for each in found:
        for at, asked in each.items():
            places.setdefault(at, []).extend(asked)
    return places


def is_block_call(made: Instruction) -> bool:
    """Whether a call fills or copies a block of bytes, and can be handed over."""
    return (
        made.op == "call"
        and made.word.startswith(("@llvm.memset.p0.i64", "@llvm.memcpy.p0.p0.i64", "@llvm.memmove.p0.p0.i64"))
        and made.operands[-1].text == "false"  # not volatile
    )


def _weave_call(scope: WovenScope, key: str, blocks: Mapping[str, Block]) -> None:
    _, block, place = key.split(":")[:3]
    made = blocks[block].instructions[int(place)]
    target, other, size = (operand.text for operand in made.operands[:3])
    fills = made.word.startswith("@llvm.memset")
    name, type = ("@tc_block_fill", "i8") if fills else ("@tc_block_copy", "ptr")
    text = f"call void {name}(i32 {scope.number}, ptr {target}, {type} {other}, i64 {size})"
    blocks[block].instructions[int(place)] = Instruction(text)


def _weave_region(region: RegionCode, function: Function, blocks: Mapping[str, Block]) -> None:
    loop, outlined = region.loop, region.outlined
    prefix = f"%tc.region{region.number}"
    preheader = blocks[str(loop.preheader)]
    given = add_array(function, f"{prefix}.in", len(outlined.slots))
    taken = add_array(function, f"{prefix}.out", len(outlined.reductions) + 1)
    starts = {item.slot: item for item in outlined.reductions}
    lines: list[Instruction] = []
    for place, slot in enumerate(outlined.slots):
        value = _slot_value(region, slot.kind, slot.name, slot.type) if place not in starts else None
        if place in starts:
            value = (_start(region, slot.name), slot.type)
        if value is not None:
            at = f"{prefix}.s{place}"
            lines.append(Instruction(f"{at} = getelementptr i8, ptr {given}, i64 {8 * place}"))
            lines.append(Instruction(f"store {value[1]} {value[0]}, ptr {at}, align 8"))
    lines += [
        Instruction(f"{prefix}.ran = call i32 @tc_region(i32 {region.number}, ptr {given}, ptr {taken})"),
        Instruction(f"{prefix}.did = icmp ne i32 {prefix}.ran, 0"),
    ]
    done, original = f"tc.region{region.number}.done", original_of(region.number)
    preheader.instructions[-1:] = [*lines, Instruction(f"br i1 {prefix}.did, label %{done}, label %{original}")]
    _, target = region.nest.loops[region.view.loop_ids[loop]].exit
    results, block = _results(region, prefix, taken, done, target)
    function.blocks.insert(
        function.blocks.index(preheader) + 1, Block(original, [Instruction(f"br label %{loop.header}")])
    )
    function.blocks.insert(function.blocks.index(preheader) + 2, block)
    edit_phis(blocks[loop.header], lambda phi: phi.text.replace(f"%{loop.preheader} ]", f"%{original} ]"))
    edit_phis(blocks[target], lambda phi: f"{phi.text}, [ {results[str(phi.result)]}, %{done} ]")
    for left in dict.fromkeys(outside for _, outside in loop.exits):
        at_start(blocks[left], [Instruction(f"call void @tc_region_done(i32 {region.number})")])


def original_of(number: int) -> str:
    """Name of the block that enters the original loop of a region."""
    return f"tc.region{number}.original"


def _slot_value(region: RegionCode, kind: str, name: str, type: str) -> tuple[str, str] | None:
    """The value that the program stores in a slot: live-in values, and base pointers that are computed outside the
    loop. It has no arenas of rows."""
    if kind == "live":
        return name, type
    if kind in ("base", "data-base"):
        found = region.view.definitions.get(name)
        inside = found is not None and found.block in region.loop.blocks
        return None if inside or name.startswith(ARENA) else (name, "ptr")
    return None


def _start(region: RegionCode, phi: str) -> str:
    return entry_and_latch(region.view.definitions[phi].instruction, region.loop)[0]


def _results(region: RegionCode, prefix: str, taken: str, done: str, target: str) -> tuple[dict[str, str], Block]:
    """Values that the exit's phis get from the rescheduled loop, and the block that loads them."""
    info = region.nest.loops[region.view.loop_ids[region.loop]]
    lines: list[Instruction] = []
    values: dict[str, str] = {}
    places = {item.phi: item for item in region.outlined.reductions}
    after = info.exit[0] == region.loop.latches[0]
    for place, result in enumerate(info.results):
        name = f"{prefix}.r{place}"
        if result.kind is ValueKind.INVARIANT:
            values[result.phi] = result.value
            continue
        phi = _phi_behind(region, result.value)
        if result.kind is ValueKind.REDUCTION:
            at = 8 * places[phi].out
            lines.append(Instruction(f"{name}.at = getelementptr i8, ptr {taken}, i64 {at}"))
            lines.append(Instruction(f"{name} = load {result.type}, ptr {name}.at, align 8"))
        else:
            lines += _last_count(region, name, phi, taken, behind=result.value != phi or not after)
        values[result.phi] = name
    lines.append(Instruction(f"br label %{target}"))
    return values, Block(done, lines)


def _phi_behind(region: RegionCode, value: str) -> str:
    """The header phi that a result belongs to: itself, or the one whose next value it is."""
    for phi in region.view.flow.blocks[region.loop.header].phis:
        if value in (phi.result, entry_and_latch(phi, region.loop)[1]):
            return str(phi.result)
    raise UnsupportedError(f"the result {value} of the loop cannot be computed after the loop")


def _last_count(region: RegionCode, name: str, phi: str, taken: str, *, behind: bool) -> list[Instruction]:
    """A counter's value after the loop: start + step · n (n − 1 for its value in the last iteration).

    The executor stores n in the slot after the reductions.
    """
    made = region.view.definitions[phi].instruction
    lines = [
        f"{name}.at = getelementptr i8, ptr {taken}, i64 {8 * len(region.outlined.reductions)}",
        f"{name}.count = load i64, ptr {name}.at, align 8",
        f"{name}.m = sub i64 {name}.count, {0 if behind else 1}",
        *affine(made.type, name, _start(region, phi), _step_text(region, phi), f"{name}.m"),
    ]
    return [Instruction(line) for line in lines]


def _step_text(region: RegionCode, phi: str) -> str:
    made = region.view.definitions[phi].instruction
    step = ScalarView(region.view, region.loop, Pool()).increment(made, region.loop)
    if step is None or step.kind not in ("const", "live"):
        raise UnsupportedError(f"the counter {phi} is used after the loop and advances by {step}")
    return str(step.data[0])
