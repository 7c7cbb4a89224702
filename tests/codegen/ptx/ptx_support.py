"""What the tests of emitted kernels share: C loops, their kernels, and a host that runs both.

A kernel runs on the host as the very IR that the PTX is made of: threads one after the other in a shuffled order, or,
where they talk to each other, as threads of the host in lockstep.
"""

from __future__ import annotations

import ctypes
import random
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import llvmlite.binding as binding
import numpy as np
from tracecut.codegen.host.outline_loop import outline
from tracecut.codegen.ptx.emit import PtxKernel, emit_kernel
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import canonical

C_TYPES: dict[str, Any] = {
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "ptr": ctypes.c_void_p,
}
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


def host_text(llvm: str) -> str:
    """A kernel as a module for the host: the same instructions, one address space, functions for the registers."""
    text = re.sub(r"^target .*\n", "", llvm, flags=re.MULTILINE)
    text = text.replace("ptx_kernel ", "").replace('syncscope("device") ', "")
    text = re.sub(r"addrspacecast ptr addrspace\(1\) (\S+) to ptr", r"bitcast ptr \1 to ptr", text)
    text = text.replace(" addrspace(1)", "").replace(" convergent", "")
    text = re.sub(r"llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.x", r"host_\1", text)
    text = text.replace("llvm.nvvm.shfl.sync.down.i32", "host_shuffle")
    return re.sub(r"__nv_(\w+)", r"\1", text)


class HostKernel:
    """A kernel on the host. `launch` runs a grid of it."""

    def __init__(self, kernel: PtxKernel) -> None:
        self.kernel = kernel
        self.lanes = threading.local()
        self._callbacks = [
            self._provide("host_tid", ctypes.c_int32, lambda: self.lanes.tid),
            self._provide("host_ctaid", ctypes.c_int32, lambda: self.lanes.ctaid),
            self._provide("host_ntid", ctypes.c_int32, lambda: self.lanes.ntid),
            self._provide("host_shuffle", ctypes.c_int32, self._shuffle, *[ctypes.c_int32] * 4),
        ]
        self.engine, address = compile_host(host_text(kernel.llvm), kernel.name)
        types = [C_TYPES["ptr" if p.kind == "reduction" else p.type] for p in kernel.parameters]
        self.call = ctypes.CFUNCTYPE(None, *types)(address)

    @staticmethod
    def _provide(name: str, result: Any, function: Callable[..., int], *arguments: Any) -> Any:
        callback = ctypes.CFUNCTYPE(result, *arguments)(function)
        binding.add_symbol(name, ctypes.cast(callback, ctypes.c_void_p).value)
        return callback

    def launch(self, arguments: Sequence[Any], jobs: int, *, block: int = 7, seed: int = 1) -> None:
        """Threads one after the other, each in a warp of its own, in an order that `seed` decides; a few too many."""
        threads = [(number, 0) for number in range(jobs + block)]
        random.Random(seed).shuffle(threads)
        self.warp = None
        for ctaid, tid in threads:
            self._run(arguments, ctaid, tid, 1)

    def launch_together(self, arguments: Sequence[Any], jobs: int, *, block: int) -> None:
        """Blocks one after the other, the threads of a block at the same time, so that they can shuffle."""
        for ctaid in range(-(-jobs // block)):
            self.warp = [_Warp(min(32, block - first)) for first in range(0, block, 32)]
            threads = [threading.Thread(target=self._run, args=(arguments, ctaid, t, block)) for t in range(block)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _run(self, arguments: Sequence[Any], ctaid: int, tid: int, ntid: int) -> None:
        self.lanes.tid, self.lanes.ctaid, self.lanes.ntid = tid, ctaid, ntid
        self.call(*arguments)

    def _shuffle(self, mask: int, value: int, by: int, last: int) -> int:
        assert (mask, last) == (-1, 31)
        if self.warp is None:
            return value
        return self.warp[self.lanes.tid // 32].down(self.lanes.tid % 32, value, by)


class _Warp:
    """What the threads of a warp hand to each other; a thread that is not there hands over garbage."""

    def __init__(self, size: int) -> None:
        self.values = [0x5A5A5A5A] * 64
        self.barrier = threading.Barrier(size)

    def down(self, lane: int, value: int, by: int) -> int:
        self.values[lane] = value
        self.barrier.wait()
        found = self.values[lane + by] if lane + by < 32 else value
        self.barrier.wait()
        return found


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
            found.append(order.ctypes.data)
        elif parameter.kind == "reduction":
            found.append(waiting.pop(0).ctypes.data)
        else:
            value = subject.value(
                parameter.name, {**arrays, **(old or {})} if parameter.kind == "data-base" else arrays
            )
            found.append(value.ctypes.data if isinstance(value, np.ndarray) else value)
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
