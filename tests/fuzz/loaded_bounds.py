"""Bounds that a loop loads each time it tests them, where a store of an iteration might have changed them."""

from __future__ import annotations

import re
from dataclasses import replace

from .draft import Draft
from .inner import fixed_scatter
from .model import Array
from .updates import histogram, index_stored, same_value

NUMBER = re.compile(r"(?:m->)?\bn\b")


def loaded(d: Draft) -> None:
    """How many iterations there are stands in memory, beside other numbers; integers are stored."""
    d.pick({histogram: 40, index_stored: 30, same_value: 15, fixed_scatter: 15})(d)
    loop, count = d.counting.loop, d.scalars.get("n")
    texts = " ".join([*(cursor.start for cursor in loop.cursors), d.counting.bound])
    if count is None or d.counting.pointers_only or NUMBER.search(texts) or count.type == "size_t":
        return
    d.note("bound-loaded")
    del d.scalars["n"]
    size, place = size_of(d, "size", int(count.value), count.type)
    at, d.size = size.at(place), size.outside(place)
    before, head, tail = (
        tuple(NUMBER.sub(at, line) for line in lines) for lines in (loop.before, loop.head, loop.tail)
    )
    d.counting = replace(d.counting, loop=replace(loop, before=before, head=head, tail=tail))
    if d.chance(0.4):  # what was loaded last is asked for behind the loop
        y = d.new("y", "unsigned", d.extent, fill="any", written=True, locked=True, plain=True)
        d.after += [f"for ({count.type} v = 0; v < {at}; v++)", f"    {y.at('v')} = {y.at('v')} * 3 + 1;"]


def loaded_inside(d: Draft) -> None:
    """The same of a loop in the body."""
    d.note("bound-loaded", "histogram", "fixed-inner")
    width, k = d.draw.randint(1, 4), d.fresh("k")
    nodes = [d.draw.randrange(d.nodes) for _ in range(width * d.extent)]
    near = d.new("nb", "int", width * d.extent, fill=nodes, plain=True)
    size, place = size_of(d, "width", width, "int")
    at = size.at(place)
    y = d.target(d.pick({"unsigned": 50, "unsigned char": 30, "short": 20}), "node", plain=True)
    d.line(f"for (int {k} = 0; {k} < {at}; {k}++)", f"    {y.at(near.at(f'{at} * {d.i} + {k}'))}++;")


def size_of(d: Draft, hint: str, value: int, type: str) -> tuple[Array, str]:
    """A number in memory: in a record with others, or in an array. The array that has it, and its place there."""
    if d.chance(0.4):
        place = d.draw.randint(0, 2)
        values = [7] * place + [value] + [7] * (2 - place)
        return d.new(hint, type, 3, fill=values, locked=True, plain=True, constant=False), str(place)
    mesh = d.fresh("mesh")
    for name, number in (("lines", 3), (hint, value)):
        field = Array(d.fresh(name), type, 1, (number,), record=mesh, prefix="m->" if d.bundle else "")
        d.arrays[field.name] = field
        d.locked.add(field.name)
    return field, "0"
