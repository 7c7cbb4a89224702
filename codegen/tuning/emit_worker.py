"""Making a GPU kernel of one captured region, in a process of its own.

`python -m tracecut.codegen.tuning.emit_worker SPEC` reads what `worker.py` reads, with the wanted kernel under
`kernel`, and writes `result.json` and `kernel.npz` beside it. Whether the region pays on the host does not matter.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracecut.codegen.devices.device import Device, open_device
from tracecut.codegen.kernels.choose_kernel import Wanted, choose_kernel
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.kernel_file import save_kernel
from tracecut.codegen.kernels.make_region_kernel import Source
from tracecut.codegen.offload.card_scope import CardScope, Hooks, make_card_scope
from tracecut.codegen.offload.make_step_scope import make_step_scope
from tracecut.codegen.runtime.replay import CapturedRegion
from tracecut.codegen.schedule.graph.scope_graph import scope_graph
from tracecut.codegen.schedule.guards.make_guard import make_guard
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.ir.gpu.description import gpu
from tracecut.ir.llvm.module_json import function_out
from tracecut.ir.loops.indirect import is_indirect
from tracecut.ir.loops.nest_json import from_json, to_json
from tracecut.support.errors import TracecutError, UnsupportedError
from tracecut.support.files import load_json, write_json, write_text
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.runtime.hook_slots import named_numbers

from .live_values import address_values, start_values
from .worker import Worker


class EmitWorker(Worker):
    """One region: from its capture to a kernel."""

    looks_up = False  # a card has no code beside its kernels

    def source_of(self, inspection: Inspection) -> Source:
        """What kernels of the region are made of."""
        graph = scope_graph(inspection.plan)
        guard, objects = make_guard(inspection.accesses, support(), self.secret)

        def captured(outlined: Outlined) -> CapturedRegion:
            return CapturedRegion(
                self.captured.capture,
                inspection.accesses,
                self.region,
                outlined,
                self.captured.values[self.region],
                start_values(analysis, self.region),
                address_values(analysis, self.region),
            )

        analysis = self.captured.analysis
        return Source(analysis, inspection, graph, self.region, guard, objects, captured)

    def _tune(self, scope: int, inspection: Inspection) -> None:
        self._stage("locality graph")
        self._check_graph(inspection)
        source = self.source_of(inspection)
        self._done("graph")
        asked = dict(self.spec["kernel"])
        text, name = bool(asked.pop("text", False)), str(asked.pop("card", ""))
        in_program = bool(asked.pop("in_program", False))
        card, ends = gpu(str(asked.pop("gpu"))), asked.pop("ends", None)
        self._stage("order of jobs and data")
        wanted = Wanted(**asked, seed=int(self.spec["seed"]))
        last = math.inf if ends is None else float(ends)
        kernel = choose_kernel(source, wanted, card, self._stage, _card_for(wanted, name), ends=last)
        self.result["chosen"] = _chosen(kernel)
        if text:
            self.result["text"] = str(write_text(self.folder / "kernel.ptx", kernel.ptx, sync=False))
        self._done("kernel")
        self.result["kernel"] = str(save_kernel(kernel, self.folder / "kernel.npz"))
        if in_program:
            self._put_in_program(scope, source, kernel)

    def _put_in_program(self, scope: int, source: Source, kernel: Kernel) -> None:
        """Kernels of all loops of the scope, for `tracecut run --device`; or why there are none."""
        self._stage("kernels of the loops around")
        hooks = Hooks(
            scope,
            int(self.spec["number"]),
            int(self.spec["first_region"]),
            self.values[scope],
            self.secret,
            bool(self.spec["renumber"]),
            int(self.spec["seed"]),
            self.captured.tables,
            self.captured.used_rows,
        )
        try:
            indexed = is_indirect(source.inspection.accesses.nest, self.region)
            made = make_card_scope(source, kernel, hooks) if indexed else self._step_scope(hooks, kernel.arch)
        except UnsupportedError as error:
            self.result["alone"] = error.message
            return
        self.result |= {
            "schedule": str(made.file.save(self.folder / "device-scope.npz")),
            "kernels": str(made.kernels.save(self.folder / "device-kernels.npz")),
            "functions": {str(loop): function_out(item.code) for loop, item in made.outlined.items()},
        }
        if made.anyhow is not None:
            self.result["anyhow"] = str(made.anyhow.save(self.folder / "device-anyhow.npz"))
        self._done("kernels around")

    def _step_scope(self, hooks: Hooks, arch: str) -> CardScope:
        """Kernels of a regular loop and of those beside it, for all steps of the loop around.

        Raises UnsupportedError: by itself it would be copied for at each entry, and gain nothing.
        """
        analysis, found = self.captured.analysis, self.captured.capture
        around = analysis.parent(self.region)
        if around is None or around not in found.values:
            raise UnsupportedError("no loop around it keeps its data on the card, and copies at each entry cost more")
        nest = from_json(to_json(analysis.nest(around)))
        numbers = named_numbers(list(self.values[around]), found.values[around])
        hooks = replace(hooks, scope=around, values=self.values[around])
        memory = found.seen_by(nest, numbers).memory
        return make_step_scope(analysis, nest, memory, numbers, self.region, hooks, arch)


def _card_for(wanted: Wanted, name: str = "") -> Device | None:
    """This machine's card, where there is a choice and the emitted machine code runs on it; else None.

    `name`: of the card that the kernel is for, as its driver says; empty: any.
    """
    if not wanted.searches:
        return None
    try:
        found = open_device()
        fits = not name or found.description.startswith(f"{name}, ")
        return found if fits and found.takes_machine_code(wanted.arch) and found.description else None
    except TracecutError:
        return None


def _chosen(kernel: Kernel) -> dict[str, Any]:
    """A kernel and what it was chosen from, in plain values."""
    found = {"variant": kernel.variant, "method": kernel.host.method, **kernel.launch}
    mine = next((item for item in kernel.considered if item.chosen), None)
    plain = [item.seconds for item in kernel.considered if item.variant == "original" and item.seconds is not None]
    found |= {"seconds": mine and mine.seconds, "measured": mine and mine.measured}
    found |= {"original_seconds": min(plain, default=None)}
    return {**found, "notes": dict(kernel.notes), "considered": [vars(item) for item in kernel.considered]}


def main() -> None:
    spec = load_json(Path(sys.argv[1]), limit=1 << 30)
    worker = EmitWorker(spec)
    result: dict[str, Any]
    try:
        result = worker.run()
    except TracecutError as error:
        result = {**worker.result, "failed": error.message, "hint": error.hint}
    write_json(Path(spec["folder"]) / "result.json", result)


if __name__ == "__main__":
    main()
