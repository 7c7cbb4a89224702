"""GPUs as targets, and the list of all targets of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracecut.codegen.host.target import Emitted, HostTarget, RegionCode, Target

from .emit import emit_kernel
from .refusals import check_loop


@dataclass(frozen=True)
class PtxTarget:
    """An NVIDIA GPU. `name`: its architecture, one of `nvptx.ARCHITECTURES`."""

    name: str

    def variant(self, code: RegionCode) -> str:
        return "swap"

    def check(self, code: RegionCode) -> None:
        check_loop(code.view, code.nest, code.loop, code.outlined.groups)

    def emit(self, code: RegionCode) -> Emitted:
        kernel = emit_kernel(
            code.view,
            code.nest,
            code.loop,
            f"tc_kernel_{code.number}",
            list(code.outlined.groups),
            outlined=code.outlined,
            arch=self.name,
            disjoint=code.disjoint,
            exclusive=code.exclusive,
        )
        launch = {
            "name": kernel.name,
            "block_size": kernel.block_size,
            "parameters": [[item.kind, item.name, item.type, item.group] for item in kernel.parameters],
            "remarks": list(kernel.remarks),
        }
        return Emitted({f"-{self.name}.ptx": kernel.ptx, f"-{self.name}.ll": kernel.llvm}, launch)


def all_targets(architectures: Sequence[str]) -> list[Target]:
    """The host, and the GPUs of some architectures."""
    return [HostTarget(), *map(PtxTarget, architectures)]
