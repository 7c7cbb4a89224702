"""The whole module for the host: the step function, and the loops that run it over the threads of a block."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracecut.ir.llvm.lexer import GLOBAL
from tracecut.support.errors import UnsupportedError

from .host_function import HostFunction, lower
from .kernel_text import KernelText
from .memory_sites import Accesses, shared_variables
from .step import REGISTERS, Step, make_step

_FROM_MACHINE = (
    "declare ptr @emu_frame(ptr)",
    "declare ptr @emu_shared(ptr)",
    "declare ptr @emu_states(ptr)",
    "declare ptr @emu_arguments(ptr)",
    "declare i64 @emu_patience(ptr)",
    "declare i64 @emu_shared_bytes(ptr)",
    "declare i64 @emu_thread(ptr, i64)",
    "declare i32 @emu_tid(ptr, i64, i32)",
    "declare i32 @emu_ctaid(ptr, i32)",
    "declare i32 @emu_ntid(ptr, i32)",
    "declare i32 @emu_nctaid(ptr, i32)",
    "declare void @emu_offer(ptr, i64, i64, i32, i32, i32)",
    "declare i64 @emu_result(ptr, i64)",
    "declare i32 @emu_flag(ptr, i64)",
)
_OF_EVENTS = ("declare void @emu_event(ptr, i32, i64)", "declare void @emu_segment(ptr, i64)")
_OF_CHECKS = ("declare ptr @emu_check(ptr, i64, ptr, i64, i64, i32, i32, i32)",)


@dataclass(frozen=True)
class Form:
    """How a kernel is built.

    Attributes:
        strict: threads take turns one by one, in any order; otherwise all threads of a block run to the next point.
        trace, races: with events, with checks of every access.
        flat: blocks have one dimension. parallel: several threads of the host run blocks at the same time.
        many: so many threads run that vector code is worth the time to make it.
    """

    strict: bool = False
    trace: bool = False
    races: bool = False
    flat: bool = True
    parallel: bool = False
    many: bool = False


@dataclass(frozen=True, eq=False)
class HostModule:
    """Its text, and what the launch needs to know of it."""

    text: str
    host: HostFunction
    step: Step


def make_module(kernel: KernelText, accesses: Accesses, form: Form) -> HostModule:
    """Print the module of a kernel. O(text)."""
    host = lower(kernel, accesses, trace=form.trace, races=form.races)
    step = make_step(kernel, host, strict=form.strict, flat=form.flat, races=form.races)
    lines = [f"{name} = type {text}" for name, text in kernel.types.named.items()]
    declared = [*_FROM_MACHINE, *_OF_EVENTS * form.trace, *_OF_CHECKS * form.races]
    lines += [*_constants(kernel), *declared, *sorted(host.declarations), step.text]
    lines += [_lanes(step, form)] if form.strict else [_phase(step, form)]
    return HostModule("\n".join(lines) + "\n", host, step)


def _constants(kernel: KernelText) -> list[str]:
    """Globals that are not shared: tables that the kernel reads. Raises UnsupportedError for one that may change."""
    shared = shared_variables(kernel)
    variables = kernel.module.globals
    found = []
    for item in kernel.module.items:
        if isinstance(item, str) and item.startswith("@"):
            name = GLOBAL.match(item)
            if name is None or name.group() in shared or name.group().startswith("@llvm."):
                continue
            if name.group() in variables and not (variables[name.group()].constant and variables[name.group()].defined):
                raise UnsupportedError(f"{kernel.name} uses the device variable {name.group()}, which is no constant")
            found.append(re.sub(r" addrspace\(\d+\)", "", item).replace("addrspacecast (", "bitcast ("))
    return found


def _given(step: Step, form: Form) -> tuple[list[str], str]:
    """Lines that fetch what all threads of a block are given, and the arguments behind the number of the point."""
    lines = [
        "%frame = call ptr @emu_frame(ptr %m)",
        "%shared = call ptr @emu_shared(ptr %m)",
        "%states = call ptr @emu_states(ptr %m)",
        "%arguments = call ptr @emu_arguments(ptr %m)",
    ]
    given = []
    for place, name in enumerate(REGISTERS):
        what, axis = name.removeprefix("%emu.").split(".")
        if form.flat and what == "ntid" and axis != "x":
            given.append("i32 1")
            continue
        lines.append(f"%r{place} = call i32 @emu_{what}(ptr %m, i32 {'xyz'.index(axis)})")
        given.append(f"i32 %r{place}")
    for place, type in enumerate(step.parameters):
        lines += [
            f"%a{place}.at = getelementptr i64, ptr %arguments, i64 {place}",
            f"%a{place} = load {type}, ptr %a{place}.at, align 8",
        ]
        given.append(f"{type} %a{place}")
    return lines, ", ".join(given)


def _phase(step: Step, form: Form) -> str:
    """All threads of a range that stand at one point: a loop a point."""
    lines, given = _given(step, form)
    points = range(len(step.cut.stops) + 1)
    cases = " ".join(f"i32 {point}, label %p{point}" for point in points)
    body = [*lines, f"switch i32 %point, label %none [ {cases} ]"]
    for point in points:
        called = f"ptr %m, ptr %frame, ptr %shared, ptr %states, i64 %t{point}, i32 {point}, {given}"
        body += [
            f"p{point}:",
            f"br label %p{point}.loop",
            f"p{point}.loop:",
            f"%t{point} = phi i64 [ %first, %p{point} ], [ %t{point}.next, %p{point}.loop ]",
            *([f"call void @emu_segment(ptr %m, i64 %t{point})"] if form.trace else []),
            f"call void @emu.step({called})",
            f"%t{point}.next = add nuw nsw i64 %t{point}, 1",
            f"%t{point}.more = icmp ult i64 %t{point}.next, %last",
            f"br i1 %t{point}.more, label %p{point}.loop, label %none",
        ]
    text = "\n".join(["entry:", *body, "none:", "ret void"])
    unused = "define void @emu_lanes(ptr %m, i64 %first, i64 %last) {\nret void\n}"
    return f"define void @emu_phase(ptr %m, i32 %point, i64 %first, i64 %last) {{\n{text}\n}}\n{unused}"


def _lanes(step: Step, form: Form) -> str:
    """Those threads of a range that do not wait, one by one, each from where it stands."""
    lines, given = _given(step, form)
    called = f"ptr %m, ptr %frame, ptr %shared, ptr %states, i64 %t, i32 %point, {given}"
    body = [
        "entry:",
        *lines,
        "br label %loop",
        "loop:",
        "%place = phi i64 [ %first, %entry ], [ %next, %done ]",
        "%t = call i64 @emu_thread(ptr %m, i64 %place)",
        "%state.at = getelementptr i32, ptr %states, i64 %t",
        "%state = load i32, ptr %state.at",
        "%kind = and i32 %state, 7",
        "%runs = icmp eq i32 %kind, 0",
        "br i1 %runs, label %run, label %done",
        "run:",
        "%point = lshr i32 %state, 3",
        *(["call void @emu_segment(ptr %m, i64 %t)"] if form.trace else []),
        f"call void @emu.step({called})",
        "br label %done",
        "done:",
        "%next = add nuw nsw i64 %place, 1",
        "%more = icmp ult i64 %next, %last",
        "br i1 %more, label %loop, label %none",
        "none:",
        "ret void",
    ]
    text = "\n".join(body)
    unused = "define void @emu_phase(ptr %m, i32 %point, i64 %first, i64 %last) {\nret void\n}"
    return f"define void @emu_lanes(ptr %m, i64 %first, i64 %last) {{\n{text}\n}}\n{unused}"
