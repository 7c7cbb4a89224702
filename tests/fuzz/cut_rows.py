"""Statements over rows that an array of bounds cuts: rows that are written, rows that an index picks, and their ends.

Rows lie one behind the other; some are empty, and the first one may begin behind the first element.
"""

from __future__ import annotations

from .draft import Draft
from .model import Array, real

TYPES = {"int": 80, "long": 10, "short": 10}


def written(d: Draft) -> None:
    """The elements of the own row are computed of those that they name."""
    d.note("row-written", "gather")
    type = _type(d)
    row, share, column = _rows(d, d.extent, type)
    x = d.source(type, "node")
    head, e = _loop(d, row, d.i)
    value = f"0.5 * {share.at(e)} + 0.25 * {x.at(column.at(e))}"
    d.line(head, f"    {share.at(e)} = {value};")


def used(d: Draft) -> None:
    """The elements of the own row are changed, and summed up."""
    d.note("row-written", "gather")
    type = _type(d)
    row, share, column = _rows(d, d.extent, type)
    x, z, s = d.source(type, "node"), d.target(type, "job"), d.fresh("s")
    d.line(f"{type} {s} = 0;")
    head, e = _loop(d, row, d.i)
    d.line(f"{head} {{", f"{s} += {share.at(e)} * {x.at(column.at(e))};")
    d.line(f"{share.at(e)} = 0.5 * {share.at(e)};", "}")
    d.line(f"{d.own(z, write=True)} = {_small(d, s)};")


def picked(d: Draft) -> None:
    """A sum over the row of a node."""
    d.note("row-picked", "gather")
    type = _type(d)
    row, share, column = _rows(d, d.nodes, type)
    x, z, s = d.source(type, "node"), d.target(type, "job"), d.fresh("s")
    at = d.index(local=True)
    d.line(f"{type} {s} = 0;")
    head, e = _loop(d, row, at)
    d.line(head, f"    {s} += {share.at(e)} * {x.at(column.at(e))};")
    d.line(f"{d.own(z, write=True)} = {_small(d, s)};")


def assembled(d: Draft) -> None:
    """Each element of the row of a node gets its share of the own number."""
    type = d.number_type(real=0.7)
    d.note("row-picked", "row-written", "memory-float-sum" if real(type) else "memory-sum")
    d.float_reduction |= real(type)
    row, share, column = _rows(d, d.nodes, type)
    own, at = d.own(d.source(type, "job")), d.index(local=True)
    head, e = _loop(d, row, at)
    part = _small(d, own) if real(type) else own
    test = d.pick({f"!= {at}": 50, f">= {d.nodes // 3}": 50})
    d.line(f"{head} {{", f"if ({column.at(e)} {test})", f"    {share.at(e)} += {part};", "}")


def compared(d: Draft) -> None:
    """For each element of the own row, what it has in common with the row of the node that it names."""
    d.note("row-picked", "row-written", "index-compared")
    row, share, column = _rows(d, max(d.extent, d.nodes), "int")
    u, common = d.fresh("u"), d.fresh("common")
    head, e = _loop(d, row, d.i)
    d.line(f"{head} {{", f"int {u} = {column.at(e)}, {common} = 0;")
    inner, f = _loop(d, row, u)
    d.line(inner, f"    {common} += {column.at(f)} == {column.at(e)};", f"{share.at(e)} = {common};", "}")


def lengths(d: Draft) -> None:
    """How long the rows are of what the elements of the own row name; maybe where they begin, or two rows, too."""
    d.note("row-length", "gather")
    type = _type(d)
    row, share, column = _rows(d, max(d.extent, d.nodes), type, spare=1)
    x, z, s = d.source(type, "node"), d.target(type, "job"), d.fresh("s")
    d.line(f"{type} {s} = 0;")
    head, e = _loop(d, row, d.i)
    u, part = column.at(e), f"{share.at(e)} * {x.at(column.at(e))}"
    begin, end = row.at(u), row.at(f"{u} + 1")
    style = d.pick({"difference": 50, "empty": 15, "longer": 15, "number": 10, "two": 10})
    length = f"({end} - {begin})"
    if style == "empty":
        d.line(f"{head} {{", f"if ({begin} < {end})", f"    {s} += {part};", "}")
    elif style == "longer":
        d.line(head, f"    {s} += {part} * ({length} > {row.at(f'{d.i} + 1')} - {row.at(d.i)});")
    elif style == "number":
        d.line(head, f"    {s} += {part} * ({length} + ({begin} & 1));")
    else:
        two = f"({row.at(f'{u} + 2')} - {begin})"
        d.line(head, f"    {s} += {part} * {length if style == 'difference' else two};")
    d.line(f"{d.own(z, write=True)} = {_small(d, s)};")


def ends(d: Draft) -> None:
    """What is reached from where a row ends: its last element, or the first one behind it."""
    d.note("row-ends", "row-written")
    type = _type(d)
    row, share, column = _rows(d, d.extent, type)
    x, own = d.source(type, "node"), d.own(d.source(type, "job"))
    head, e = _loop(d, row, d.i)
    d.line(head, f"    {share.at(e)} = 0.5 * {share.at(e)} + 0.25 * {x.at(column.at(e))};")
    begin, end = row.at(d.i), row.at(f"{d.i} + 1")
    style = d.pick({"last": 35, "first": 35, "behind": 15, "unasked": 15})
    if style == "last":
        d.line(f"if ({begin} < {end})", f"    {share.at(f'{end} - 1')} += {_small(d, own)};")
    elif style == "first":
        d.line(f"if ({begin} < {end})", f"    {share.at(begin)} += {_small(d, own)};")
    elif style == "behind":
        d.line(f"{share.at(end)} = 0.5 * {share.at(end)} + {_small(d, own)};")
    else:
        d.line(f"{d.own(d.target(type, 'job'), write=True)} = {share.at(begin)};")


def sought(d: Draft) -> None:
    """The element of a node's row that names another one gets the own number; it may be none, or the next row's."""
    d.note("row-sought", "row-picked", "row-written")
    row, share, column = _rows(d, d.nodes, "unsigned")
    d.note("memory-sum")
    assert not isinstance(row.fill, str) and not isinstance(column.fill, str)
    filled = [v for v in range(d.nodes) if row.fill[v] < row.fill[v + 1]] or [0]
    style = d.pick({"inside": 20, "behind": 20, "function": 20, "sorted": 15, "while": 10, "unasked": 15})
    sure = style == "while" or (style == "unasked" and d.chance(0.7))
    nodes = [d.draw.choice(filled) for _ in range(d.extent)]
    keys = [column.fill[d.draw.randrange(row.fill[v], max(row.fill[v + 1], row.fill[v] + 1))] for v in nodes]
    if not sure:
        nodes = [v if d.chance(0.9) else d.draw.randrange(d.nodes) for v in nodes]
        keys = [key if d.chance(0.8) else d.draw.randrange(d.nodes) for key in keys]
    at, key = (
        d.own(d.new(name, "int", d.extent, fill=fill, plain=True)) for name, fill in (("at", nodes), ("key", keys))
    )
    e, begin, end, to = d.fresh("e"), row.at(at), row.at(f"{at} + 1"), column.at
    found = f"{share.at(e)} += 3u * (unsigned){d.int_i} + 1u;"
    head = f"for (int {e} = {begin}; {e} < {end}; {e}++)"
    if style == "inside":
        d.line(f"{head} {{", f"if ({to(e)} == {key}) {{", found, "break;", "}", "}")
    elif style == "sorted":
        d.line(f"{head} {{", f"if ({to(e)} >= {key}) {{", f"if ({to(e)} == {key})", f"    {found}", "break;", "}", "}")
    elif style == "function":
        text = f"static int NAME(const {row.type} *row, const int *to, int u, int v) {{ "
        text += "for (int j = row[u]; j < row[u + 1]; j++) if (to[j] == v) return j; return -1; }"
        name = d.helper("entry", text)
        d.line(f"int {e} = {name}(&{row.at('0')}, &{to('0')}, {at}, {key});", f"if ({e} >= 0)", f"    {found}")
    elif style == "while":
        d.line(f"int {e} = {begin};", f"while ({to(e)} != {key})", f"    {e}++;", found)
    else:
        d.line(f"int {e};", head.replace("int ", ""), f"    if ({to(e)} == {key})", "        break;")
        d.line(*([found] if style == "unasked" else [f"if ({e} < {end})", f"    {found}"]))


def _rows(d: Draft, many: int, type: str, spare: int = 0) -> tuple[Array, Array, Array]:
    """Bounds of so many rows, and two arrays that they cut: what is written, and the numbers of nodes.

    `spare`: bounds behind the last one."""
    full = d.chance(0.3)
    bounds = [d.pick({0: 80, 2: 20})]
    for _ in range(many):
        bounds.append(bounds[-1] + (d.draw.randint(1, 4) if full or d.chance(0.8) else 0))
    size = bounds[-1] + 1
    bounds += bounds[-1:] * spare
    row = d.new("row", d.pick(TYPES), len(bounds), fill=bounds, locked=True, plain=True)
    share = d.new("share", type, size, written=True, locked=True, plain=True)
    nodes = [d.draw.randrange(d.nodes) for _ in range(size)]
    return row, share, d.new("to", "int", size, fill=nodes, locked=True, plain=True)


def _loop(d: Draft, row: Array, at: str) -> tuple[str, str]:
    """The head of a loop over a row, and the place of its element."""
    e, begin, end = d.fresh("e"), row.at(at), row.at(f"{at} + 1")
    style = d.pick({"bounds": 60, "rest": 15, "count": 25})
    if style == "count":
        return f"for (int {e} = 0; {e} < {end} - {begin}; {e}++)", f"{begin} + {e}"
    first = f"{begin} + 1" if style == "rest" else begin
    return f"for (long {e} = {first}; {e} < {end}; {e}++)", e


def _type(d: Draft) -> str:
    return d.pick({"double": 70, "float": 30})


def _small(d: Draft, text: str) -> str:
    return f"0.125 * {text}" if d.tangled else text
