"""Induction variables of a range function: their values at its start, and at the old number of a job."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.loops.phi_sources import entry_and_latch
from tracecut.tracer.loops.scalar_evolution import ScalarView


def affine(type: str, name: str, init: str, step: str, number: str, mark: str = "") -> list[str]:
    """name = init + step · number, where `number` is an i64; `mark` goes into the names of what it takes."""
    inner = "i64" if type == "ptr" else type
    lines = []
    if inner != "i64":
        lines.append(f"{name}{mark}.n = trunc i64 {number} to {inner}")
        number = f"{name}{mark}.n"
    lines.append(f"{name}{mark}.o = mul {inner} {number}, {step}")
    if type == "ptr":
        return [*lines, f"{name} = getelementptr i8, ptr {init}, i64 {name}{mark}.o"]
    return [*lines, f"{name} = add {type} {init}, {name}{mark}.o"]


@dataclass(frozen=True)
class Walker:
    """A pointer induction variable, with `start` in place of its own initial value. `old`: by the old numbers."""

    phi: Instruction
    name: str
    start: str
    old: bool


@dataclass(frozen=True)
class Counters:
    """Emits the counters of a loop that has one latch: `init + step · number`."""

    view: FunctionView
    loop: Loop

    def starts(self, counters: Collection[str]) -> list[str]:
        """Start values of the counters for k0, and the steps that are not plain values."""
        lines: list[str] = []
        phis = [phi for phi in self.view.flow.blocks[self.loop.header].phis if phi.result in counters]
        for phi in phis:
            step = self._emit(self._step(phi), lines)
            type = "i64" if phi.type == "ptr" else phi.type
            lines.append(f"{phi.result}.tc.step = add {type} {step}, 0")
        for phi in phis:
            lines += self._affine(phi, f"{phi.result}.tc.start", self.initial(phi), "%tc.k0")
        return lines

    def old_numbers(self, counters: Sequence[str], walkers: Sequence[Walker]) -> list[str]:
        """Old values of the counters that something asks for, and the pointers that walk with the iteration."""
        lines: list[str] = []
        if counters or any(walker.old for walker in walkers):
            lines += [
                "%tc.order.at = getelementptr i32, ptr %tc.order, i64 %tc.k",
                "%tc.order.k = load i32, ptr %tc.order.at, align 4",
                "%tc.old = zext i32 %tc.order.k to i64",
            ]
        for name in counters:
            phi = self.view.definitions[name].instruction
            lines += self._affine(phi, f"{name}.tc.old", self.initial(phi), "%tc.old")
        for walker in walkers:
            lines += self._affine(walker.phi, walker.name, walker.start, "%tc.old" if walker.old else "%tc.k")
        return lines

    def initial(self, phi: Instruction) -> str:
        """Initial value of a header phi."""
        return entry_and_latch(phi, self.loop)[0]

    def _affine(self, phi: Instruction, name: str, init: str, number: str) -> list[str]:
        return affine(phi.type, name, init, f"{phi.result}.tc.step", number)

    def _step(self, phi: Instruction) -> Expr:
        step = ScalarView(self.view, self.loop, Pool()).increment(phi, self.loop)
        assert step is not None
        return step

    def _emit(self, expr: Expr, lines: list[str]) -> str:
        """Instructions that compute an expression over live-in values."""
        if expr.kind in ("const", "live"):
            return str(expr.data[0])
        parts = [self._emit(argument, lines) for argument in expr.args]
        name = f"%tc.e{len(lines)}"
        if expr.kind == "op" and expr.data[0] in ("add", "sub", "mul", "shl"):
            lines.append(f"{name} = {expr.data[0]} {expr.data[1]} {parts[0]}, {parts[1]}")
        elif expr.kind == "cast" and expr.data[0] in ("sext", "zext", "trunc"):
            lines.append(f"{name} = {expr.data[0]} {expr.data[1]} {parts[0]} to {expr.data[2]}")
        else:
            raise UnsupportedError(f"a counter advances by {expr}")
        return name
