"""A kernel's module as the text of a CUDA C file.

Handled: what `codegen/ptx` emits (scalars, addresses that are a variable and an index, atomics, shuffles, barriers).
Not handled: vectors, structures as values, addresses in memory, integers of odd widths. They are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Function, Module, parse_module
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.debug_info import Lines
from tracecut.support.errors import ArgumentError, SourceError, UnsupportedError
from tracecut.tracer.toolchain.passes import parse

from .addresses import BYTES, elements
from .calls import HELPERS
from .expressions import Expr, Pointer
from .function_text import FunctionText
from .names import Names
from .statements import Plain, Statement, lines
from .structure import Structure
from .tidy import declared, usual_loops
from .types import C_TYPES, key_of

_SHARED = re.compile(r"(@\S+) = .*addrspace\(3\) (?:global|constant) (.*)")
_ALIGN = re.compile(r", align (\d+)")
SHARED_NAME = "shared_memory"


@dataclass(frozen=True)
class CudaSource:
    """A kernel in CUDA C. `parameters`: names of its parameters, in order. `text`: the file, without a head."""

    text: str
    parameters: tuple[str, ...]


def cuda_source(ir: str, name: str, *, threads: int | None = None) -> CudaSource:
    """The kernel `name` of a textual NVPTX module in CUDA C; the same module gives the same text.

    `threads`: of a block, where that is known. About a millisecond for each ten lines.

    Raises ArgumentError when the text is no valid module or has no such kernel, UnsupportedError with the reason for
    what cannot be written in CUDA C.
    """
    try:
        module = parse_module(str(parse(ir, "ir")))
    except SourceError as error:
        raise ArgumentError(error.message, detail=error.detail) from error
    functions = module.functions
    kernel = functions.get(f"@{name}")
    if kernel is None or "ptx_kernel" not in kernel.header.split("(")[0].split():
        raise ArgumentError(f"ir has no kernel {name}")
    names = Names(frozenset({name, SHARED_NAME, *HELPERS}))
    others = {one: names.of(one) for one in functions if one != f"@{name}"}
    texts: list[str] = []
    helpers: set[str] = set()
    for one in _called(kernel, functions):
        part = _Part(module, functions[one], others)
        texts.append(f"static __device__ __forceinline__ {part.returns()} {others[one]}({part.signature()})")
        texts += ["{", *part.body, "}", ""]
        helpers |= part.writer.helpers
    part = _Part(module, kernel, others)
    helpers |= part.writer.helpers
    bounds = f" __launch_bounds__({threads})" if threads else ""
    texts.append(f'extern "C" __global__ void{bounds} {name}({part.signature(newline=True)})')
    texts += ["{", *part.body, "}"]
    texts = [*(line for helper in sorted(helpers) for line in (HELPERS[helper], "")), *texts]
    return CudaSource("\n".join(texts) + "\n", tuple(part.names_of_parameters))


def _called(kernel: Function, functions: dict[str, Function]) -> list[str]:
    """Functions of the module that a kernel needs, each behind those that it calls. Raises UnsupportedError."""
    found: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise UnsupportedError(f"{name.removeprefix('@')} calls itself, which is not written in CUDA C")
        for _, made in functions[name].instructions():
            if made.op == "call" and made.word in functions:
                visit(made.word, (*above, name))
        if name not in found and name != kernel.name:
            found.append(name)

    visit(kernel.name, ())
    return found


class _Part:
    """One function: its statements, and its parameters."""

    def __init__(self, module: Module, function: Function, functions: dict[str, str]) -> None:
        self.module, self.function, self.functions = module, function, functions
        self.flow = ControlFlow(function)
        self.types = module.types()
        self.known: dict[str, str] = {}
        self.written: set[str] = set()
        self._write()
        self.written = self.writer.written
        self.known = elements(self.writer.accesses)
        self.body = self._write()

    def _write(self) -> list[str]:
        names = Names(frozenset({SHARED_NAME, *HELPERS, *self.functions.values(), self.function.name[1:]}))
        lines_of = Lines(self.module.metadata())
        self.writer = FunctionText(self.function, self.flow, self.types, names, lines_of, self.known)
        self.writer.functions = self.functions
        shared = self._shared(names)
        self._bind_parameters(names)
        structure = Structure(self.function, self.flow, self.writer)
        statements = structure.statements()
        if structure.gotos:  # labels in front of them are known only now
            gotos = structure.gotos
            self.writer = FunctionText(self.function, self.flow, self.types, names, lines_of, self.known)
            self.writer.functions = self.functions
            shared = self._shared(names)
            self._bind_parameters(names)
            structure = Structure(self.function, self.flow, self.writer)
            structure.gotos |= gotos
            statements = structure.statements()
        statements = usual_loops(statements)
        front: list[Statement] = [Plain(text) for text in [*shared, *self.writer.locals]]
        placed = declared(statements, self.writer.variables, at_top=bool(structure.gotos))
        return lines([*front, *placed])

    def _shared(self, names: Names) -> list[str]:
        """Declarations of shared memory."""
        found = []
        text = "\n".join(str(made) for _, made in self.function.instructions())
        for item in self.module.items:
            match = _SHARED.match(item) if isinstance(item, str) else None
            if match is None or not re.search(rf"{re.escape(match[1])}\b", text):
                continue
            type = self.module.globals[match[1]].type
            align = _ALIGN.search(match[2])
            size = self.types.size(type)
            word = SHARED_NAME if size == 0 else names.of(match[1])
            words = f"__shared__ __align__({align[1] if align else 16}) {C_TYPES[BYTES]} {word}"
            found.append(f"extern {words}[]" if size == 0 else f"{words}[{size}]")
            self.writer.globals[match[1]] = word
        if sum(text.startswith("extern") for text in found) > 1:
            raise UnsupportedError("two arrays of dynamic shared memory cannot be written in CUDA C")
        return found

    def _bind_parameters(self, names: Names) -> None:
        self.declared: list[str] = []
        self.names_of_parameters: list[str] = []
        wishes = {
            made.operands[0].text: str(made.result)
            for _, made in self.function.instructions()
            if made.op == "addrspacecast" and made.operands[0].is_local
        }
        for parameter in self.function.parameters:
            if "byval" in parameter.text:
                raise UnsupportedError(f"the parameter {parameter.name} is a copy of memory (byval)")
            word = names.of(parameter.name) if parameter.name not in wishes else names.of(wishes[parameter.name])
            self.names_of_parameters.append(word)
            if parameter.type.startswith("ptr"):
                constant = {"noalias", "readonly"} <= set(parameter.text.split())
                constant &= word not in self.written  # on a way that no job of the schedule takes
                element = self.known.get(word, BYTES)
                words = f"{'const ' if constant else ''}{C_TYPES[element]} *{'__restrict__ ' if constant else ''}{word}"
                self.writer.values[parameter.name] = Pointer(word, element, read_only=constant)
            else:
                key = key_of(parameter.type, signed=self.writer.uses.is_signed(parameter.name))
                words = f"{C_TYPES[key]} {word}"
                bits = 0 if key[0] == "f" else int(key[1:])
                self.writer.values[parameter.name] = Expr(word, key, bits=bits)
            self.declared.append(words)

    def signature(self, *, newline: bool = False) -> str:
        if newline and self.declared:
            return "\n    " + ",\n    ".join(self.declared)
        return ", ".join(self.declared)

    def returns(self) -> str:
        type = next(made.operands[0].type for _, made in self.function.instructions() if made.op == "ret")
        return C_TYPES[key_of(type)]


def comment(texts: Sequence[str]) -> str:
    """Lines as comments of C++."""
    return "".join(f"// {text}".replace("\n", " ").replace("\\", "/").rstrip() + "\n" for text in texts)
