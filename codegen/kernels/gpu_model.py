"""What a kernel asks of a GPU's memory, by running it on this CPU and counting: no card is needed."""

from __future__ import annotations

from tracecut.codegen.emulation.run_kernel import CompiledConsumer, kernel_sites
from tracecut.ir.gpu.description import Gpu
from tracecut.ir.gpu.description import gpu as described
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.support.errors import TracecutError

from .kernel import Kernel


def gpu_model(kernel: Kernel, gpu: str | Gpu = "h200") -> MemoryReport:
    """Sectors, bytes by level, bank conflicts, occupancy and predicted time of one launch of a kernel.

    Args:
        kernel: run on the data that the program had. gpu: a description, or its name (`Gpu.names()`).

    A kernel with a `combine` is counted together with it, one behind the other.
    Registers are those that ptxas gives a thread, an estimate where it is not installed or cannot assemble the kernel.
    Raises ArgumentError for an unknown GPU, or a block that it cannot hold. About a second for each million threads.
    """
    card = described(gpu) if isinstance(gpu, str) else gpu
    memory = kernel.memory()
    report = _one(kernel, card, memory)
    return report if kernel.combine is None else _both(report, _one(kernel.combine, card, memory))


def _one(kernel: Kernel, card: Gpu, memory: list[Bytes]) -> MemoryReport:
    try:
        registers: int | None = kernel.resources.registers
    except TracecutError:
        registers = None
    sites = kernel_sites(kernel.ir, kernel.name)
    model = MemoryModel(card, sites, kernel.threads, registers=registers, shared=kernel.shared_bytes)
    kernel.run_cpu(memory, trace=CompiledConsumer(model.pointer, model.state, model))
    return model.report()


def _both(first: MemoryReport, second: MemoryReport) -> MemoryReport:
    """Two launches, one behind the other, as one: the sites of the second behind those of the first."""
    one, other = first.sites, second.sites
    columns = [np.concatenate([getattr(one, name), getattr(other, name)]) for name in ("space", "kind", "bytes", "hint")]
    return replace(
        first,
        sites=Sites(*columns, one.where + other.where),
        counts=np.concatenate([first.counts, second.counts]),
        hbm_read=first.hbm_read + second.hbm_read,
        hbm_written=first.hbm_written + second.hbm_written,
        seconds=tuple(a + b for a, b in zip(first.seconds, second.seconds, strict=True)),
        launch=first.launch + second.launch,
        warps=first.warps + second.warps,
    )
