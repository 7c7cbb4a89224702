"""Cycles that an instruction takes by itself, from its operation: the same on every machine.

Memory operations cost what the cache model says on top. The numbers are typical latencies of a current x86-64 core;
what produces no machine instruction of its own costs nothing.
"""

from __future__ import annotations

from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.call_effects import MARKER, effect_of

FREE = frozenset("phi bitcast ptrtoint ptrtoaddr inttoptr addrspacecast freeze alloca landingpad unreachable".split())
CYCLES = {
    **dict.fromkeys("mul".split(), 3),
    **dict.fromkeys("sdiv udiv srem urem".split(), 26),
    **dict.fromkeys("fadd fsub fmul".split(), 4),
    **dict.fromkeys("fptrunc fpext fptoui fptosi uitofp sitofp".split(), 5),
    **dict.fromkeys("call invoke callbr ret".split(), 2),
    **dict.fromkeys("atomicrmw cmpxchg".split(), 18),
    **dict.fromkeys("load store".split(), 0),
    "fdiv": 14,
    "frem": 40,
    "fence": 20,
}
CALLS = {
    **dict.fromkeys("fabs copysign fmin fmax minnum maxnum abs smin smax umin umax floor ceil trunc rint".split(), 2),
    **dict.fromkeys("fma fmuladd".split(), 4),
    **dict.fromkeys("ctpop ctlz cttz bswap fshl fshr sadd uadd ssub usub".split(), 3),
    "bitreverse": 5,
    "sqrt": 18,
    **dict.fromkeys("exp exp2 exp10 log log2 log10 sin cos tan cbrt hypot".split(), 45),
    **dict.fromkeys("pow atan atan2 asin acos sinh cosh tanh sincos erf erfc lgamma tgamma".split(), 80),
}
UNKNOWN_CALL = 60  # work that happens outside of the traced code


def cycles_of(instruction: Instruction, own: frozenset[str]) -> int:
    """Cycles of one instruction without its memory accesses; `own`: functions whose instructions are traced."""
    op = instruction.op
    if op in FREE:
        return 0
    if op in ("call", "invoke", "callbr") and instruction.word.startswith("@") and instruction.word not in own:
        return _library(instruction)
    return CYCLES.get(op, 1)


def _library(call: Instruction) -> int:
    name = call.word.removeprefix("@").strip('"')
    if name.startswith("llvm."):
        if effect_of(call) == MARKER or name.startswith(("llvm.va_", "llvm.stack")):
            return 0
        return CALLS.get(name.split(".")[1], 2)
    return CALLS.get(name, CALLS.get(name.removesuffix("f"), UNKNOWN_CALL))
