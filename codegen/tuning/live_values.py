"""What the code of a region takes from outside, for its replay."""

from __future__ import annotations

from tracecut.tracer.loops.live_ins import live_ins
from tracecut.tracer.loops.program import Analysis


def start_values(analysis: Analysis, region: int) -> dict[str, str]:
    """Start value of each header phi."""
    view = analysis.view_of(region)
    loop = view.loops[region]
    return {
        str(phi.result): operand.text
        for phi in view.flow.blocks[loop.header].phis
        for operand, label in zip(phi.operands, phi.labels, strict=True)
        if label not in loop.blocks
    }


def address_values(analysis: Analysis, region: int) -> dict[str, str]:
    """Numbers from outside of a region that are addresses: name → the pointer. `p - x` is reckoned with them."""
    view = analysis.view_of(region)
    made = {name: view.address_in(name) for name, _ in live_ins(view, view.loops[region])}
    return {name: pointer.text for name, pointer in made.items() if pointer is not None}
