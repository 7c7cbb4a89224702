"""A machine as a picture: cores at their places of the mesh, or boxes within boxes, darker where they are faster."""

from __future__ import annotations

from tracecut.ir.machine.machine import Machine

from .markup import Html, el
from .svg import drawing, line, place, rect, text

STYLE = (
    "text{font:11px sans-serif;fill:#222}.core{stroke:#fff}.link{stroke:#999}.unit{fill:none;stroke:#999}"
    ".bank{fill:none;stroke:#b5622b;stroke-width:2}"
)
SIDE, GAP, TOP = 22.0, 6.0, 30.0
IN_A_ROW = 32  # boxes of a machine without a mesh
LABELLED = 256  # cores; more are drawn without numbers


def machine_picture(machine: Machine, load: list[float] | None = None, label: str = "") -> Html:
    """The cores of a machine. `load`: of each core a share from 0 to 1, shown as its shade in place of its speed.

    `label` says what the picture shows, default: the machine's name. O(cores + links).
    """
    speeds = [core.speed for core in machine.cores]
    shades = load if load is not None else [speed / max(speeds) for speed in speeds]
    network = machine.network
    meshed = network is not None and network.kind in ("mesh", "torus")
    columns = network.shape[0] if network is not None and meshed else min(IN_A_ROW, len(machine.cores))
    step = SIDE + GAP
    shapes = []
    held = {bank.node for bank in machine.banks}
    for number, core in enumerate(machine.cores):
        spot = core.node if meshed else number
        x, y = GAP + spot % columns * step, TOP + spot // columns * step
        if meshed and spot % columns + 1 < columns:
            shapes.append(line(x + SIDE, y + SIDE / 2, x + step, y + SIDE / 2, "link"))
        if network is not None and meshed and spot // columns + 1 < network.shape[1]:
            shapes.append(line(x + SIDE / 2, y + SIDE, x + SIDE / 2, y + step, "link"))
        shapes.append(_box(x, y, shades[number]))
        if meshed and core.node in held:
            shapes.append(rect(x, y, SIDE, SIDE, "bank"))
        if len(machine.cores) <= LABELLED:
            shapes.append(text(x + SIDE / 2, y + SIDE / 2 + 4, str(number)))
    rows = -(-(network.nodes if network is not None and meshed else len(machine.cores)) // columns)
    width = max(2 * GAP + columns * step, 7.0 * len(label or machine.name))
    words = label or machine.name
    title = text(GAP, 18, words, "start")
    return drawing(words, el("style", STYLE), title, *shapes, width=width, height=TOP + rows * step)


def _box(x: float, y: float, shade: float) -> Html:
    """A square between light and dark blue, by a share from 0 to 1."""
    share = min(1.0, max(0.0, shade))
    red, green, blue = (round(high + (low - high) * share) for high, low in ((232, 66), (240, 133), (248, 190)))
    fill = f"#{red:02x}{green:02x}{blue:02x}"
    return el("rect", x=place(x), y=place(y), width=place(SIDE), height=place(SIDE), cls="core", fill=fill)
