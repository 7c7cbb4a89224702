"""Targets of code generation: what a target refuses, how it emits a loop, and how that code is run.

The host is the first one; GPUs are in `codegen/ptx/target.py`, which also lists all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.edit import fits_slots
from tracecut.ir.loops.nest import Nest
from tracecut.support.errors import UnsupportedError


@dataclass(frozen=True)
class RegionCode:
    """A loop to emit code for.

    Attributes:
        number: what the functions and files made of it are called by.
        view, nest, loop: the loop, described by `nest` (which may be rooted at a loop around it).
        outlined: its range function.
        variant: the range function that the schedule runs; empty for `outlined` itself.
        disjoint, exclusive: groups that the run shows not to be written, and not to be touched by two iterations.
    """

    number: int
    view: FunctionView
    nest: Nest
    loop: Loop
    outlined: Outlined
    variant: str = ""
    disjoint: frozenset[int] = frozenset()
    exclusive: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Emitted:
    """The code that a target emitted for a loop.

    Attributes:
        files: ending of a file's name → its text; the first is the code, the others are what it was made of.
        launch: how it is called, as fields of the manifest.
    """

    files: Mapping[str, str]
    launch: Mapping[str, Any] = field(default_factory=dict)


class Target(Protocol):
    """A processor for which rescheduled loops are emitted."""

    @property
    def name(self) -> str:
        """The name in the manifest: `host`, `sm_90`."""

    def variant(self, code: RegionCode) -> str:
        """Which form of a loop is emitted, as named in the manifest."""

    def check(self, code: RegionCode) -> None:
        """Raise UnsupportedError, with the reason, for a loop that the target cannot run. Called before `emit`."""

    def emit(self, code: RegionCode) -> Emitted:
        """Emit a loop that passed `check`. Raises UnsupportedError for reasons that only its instructions show."""


class HostTarget:
    """The processor of the program itself: range functions that the executor's threads call."""

    name = "host"

    def variant(self, code: RegionCode) -> str:
        return code.variant or code.outlined.name

    def check(self, code: RegionCode) -> None:
        check_loop(code.view, code.loop)
        slots = [(slot.name, slot.type) for slot in code.outlined.slots if slot.kind == "live"]
        check_slots(code.view, slots)

    def emit(self, code: RegionCode) -> Emitted:
        return Emitted({".ll": code.outlined.text + "\n"})


def check_loop(view: FunctionView, loop: Loop) -> None:
    """Raise UnsupportedError for a loop that cannot be enclosed in hooks."""
    if loop.preheader is None:
        raise UnsupportedError("the loop is entered in several places")
    for _, target in loop.exits:
        if any(pred not in loop.blocks for pred in view.flow.predecessors[target]):
            raise UnsupportedError("the loop shares its exit with other code")


def check_slots(view: FunctionView, values: list[tuple[str, str]]) -> None:
    """Raise UnsupportedError when one of these values (name, type) is too wide for a slot."""
    wide = fits_slots(values, view.types)
    if wide is not None:
        raise UnsupportedError(f"the value {wide} does not fit into 8 bytes")
