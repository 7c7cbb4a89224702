"""llvmlite as tracecut uses it: parse, bring to the canonical form, optimise, emit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from tracecut.ir.llvm import Instruction, Module, parse_module
from tracecut.ir.llvm.passes.allocated.carry_members import carry_members
from tracecut.ir.llvm.passes.allocated.close_loops import close_loops
from tracecut.ir.llvm.passes.allocated.exchange_allocations import exchange_allocations
from tracecut.ir.llvm.passes.allocated.forward_members import forward_members
from tracecut.ir.llvm.passes.allocated.hoist_allocations import hoist_allocations
from tracecut.ir.llvm.passes.allocated.hold_carried import hold_carried
from tracecut.ir.llvm.passes.allocated.keep_allocations import keep_allocations
from tracecut.ir.llvm.passes.allocated.reload_pointers import reload_pointers
from tracecut.ir.llvm.passes.aside.first_steps import may_part_first_steps, part_first_steps
from tracecut.ir.llvm.passes.aside.join_pieces import join_pieces
from tracecut.ir.llvm.passes.aside.join_tiles import join_tiles
from tracecut.ir.llvm.passes.aside.look_ahead import look_ahead
from tracecut.ir.llvm.passes.aside.part_calls import may_part, part_calls
from tracecut.ir.llvm.passes.chosen_fields import split_choices
from tracecut.ir.llvm.passes.flag_reductions import join_flags
from tracecut.ir.llvm.passes.global_constructors import has_constructors, place_constructors
from tracecut.ir.llvm.passes.known_sizes import known_sizes
from tracecut.ir.llvm.passes.leave_loops import leave_loops
from tracecut.ir.llvm.passes.library_effects import with_library_effects
from tracecut.ir.llvm.passes.merge_induction_variables import merge_counters
from tracecut.ir.llvm.passes.part_exits import part_exits
from tracecut.ir.llvm.passes.promote_calls import has_pointer_calls, promote_calls
from tracecut.ir.llvm.passes.read_halves import read_halves
from tracecut.ir.llvm.passes.relative_tables import plain_relative_loads
from tracecut.ir.llvm.passes.reloaded.reload_carried import reload_carried
from tracecut.ir.llvm.passes.reloaded.reload_left import reload_left
from tracecut.ir.llvm.passes.reloaded.reload_updates import reload_updates
from tracecut.ir.llvm.passes.reloaded.steady_loads import steady_loads
from tracecut.ir.llvm.passes.split_vectors import split_vectors
from tracecut.ir.llvm.passes.unroll_planes import unroll_planes
from tracecut.support.errors import SourceError

from .inlining import attribute_group, choose_inline, kept_apart, mark_inline
from .llvm_faults import NO_WRAP_CHECKS


@cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    # What clang has not computed by itself the user's program computes when it runs. A product and a sum of constants
    # would be fused here, and the math library of this process is not always the program's.
    binding.set_option("tracecut", "-disable-fp-call-folding=true")
    # What reads a text would check the whole module to see whether its debug information has to be brought up to date,
    # and end this process if it is not valid. `parse` does that itself, and raises.
    binding.set_option("tracecut", "-disable-auto-upgrade-debug-info=true")
    for switch in NO_WRAP_CHECKS:
        binding.set_option("tracecut", switch)
    return binding


def parse(text: str, name: str = "module") -> Any:
    """Parse and verify textual IR in this process: for IR that our own front end made."""
    binding = _binding()
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise SourceError(f"{name} is not valid LLVM IR", detail=str(error).strip()[:2000]) from error
    return module


@cache
def host_name() -> str:
    """LLVM's name of this processor: for cost models only, never for code generation."""
    return str(_binding().get_host_cpu_name())


def host_features() -> str:
    """What this very processor has, in LLVM's words."""
    return str(_binding().get_host_cpu_features().flatten())


def target_machine(*, level: int = 3) -> Any:
    """Code generator for the processor that each function names, the baseline where it names none.

    Clang leaves the user's -march in the attributes of every function. This very processor would be another one: it
    fuses products and sums, and results would differ.
    """
    binding = _binding()
    return binding.Target.from_default_triple().create_target_machine(
        cpu="x86-64",
        features="",
        opt=level,
        reloc="pic",
        codemodel="default",
    )


def canonical(sources: Iterable[str], *, optimised: bool = False, for_regions: bool = False) -> Module:
    """Link textual modules and bring them to the form that regions are read from.

    Functions called from loops are inlined (within limits), so that a time loop sees the kernels it calls; then
    scalar clean-up, no vectors, no unrolling; loops get a preheader, one latch and exits of their own; every
    value gets a name.

    Args:
        optimised: the modules are as `clang.to_ir` makes them of C and C++. Then only those functions are cleaned up
            that something was inlined into: the others have been, and LLVM's pipeline would do it all again, and
            inline by limits of its own.
        for_regions: loops are going to be rescheduled, not only looked at: calls through pointers are made by name, so
            that they can be inlined, and memory that a loop allocates in each iteration is allocated in front of it.
    """
    binding = _binding()
    # Global switches of LLVM: see frontend.CANONICAL.
    binding.set_option("tracecut", "-enable-load-pre=false")
    binding.set_option("tracecut", "-jump-threading-threshold=0")
    binding.set_option("tracecut", "-disable-licm-promotion=true")
    binding.set_option("tracecut", "-keep-loops=true")
    binding.set_option("tracecut", "-replexitval=always")
    module, changed, pointers, calls = _marked(
        _linked(map(with_library_effects, sources) if for_regions else sources), for_regions
    )
    builder = _builder(binding, level=1, vectorize=False)
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, builder)
    if optimised:
        simplify = builder.getFunctionPassManager()
        for function in module.functions:
            if function in changed and not function.is_declaration:  # some are gone
                simplify.run(function, builder)
    else:
        builder.getModulePassManager().run(module, builder)
    if pointers or calls:
        module = _without_calls(module, builder, pointers=pointers)
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_lower_switch_pass()
    passes.add_simplify_cfg_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_loop_simplify_pass()
    passes.add_instruction_namer_pass()
    passes.run(module, builder)
    parsed = plain_relative_loads(loosened(parse_module(str(module))))
    if for_regions:
        split_vectors(read_halves(parsed))
        steady_loads(parsed)
        for function in parsed.functions.values():
            known_sizes(function)
        hoist_allocations(hold_carried(reload_pointers(forward_members(parsed))))
        close_loops(keep_allocations(exchange_allocations(carry_members(parsed))))
        reload_left(reload_carried(reload_updates(part_exits(parsed))))
    merge_counters(parsed)
    if for_regions:
        unroll_planes(parsed)
        look_ahead(join_tiles(join_pieces(parsed)))
    return split_choices(join_flags(parsed))


def _linked(sources: Iterable[str]) -> Any:
    """The modules as one."""
    modules = [parse(text) for text in sources]
    _link(modules)
    return modules[0]


def _without_calls(module: Any, builder: Any, *, pointers: bool) -> Any:
    """A module of LLVM whose loops are left where they call through pointers, and parted from what they seldom call."""
    passes = _binding().create_new_module_pass_manager()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.run(module, builder)
    parsed = parse_module(str(module))
    changed = leave_loops(parsed) if pointers else set()
    changed |= part_first_steps(parsed) | part_calls(parsed)
    if not changed:
        return module
    module = parse(str(parsed))
    simplify = builder.getFunctionPassManager()
    own = (one for one in module.functions if not one.is_declaration)
    for name, function in zip(parsed.functions, own, strict=True):
        if name in changed:
            simplify.run(function, builder)
    return module


def _marked(module: Any, for_regions: bool) -> tuple[Any, set[Any], bool, bool]:
    """A module of LLVM with `alwaysinline` at the functions that are to be, and the functions that change by it.

    And whether anything in it that is going to be rescheduled is called through a pointer, or called in loops.
    """
    parsed = parse_module(str(module))
    pointers = for_regions and has_pointer_calls(parsed)
    calls = for_regions and (may_part(parsed) or may_part_first_steps(parsed))
    if pointers and promote_calls(parsed):
        module = parse(str(parsed))
    choice = choose_inline(parsed, with_stack=for_regions)
    clashing = kept_apart(parsed, choice)
    if clashing:  # LLVM's C interface takes no attribute away
        module = parse(str(mark_inline(parsed, choice)))
    # By their order: LLVM has no names for functions that Python could always read.
    named = dict(zip(parsed.functions, (one for one in module.functions if not one.is_declaration), strict=True))
    for name in () if clashing else choice.chosen:
        named[name].add_function_attribute("alwaysinline")
    return module, {named[name] for name in choice.changed}, pointers, calls


def _link(modules: list[Any]) -> None:
    """Link all modules into the first. Raises SourceError, when a function is defined twice, say."""
    for other in modules[1:]:
        try:
            modules[0].link_in(other)
        except RuntimeError as error:
            raise SourceError(
                f"the sources cannot be linked: {str(error).strip()}", hint="Is one of them given twice?"
            ) from error


def unoptimised(sources: Iterable[str]) -> Module:
    """Link textual modules as they are: only every value gets a name. The form that the seed traced (`--opt seed`)."""
    binding = _binding()
    modules = [parse(text) for text in sources]
    _link(modules)
    passes = binding.create_new_module_pass_manager()
    passes.add_instruction_namer_pass()
    passes.run(modules[0], _builder(binding, level=0, vectorize=False))
    return plain_relative_loads(loosened(parse_module(str(modules[0]))))


def emit_object(text: str, *, optimise: bool, level: int = 3, registers: bool = True) -> bytes:
    """Machine code of a textual module; `optimise` runs LLVM's pipeline of `level` first.

    `registers`: keep values in registers from block to block. Without, code of level 0 is made in linear time.
    """
    binding = _binding()
    binding.set_option("tracecut", f"-optimize-regalloc={str(registers).lower()}")
    module = parse(text)
    machine = target_machine(level=level)
    if optimise:
        _binding().set_option("tracecut", "-disable-licm-promotion=false")
        _binding().set_option("tracecut", "-jump-threading-threshold=6")  # as by default, and so is the next one
        _binding().set_option("tracecut", "-replexitval=cheap")
        builder = binding.create_pass_builder(machine, _tuning(binding, level, vectorize=True))
        builder.getModulePassManager().run(module, builder)
        text = str(module) if has_constructors(text) else ""
    if has_constructors(text):
        module = parse(place_constructors(text))
    return bytes(machine.emit_object(module))


def loosened(module: Module) -> Module:
    """Strip, in place, what instrumentation would make untrue: effects inferred for functions and for their calls.

    A hook may read and write memory anywhere, so `memory(…)`, `readonly`, `nosync`, `willreturn` and `tail` must
    go from the program's own functions; facts about library functions and intrinsics stay. So must `noreturn`: a `main`
    that ends by `exit` never returns, but functions that its loops are cut out into do, with the same attributes.
    """
    own = set(module.functions)
    used = {group for function in module.functions.values() for group in function.attribute_groups}
    for function in module.functions.values():
        function.header = _strip_words(function.header)
        for block in function.blocks:
            for place, call in enumerate(block.instructions):
                if call.op in ("call", "invoke") and call.word in own:
                    used.update(re.findall(r"#\d+", call.text))
                    text = _strip_words(re.sub(r"\b(tail|notail) call\b", "call", call.text))
                    block.instructions[place] = Instruction(text, call.meta)
    library = {
        group
        for item in module.items
        if isinstance(item, str) and item.startswith("declare")
        for group in re.findall(r"#\d+", item)
    }
    groups = module.attribute_groups()
    fresh = {group: f"#{900_000 + int(group[1:])}" for group in sorted(used & library)}
    for function in module.functions.values():
        function.header = _regroup(function.header, fresh)
        for block in function.blocks if fresh else ():
            for place, call in enumerate(block.instructions):
                if call.op in ("call", "invoke") and call.word in own:
                    block.instructions[place] = Instruction(_regroup(call.text, fresh), call.meta)
    module.items = [
        attribute_group(item.split()[1], _strip_words(groups[item.split()[1]]))
        if isinstance(item, str) and item.startswith("attributes #") and item.split()[1] in used - library
        else item
        for item in module.items
    ]
    for old, new in fresh.items():
        module.append(attribute_group(new, _strip_words(groups[old])))
    return module


def _regroup(text: str, fresh: dict[str, str]) -> str:
    return re.sub(r"#\d+", lambda found: fresh.get(found.group(), found.group()), text)


_WORDS = re.compile(
    r'"(?:[^"\\]|\\.)*"|'  # what a string says stays
    r"(?<![%@$.\-\"])\b(?:memory\((?:[^()]|\([^()]*\))*\)|captures\((?:[^()]|\([^()]*\))*\)|readonly|readnone|writeonly|nosync|"
    r"nofree|norecurse|noreturn|willreturn|mustprogress|speculatable|nocapture|argmemonly|inaccessiblememonly|"
    r"initializes\((?:[^()]|\([^()]*\))*\)|alwaysinline)(?![\w(])\s?"
)


def _strip_words(text: str) -> str:
    return _WORDS.sub(lambda found: found.group() if found.group().startswith('"') else "", text)


def _tuning(binding: Any, level: int, *, vectorize: bool) -> Any:
    tuning = binding.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = vectorize
    tuning.loop_unrolling = vectorize
    return tuning


def _builder(binding: Any, *, level: int, vectorize: bool) -> Any:
    machine = target_machine()
    builder = binding.create_pass_builder(machine, _tuning(binding, level, vectorize=vectorize))
    builder._machine = machine  # the builder refers to it without keeping it alive
    return builder
