"""Pictures of machines: a line for each direction of each link, the most loaded the reddest."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Core

from tracecut.report.machine_picture import BLUE, RED, colour, machine_picture

pytestmark = pytest.mark.quick


def lines(machine: Machine, loads: list[float]) -> list[ElementTree.Element]:
    picture = machine_picture(machine, [1.0] * len(machine.cores), "x", loads, "below")
    return ElementTree.fromstring(str(picture)).findall(".//line")


@pytest.mark.parametrize(("word", "count"), [("mesh:3x2", 14), ("torus:3x2", 24), ("torus:4x1", 8), ("uma:4", 0)])
def test_links(word: str, count: int) -> None:
    machine = Machine.named(word)
    drawn = lines(machine, [0.0] * machine.joined.links)
    assert len(drawn) == count and {line.get("stroke") for line in drawn} <= {colour(RED, 0.0)}


@pytest.mark.parametrize("ends", [(0, 1), (1, 0), (0, 3), (3, 0), (5, 2)])
def test_the_loaded_link_is_red_and_lies_between_its_ends(ends: tuple[int, int]) -> None:
    machine = Machine.mesh(3, 2)
    loads = np.zeros(machine.joined.links)
    loads[machine.joined.route(*ends)] = 9.0
    red = [line for line in lines(machine, loads.tolist()) if line.get("stroke") == colour(RED, 1.0)]
    assert len(red) == 1
    x1, y1, x2, y2 = (float(red[0].get(name, "")) for name in ("x1", "y1", "x2", "y2"))
    steps = np.sign([x2 - x1, y2 - y1])
    assert steps.tolist() == [ends[1] % 3 - ends[0] % 3, ends[1] // 3 - ends[0] // 3]


def test_shades() -> None:
    text = str(machine_picture(Machine.mesh(2, 1), [0.0, 0.02]))
    assert colour(BLUE, 0.0) in text and colour(BLUE, 1.0) in text


def test_cores_of_one_router_share_its_box() -> None:
    machine = replace(Machine.mesh(2, 1), cores=tuple(Core(cpu, cpu // 4) for cpu in range(5)))
    picture = str(machine_picture(machine, [1.0, 2.0, 3.0, 4.0, 5.0]))
    boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" class="core"', picture)
    assert len(set(boxes)) == 5 and [box[2:] for box in boxes] == [("11", "11")] * 4 + [("22", "22")]
    assert picture.count(">4</text>") == 1 and ">0</text>" not in picture
