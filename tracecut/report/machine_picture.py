"""A picture of a machine: cores at their places in the mesh, or in rows; shades show the load of cores and links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isqrt

from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network

from .markup import Html, el
from .svg import drawing, line, place, rect, text

STYLE = (
    "text{font:11px sans-serif;fill:#222}.core{stroke:#fff}.link{stroke:#999}.load{stroke-width:3}"
    ".bank{fill:none;stroke:#b5622b;stroke-width:2}"
)
SIDE, GAP, WIDE, TOP, LEGEND = 22.0, 6.0, 16.0, 30.0, 20.0
ASIDE = 4.0  # pixels from the middle of a box to the links of one direction
IN_A_ROW = 32  # boxes of a machine without a mesh
LABELLED = 256  # cores; larger machines are drawn without numbers
BLUE = ((232, 240, 248), (66, 133, 190))
RED = ((225, 225, 225), (190, 30, 30))


def machine_picture(
    machine: Machine,
    load: Sequence[float] | None = None,
    label: str = "",
    link_load: Sequence[float] | None = None,
    legend: str = "",
) -> Html:
    """The cores of a machine, and the links of its mesh or torus. O(cores + links).

    Args:
        load: of each core, drawn as its shade (default: its speed); the largest is the darkest.
        label: the caption, default: the machine's name.
        link_load: of each link, numbered as `Network.route` does; the largest is the reddest. Only meshes and
            tori are drawn with links.
        legend: a line below the picture.
    """
    network = machine.network
    meshed = network is not None and network.kind in ("mesh", "torus")
    columns = network.shape[0] if network is not None and meshed else min(IN_A_ROW, len(machine.cores))
    gap = WIDE if meshed and link_load is not None else GAP
    step = SIDE + gap
    shades = _shares([core.speed for core in machine.cores] if load is None else load)
    shapes: list[Html] = []
    if network is not None and meshed:
        if link_load is None:
            shapes += _plain_links(network, gap)
        else:
            shapes += _loaded_links(network, _shares(link_load), gap)
    held = {bank.node for bank in machine.banks}
    sharing, placed = Counter(core.node for core in machine.cores), Counter[int]()
    for number, core in enumerate(machine.cores):
        spot = core.node if meshed else number
        x, y = gap + spot % columns * step, TOP + spot // columns * step
        parts = sharing[core.node] if meshed else 1  # cores of one router share its box
        across = isqrt(parts - 1) + 1
        wide, high = SIDE / across, SIDE / -(-parts // across)
        row, column = divmod(placed[core.node], across)
        placed[core.node] += 1
        shapes.append(
            el(
                "rect",
                x=place(x + column * wide if meshed else x),
                y=place(y + row * high if meshed else y),
                width=place(wide),
                height=place(high),
                cls="core",
                fill=colour(BLUE, shades[number]),
            )
        )
        if meshed and core.node in held and placed[core.node] == parts:
            shapes.append(rect(x, y, SIDE, SIDE, "bank"))
        if len(machine.cores) <= LABELLED and parts == 1:
            shapes.append(text(x + SIDE / 2, y + SIDE / 2 + 4, str(number)))
    rows = -(-(network.nodes if network is not None and meshed else len(machine.cores)) // columns)
    words = label or machine.name
    width = max(2 * gap + columns * step, 7.0 * max(len(words), len(legend)))
    bottom = TOP + rows * step
    if legend:
        shapes.append(text(GAP, bottom + LEGEND / 2, legend, "start"))
    title = text(GAP, 18, words, "start")
    height = bottom + (LEGEND if legend else 0)
    return drawing(words, el("style", STYLE), title, *shapes, width=width, height=height)


def colour(ends: tuple[tuple[int, int, int], tuple[int, int, int]], share: float) -> str:
    """A colour between two, by a share from 0 to 1."""
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in zip(*ends, strict=True))


def _shares(values: Sequence[float]) -> list[float]:
    """Each value over the largest."""
    largest = max(values, default=0.0)
    return [value / largest if largest > 0 else 0.0 for value in values]


def _plain_links(network: Network, gap: float) -> Iterator[Html]:
    width, height = network.shape
    step = SIDE + gap
    for node in range(network.nodes):
        x, y = gap + node % width * step, TOP + node // width * step
        if node % width + 1 < width:
            yield line(x + SIDE, y + SIDE / 2, x + step, y + SIDE / 2, "link")
        if node // width + 1 < height:
            yield line(x + SIDE / 2, y + SIDE, x + SIDE / 2, y + step, "link")


def _loaded_links(network: Network, shares: Sequence[float], gap: float) -> Iterator[Html]:
    """A line for each direction of each link; wrap-around links of a torus end half a step beyond its border."""
    width, height = network.shape
    step, middle = SIDE + gap, SIDE / 2
    for node in range(network.nodes):
        column, row = node % width, node // width
        x, y = gap + column * step, TOP + row * step
        for direction in range(4):
            along, back = direction < 2, direction % 2 == 1
            at, size = (column, width) if along else (row, height)
            border = at == (0 if back else size - 1)
            if border and (network.kind == "mesh" or size == 1):
                continue
            start, end = (0.0, -gap) if back else (SIDE, step)
            end = (start + end) / 2 if border else end
            side = middle + (ASIDE if back else -ASIDE)
            ends = (x + start, y + side, x + end, y + side) if along else (x + side, y + start, x + side, y + end)
            x1, y1, x2, y2 = map(place, ends)
            yield el("line", x1=x1, y1=y1, x2=x2, y2=y2, cls="load", stroke=colour(RED, shares[4 * node + direction]))
