"""The text of an emitted kernel, as one function: device functions inlined, scalars out of stack slots."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tracecut.ir.llvm import Function, Module, TypeTable, parse_module
from tracecut.ir.llvm.module import Parameter
from tracecut.support.errors import ArgumentError, SourceError, UnsupportedError
from tracecut.tracer.toolchain.passes import parse, target_machine

from .memory_copies import expand_copies

OWN = "emu."  # how names of ours begin
_KEPT_APART = re.compile(r"\b(?:noinline|optnone)\b ?")


@dataclass(frozen=True, eq=False)
class KernelText:
    """One kernel.

    Attributes:
        module: what its text holds. function: the kernel, with nothing left that it calls in the module.
        types: named types. parameters: as its header declares them.
    """

    name: str
    module: Module
    function: Function
    types: TypeTable
    parameters: tuple[Parameter, ...]


def read_kernel(text: str, name: str) -> KernelText:
    """Read the kernel `name` of a textual NVPTX module. O(text).

    Raises:
        ArgumentError: the text is not valid LLVM IR, or has no such kernel.
        UnsupportedError: device functions call each other in circles, or a parameter is passed as a copy of memory.
    """
    if OWN in text and re.search(rf"[%@]{re.escape(OWN)}", text):
        raise ArgumentError(f"kernel_text has names that begin with {OWN}, which are kept for the emulation")
    try:
        module = parse(_KEPT_APART.sub("", text), "kernel_text")
    except SourceError as error:
        raise ArgumentError(error.message, detail=error.detail) from error
    if name not in {one.name for one in module.functions if not one.is_declaration}:
        raise ArgumentError(f"kernel_text has no kernel {name}")
    parsed = parse_module(_inlined(module, name))
    function = parsed.functions[f"@{name}"]
    if "ptx_kernel" not in function.header.split("(")[0].split():
        raise ArgumentError(f"{name} of kernel_text is a device function, a kernel (ptx_kernel) was expected")
    if len(parsed.functions) > 1:
        other = next(one for one in parsed.functions if one != f"@{name}")
        raise UnsupportedError(f"the kernel {name} calls {other}, which cannot be inlined")
    for parameter in function.parameters:
        if "byval" in parameter.text:
            raise UnsupportedError(f"the parameter {parameter.name} of {name} is passed as a copy of memory (byval)")
    expand_copies(function.blocks)
    return KernelText(name, parsed, function, parsed.types(), tuple(function.parameters))


def _inlined(module: Any, name: str) -> str:
    import llvmlite.binding as binding

    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
            function.add_function_attribute("alwaysinline")
    builder = binding.create_pass_builder(target_machine(), binding.create_pipeline_tuning_options(speed_level=1))
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    passes.add_instruction_namer_pass()
    passes.run(module, builder)
    return str(module)
