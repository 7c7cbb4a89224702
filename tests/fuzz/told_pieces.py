"""Statements over pieces of other arrays: where one begins, and how long it is, stands in a record or in a pair.

Pieces lie in the order of their records or in another one, with elements between them that are in none, over each
other, or several records have the same one; some are empty, and the last one ends where the array does.
"""

from __future__ import annotations

from dataclasses import dataclass

from .draft import DEFAULT_FILL, Draft
from .model import Array, real

LAYOUTS = {"in order": 25, "shuffled": 30, "apart": 20, "overlapping": 15, "common": 10}
TYPES = {"int": 75, "long": 15, "short": 10}


@dataclass(frozen=True)
class Told:
    """The piece of an iteration: its start and its length, in C; `another`: the length of one of another record.

    `size`: elements that all pieces lie in.
    """

    first: str
    count: str
    another: str
    size: int


def gather(d: Draft) -> None:
    """A sum over the neighbours in the piece of the iteration, or of a node."""
    _gathered(d, _told(d))


def scatter(d: Draft) -> None:
    """Each neighbour gets its share of the own number."""
    told = _told(d)
    type = d.number_type(real=0.7)
    d.note("memory-float-sum" if real(type) else "memory-sum")
    d.float_reduction |= real(type)
    weight, column = _links(d, told.size, type)
    y, own = d.target(type, "node"), d.own(d.source(type, "job"))
    head, e = _loop(d, told)
    share = _small(d, f"{weight.at(e)} * {own}") if real(type) else f"{weight.at(e)} + {own}"
    d.line(head, f"    {y.at(column.at(e))} += {share};")


def update(d: Draft) -> None:
    """The elements of the piece are written."""
    told = _told(d)
    type = _type(d)
    links = d.new("share", type, told.size, written=True, locked=True, plain=True)
    own = d.own(d.source(type, "job"))
    head, e = _loop(d, told)
    d.line(head, f"    {links.at(e)} = 0.5 * {links.at(e)} + {_small(d, own)};")


def rewritten(d: Draft) -> None:
    """Starts or lengths change in the region: those of the own record, or those of another one."""
    d.note("piece-rewritten")
    style = d.pick({"shorter": 45, "moved": 25, "of another": 30})
    told = _told(d, written=True, other=style == "of another")
    _gathered(d, told)
    if style == "shorter":
        d.line(f"if ({told.count} > 1)", f"    {told.count}--;")
    elif style == "moved":
        d.line(f"if ({told.first} > 0)", f"    {told.first}--;")
    else:
        d.line(f"{told.another} = 0;")


def _gathered(d: Draft, told: Told) -> None:
    type = _type(d)
    weight, column = _links(d, told.size, type)
    x, s = d.source(type, "node"), d.fresh("s")
    head, e = _loop(d, told)
    d.line(f"{type} {s} = 0;", head, f"    {s} += {weight.at(e)} * {x.at(column.at(e))};")
    d.line(f"{d.own(d.target(type, 'job'), write=True)} = {_small(d, s)};")


def _told(d: Draft, *, written: bool = False, other: bool = False) -> Told:
    """What tells of the pieces: records with other fields beside, or pairs of numbers."""
    own = d.chance(0.7)
    many = d.extent if own else d.nodes
    starts, lengths, size = _places(d, many)
    if d.chance(0.35):
        d.note("piece-pairs")
        at = d.i if own else d.index(local=True)
        both = [number for pair in zip(starts, lengths, strict=True) for number in pair]
        span = d.new("span", "int", 2 * many, fill=both, written=written, locked=True, plain=True)
        another = span.at(f"2 * (({at} + 1) % {many}) + 1")
        return Told(span.at(f"2 * {at}"), span.at(f"2 * {at} + 1"), another, size)
    d.note("piece-records")
    name = "edge" if own else "node"
    d.records.add(name)
    space = "job" if own else "node"
    first = d.new("first", d.pick(TYPES), many, fill=starts, written=written, locked=True, space=space)
    count = d.new("degree", d.pick(TYPES), many, fill=lengths, written=written, locked=True, space=space)
    if own:
        another = count.at(f"({d.i} + 1) % {many}") if other else ""
        return Told(d.own(first, write=written), d.own(count, write=written), another, size)
    at = d.index(local=True)
    another = count.at(f"({at} + 1) % {many}")
    if d.chance(0.5):
        record = d.fresh("own")
        d.line(f"{'' if written else 'const '}struct {name}_{d.number} *{record} = &{first.base}[{at}];")
        return Told(f"{record}->{first.name}", f"{record}->{count.name}", another, size)
    return Told(first.at(at), count.at(at), another, size)


def _places(d: Draft, many: int) -> tuple[list[int], list[int], int]:
    """Starts and lengths of the pieces, and how many elements they lie in."""
    layout = d.pick(LAYOUTS)
    lengths = [d.draw.randint(1, 4) if d.chance(0.8) else 0 for _ in range(many)]
    order = list(range(many))
    if layout != "in order":
        d.draw.shuffle(order)
    starts, end = [0] * many, 0
    for number in order:
        if layout == "apart":
            end += d.draw.randint(0, 2)
        elif layout == "overlapping":
            end -= d.draw.randint(0, min(1, end))
        starts[number] = end
        end += lengths[number]
    if layout == "common":
        for number in range(many):
            other = d.draw.randrange(many)
            if d.chance(0.3):
                starts[number], lengths[number] = starts[other], lengths[other]
    size = max(1, *(start + length for start, length in zip(starts, lengths, strict=True)))
    nowhere = d.pick({"where it is": 60, "-9": 20, "the end": 20})
    for number in range(many):
        if not lengths[number] and nowhere != "where it is":
            starts[number] = -9 if nowhere == "-9" else size
    return starts, lengths, size


def _loop(d: Draft, told: Told) -> tuple[str, str]:
    """The head of a loop over a piece, and the place of its element."""
    k = d.fresh("k")
    style = d.pick({"count": 55, "ends": 30, "held": 15})
    if style == "count":
        return f"for (int {k} = 0; {k} < {told.count}; {k}++)", f"{told.first} + {k}"
    if style == "ends":
        return f"for (long {k} = {told.first}; {k} < {told.first} + {told.count}; {k}++)", k
    begin, end = d.fresh("begin"), d.fresh("end")
    d.line(f"long {begin} = {told.first}, {end} = {begin} + {told.count};")
    return f"for (long {k} = {begin}; {k} < {end}; {k}++)", k


def _links(d: Draft, size: int, type: str) -> tuple[Array, Array]:
    """Weights and neighbours: two arrays, or one of records."""
    nodes = [d.draw.randrange(d.nodes) for _ in range(size)]
    if d.chance(0.65):
        weight = d.new("w", type, size, locked=True, plain=True)
        return weight, d.new("to", "int", size, fill=nodes, locked=True, plain=True)
    d.note("records", type)
    link, prefix = d.fresh("link"), "m->" if d.bundle else ""
    weight = Array(d.fresh("w"), type, size, DEFAULT_FILL[type], record=link, prefix=prefix)
    column = Array(d.fresh("to"), "int", size, tuple(nodes), record=link, prefix=prefix)
    for array in (column, weight):
        d.arrays[array.name] = array
        d.locked.add(array.name)
    return weight, column


def _type(d: Draft) -> str:
    return d.pick({"double": 70, "float": 30})


def _small(d: Draft, text: str) -> str:
    return f"0.125 * {text}" if d.tangled else text
