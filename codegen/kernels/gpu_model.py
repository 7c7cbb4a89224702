"""What a kernel asks of a GPU's memory, by running it on this CPU and counting: no card is needed."""

from __future__ import annotations

from tracecut.codegen.emulation.run_kernel import CompiledConsumer, kernel_sites
from tracecut.ir.gpu.description import Gpu
from tracecut.ir.gpu.description import gpu as described
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.support.errors import TracecutError

from .kernel import Kernel
from .two_launches import one_behind_the_other


def gpu_model(kernel: Kernel, gpu: str | Gpu = "h200", *, registers: int | None = None) -> MemoryReport:
    """Sectors, bytes by level, bank conflicts, occupancy and predicted time of one launch of a kernel.

    A kernel with a `combine` is counted together with it, one behind the other.

    Args:
        kernel: run on the data that the program had. gpu: a description, or its name (`Gpu.names()`).
        registers: of a thread; None: those that ptxas gives it, an estimate where it is not installed or cannot
            assemble the kernel.

    Raises ArgumentError for an unknown GPU, or a block that it cannot hold. About a second for each million threads.
    """
    card = gpu if isinstance(gpu, Gpu) else described(gpu)
    if registers is None:
        try:
            registers = kernel.resources.registers
        except TracecutError:
            registers = None
    sites = kernel_sites(kernel.ir, kernel.name)
    model = MemoryModel(card, sites, kernel.threads, registers=registers, shared=kernel.shared_bytes)
    kernel.run_cpu(trace=CompiledConsumer(model.pointer, model.state, model))
    report = model.report()
    return report if kernel.combine is None else one_behind_the_other(report, gpu_model(kernel.combine, card))
