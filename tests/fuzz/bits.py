"""Statements that take indices apart: live masks and shifts, in addresses and in what ends an inner loop."""

from __future__ import annotations

from dataclasses import replace

from .draft import Draft
from .model import real
from .values import individual


def masked(d: Draft) -> None:
    """A mask that the compiler does not know stands before an index: it may cover all of it, or cut it."""
    d.note("masked-index")
    type = _reduced(d)
    y = d.target(type, "node").at(d.index())
    x, j = d.source(type, "node"), d.index(local=True)
    d.line(f"{y} += {_small(d, type, x.at(f'{j} & {_mask(d)}'))};")
    if d.chance(0.3):
        d.line(f"{y} += {_small(d, type, x.at(j))};")


def masked_target(d: Draft) -> None:
    """Where a sum goes is masked."""
    d.note("masked-index")
    type = _reduced(d)
    j = d.index(local=True)
    d.line(f"{d.target(type, 'node').at(f'{j} & {_mask(d)}')} += {individual(d, type)};")


def shifted(d: Draft) -> None:
    """An index shifted by an argument, to the left or to the right."""
    d.note("shifted-index")
    type = _reduced(d)
    y = d.target(type, "node").at(d.index())
    by, j = d.draw.randint(0, 3), d.index(local=True)
    name = d.scalar("by", "int", by)
    if d.chance(0.5):
        x = d.source(type, "node").at(f"{j} >> {name}")
    else:
        x = d.new("u", type, d.nodes << by, space="", locked=True, plain=True).at(f"{j} << {name}")
    d.line(f"{y} += {_small(d, type, x)};")


def bits_bound(d: Draft) -> None:
    """An inner loop runs as often as the bits of an index say, which is an index beside."""
    d.note("bits-bound", "gather")
    type = d.pick({"double": 70, "float": 30})
    j, k, s, x = d.index(local=True), d.fresh("k"), d.fresh("s"), d.source(type, "node")
    z = d.own(d.target(type, "job"), write=True)
    d.line(f"{type} {s} = {x.at(j)};")
    d.line(f"for (int {k} = 0; {k} < ({_few(d, j)}); {k}++)", f"    {s} = 0.5 * {s} + {x.at(j)} * ({k} + 1);")
    d.line(f"{z} = {_small(d, type, s)};")


def index_stop(d: Draft) -> None:
    """An inner loop over neighbours that ends before one of them: which none may be."""
    d.note("index-stop", "fixed-inner", "gather")
    type = d.pick({"double": 70, "float": 30})
    size, k, s, x = d.draw.randint(2, 4), d.fresh("k"), d.fresh("s"), d.source(type, "node")
    stop = d.draw.randrange(d.nodes)
    others = [node for node in range(d.nodes) if node != stop]
    here = range(d.nodes) if d.chance(0.3) else others
    nb = d.new("nb", "int", size * d.extent, fill=[d.draw.choice(here) for _ in range(size * d.extent)], plain=True)
    neighbour, z = nb.at(f"{size} * {d.i} + {k}"), d.own(d.target(type, "job"), write=True)
    name = d.scalar("mark", "int", stop)
    test = d.draw.choice([f"{neighbour} == {name}", f"1L << ({neighbour} & 31) == 1L << {name}"])
    if stop > 31:
        test = f"{neighbour} == {name}"
    d.line(f"{type} {s} = 0;", f"for (int {k} = 0; {k} < {size}; {k}++) {{", f"if ({test})", "    break;")
    d.line(f"{s} += {x.at(neighbour)};", "}", f"{z} = {d.literal(type, 0.125)} * {s};")


def start_bound(d: Draft) -> None:
    """A piece of an array, and a second loop as long as the bits of its start say."""
    d.note("csr", "bits-bound")
    type = d.pick({"double": 70, "float": 30})
    starts = [0]
    for _ in range(d.extent):
        starts.append(starts[-1] + d.draw.randint(0, 4))
    first = d.new("first", "int", d.extent, fill=starts[:-1], locked=True, plain=True)
    last = d.new("last", "int", d.extent, fill=starts[1:], locked=True, plain=True)
    weight = d.new("w", type, max(1, starts[-1]), fill="real", locked=True, plain=True)
    z, e, s = d.own(d.target(type, "job"), write=True), d.fresh("e"), d.fresh("s")
    begin = first.at(d.i)
    d.line(f"{type} {s} = 0;", f"for (int {e} = {begin}; {e} < {last.at(d.i)}; {e}++)", f"    {s} += {weight.at(e)};")
    d.line(f"for (int {e} = 0; {e} < ({_few(d, begin)}); {e}++)", f"    {s} = 0.5 * {s} + {e};")
    d.line(f"{z} = {_small(d, type, s)};")


def _few(d: Draft, number: str) -> str:
    """A small number that is made from the bits of another one."""
    style = d.draw.choice(["power", "right", "mask", "left", "rest", "part", "square", "or"])
    if style in ("right", "mask", "left", "part"):
        by = d.scalar("by", "int", d.draw.randint(1, 3))
        texts = {"right": f"{number} >> {by}", "mask": f"{number} & {by}", "left": f"({number} << {by}) & 7"}
        return texts.get(style, f"{number} / {by}")
    texts = {"power": f"1 << ({number} & 3)", "rest": f"{number} % 5", "square": f"({number} * {number}) & 7"}
    return texts.get(style, f"({number} | 1) & 7")


def _mask(d: Draft) -> str:
    """An argument, or an element of an array; the number may change from call to call."""
    covering = (1 << (d.nodes - 1).bit_length()) - 1
    number = d.pick({covering: 40, 4 * covering + 3: 10, -1: 15, covering >> 1: 15, covering & ~1: 10, 0: 5, 1: 5})
    if d.chance(0.3):
        held = d.new("mask", "int", 1, fill=[number], locked=True, plain=True, constant=False)
        return held.at("0")
    name = d.scalar("mask", "int", number)
    if d.chance(0.2) and not d.bundle:
        d.scalars[name] = replace(d.scalars[name], later=f"(int)(({name} & 0x7fffffff) >> sweep)")
    return name


def _reduced(d: Draft) -> str:
    """The type of a sum in memory."""
    type = d.number_type()
    d.note("memory-float-sum" if real(type) else "memory-sum")
    d.float_reduction |= real(type)
    return type


def _small(d: Draft, type: str, text: str) -> str:
    return f"0.125 * {text}" if d.tangled and real(type) else text
