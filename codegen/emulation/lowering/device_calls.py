"""Calls of a kernel on the host: special registers, NVIDIA's mathematical functions, what only a GPU notices."""

from __future__ import annotations

import re

from tracecut.codegen.ptx.math_calls import LIBDEVICE
from tracecut.ir.llvm import Instruction
from tracecut.support.errors import UnsupportedError

_SREG = re.compile(r"@llvm\.nvvm\.read\.ptx\.sreg\.(.+)$")
_AXIS = re.compile(r"(tid|ntid|ctaid|nctaid)\.([xyz])$")
_IGNORED = re.compile(
    r"@llvm\.(?:lifetime\.|invariant\.|assume|dbg\.|experimental\.noalias\.scope\.decl|donothing|sideeffect|"
    r"prefetch|annotation|pseudoprobe|nvvm\.membar\.|nvvm\.fence\.|nvvm\.prefetch)"
)
# libdevice → the mathematical library here, for the functions of which both have the same.
LIBRARY = {device: name for name, device in LIBDEVICE.items() if name not in ("lround", "lrint", "lroundf", "lrintf")}
LIBRARY |= {"__nv_powi": "emu_powi", "__nv_powif": "emu_powif"}
_LANE = {
    "laneid": ["{r} = and i32 %emu.t32, 31"],
    "warpid": ["{r} = lshr i32 %emu.t32, 5"],
    "lanemask.eq": ["{r}.emu.l = and i32 %emu.t32, 31", "{r} = shl i32 1, {r}.emu.l"],
    "lanemask.lt": [
        "{r}.emu.l = and i32 %emu.t32, 31",
        "{r}.emu.b = shl i32 1, {r}.emu.l",
        "{r} = sub i32 {r}.emu.b, 1",
    ],
    "lanemask.le": [
        "{r}.emu.l = and i32 %emu.t32, 31",
        "{r}.emu.b = shl i32 -2, {r}.emu.l",
        "{r} = xor i32 {r}.emu.b, -1",
    ],
    "lanemask.gt": ["{r}.emu.l = and i32 %emu.t32, 31", "{r} = shl i32 -2, {r}.emu.l"],
    "lanemask.ge": ["{r}.emu.l = and i32 %emu.t32, 31", "{r} = shl i32 -1, {r}.emu.l"],
    "warpsize": ["{r} = add i32 32, 0"],
}


def call_lines(call: Instruction, declarations: set[str]) -> list[str]:
    """Host lines of a call that is no point; functions that they call are added to `declarations`.

    Raises UnsupportedError for a call that this CPU has no counterpart of.
    """
    name = call.word
    if _IGNORED.match(name):
        return []
    if found := _SREG.match(name):
        return _register(call, found[1])
    if name.startswith("@llvm.nvvm.isspacep.shared"):
        return _is_shared(call)
    if name.startswith("@__nv_"):
        return [_mathematical(call, declarations)]
    if not name.startswith("@llvm.") or name.startswith(("@llvm.nvvm.", "@llvm.trap", "@llvm.debugtrap")):
        raise UnsupportedError(f"a kernel cannot run here: this CPU has no {name.removeprefix('@')}: {call.text}")
    declarations.add(_declaration(call))
    return [_without_attributes(call)]


def _register(call: Instruction, register: str) -> list[str]:
    made = call.result or "%emu.unused"
    if axis := _AXIS.fullmatch(register):
        return [f"{made} = add i32 %emu.{register}, 0"] if axis else []
    if register in _LANE:
        return [line.format(r=made) for line in _LANE[register]]
    if register == "nwarpid":
        return [f"{made} = add i32 %emu.nwarpid, 0"]
    raise UnsupportedError(f"a kernel reads the register {register}, which has no counterpart on this CPU")


def _is_shared(call: Instruction) -> list[str]:
    made, pointer = call.result, call.operands[0].text
    return [
        f"{made}.emu.p = ptrtoint ptr {pointer} to i64",
        f"{made}.emu.b = ptrtoint ptr %emu.shared to i64",
        f"{made}.emu.o = sub i64 {made}.emu.p, {made}.emu.b",
        f"{made}.emu.n = call i64 @emu_shared_bytes(ptr %emu.m)",
        f"{made} = icmp ult i64 {made}.emu.o, {made}.emu.n",
    ]


def _mathematical(call: Instruction, declarations: set[str]) -> str:
    name = call.word.removeprefix("@")
    if name not in LIBRARY:
        raise UnsupportedError(f"a kernel cannot run here: this CPU has no counterpart of {name}")
    text = _without_attributes(call, LIBRARY[name])
    declarations.add(_declaration(call, LIBRARY[name]))
    return text


def _without_attributes(call: Instruction, name: str = "") -> str:
    arguments = ", ".join(f"{operand.type} {operand.text}" for operand in call.operands)
    flags = "".join(f" {flag}" for flag in sorted(call.flags))
    made = "" if call.result is None else f"{call.result} = "
    return f"{made}call{flags} {call.type} @{name or call.word.removeprefix('@')}({arguments})"


def _declaration(call: Instruction, name: str = "") -> str:
    types = ", ".join(operand.type for operand in call.operands)
    return f"declare {call.type} @{name or call.word.removeprefix('@')}({types})"
