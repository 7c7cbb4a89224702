"""The calls of a kernel: what LLVM's NVPTX backend lowers by itself, what libdevice has, and what neither knows.

An intrinsic that the backend cannot lower ends the process that asked for it, so nothing is left to chance: a call
is on one of the lists below, or the kernel is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tracecut.ir.llvm import Block, Instruction
from tracecut.support.errors import UnsupportedError

# Each of these was emitted for every type below and for sm_75 to sm_120, alone, in a process of its own.
# Not among them, though emitted: exp2.f32, which becomes ex2.approx; frem, which loses digits for large quotients.
_FLOAT_OPS = (
    "sqrt fabs floor ceil trunc rint nearbyint round roundeven canonicalize minnum maxnum minimum maximum minimumnum "
    "maximumnum copysign fma fmuladd ldexp frexp is.fpclass"
).split()
_INTEGER_OPS = (
    "ctpop bswap bitreverse ctlz cttz abs smin smax umin umax fshl fshr sadd.sat uadd.sat ssub.sat usub.sat sshl.sat "
    "ushl.sat sadd.with.overflow uadd.with.overflow ssub.with.overflow usub.with.overflow smul.with.overflow "
    "umul.with.overflow expect is.constant"
).split()
_INTEGER = r"i(?:[1-9]|[1-5]\d|6[0-4])"
_NATIVE = re.compile(
    rf"(?:{'|'.join(map(re.escape, _FLOAT_OPS))})\.f(?:32|64)(?:\.i32)?"
    rf"|(?:{'|'.join(map(re.escape, _INTEGER_OPS))})\.{_INTEGER}"
    rf"|[su]cmp\.{_INTEGER}\.{_INTEGER}"
    rf"|fpto[su]i\.sat\.{_INTEGER}\.f(?:32|64)"
    r"|mem(?:cpy|move)\.p0\.p0\.i(?:32|64)|memset\.p0\.i(?:32|64)"
)
_MARKERS = re.compile(
    r"lifetime\.(?:start|end)|assume|dbg\.|experimental\.noalias\.scope\.decl|donothing|invariant\.(?:start|end)|"
    r"sideeffect|pseudoprobe|prefetch"
)
# Functions of the C library that libdevice has under the same name, with `f` behind it for float.
_SAME = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor "
    "fma fmax fmin fmod hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb nearbyint nextafter pow "
    "remainder rint round scalbn sin sinh sqrt tan tanh tgamma trunc"
).split()
LIBDEVICE = {name + suffix: f"__nv_{name}{suffix}" for name in _SAME for suffix in ("", "f")}
# `long` has 64 bits on the hosts that tracecut supports.
LIBDEVICE |= {"lround": "__nv_llround", "lroundf": "__nv_llroundf", "lrint": "__nv_llrint", "lrintf": "__nv_llrintf"}
_INTRINSICS = {
    **{
        name: name
        for name in "sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 exp10 log log2 log10 pow".split()
    },
    "powi": "powi",
    "lround": "llround",
    "llround": "llround",
    "lrint": "llrint",
    "llrint": "llrint",
}
_INTRINSIC = re.compile(rf"({'|'.join(_INTRINSICS)})(?:\.(i32|i64))?\.f(32|64)(?:\.(i32|i64))?$")


def is_native(intrinsic: str) -> bool:
    """Whether the NVPTX backend lowers the intrinsic of this name (with or without its `llvm.`)."""
    name = intrinsic.removeprefix("llvm.")
    return name.startswith("nvvm.") or bool(_NATIVE.fullmatch(name) or _MARKERS.match(name))


def drop_markers(blocks: list[Block]) -> None:
    """Remove, in place, the calls that only tell the optimiser something."""
    for block in blocks:
        block.instructions = [made for made in block.instructions if not _is_marker(made)]


def lower_calls(blocks: list[Block]) -> list[str]:
    """Rewrite every call of the blocks, in place, to one that the device has.

    Products are rounded before they are added: a GPU would fuse what may be fused, and the program's processor, unless
    it was named, does not. Returns the libdevice functions that are used, sorted. Raises UnsupportedError for a call
    that cannot be made on the device.
    """
    used: set[str] = set()
    for block in blocks:
        kept: list[Instruction] = []
        for instruction in block.instructions:
            if instruction.op == "call" and instruction.word.startswith("@llvm.fmuladd."):
                kept += _unfused(instruction)
                continue
            if instruction.op == "call":
                instruction = _lowered_call(instruction, used)
            elif instruction.op == "frem":
                instruction = _lowered_frem(instruction, used)
            kept.append(instruction)
        block.instructions = kept
    return sorted(used)


def _unfused(call: Instruction) -> list[Instruction]:
    """A product that is rounded, and the sum."""
    a, b, c = (operand.text for operand in call.operands)
    product = f"{call.result}.tc.product"
    flags = "".join(f"{flag} " for flag in sorted(call.flags - {"tail", "notail"}))
    return [
        Instruction(f"{product} = fmul {flags}{call.type} {a}, {b}"),
        Instruction(f"{call.result} = fadd {flags}{call.type} {product}, {c}"),
    ]


def declarations(blocks: list[Block], own: Collection[str]) -> list[str]:
    """A `declare` line for every function that the blocks call, sorted; not for those of the module's `own`."""
    found = {}
    for block in blocks:
        for instruction in block.instructions:
            if instruction.op == "call" and instruction.word not in own:
                types = ", ".join(operand.type for operand in instruction.operands)
                found[instruction.word] = f"declare {instruction.type} {instruction.word}({types})"
    return [found[name] for name in sorted(found)]


def _is_marker(made: Instruction) -> bool:
    if made.op != "call" or not made.word.startswith("@llvm."):
        return False
    return _MARKERS.match(made.word.removeprefix("@llvm.")) is not None


def _lowered_call(call: Instruction, used: set[str]) -> Instruction:
    text = re.sub(r"\b(?:tail|notail|musttail) call\b", "call", call.text)
    text = re.sub(r"\)\s*(?:#\d+\s*)+$", ")", text)
    name = call.word.removeprefix("@").strip('"')
    if name.startswith("llvm."):
        if is_native(name):
            return Instruction(text)
        device = _device_name(name, call)
    else:
        device = LIBDEVICE.get(name, "")
    if not device:
        raise UnsupportedError(
            f"it calls {name}, which a GPU kernel cannot do",
            hint="Arithmetic, the usual mathematical functions and memory copies can be called.",
        )
    if any(operand.type not in ("float", "double", "i32", "i64") for operand in call.operands):
        raise UnsupportedError(f"it calls {name} on {call.operands[0].type}, which libdevice does not have")
    used.add(device)
    return Instruction(text.replace(f"{call.word}(", f"@{device}(", 1))


def _device_name(name: str, call: Instruction) -> str:
    """The libdevice function for an intrinsic; empty when there is none."""
    found = _INTRINSIC.fullmatch(name.removeprefix("llvm."))
    if found is None:
        return ""
    base, result, bits, exponent = found.groups()
    if (base in ("lround", "llround", "lrint", "llrint")) != (result is not None):
        return ""
    if result == "i32" or (base == "powi") != (exponent is not None) or exponent == "i64":
        return ""
    return f"__nv_{_INTRINSICS[base]}{'f' if bits == '32' else ''}"


def _lowered_frem(remainder: Instruction, used: set[str]) -> Instruction:
    if remainder.type not in ("float", "double"):
        raise UnsupportedError(f"it takes the remainder of {remainder.type}, which libdevice does not have")
    device = "__nv_fmodf" if remainder.type == "float" else "__nv_fmod"
    used.add(device)
    type = remainder.type
    a, b = (operand.text for operand in remainder.operands)
    return Instruction(f"{remainder.result} = call {type} @{device}({type} {a}, {type} {b})")
