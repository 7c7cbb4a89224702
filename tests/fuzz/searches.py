"""Statements that search inside of an iteration: in sorted numbers, down a tree; and nests without any index.

What a search finds is an index that no expression says: only the iteration itself knows it. The near misses are among
them: a search that moves what others search, one that takes what it finds, one that goes on where the last one ended.
"""

from __future__ import annotations

from .draft import Draft
from .model import Array


def searched_gather(d: Draft) -> None:
    """x[where the first number is that is not less than the own one]."""
    d.note("search")
    type = _type(d)
    at, x = _found(d), d.source(type, "node")
    second = d.source(type, "node") if d.chance(0.3) else x
    text = x.at(at) if second is x else f"({x.at(at)} - {second.at(at)})"
    d.line(f"{d.own(d.target(type, 'job'), write=True)} = {_small(d, text)};")


def searched_place(d: Draft) -> None:
    """What was found is stored, or the own number is added to what was found before."""
    d.note("search")
    at = _found(d)
    if d.chance(0.5):
        d.line(f"{d.own(d.new('place', 'int', d.extent, fill='zero', written=True, locked=True), write=True)} = {at};")
    else:
        d.note("memory-sum")
        hits = d.new("hits", "unsigned", d.nodes, fill="any", written=True, locked=True)
        d.line(f"{hits.at(d.index())} += (unsigned){at} + 1;")


def searched_target(d: Draft) -> None:
    """A sum at the place that a search finds."""
    d.note("search", "memory-sum")
    y = d.new("hits", "unsigned", d.nodes, fill="any", written=True, locked=True)
    d.line(f"{y.at(_found(d))} += 3;")


def moving_target(d: Draft) -> None:
    """A sum at the place of a point, which moves; perhaps one that others look at."""
    d.note("computed-index", "memory-sum")
    places = [d.draw.randrange(d.nodes) for _ in range(d.extent)]
    point = d.new("point", "double", d.extent, fill=places, written=True, locked=True, plain=True).at(d.i)
    y = d.new("hits", "unsigned", d.nodes, fill="any", written=True, locked=True)
    d.line(f"{y.at(f'(int){point}')} += {y.at(d.index()) if d.chance(0.2) else '3'};")
    d.line(f"{point} = {point} + 1.25 < {d.nodes} ? {point} + 1.25 : 0.25;")


def moving_search(d: Draft) -> None:
    """The search marks what it passes, or takes what it finds."""
    d.note("search-moves")
    k, most = d.fresh("k"), d.nodes
    if d.chance(0.5):
        board = d.new("board", "int", most, fill=sorted(_numbers(d, most)), written=True, locked=True, plain=True)
        key = d.new("key", "int", d.extent, fill=_numbers(d, d.extent), plain=True)
        place = d.new("place", "int", d.extent, fill="zero", written=True, locked=True)
        d.line(f"int {k} = 0;", f"for (; {k} < {most - 1} && {board.at(k)} < {key.at(d.i)}; {k}++)")
        d.line(f"    {board.at(k)} += {d.draw.choice([1, 7])};", f"{place.at(d.i)} = {k};")
    else:
        taken = d.new("taken", "int", most, fill="zero", written=True, locked=True, plain=True)
        start = d.index(local=True)
        d.line(f"int {k} = {start};", f"while ({k} < {most - 1} && {taken.at(k)})", f"    {k}++;")
        d.line(f"{taken.at(k)} = {d.draw.choice(['1', f'{d.int_i} + 1'])};")


def continued_search(d: Draft) -> None:
    """Each iteration goes on where the one before it ended."""
    d.note("search-moves")
    board = _board(d)
    key = d.new("key", "int", d.extent, fill=sorted(_numbers(d, d.extent)), plain=True)
    at = d.fresh("at")
    place = d.new("place", "int", d.extent, fill="zero", written=True, locked=True)
    d.before.append(f"int {at} = 0;")
    d.line(f"while ({at} < {d.nodes - 1} && {board.at(at)} < {key.at(d.i)})", f"    {at}++;")
    d.line(f"{place.at(d.i)} = {at};")


def descent(d: Draft) -> None:
    """Down a tree whose nodes have some keys and as many children, over a few levels or to a leaf."""
    d.note("descent")
    width = d.draw.randint(2, 4)
    nodes = d.nodes
    keys = [number for _ in range(nodes) for number in sorted(_numbers(d, width))]
    children = [d.draw.randint(min(node + 1, nodes - 1), nodes - 1) for node in range(nodes) for _ in range(width)]
    key = d.new("keys", "int", width * nodes, fill=keys, plain=True)
    child = d.new("child", "int", width * nodes, fill=children, plain=True)
    own = d.own(d.new("key", "int", d.extent, fill=_numbers(d, d.extent), plain=True))
    at, k = d.fresh("at"), d.fresh("k")
    start = d.index() if d.chance(0.4) else "0"
    level, levels = d.fresh("level"), d.draw.randint(1, 4)
    style = d.pick({"levels": 50, "leaf": 50})
    walk = f"for (int {level} = 0; {level} < {levels}; {level}++) {{"
    if style == "leaf":
        walk = f"while ({at} < {d.draw.randint(1, nodes - 1)}) {{"
    d.line(f"int {at} = {start};", walk, f"int {k} = 0;")
    here = f"{key.at(f'{width} * {at} + {k}')} < {own}"
    if d.chance(0.5):
        d.line(f"while ({k} < {width - 1} && {here})", f"    {k}++;")
    else:
        d.line(f"for (int b = 0; b < {width}; b++) {{", f"{k} = b;", f"if (!({here}))", "    break;", "}")
    d.line(f"{at} = {child.at(f'{width} * {at} + {k}')};", "}")
    type = _type(d)
    x = d.source(type, "node")
    d.line(f"{d.own(d.target(type, 'job'), write=True)} = {_small(d, x.at(at))};")


def elimination(d: Draft) -> None:
    """A multiple of one row is taken from each row: a nest without indices, perhaps from the counter on."""
    d.note("elimination")
    type = _type(d)
    width, k = d.draw.randint(2, 5), d.fresh("k")
    a = d.new("a", type, width * (d.extent + 1), written=True, locked=True, plain=True)
    m = d.own(d.source(type, "job"))
    first = d.pick({"0": 50, "1": 25, f"{d.int_i} % {width}": 25})
    pivot = d.extent if d.chance(0.7) else d.draw.randint(0, d.extent)  # none of the rows, or one of them
    row = f"{width} * {d.int_i} + {k}"
    d.line(f"for (int {k} = {first}; {k} < {width}; {k}++)")
    d.line(f"    {a.at(row)} = 0.5 * {a.at(row)} - 0.25 * {m} * {a.at(f'{width * pivot} + {k}')};")


def _found(d: Draft) -> str:
    """The variable that holds what a search over all nodes finds."""
    board = _board(d)
    key = d.own(d.new("key", "int", d.extent, fill=_numbers(d, d.extent), plain=True))
    at, k, most = d.fresh("at"), d.fresh("k"), d.nodes
    style = d.pick({"break": 30, "while": 20, "function": 20, "halves": 20, "flag": 10})
    if style == "break":
        d.line(f"int {at} = {most - 1};", f"for (int {k} = 0; {k} < {most}; {k}++)")
        d.line(f"    if ({board.at(k)} >= {key}) {{", f"        {at} = {k};", "        break;", "    }")
    elif style == "while":
        d.line(f"int {at} = 0;", f"while ({at} < {most - 1} && {board.at(at)} < {key})", f"    {at}++;")
    elif style == "function":
        text = "static int NAME(const int *list, int n, int key) { for (int j = 0; j < n; j++) if (list[j] >= key)"
        name = d.helper("find", text + " return j; return n - 1; }")
        d.line(f"int {at} = {name}(&{board.at('0')}, {most}, {key});")
    elif style == "halves":
        high, middle = d.fresh("high"), d.fresh("middle")
        d.line(f"int {at} = 0, {high} = {most - 1};", f"while ({at} < {high}) {{")
        d.line(f"int {middle} = ({at} + {high}) / 2;", f"if ({board.at(middle)} >= {key})", f"    {high} = {middle};")
        d.line("else", f"    {at} = {middle} + 1;", "}")
    else:
        d.line(f"int {at} = -1;", f"for (int {k} = 0; {k} < {most} && {at} < 0; {k}++)")
        d.line(f"    if ({board.at(k)} >= {key})", f"        {at} = {k};", f"{at} = {at} < 0 ? {most - 1} : {at};")
    return at


def _board(d: Draft) -> Array:
    """Ascending numbers, one for each node."""
    return d.new("board", "int", d.nodes, fill=sorted(_numbers(d, d.nodes)), plain=True)


def _numbers(d: Draft, count: int) -> list[int]:
    return [d.draw.randrange(100) for _ in range(count)]


def _type(d: Draft) -> str:
    return d.pick({"double": 70, "float": 30})


def _small(d: Draft, text: str) -> str:
    return f"0.125 * {text}" if d.tangled else text
