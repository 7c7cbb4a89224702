"""Object code of an instrumented module, and of the run-time support that it needs."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from tracecut.ir.llvm import Module
from tracecut.ir.llvm.passes.strip_debug_info import strip_debug_info
from tracecut.tracer.runtime.compile_support import support_object
from tracecut.tracer.toolchain.passes import emit_object
from tracecut.tracer.trace.compact.segments import Plan, plan_of
from tracecut.tracer.trace.events.event_words import CHUNK_BITS
from tracecut.tracer.trace.tables.static_tables import Static, tables_of

from .fast_codegen import choose_quickly
from .recorder_instructions import PLAIN, SHORT
from .rewrite import rewritten

# Segments of a module from which on instructions are selected one by one: code generation takes half of the time, and
# the traced run some per cent longer.
MANY = 2_000
# Segments of a function from which on its values are not kept in registers: register allocation of the write position,
# which is live in all blocks, takes time quadratic in their number.
LARGE = 4_000
SOURCE = Path(__file__).parents[1] / "record" / "runtime.c"


def traced_objects(
    text: str,
    functions: Collection[str] | None = None,
    *,
    timed: bool = False,
    fenced: bool = True,
    compact: bool = True,
) -> list[bytes]:
    """Objects that, linked with the program's libraries, are the traced program. `text` as for
    `static_tables.static_of`.

    Args:
        timed: with time stamps around each access.
        fenced: the stamps stand between fences and wait for the access; without fences they do not (VertexCut §3.2).
        compact: as for `static_tables.static_of`.

    No pass runs behind the instrumentation, only code generation.
    """
    code, how = _code(plan_of(text, functions, timed=timed, compact=compact), fenced=fenced)
    return _objects(code, how)


def traced_program(
    text: str,
    functions: Collection[str] | None = None,
    *,
    module: Module | None = None,
    timed: bool = False,
    fenced: bool = True,
) -> tuple[Static, list[bytes]]:
    """`static_of` and `traced_objects` of one module. `module`: `text` as parsed, which is then emptied."""
    plan = plan_of(module or text, functions, timed=timed)
    static = tables_of(text, plan)
    code, how = _code(plan, fenced=fenced)
    plan.module.items.clear()  # it may have other references, and is as large as what code generation needs
    del plan
    return static, _objects(code, how)


def _code(plan: Plan, *, fenced: bool) -> tuple[str, dict[str, Any]]:
    """The instrumented text, and how its code is generated (see `passes.emit_object`)."""
    sizes = [len(part.segments) for part in plan.parts]
    large = max(sizes, default=0) > LARGE
    how = {"level": 0 if large else 3, "registers": not large}
    quick = sum(sizes) > MANY
    if quick:
        choose_quickly(plan.module)
    strip_debug_info(plan.module)
    return rewritten(plan, fenced=fenced, spelling=PLAIN if quick else SHORT), how


def _objects(code: str, how: dict[str, Any]) -> list[bytes]:
    return [emit_object(code, optimise=False, **how), runtime_object()]


@cache
def runtime_object() -> bytes:
    """Machine code of `runtime.c`. Raises ToolchainError when the compiler refuses it."""
    return support_object(SOURCE, [f"-DTC_CHUNK_BITS={CHUNK_BITS}", '-DTC_TLS_MODEL="local-exec"'])
