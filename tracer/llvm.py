"""llvmlite as tracecut uses it: parse, bring to the canonical form, optimise, emit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from ..ir.errors import SourceError
from .constructors import has_constructors, place_constructors
from .counters import merge_counters
from .text import Function, Module, parse_module
from .text.cfg import ControlFlow

INLINE_LIMIT = 3_000
INLINE_GROWTH = 60_000


@cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
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


def target_machine(*, level: int = 3) -> Any:
    """Code generator for this very processor, position independent."""
    binding = _binding()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=level,
        reloc="pic",
        codemodel="default",
    )


def canonical(sources: Iterable[str]) -> Module:
    """Link textual modules and bring them to the form that regions are read from.

    Functions called from loops are inlined (within limits), so that a time loop sees the kernels it calls; then
    scalar clean-up, no vectors, no unrolling; loops get a preheader, one latch and exits of their own; every
    value gets a name.
    """
    binding = _binding()
    # Global switches of LLVM: see frontend.CANONICAL.
    binding.set_option("tracecut", "-enable-load-pre=false")
    binding.set_option("tracecut", "-disable-licm-promotion=true")
    modules = [parse(host_text(text)) for text in sources]
    for other in modules[1:]:
        modules[0].link_in(other)
    module = parse(str(mark_inline(parse_module(str(modules[0])))))
    builder = _builder(binding, level=1, vectorize=False)
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, builder)
    builder.getModulePassManager().run(module, builder)
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_lower_switch_pass()
    passes.add_simplify_cfg_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_loop_simplify_pass()
    passes.add_instruction_namer_pass()
    passes.run(module, builder)
    return merge_counters(parse_module(loosen(str(module))))


def unoptimised(sources: Iterable[str]) -> Module:
    """Link textual modules as they are: only every value gets a name. The form that the seed traced (`--opt seed`)."""
    binding = _binding()
    modules = [parse(host_text(text)) for text in sources]
    for other in modules[1:]:
        modules[0].link_in(other)
    passes = binding.create_new_module_pass_manager()
    passes.add_instruction_namer_pass()
    passes.run(modules[0], _builder(binding, level=0, vectorize=False))
    return parse_module(loosen(str(modules[0])))


def emit_object(text: str, *, optimise: bool, level: int = 3) -> bytes:
    """Machine code of a textual module for this processor; `optimise` runs LLVM's pipeline of `level` first."""
    binding = _binding()
    module = parse(host_text(text) if optimise else text)
    machine = target_machine(level=level)
    if optimise:
        _binding().set_option("tracecut", "-disable-licm-promotion=false")
        builder = binding.create_pass_builder(machine, _tuning(binding, level, vectorize=True))
        builder.getModulePassManager().run(module, builder)
        text = str(module) if has_constructors(text) else ""
    if has_constructors(text):
        module = parse(place_constructors(text))
    return bytes(machine.emit_object(module))


def mark_inline(module: Module) -> Module:
    """Mark the functions that are called from inside a loop `alwaysinline`, callees first, within size limits.

    Left alone: recursion, variable arguments, setjmp callers, `main`, and what would grow the module too much.
    """
    functions = module.functions
    sizes = {name: sum(len(block.instructions) for block in function.blocks) for name, function in functions.items()}
    calls = {name: _calls(function, functions) for name, function in functions.items()}
    recursive = _recursive({name: {callee for callee, _ in found} for name, found in calls.items()})
    wanted = {callee for found in calls.values() for callee, in_loop in found if in_loop}
    growing = True
    while growing:  # what a wanted function calls has to come along
        more = {callee for name in wanted for callee, _ in calls[name]} - wanted
        growing = bool(more)
        wanted |= more
    budget = INLINE_GROWTH
    groups = module.attribute_groups()
    chosen = set()
    for name in sorted(wanted, key=lambda item: (sizes[item], item)):
        sites = sum(callee == name for found in calls.values() for callee, _ in found)
        if name in recursive or name == "@main" or sizes[name] > INLINE_LIMIT or sizes[name] * sites > budget:
            continue
        header = functions[name].header
        words = " ".join(groups[group] for group in functions[name].attribute_groups)
        if "..." in header or re.search(r"\b(naked|returns_twice)\b", words):
            continue
        budget -= sizes[name] * sites
        chosen.add(name)
    for name in chosen:
        function = functions[name]
        end = function.signature_end
        front = re.match(r"(?:\s*(?:local_)?unnamed_addr)?(?:\s*addrspace\(\d+\))?", function.header[end:])
        end += front.end() if front else 0
        function.header = f"{function.header[:end]} alwaysinline{function.header[end:]}"
    clashing = {group for name in chosen for group in functions[name].attribute_groups if "noinline" in groups[group]}
    module.items = [
        _group(item.split()[1], re.sub(r"\b(?:noinline|optnone) ", "", groups[item.split()[1]]))
        if isinstance(item, str) and item.startswith("attributes #") and item.split()[1] in clashing
        else item
        for item in module.items
    ]
    return module


def loosen(text: str) -> str:
    """Strip what instrumentation would make untrue: effects that were inferred for functions and for their calls.

    A hook may read and write memory anywhere, so `memory(…)`, `readonly`, `nosync`, `willreturn` and `tail` must
    go from the program's own functions; facts about library functions and intrinsics stay.
    """
    module = parse_module(text)
    own = set(module.functions)
    used = {group for function in module.functions.values() for group in function.attribute_groups}
    for function in module.functions.values():
        function.header = _strip_words(function.header)
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.op not in ("call", "invoke") or instruction.word not in own:
                    continue
                used.update(re.findall(r"#\d+", instruction.text))
                instruction.text = _strip_words(re.sub(r"\b(tail|notail) call\b", "call", instruction.text))
    library = {
        group
        for item in module.items
        if isinstance(item, str) and item.startswith("declare")
        for group in re.findall(r"#\d+", item)
    }
    groups = module.attribute_groups()
    fresh = {group: f"#{900_000 + int(group[1:])}" for group in used & library}
    for function in module.functions.values():
        function.header = _regroup(function.header, fresh)
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.op in ("call", "invoke") and instruction.word in own:
                    instruction.text = _regroup(instruction.text, fresh)
    module.items = [
        _group(item.split()[1], _strip_words(groups[item.split()[1]]))
        if isinstance(item, str) and item.startswith("attributes #") and item.split()[1] in used - library
        else item
        for item in module.items
    ]
    for old, new in fresh.items():
        module.append(_group(new, _strip_words(groups[old])))
    return str(module)


_NOTHING = '"plain"'  # an attribute that means nothing


def _group(name: str, words: str) -> str:
    """The line of an attribute group. LLVM reads none that is empty."""
    return f"attributes {name} = {{ {words.strip() or _NOTHING} }}"


def _regroup(text: str, fresh: dict[str, str]) -> str:
    return re.sub(r"#\d+", lambda found: fresh.get(found.group(), found.group()), text)


_WORDS = re.compile(
    r'"(?:[^"\\]|\\.)*"|'  # what a string says stays
    r"(?<![%@$.\-\"])\b(?:memory\((?:[^()]|\([^()]*\))*\)|captures\((?:[^()]|\([^()]*\))*\)|readonly|readnone|writeonly|nosync|"
    r"nofree|norecurse|willreturn|mustprogress|speculatable|nocapture|argmemonly|inaccessiblememonly|"
    r"initializes\((?:[^()]|\([^()]*\))*\)|alwaysinline)(?![\w(])\s?"
)


def _strip_words(text: str) -> str:
    return _WORDS.sub(lambda found: found.group() if found.group().startswith('"') else "", text)


def host_text(text: str) -> str:
    """Leave the choice of processor to the code generator, and frame pointers to its default."""
    return re.sub(
        r'"(?:target-cpu|target-features|tune-cpu|frame-pointer|min-legal-vector-width)"="[^"]*"\s?', "", text
    )


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


def _calls(function: Function, functions: dict[str, Function]) -> list[tuple[str, bool]]:
    """(callee, called inside a loop) of every direct call to a function of this module."""
    flow = ControlFlow(function)
    looped = {name for loop in flow.loops for name in loop.blocks}
    return [
        (instruction.word, block.name in looped)
        for block, instruction in function.instructions()
        if instruction.op in ("call", "invoke") and instruction.word in functions
    ]


def _recursive(calls: dict[str, set[str]]) -> set[str]:
    import networkx

    graph = networkx.DiGraph([(name, callee) for name, found in calls.items() for callee in found])
    found = {name for part in networkx.strongly_connected_components(graph) if len(part) > 1 for name in part}
    return found | {name for name, callees in calls.items() if name in callees}
