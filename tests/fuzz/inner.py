"""Statements with loops or arrays of their own inside of the body."""

from __future__ import annotations

from .draft import Draft
from .model import Array, real


def csr_gather(d: Draft) -> None:
    """One row of a sparse matrix times a vector."""
    d.note("csr", "gather")
    type = _type(d)
    e, row, column, weight = _rows(d, type)
    x, y, s = d.source(type, "node"), d.target(type, "job"), d.fresh("s")
    d.line(f"{type} {s} = 0;", _row_loop(d, e, row))
    d.line(f"    {s} += {weight.at(e)} * {x.at(column.at(e))};")
    d.line(f"{d.own(y, write=True)} = {_small(d, s)};")


def csr_scatter(d: Draft) -> None:
    """The same transposed."""
    d.note("csr", "memory-float-sum")
    d.float_reduction = True
    type = _type(d)
    e, row, column, weight = _rows(d, type)
    y, own = d.target(type, "node"), d.own(d.source(type, "job"))
    d.line(_row_loop(d, e, row), f"    {y.at(column.at(e))} += {_small(d, f'{weight.at(e)} * {own}')};")


def gauss_seidel(d: Draft) -> None:
    """Rows that use what other rows have just computed."""
    d.note("csr", "recurrence", "in-place")
    e, row, column, weight = _rows(d, "double", nodes=d.extent)
    x = d.new("x", "double", d.extent, written=True, locked=True, space="job")
    b, s = d.own(d.source("double", "job")), d.fresh("s")
    d.line(f"double {s} = {b};", _row_loop(d, e, row), f"    {s} -= 0.2 * {weight.at(e)} * {x.at(column.at(e))};")
    d.line(f"{x.at(d.i)} = 0.5 * {s};")


def fixed_gather(d: Draft) -> None:
    """A fixed number of neighbours, summed."""
    d.note("fixed-inner", "gather")
    type = _type(d)
    k, size, neighbour = _neighbours(d)
    x, s = d.source(type, "node"), d.fresh("s")
    z = d.own(d.target(type, "job"), write=True)
    d.line(f"{type} {s} = 0;", f"for (int {k} = 0; {k} < {size}; {k}++)", f"    {s} += {x.at(neighbour)};")
    d.line(f"{z} = {d.literal(type, 0.125)} * {s};")


def fixed_scatter(d: Draft) -> None:
    """A fixed number of neighbours, each of which gets its share."""
    type = d.number_type()
    d.note("fixed-inner", "memory-float-sum" if real(type) else "memory-sum")
    d.float_reduction |= real(type)
    k, size, neighbour = _neighbours(d)
    y, own = d.target(type, "node"), d.own(d.source(type, "job"))
    share = f"{d.literal(type, 0.125)} * {own}" if real(type) else own
    d.line(f"for (int {k} = 0; {k} < {size}; {k}++)", f"    {y.at(neighbour)} += {share};")


def short_list(d: Draft) -> None:
    """Neighbours up to a mark."""
    d.note("short-list", "fixed-inner", "gather")
    type = _type(d)
    k, size, neighbour = _neighbours(d, mark=True)
    x, s = d.source(type, "node"), d.fresh("s")
    z = d.own(d.target(type, "job"), write=True)
    d.line(f"{type} {s} = 0;")
    if d.chance(0.5):
        d.line(f"for (int {k} = 0; {k} < {size}; {k}++) {{", f"if ({neighbour} < 0)", "    break;")
        d.line(f"{s} += {x.at(neighbour)};", "}")
    else:
        d.line(f"for (int {k} = 0; {k} < {size} && {neighbour} >= 0; {k}++)", f"    {s} += {x.at(neighbour)};")
    d.line(f"{z} = {d.literal(type, 0.125)} * {s};")


def triangle(d: Draft) -> None:
    """An inner loop as long as the counter says."""
    d.note("triangle")
    type = _type(d)
    k, s, x = d.fresh("k"), d.fresh("s"), d.source(type, "job")
    z = d.own(d.target(type, "job"), write=True)
    d.line(f"{type} {s} = 0;", f"for (int {k} = 0; {k} <= {d.int_i}; {k}++)", f"    {s} += {x.at(k)};")
    d.line(f"{z} = 0.01 * {s};")


def block(d: Draft) -> None:
    """Three numbers for each node."""
    d.note("block")
    type = _type(d)
    j, size = d.index(local=True), 3
    style = d.pick({"gather": 50, "add": 50})
    array = d.new("u", type, size * d.nodes, written=style == "add", locked=True, plain=True)
    other = d.new("w", type, size * d.extent, written=style == "gather", locked=True, plain=True)
    d.note("gather" if style == "gather" else "memory-float-sum")
    d.float_reduction |= style == "add"
    if d.chance(0.5):
        k = d.fresh("k")
        d.line(f"for (int {k} = 0; {k} < {size}; {k}++)")
        places = [("    {}", f"{size} * {j} + {k}", f"{size} * {d.i} + {k}")]
    else:
        places = [("{}", f"{size} * {j} + {c}", f"{size} * {d.i} + {c}") for c in range(size)]
    for shift, far, near in places:
        text = f"{other.at(near)} = 0.5 * {array.at(far)};"
        d.line(shift.format(text if style == "gather" else f"{array.at(far)} += {other.at(near)};"))


def copy_block(d: Draft) -> None:
    """A few elements at once."""
    d.note("copy-block", "gather")
    type, j, size = d.number_type(), d.index(local=True), d.draw.randint(2, 4)
    x = d.new("u", type, size * d.nodes, locked=True, plain=True)
    z = d.new("z", type, size * d.extent, written=True, locked=True, plain=True)
    count = f"{size} * sizeof({type})"
    d.line(f"memcpy(&{z.at(f'{size} * {d.i}')}, &{x.at(f'{size} * {j}')}, {count});")


def local_array(d: Draft) -> None:
    """Neighbours in an array that lives in the body."""
    d.note("local-array", "fixed-inner", "gather")
    _through_array(d, "")


def scratch(d: Draft) -> None:
    """The same with an array outside of the loop, which may hold what an earlier iteration left."""
    d.note("scratch", "fixed-inner", "gather")
    _through_array(d, d.pick({"always": 60, "sometimes": 40}))


def _through_array(d: Draft, outside: str) -> None:
    type = _type(d)
    k, size, neighbour = _neighbours(d)
    x, t = d.source(type, "node"), d.fresh("t")
    z = d.own(d.target(type, "job"), write=True)
    if outside:
        d.before.append(f"{type} {t}[{size}] = {{0}};")
    else:
        d.line(f"{type} {t}[{size}];")
    loop = f"for (int {k} = 0; {k} < {size}; {k}++)"
    if outside == "sometimes":
        d.line(loop, f"    if ({x.at(neighbour)} > 0)", f"        {t}[{k}] = {x.at(neighbour)};")
    else:
        d.line(loop, f"    {t}[{k}] = {x.at(neighbour)};")
    if d.chance(0.5):
        d.line(f"{z} = 0.5 * {t}[0] - 0.25 * {t}[{size - 1}];")
    else:
        s = d.fresh("s")
        d.line(f"{type} {s} = 0;", loop, f"    {s} = 0.5 * {s} + {t}[{k}];", f"{z} = 0.25 * {s};")


def _type(d: Draft) -> str:
    return d.pick({"double": 70, "float": 30})


def _small(d: Draft, text: str) -> str:
    return f"0.125 * {text}" if d.tangled else text


def _rows(d: Draft, type: str, *, nodes: int = 0) -> tuple[str, Array, Array, Array]:
    """Name of the inner counter; starts of rows, columns and weights."""
    starts = [0]
    for _ in range(d.extent):
        starts.append(starts[-1] + d.draw.randint(0, 4))
    size = max(1, starts[-1])
    row = d.new("row", "int", d.extent + 1, fill=starts, locked=True, plain=True)
    columns = [d.draw.randrange(nodes or d.nodes) for _ in range(size)]
    column = d.new("col", d.pick({"int": 80, "unsigned": 10, "long": 10}), size, fill=columns, plain=True)
    weight = d.new("w", type, size, fill="real", locked=True, plain=True)
    return d.fresh("e"), row, column, weight


def _row_loop(d: Draft, e: str, row: Array) -> str:
    return f"for (int {e} = {row.at(d.i)}; {e} < {row.at(f'{d.i} + 1')}; {e}++)"


def _neighbours(d: Draft, *, mark: bool = False) -> tuple[str, int, str]:
    """Name of the inner counter, how many neighbours there are, and a neighbour as an index."""
    size, k = d.draw.randint(2, 4), d.fresh("k")
    values = [d.draw.randrange(d.nodes) for _ in range(size * d.extent)]
    if mark:
        values = [-1 if d.chance(0.25) else value for value in values]
    array = d.new("nb", "int", size * d.extent, fill=values, plain=True)
    return k, size, array.at(f"{size} * {d.i} + {k}")
