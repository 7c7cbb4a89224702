"""Calls of a kernel by the names that CUDA has for them."""

from __future__ import annotations

import re

from tracecut.codegen.ptx.math_calls import LIBDEVICE
from tracecut.ir.llvm import Instruction
from tracecut.support.errors import UnsupportedError

from .expressions import Expr, cast, extended
from .types import key_of

REGISTERS = {
    f"{register}.{axis}": f"{word}.{axis}"
    for register, word in (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))
    for axis in "xyz"
} | {"warpsize": "32", "laneid": "(threadIdx.x % 32u)"}  # blocks have one dimension
EFFECTS = {
    "barrier.cta.sync.aligned.all": "__syncthreads()",
    "barrier0": "__syncthreads()",
    "bar.warp.sync": "__syncwarp({0})",
    "membar.cta": "__threadfence_block()",
    "membar.gl": "__threadfence()",
    "membar.sys": "__threadfence_system()",
}
_SHUFFLE = re.compile(r"shfl\.sync\.(down|up|bfly|idx)\.(i32|f32)")
_SHUFFLES = {"down": "__shfl_down_sync", "up": "__shfl_up_sync", "bfly": "__shfl_xor_sync", "idx": "__shfl_sync"}
_FLOATS = {
    "sqrt": "sqrt", "fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
    "nearbyint": "nearbyint", "round": "round", "roundeven": "rint", "copysign": "copysign", "fma": "fma",
    "fmuladd": "fma", "minnum": "fmin", "maxnum": "fmax", "minimumnum": "fmin", "maximumnum": "fmax", "ldexp": "ldexp",
}  # fmt: skip
_FLOAT = re.compile(rf"llvm\.({'|'.join(_FLOATS)})\.f(32|64)(?:\.i32)?")
_INTEGER = re.compile(r"llvm\.(smin|smax|umin|umax|abs|ctpop|ctlz|cttz|bswap|bitreverse|fshl|fshr)\.i(8|16|32|64)")
_BITS = {
    ("ctpop", 32): "__popc", ("ctpop", 64): "__popcll", ("ctlz", 32): "__clz", ("ctlz", 64): "__clzll",
    ("bitreverse", 32): "__brev", ("bitreverse", 64): "__brevll",
}  # fmt: skip
# Functions that the text brings along where it needs them.
HELPERS = {
    "tc_cas_u8": """static __device__ unsigned char tc_cas_u8(void *at, unsigned char expected, unsigned char wanted)
{
    unsigned int *word = (unsigned int *)((unsigned long long)at & ~3ull);
    unsigned int shift = 8u * (unsigned int)((unsigned long long)at & 3ull);
    unsigned int seen = *(volatile unsigned int *)word;
    for (;;) {
        unsigned char byte = (unsigned char)(seen >> shift);
        if (byte != expected)
            return byte;
        unsigned int next = (seen & ~(0xffu << shift)) | ((unsigned int)wanted << shift);
        unsigned int now = atomicCAS(word, seen, next);
        if (now == seen)
            return byte;
        seen = now;
    }
}""",
}
_IGNORED = re.compile(
    r"llvm\.(?:lifetime\.|assume|dbg\.|experimental\.noalias|donothing|sideeffect|prefetch|invariant)"
)


def register(call: Instruction) -> Expr | None:
    """A special register, None for any other call. Raises UnsupportedError for those that CUDA C has no word for."""
    _, found, name = call.word.partition("@llvm.nvvm.read.ptx.sreg.")
    if not found:
        return None
    if name not in REGISTERS:
        raise UnsupportedError(f"the register {name} has no name in CUDA C")
    return Expr(REGISTERS[name], "u32", bits=32, small=True)


def is_ignored(call: Instruction) -> bool:
    """Whether a call only tells a compiler something."""
    return _IGNORED.match(call.word.removeprefix("@")) is not None


def effect(call: Instruction, arguments: list[Expr]) -> str:
    """The statement of a call that threads meet in; empty for any other. Raises UnsupportedError."""
    name = call.word.removeprefix("@llvm.nvvm.")
    if name == call.word or name not in EFFECTS:
        return ""
    if "barrier" in name and arguments and arguments[0].literal != 0:
        raise UnsupportedError("a barrier of another number than 0 cannot be written in CUDA C")
    return EFFECTS[name].format(*(item.text for item in arguments))


def shuffle(call: Instruction, arguments: list[Expr]) -> Expr | None:
    """An exchange between the threads of a warp; None for any other call."""
    found = _SHUFFLE.fullmatch(call.word.removeprefix("@llvm.nvvm."))
    if found is None:
        return None
    mask, value, by, clamp = arguments
    if clamp.literal != (0 if found[1] == "up" else 31):
        raise UnsupportedError("an exchange between a part of a warp's threads cannot be written in CUDA C")
    mask, by = cast(mask, "u32"), extended(by, 32, signed=False)
    key = value.type if found[2] == "f32" or value.type in ("u32", "i32") else "u32"
    value = cast(value, key)
    return Expr(f"{_SHUFFLES[found[1]]}({mask.text}, {value.text}, {by.text})", key, bits=32)


def computed(call: Instruction, arguments: list[Expr]) -> Expr:
    """A call that only computes: mathematical functions, and LLVM's own. Raises UnsupportedError."""
    name = call.word.removeprefix("@")
    if name.startswith("__nv_"):
        return _library(call, name, arguments)
    if found := _FLOAT.fullmatch(name):
        function = _FLOATS[found[1]] + ("f" if found[2] == "32" else "")
        return _call(function, arguments, key_of(call.type))
    if found := _INTEGER.fullmatch(name):
        return _whole(found[1], int(found[2]), arguments)
    if name.startswith("llvm.expect."):
        return arguments[0]
    raise UnsupportedError(f"a call of {name} cannot be written in CUDA C")


def _library(call: Instruction, name: str, arguments: list[Expr]) -> Expr:
    plain = name.removeprefix("__nv_")
    key = key_of(call.type, signed=True)
    if plain in ("powi", "powif"):
        return _call("pow" if plain == "powi" else "powf", [arguments[0], cast(arguments[1], key)], key)
    if name not in LIBDEVICE.values():
        raise UnsupportedError(f"a call of {name} cannot be written in CUDA C")
    whole = [extended(item, item.bits or 32, signed=True) if item.type[0] in "iu" else item for item in arguments]
    return _call(plain, whole, key)


def _whole(name: str, bits: int, arguments: list[Expr]) -> Expr:
    """LLVM's operations on bits."""
    loads = any(item.loads for item in arguments)
    signed = name in ("smin", "smax", "abs")
    key = f"{'i' if signed else 'u'}{max(bits, 32)}"
    if name in ("smin", "smax", "umin", "umax"):
        pair = [cast(extended(item, bits, signed=signed), key) for item in arguments]
        found = _call(name[1:], pair, key)
    elif (name, bits) in _BITS:
        made = _call(_BITS[name, bits], [cast(arguments[0], f"u{bits}")], "i32")
        return Expr(made.text, "i32", bits=bits, loads=loads, small=True)
    else:
        raise UnsupportedError(f"a call of llvm.{name}.i{bits} cannot be written in CUDA C")
    return cast(found, f"{key[0]}{bits}") if bits < 32 else found


def _call(function: str, arguments: list[Expr], key: str) -> Expr:
    text = ", ".join(item.text for item in arguments)
    bits = 0 if key[0] == "f" else int(key[1:])
    return Expr(f"{function}({text})", key, loads=any(item.loads for item in arguments), bits=bits)


def is_effect(call: Instruction) -> bool:
    """Whether a call does more than compute."""
    return call.type == "void" or "shfl" in call.word or not call.word.startswith(("@llvm.", "@__nv_"))
