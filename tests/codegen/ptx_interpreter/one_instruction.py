"""Kernels of one instruction, for the tests of what it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .machine import Place, interpret

_BITS = {"pred": 1, "b8": 16, "s8": 16, "u8": 16}
_DTYPES = {"f32": "f4", "f64": "f8", "s16": "i2", "s32": "i4", "s64": "i8", "u16": "u2", "u32": "u4", "u64": "u8"}


def module(body: Sequence[str], parameters: int = 1, top: str = "") -> str:
    """A kernel with registers of every width; it is given addresses."""
    listed = ",\n".join(f"\t.param .u64 .ptr .global .align 1 k_param_{place}" for place in range(parameters))
    registers = [".reg .pred %p<9>;", ".reg .b16 %rs<9>;", ".reg .b32 %r<9>;", ".reg .b64 %rd<9>;"]
    loads = [f"ld.param.b64 %rd{place}, [k_param_{place}];" for place in range(parameters)]
    lines = "\n".join(f"\t{line}" for line in [*registers, *loads, *body])
    head = ".version 7.8\n.target sm_90\n.address_size 64\n"
    return f"{head}{top}\n.visible .entry k(\n{listed}\n)\n{{\n{lines}\n\tret;\n}}\n"


def result(op: str, types: str, *values: Any) -> Any:
    """Result of `op` on values. `types`: of the result and of each operand, such as `f64 f64 s32`."""
    made, *given = types.split()
    body = []
    for place, (type, value) in enumerate(zip(given, values, strict=True)):
        size = int(type[1:])
        register = {16: "%rs", 32: "%r", 64: "%rd"}[size] + str(place + 2)
        body.append(f"mov.b{size} {register}, {_bits(type, value)};")
    operands = [line.split()[1].rstrip(",") for line in body]
    size = int(made[1:])
    target = {16: "%rs1", 32: "%r1", 64: "%rd1"}[size]
    body += [f"{op} {', '.join([target, *operands])};", f"st.global.b{size} [%rd0], {target};"]
    out = np.zeros(1, _DTYPES[made])
    interpret(module(body), [out], [Place(0)], 1, 1)
    return out[0]


def holds(op: str, types: str, *values: Any) -> bool:
    """The predicate that `op` makes of values."""
    body = []
    for place, (type, value) in enumerate(zip(types.split(), values, strict=True)):
        size = int(type[1:])
        register = {16: "%rs", 32: "%r", 64: "%rd"}[size] + str(place + 2)
        body.append(f"mov.b{size} {register}, {_bits(type, value)};")
    operands = ", ".join(line.split()[1].rstrip(",") for line in body)
    body += [f"{op} %p1, {operands};", "selp.b32 %r1, 1, 0, %p1;", "st.global.b32 [%rd0], %r1;"]
    out = np.zeros(1, np.int32)
    interpret(module(body), [out], [Place(0)], 1, 1)
    return bool(out[0])


def _bits(type: str, value: Any) -> str:
    data = np.array(value).astype(_DTYPES[type])
    if type[0] == "f":
        width = data.itemsize
        return f"0{'f' if width == 4 else 'd'}{int(data.view(f'u{width}')):0{2 * width}X}"
    return str(int(data))
