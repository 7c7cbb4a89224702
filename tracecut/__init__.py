"""tracecut speeds up programs with irregular memory access: it observes one run and reorders iterations and data.

    import tracecut

    result = tracecut.optimize("prog.c", ["--steps", "100"])
    print(result.improved, result.speedup)
    print(result.run(["--steps", "1000"]).stdout.decode())

`optimize` is the command `tracecut optimize` as a function. `trace` records a run instruction by instruction.
`partition` and `methods` are the partitioners on their own. All errors are subclasses of `errors.TracecutError`.
Modules are imported when they are first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from tracecut.support.version import __version__

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all that is imported here
if TYPE_CHECKING:
    from typing import Any

    from tracecut import errors
    from tracecut.api.dependence_graph import PartialGraphWarning, dependence_graph, graph_totals
    from tracecut.api.emit import emit
    from tracecut.api.loop_summaries import loop_summaries
    from tracecut.api.optimize import optimize
    from tracecut.api.trace import trace
    from tracecut.codegen.kernels.gpu_model import gpu_model
    from tracecut.codegen.kernels.kernel import Kernel
    from tracecut.codegen.mining.cg import cg
    from tracecut.codegen.mining.hits import hits
    from tracecut.codegen.mining.pagerank import pagerank
    from tracecut.codegen.mining.records import Scores, Solution
    from tracecut.codegen.mining.rwr import rwr
    from tracecut.codegen.products.spmv import spmv
    from tracecut.codegen.ranks.ranks import Ranks
    from tracecut.codegen.sparse.operator import SparseOperator
    from tracecut.codegen.sparse.plan import SpmvPlan
    from tracecut.ir.dependence_graph import DependenceGraph
    from tracecut.ir.machine.machine import Machine
    from tracecut.ir.placement import Placement
    from tracecut.mapping.map_onto import map_onto
    from tracecut.mapping.place import place
    from tracecut.mapping.simulate import simulate
    from tracecut.mapping.simulation.result import Simulation
    from tracecut.pipeline.output.result import Optimized, Outcome
    from tracecut.support.errors import TracecutError
    from tracecut.tracer.trace.export_parquet import export_trace
    from tracecut.tracer.trace.trace import Trace

    from .partition import methods, partition
    from .partition.balance.target_sizes import target_sizes
    from .partition.inputs.matrix_files import read_matrix
    from .partition.inputs.on_disk.disk_matrix import DiskMatrix
    from .partition.inputs.on_disk.stream_matrix import stream_matrix

__all__ = [
    "DependenceGraph",
    "DiskMatrix",
    "Kernel",
    "Machine",
    "Optimized",
    "Outcome",
    "PartialGraphWarning",
    "Placement",
    "Ranks",
    "Scores",
    "Simulation",
    "Solution",
    "SparseOperator",
    "SpmvPlan",
    "Trace",
    "TracecutError",
    "__version__",
    "cg",
    "dependence_graph",
    "emit",
    "errors",
    "export_trace",
    "gpu_model",
    "graph_totals",
    "hits",
    "loop_summaries",
    "map_onto",
    "methods",
    "optimize",
    "pagerank",
    "partition",
    "place",
    "read_matrix",
    "rwr",
    "simulate",
    "spmv",
    "stream_matrix",
    "target_sizes",
    "trace",
]

_HOMES = {
    "rwr": "codegen.mining.rwr",
    "pagerank": "codegen.mining.pagerank",
    "hits": "codegen.mining.hits",
    "cg": "codegen.mining.cg",
    "Solution": "codegen.mining.records",
    "Scores": "codegen.mining.records",
    "DependenceGraph": "ir.dependence_graph",
    "Kernel": "codegen.kernels.kernel",
    "emit": "api.emit",
    "gpu_model": "codegen.kernels.gpu_model",
    "Machine": "ir.machine.machine",
    "Placement": "ir.placement",
    "map_onto": "mapping.map_onto",
    "place": "mapping.place",
    "read_matrix": "partition.inputs.matrix_files",
    "stream_matrix": "partition.inputs.on_disk.stream_matrix",
    "DiskMatrix": "partition.inputs.on_disk.disk_matrix",
    "simulate": "mapping.simulate",
    "Ranks": "codegen.ranks.ranks",
    "SparseOperator": "codegen.sparse.operator",
    "SpmvPlan": "codegen.sparse.plan",
    "Simulation": "mapping.simulation.result",
    "Optimized": "pipeline.output.result",
    "Outcome": "pipeline.output.result",
    "Trace": "tracer.trace.trace",
    "PartialGraphWarning": "api.dependence_graph",
    "TracecutError": "errors",
    "dependence_graph": "api.dependence_graph",
    "export_trace": "tracer.trace.export_parquet",
    "graph_totals": "api.dependence_graph",
    "loop_summaries": "api.loop_summaries",
    "methods": "partition",
    "spmv": "codegen.products.spmv",
    "optimize": "api.optimize",
    "target_sizes": "partition.balance.target_sizes",
    "trace": "api.trace",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Stage(ModuleType):
    """A stage that is called by its own name: `tracecut.partition(…)` is `tracecut.partition.partition(…)`.

    `help` and `inspect.signature` tell of that function.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.partition(*arguments, **options)


class _Package(ModuleType):
    """This package: the import system binds the stages to it as attributes."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "partition" and isinstance(value, ModuleType):
            import inspect  # which takes as long as all else that is imported here

            value.__class__ = _Stage
            first, _, rest = (inspect.getdoc(value.partition) or "").partition("\n")
            signature = inspect.signature(value.partition)
            vars(value)["__signature__"] = signature
            value.__doc__ = f"{first}\n\ntracecut.partition{signature}\n{rest}"
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
