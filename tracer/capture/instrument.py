"""The instrumented program: allocations go through a table, loops count, interesting ones report their live values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tracecut.ir.llvm import Function, Instruction, Module
from tracecut.ir.llvm.call_effects import ALLOCATORS, CXX_ALLOCATORS
from tracecut.ir.llvm.edit import add_array, at_start, before_end, fits_slots, store_values
from tracecut.ir.llvm.substitute import renamed_globals
from tracecut.tracer.loops.exits import counted_blocks
from tracecut.tracer.loops.live_ins import live_ins
from tracecut.tracer.loops.program import Analysis

OURS = "tracecut"  # marks what touches the counters, until `set_apart`
HOOKS = ("declare void @tc_loop(i32, ptr)", "declare void @tc_loop_done(i32)")


def traced_module(analysis: Analysis, hooked: Mapping[int, Sequence[tuple[str, str]]]) -> str:
    """Text of the instrumented module.

    Args:
        analysis: the canonical module.
        hooked: loop id → values (name, type) that its hook reports each time the loop is entered.
    """
    module = analysis.module.copy()
    functions = module.functions
    blocks = {name: function.by_name() for name, function in functions.items()}
    for number in range(analysis.n_loops):
        view = analysis.view_of(number)
        header = blocks[view.function.name][view.loops[number].header]
        at_start(header, _counting(f"%tc.count{number}", number))
    counted = counted_blocks(analysis.views)
    for place, (name, block) in enumerate(counted):
        at_start(blocks[name][block], _counting(f"%tc.passed{place}", analysis.n_loops + place))
    for number, values in hooked.items():
        view = analysis.view_of(number)
        function = functions[view.function.name]
        array = add_array(function, f"%tc.values{number}", len(values))
        lines = store_values(values, array, f"%tc.h{number}.")
        lines.append(Instruction(f"call void @tc_loop(i32 {number}, ptr {array})"))
        before_end(blocks[function.name][str(view.loops[number].preheader)], lines)
        for target in dict.fromkeys(target for _, target in view.loops[number].exits):
            at_start(blocks[function.name][target], [Instruction(f"call void @tc_loop_done(i32 {number})")])
    set_apart(module, functions.values())
    module.append(f"@tc_counts = global [{max(1, analysis.n_loops + len(counted))} x i64] zeroinitializer, align 8")
    for line in HOOKS:
        module.append(line)
    return with_object_table(module, analysis)


def _counting(at: str, place: int) -> list[Instruction]:
    """Add one to a counter. `at`: prefix of the new values."""
    return [
        Instruction(f"{at}.p = getelementptr i64, ptr @tc_counts, i64 {place}"),
        Instruction(f"{at}.v = load i64, ptr {at}.p, align 8", {OURS: ""}),
        Instruction(f"{at}.n = add i64 {at}.v, 1"),
        Instruction(f"store i64 {at}.n, ptr {at}.p, align 8", {OURS: ""}),
    ]


def set_apart(module: Module, functions: Iterable[Function]) -> None:
    """Say that loads and stores of these functions, in place, touch nothing of what `OURS` marks in them, so that it
    stays in registers.

    Of calls nothing is said: what is called may count as well, or change a layout.
    """
    first = 1 + max((int(name[1:]) for name in module.metadata() if name[1:].isdigit()), default=-1)
    domain, scope, ours = (f"!{first + place}" for place in range(3))
    for function in functions:
        for block in function.blocks:
            for place, item in enumerate(block.instructions):
                if item.op not in ("load", "store"):
                    continue
                if OURS in item.meta:
                    meta = {"alias.scope": ours}
                elif "noalias" in item.meta:
                    continue
                else:
                    meta = item.meta | {"noalias": ours}
                block.instructions[place] = Instruction(item.text, meta)
    module.nodes += [
        f'{domain} = distinct !{{{domain}, !"tracecut"}}',
        f"{scope} = distinct !{{{scope}, {domain}}}",
        f"{ours} = !{{{scope}}}",
    ]


def hook_values(analysis: Analysis, loop: int) -> list[tuple[str, str]]:
    """(name, type) of what a loop's hook reports: everything that its description mentions and that its body uses."""
    view, nest = analysis.view_of(loop), analysis.nest(loop)
    found = nest.lives() | dict.fromkeys(nest.stack, "ptr")
    found.update(live_ins(view, view.loops[loop]))
    for phi in view.flow.blocks[view.loops[loop].header].phis:
        for operand, label in zip(phi.operands, phi.labels, strict=True):
            if label not in view.loops[loop].blocks and operand.is_local:
                found[operand.text] = operand.type
    return [(name, type) for name, type in found.items() if fits_slots([(name, type)], analysis.types) is None]


def with_object_table(module: Module, analysis: Analysis) -> str:
    """Print `module` with its allocations renamed to the table's wrappers and its globals listed in `@tc_globals`."""
    listed = global_objects(analysis)
    pairs = ", ".join(f"{{ ptr, i64 }} {{ ptr {name}, i64 {size} }}" for name, size in listed)
    body = f"[{pairs}]" if listed else "zeroinitializer"
    module.append(f"@tc_globals = constant [{len(listed)} x {{ ptr, i64 }}] {body}, align 8")
    return with_own_allocators(module, analysis)


def with_own_allocators(module: Module, analysis: Analysis) -> str:
    """Print `module` with its allocations renamed to the table's wrappers."""
    wrapped = {f"@{name}": f"@tc_{name}" for name in (*ALLOCATORS, *CXX_ALLOCATORS)}
    return renamed_globals(str(module), {name: new for name, new in wrapped.items() if name not in analysis.own})


def global_objects(analysis: Analysis) -> list[tuple[str, int]]:
    """(name, bytes) of every global variable that the module defines, in the order of `@tc_globals`.

    Behind them the functions that pointers are compared with, as one byte: guards ask whether a pointer still means the
    same function as they ask which array a pointer lies in.
    """
    found = []
    for name, variable in analysis.variables.items():
        if not variable.defined or variable.thread_local or name.startswith("@llvm."):
            continue
        try:
            found.append((name, analysis.types.size(variable.type)))
        except ValueError:
            continue
    return [*found, *((name, 1) for name in _compared_functions(analysis.module))]


def _compared_functions(module: Module) -> list[str]:
    own = module.functions.keys() | module.declarations.keys()
    found: dict[str, None] = {}
    for function in module.functions.values():
        for _, item in function.instructions():
            if item.op == "icmp" and "@" in item.text:
                found |= dict.fromkeys(operand.text for operand in item.operands if operand.text in own)
    return list(found)
