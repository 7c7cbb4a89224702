"""Why a loop cannot become a GPU kernel. Every reason is one sentence."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracecut.codegen.schedule.plan.range_function import Group
from tracecut.ir.llvm import Instruction, int_bits
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.refusals import refusal
from tracecut.support.errors import UnsupportedError

from .job_body import Job

_FOREIGN_TYPES = frozenset({"x86_fp80", "fp128", "ppc_fp128"})
_CONVERSIONS = frozenset({"sitofp", "uitofp", "fptosi", "fptoui"})
_MOVING = frozenset({"counter", "opaque", "any", "state"})


def check_loop(view: FunctionView, nest: Nest, loop: Loop, groups: Sequence[Group]) -> None:
    """Raise UnsupportedError for a loop whose iterations cannot run as independent threads."""
    info = nest.loops[view.loop_ids[loop]]
    if loop.preheader is None or len(loop.latches) != 1 or len(loop.exits) != 1:
        raise UnsupportedError(f"the loop at {info.place} is entered or left in several places")
    if info.ends_early:
        raise UnsupportedError(info.told)
    inside = nest.inside(info.id)
    if info.trip is None:
        raise UnsupportedError(info.told)
    found = refusal(nest, info.id)
    if found is not None:
        raise UnsupportedError(f"the loop at {info.place} {found.says} ({found.places[-1]})")
    _check_roots(view, nest, loop, groups, inside)


def _check_roots(view: FunctionView, nest: Nest, loop: Loop, groups: Sequence[Group], inside: set[int]) -> None:
    """A base pointer that is loaded inside of the loop must be the same in all iterations, to be a parameter."""
    sites = {site.key: site for site in nest.sites}
    for group in groups:
        found = view.definitions.get(group.root)
        if found is None or found.block not in loop.blocks:
            continue
        site = sites.get(group.root)
        moves = site is None or any(
            node.kind in _MOVING and (node.kind != "counter" or node.data[0] in inside) for node in site.address.walk()
        )
        if moves:
            raise UnsupportedError(f"the pointer {group.root} changes in every iteration")


def check_body(job: Job, numbers: Collection[str]) -> None:
    """Raise UnsupportedError for an instruction that the device does not have, or executes differently.

    `numbers`: pointers that are addresses of the host (`pointer_numbers.py`).
    """
    for _, made in job.instructions():
        reason = _reason(made, numbers)
        if reason:
            raise UnsupportedError(reason)


def _reason(made: Instruction, numbers: Collection[str]) -> str:
    callee = made.word if made.op == "call" else ""
    used = [name for name in made.globals if name != callee]
    if used:
        return f"it uses the address of {used[0]} as a value"
    if made.op == "load" and made.type == "ptr":
        return f"it follows the pointer {made.result} that is stored in memory, and device addresses differ"
    if made.op == "store" and made.operands[0].type == "ptr":
        return "it stores a pointer, and device addresses differ"
    if made.op in ("ptrtoint", "ptrtoaddr") and made.operands[0].text in numbers:
        return ""
    if made.op in ("ptrtoint", "ptrtoaddr", "inttoptr", "addrspacecast"):
        return f"it converts between pointers and integers ({made.op})"
    if made.op == "alloca":
        return f"it allocates a stack array ({made.result})"
    if made.op == "invoke" or made.op in ("landingpad", "resume", "va_arg"):
        return f"it handles exceptions or variable arguments ({made.op})"
    types = {made.type, *(operand.type for operand in made.operands)}
    foreign = sorted(types & _FOREIGN_TYPES)
    if foreign:
        return f"it computes with {foreign[0]} numbers (long double), which the device does not have"
    if made.op in _CONVERSIONS and any((int_bits(type) or 0) > 64 for type in types):
        return "it converts between floating point and integers wider than 64 bits"
    return ""
