"""What the tests of emitted kernels share: C loops, their kernels, and a host that runs both.

A kernel runs on the host as the very IR that the PTX is made of (`tracecut.codegen.emulation`).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import llvmlite.binding as binding
import numpy as np
from tracecut.codegen.emulation.run_kernel import run_kernel
from tracecut.codegen.host.outline_loop import outline
from tracecut.codegen.ptx.emit import PtxKernel, emit_kernel
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import canonical

DTYPES = {"i1": "u1", "i8": "u1", "i16": "u2", "i32": "i4", "i64": "i8", "float": "f4", "double": "f8"}
Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Subject:
    """The outermost loop of a C function, ready for emission. `names`: C name of each of its parameters."""

    analysis: Analysis
    loop: int
    names: Mapping[str, str]

    @property
    def parts(self) -> tuple[Any, Any, Any]:
        view = self.analysis.view_of(self.loop)
        return view, self.analysis.nest(self.loop), view.loops[self.loop]

    def groups(self) -> list[Any]:
        return group_sites(*self.parts)

    def reads(self) -> frozenset[int]:
        """Groups that the loop does not write to."""
        written = {site.key for site in self.parts[1].sites if site.writes}
        return frozenset(group.id for group in self.groups() if not written & set(group.sites))

    def emit(self, **options: Any) -> PtxKernel:
        return emit_kernel(*self.parts, "kernel", self.groups(), **options)

    def outlined(self) -> Outlined:
        return outline(*self.parts, "range", self.groups())

    def value(self, name: str, arrays: Arrays) -> Any:
        """A number or array for a value from outside of the loop, given the function's arguments by C name."""
        if name in self.names:
            return arrays[self.names[name]]
        made = self.parts[0].definitions[name].instruction
        if made.op == "alloca":
            return np.zeros(64)
        parts = [int(o.text) if o.text.lstrip("-").isdigit() else self.value(o.text, arrays) for o in made.operands]
        if made.op == "icmp":
            return int({"sgt": parts[0] > parts[1], "slt": parts[0] < parts[1]}[made.word])
        assert made.op in ("zext", "sext", "add", "sitofp"), made.text
        return sum(parts)


@cache
def analyse(source: str) -> Analysis:
    """The canonical form of a C file with these functions."""
    with TemporaryDirectory(prefix="tracecut-test-") as name:
        path = Path(name) / "kernels.c"
        path.write_text(source + "\nint main(void) { return 0; }\n")
        return Analysis(canonical([to_ir(path, Flags(), Path(name), canonical=True)]))


def subject(source: str, function: str) -> Subject:
    """The first outermost loop of a function of a source."""
    analysis = analyse(source)
    found = re.search(rf"\b{function}\(([^)]*)\)", source)
    assert found is not None, function
    declared = [part.split()[-1].lstrip("*") for part in found.group(1).split(",")]
    parameters = analysis.views[f"@{function}"].function.parameters
    record = next(record for record in analysis.records if record.function == f"@{function}" and record.parent is None)
    return Subject(analysis, record.id, dict(zip((p.name for p in parameters), declared, strict=True)))


class HostKernel:
    """A kernel on the host: the very IR that the PTX is made of. `launch` runs a grid of it."""

    def __init__(self, kernel: PtxKernel) -> None:
        self.kernel = kernel

    def launch(self, arguments: Sequence[Any], jobs: int, *, block: int = 7, seed: int = 1) -> None:
        """Threads in an order that `seed` decides, some of them too many; nothing may race, nor leave its array.

        All threads of a block together, on copies, come to the same up to the order of sums.
        """
        grid = -(-(jobs + block) // block)
        copies = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
        report = run_kernel(
            self.kernel.llvm, self.kernel.name, arguments, grid, block, mode="strict", races=True, seed=seed
        )
        assert report.faults == (), [str(fault) for fault in report.faults]
        run_kernel(self.kernel.llvm, self.kernel.name, copies, grid, block)
        for value, copy in zip(arguments, copies, strict=True):
            if isinstance(value, np.ndarray):
                compare = np.testing.assert_allclose if value.dtype.kind == "f" else np.testing.assert_array_equal
                compare(
                    value, copy, **({"rtol": 1e-5 if value.itemsize == 4 else 1e-12} if value.dtype.kind == "f" else {})
                )


def compile_host(text: str, name: str) -> tuple[Any, int]:
    """Machine code for this process: the engine that owns it, and the address of a function."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.load_library_permanently("libm.so.6")
    module = binding.parse_assembly(text)
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine()
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, engine.get_function_address(name)


def arguments_of(
    subject: Subject,
    kernel: PtxKernel,
    jobs: int,
    arrays: Arrays,
    old: Arrays | None = None,
    order: Any = None,
    cells: Sequence[Any] = (),
) -> list[Any]:
    """Values for a kernel's parameters. `arrays`, `old`: by C name, a NumPy array or a number."""
    waiting = list(cells)
    found: list[Any] = []
    for parameter in kernel.parameters:
        if parameter.kind == "jobs":
            found.append(jobs)
        elif parameter.kind == "order":
            found.append(order)
        elif parameter.kind == "reduction":
            found.append(waiting.pop(0))
        else:
            found.append(
                subject.value(parameter.name, {**arrays, **(old or {})} if parameter.kind == "data-base" else arrays)
            )
    return found


def run_range(subject: Subject, jobs: int, arrays: Arrays, cells: Sequence[Any] = ()) -> None:
    """Run the host's range function over all jobs, in the old order. `cells` hold starts and receive results."""
    outlined = subject.outlined()
    # Markers of stack arrays are only valid on the alloca itself, which is a parameter of the range function.
    body = [line for line in outlined.text.splitlines() if "@llvm.lifetime." not in line]
    text = "\n".join([str(subject.analysis.module), *body])
    engine, address = compile_host(text, outlined.name)
    given = np.zeros(len(outlined.slots), np.int64)
    order = np.arange(max(1, jobs), dtype=np.int32)
    starts = {item.slot: cells[place] for place, item in enumerate(outlined.reductions)}
    given_names = {slot.name for slot in outlined.slots if slot.kind not in ("order", "start")}
    values = {name: subject.value(name, arrays) for name in given_names}
    for place, slot in enumerate(outlined.slots):
        if slot.kind == "order":
            given[place] = order.ctypes.data
            continue
        value = starts[place] if place in starts else values[slot.name]
        if slot.type == "ptr":
            given[place] = value.ctypes.data
        else:
            data = np.array([value]).astype(DTYPES[slot.type]).view(np.uint8).ravel()
            given[place : place + 1].view(np.uint8)[: data.size] = data
    taken = np.zeros(max(1, len(outlined.reductions)), np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)
    call(0, jobs, given.ctypes.data, taken.ctypes.data)
    for place, cell in enumerate(cells):
        cell.view(np.uint8)[:] = taken[place : place + 1].view(np.uint8)[: cell.nbytes]
    del engine
