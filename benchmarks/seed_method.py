"""The tracer of VertexCut §3.1 as it describes itself: text for every block, time stamps around every access.

`printf` at the start of each block; before and after each load and store a time stamp (rdtsc, without fences), and a
`printf` of the difference. Written against the same module as tracecut's own instrumentation.
"""

from __future__ import annotations

from tracecut.ir.llvm import Instruction, parse_module
from tracecut.ir.llvm.edit import at_start

_FORMATS = """@seed.block = private constant [7 x i8] c"B%lld\\0A\\00"
@seed.time = private constant [7 x i8] c"T%lld\\0A\\00"
declare i64 @llvm.readcyclecounter()"""


def seed_traced(text: str) -> str:
    """Text of a module that prints its trace to standard output."""
    module = parse_module(text)
    number = 0
    for function in module.functions.values():
        for block in function.blocks:
            out: list[Instruction] = []
            for instruction in block.instructions:
                if instruction.op not in ("load", "store"):
                    out.append(instruction)
                    continue
                name = f"%seed.{number}"
                number += 1
                out.append(Instruction(f"{name}.a = call i64 @llvm.readcyclecounter()"))
                out.append(instruction)
                out.append(Instruction(f"{name}.b = call i64 @llvm.readcyclecounter()"))
                out.append(Instruction(f"{name}.d = sub i64 {name}.b, {name}.a"))
                out.append(Instruction(f"{name}.p = call i32 (ptr, ...) @printf(ptr @seed.time, i64 {name}.d)"))
            block.instructions = out
            name = f"%seed.{number}"
            number += 1
            at_start(block, [Instruction(f"{name} = call i32 (ptr, ...) @printf(ptr @seed.block, i64 {number})")])
    for line in _FORMATS.splitlines():
        module.append(line)
    if "@printf" not in module.declarations and "@printf" not in module.functions:
        module.append("declare i32 @printf(ptr, ...)")
    return str(module)
