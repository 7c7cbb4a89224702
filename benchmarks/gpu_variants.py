"""Every variant of every program's loop: assembles for three architectures, and leaves what the program's loop left.

Small inputs. Results of runs on this CPU, in phases and strictly, are compared with the memory that the program itself
had behind its loop: bit by bit, or relative to the largest value of each array where sums come in another order.
Also what making a kernel takes, in CPU time: emission beside the start of its process, the schedule, its checker.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from gpu_programs import CASES, SMALL, Loop, loop_of
from measuring import cpu_seconds
from rows import Row
from tracecut.codegen.kernels import make_region_kernel as maker
from tracecut.codegen.kernels.choose_kernel import KernelSearch, Wanted
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import VARIANTS
from tracecut.codegen.ptx.nvptx import compile_ptx
from tracecut.codegen.ptx.ptxas import assemble
from tracecut.ir.gpu.description import gpu
from tracecut.support.errors import UnsupportedError

ARCHITECTURES = ("sm_80", "sm_90", "sm_120")
BOUND = {"double": 1e-12, "float": 1e-5}  # of sums in another order; the tolerance of the host's
FLOATS = {"double": "f8", "float": "f4"}
EMISSION, SCHEDULE, CHECKER = 50.0, 60.0, 0.03
EMPTY = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @empty() {
  ret void
}
"""
SCHEDULED = ("job_pins", "cut_jobs", "data_of_blocks", "local_copies")


def case_rows(name: str) -> list[Row]:
    """The rows of one program."""
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        loop = loop_of(case, SMALL[name], Path(folder))
    search = KernelSearch(loop.source, Wanted(), gpu("h200"))
    rows: list[Row] = []
    for variant in VARIANTS:
        try:
            kernel = search.make(variant, 128, 256)
        except UnsupportedError as error:
            rows.append(Row(name, "small", f"error@{variant}", None, note=error.message))
            continue
        rows += variant_rows(name, variant, kernel, loop)
    return rows + cost_rows(name, search)


def variant_rows(name: str, variant: str, kernel: Kernel, loop: Loop) -> list[Row]:
    """What a variant leaves in both modes, and what ptxas says of it."""
    rows = []
    errors = {mode: error_of(kernel, loop, strict=mode == "strict") for mode in ("phases", "strict")}
    for mode, (error, type) in errors.items():
        bound = BOUND.get(type, 0.0)
        words = "all bits equal" if error == 0 else f"sums of {type}"
        rows.append(Row(name, mode, f"error@{variant}", error, "bar ≤", bound, note=words))
    assembled, spilled, words = 0, 0, []
    for arch in ARCHITECTURES:
        ptx = replace(kernel, arch=arch).ptx
        report = assemble(ptx, arch)
        assembled += ".extern .func" not in ptx and report.cubin[:4] == b"\x7fELF"
        spilled += report.spill_store_bytes
        words.append(f"{arch}: {report.registers} registers")
    text = f"{', '.join(words)}; {spilled} bytes spilled"
    rows.append(Row(name, "small", f"architectures@{variant}", assembled, "bar =", len(ARCHITECTURES), note=text))
    return rows


def error_of(kernel: Kernel, loop: Loop, *, strict: bool) -> tuple[float, str]:
    """`error_of_results` of a run on this CPU."""
    return error_of_results(kernel.run_cpu(strict=strict, races=strict).results, loop)


def error_of_results(results: dict[int, Any], loop: Loop) -> tuple[float, str]:
    """Largest error beside what the program's own loop left, relative to the largest value of the array; its type."""
    if loop.after is None:
        raise UnsupportedError("the memory behind the loop was not captured")
    source = loop.source
    worst, kind, compared = 0.0, "", 0
    for access in source.inspection.accesses.inside(source.region):
        if not access.site.writes or access.object is None:
            continue
        expected = loop.after.memory.contents.get(access.object.base)
        number = [item.base for item in source.objects].index(access.object.base)
        compared += expected is not None
        if expected is None or np.array_equal(expected, results[number]):
            continue
        dtype = FLOATS.get(access.site.type)
        if dtype is None:
            return float("inf"), access.site.type
        size = int(dtype[1:])
        whole = expected.size // size * size
        one, other = expected[:whole].view(dtype).astype("f8"), results[number][:whole].view(dtype).astype("f8")
        largest = float(np.max(np.abs(one), initial=0.0)) or 1.0
        error = float(np.max(np.abs(one - other), initial=0.0)) / largest
        if np.isnan(error):
            return float("inf"), access.site.type
        if error >= worst:
            worst, kind = error, access.site.type
    if not compared:
        raise UnsupportedError("nothing that the loop wrote was captured behind it")
    return worst, kind


def cost_rows(name: str, search: KernelSearch) -> list[Row]:
    """CPU time of emission, and of the schedule and its checker where blocks keep data."""
    rows = []
    for variant in ("original", "smem"):
        try:
            kernel = search.make(variant, 128, 256)
        except UnsupportedError:
            continue
        spent = min(_cpu(lambda k=kernel: compile_ptx(k.ir, k.name, k.arch, libdevice=k.libdevice)) for _ in range(3))
        empty = min(_cpu(lambda: compile_ptx(EMPTY, "empty", "sm_90", libdevice=False)) for _ in range(3))
        rows.append(Row(name, "small", f"emission, ms@{variant}", 1e3 * max(0.0, spent - empty), "bar ≤", EMISSION))
    if not any(row.metric.endswith("smem") for row in rows):
        return rows
    search.make("smem", 128, 256)  # its loops are compiled by now
    with _timers((*SCHEDULED, "check_blocks")) as spent_in:
        kernel = search.make("smem", 128, 256)
    assert kernel.schedule is not None
    pins = int(search.degrees.sum())
    schedule = sum(spent_in[each] for each in SCHEDULED)
    rows.append(Row(name, "small", "schedule, ns a pin", 1e9 * schedule / pins, "bar ≤", SCHEDULE, note=f"{pins} pins"))
    whole = _cpu(lambda: KernelSearch(search.source, Wanted(), search.gpu).make("smem", 128, 256))
    share = spent_in["check_blocks"] / whole
    rows.append(
        Row(name, "small", "checker / order and kernel", share, "bar ≤", CHECKER, note=f"{1e3 * whole:.0f} ms in all")
    )
    return rows


def _cpu(call: Callable[[], Any]) -> float:
    start = cpu_seconds()
    call()
    return cpu_seconds() - start


@contextmanager
def _timers(names: tuple[str, ...]) -> Iterator[dict[str, float]]:
    """CPU seconds in functions of `make_region_kernel`, by name."""
    spent = dict.fromkeys(names, 0.0)

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            start = time.thread_time()
            try:
                return call(*arguments, **options)
            finally:
                spent[name] += time.thread_time() - start

        return run

    with ExitStack() as stack:
        for name in names:
            stack.enter_context(patch.object(maker, name, timed(name, getattr(maker, name))))
        yield spent
