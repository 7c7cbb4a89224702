"""GPU kernels of random loops: in every variant, run on this CPU, beside what the loop itself leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tracecut.codegen.schedule.reduce_modes import FAST

from ..codegen.children import in_child
from ..codegen.harness import Inspected
from ..codegen.kernels.running import check
from ..codegen.replays import load
from .model import Suite
from .pipeline import few_jobs, judge, traced


@dataclass
class GpuTally:
    """Counts over suites.

    Attributes:
        accepted: loops that may be reordered on the host. emitted: those with a kernel (`swap`).
        kernels: that ran, of all variants. wrong: loop and variant → what is wrong with its kernel.
    """

    accepted: int = 0
    emitted: int = 0
    kernels: int = 0
    wrong: dict[str, str] = field(default_factory=dict)


def check_kernels(suite: Suite, folder: Path, tally: GpuTally, *, strict: bool = False, reduce: str = FAST) -> None:
    """Run the kernels of all loops of a suite that may be reordered; nothing they do reaches this process.

    Iterations may store the same value to one place, which is a race by the rules: these are not looked for.
    """
    program = traced(suite, folder)
    items: list[Inspected] = []
    taken: set[int] = set()
    with few_jobs():
        for kernel in suite.kernels:
            _, item = judge(program, kernel)
            if item is not None and not taken & item.cut_out[1].keys():
                taken |= item.cut_out[1].keys()
                items.append(item)
        if not items:
            return
        loaded = load(items)
        found = in_child(lambda: check(loaded, strict, races=False, reduce=reduce))
    for mark, variants in found.items():
        tally.accepted += 1
        tally.emitted += not variants["swap"].startswith("no:")
        for variant, text in variants.items():
            tally.kernels += not text.startswith("no:")
            if text and not text.startswith("no:"):
                tally.wrong[f"seed {suite.seed}, {mark}, {variant}"] = text
