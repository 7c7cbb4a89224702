"""Statements with rounds: inner loops that go on as long as what they compute says, so that nothing tells how often.

The number that ends them runs through all numbers below 64 before it comes again. Iterations may make no round at all.
What a round reaches is the same each time, but for the near misses: it may depend on how many there were.
"""

from __future__ import annotations

from .draft import Draft
from .model import real


def sums(d: Draft) -> None:
    """What a node is given in each round."""
    type = d.pick({"unsigned": 50, "double": 35, "short": 15})
    d.note("rounds", "memory-float-sum" if real(type) else "memory-sum")
    d.float_reduction |= real(type)
    y, left = d.target(type, "node").at(d.index(local=True)), d.fresh("left")
    lines = [f"{y} += {d.literal(type, 0.125)} * {left};" if real(type) else f"{y} += ({type})(3 * {left});"]
    if d.chance(0.4):
        k = d.new("hits", "unsigned", d.nodes, written=True, locked=True).at(d.index(local=True))
        lines.append(f"{k}{d.draw.choice(['++', ' -= 7'])};")
    _rounds(d, left, lines)


def states(d: Draft) -> None:
    """The own number becomes another one in each round; it may be a node's, or be made with other nodes' numbers."""
    d.note("rounds", "in-place")
    left, style = d.fresh("left"), d.pick({"own": 45, "node": 35, "others": 20})
    if style == "own":
        state = _own(d, "state")
    else:
        y = d.new("state", "unsigned", d.nodes, written=True, locked=True)
        state = y.at(d.index(distinct=d.chance(0.85), local=True))
    more = (y if style == "others" else d.new("k", "unsigned", d.nodes, locked=True)).at(d.index(local=True))
    _rounds(d, left, [f"{state} = {state} * 3u + {more} + (unsigned){left};"])
    if d.chance(0.5):
        d.line(f"{d.own(d.target('unsigned', 'job'), write=True)} = {state} ^ 5u;")


def sets(d: Draft) -> None:
    """A number is stored in each round, and read behind them: if there was none, it is the one before."""
    d.note("rounds", "scatter")
    left, style = d.fresh("left"), d.pick({"node": 40, "same": 30, "one": 30})
    if style == "one":
        y = d.new("last", "unsigned", 1, written=True, locked=True).at("0")
    else:
        y = d.new("last", "unsigned", d.nodes, written=True, locked=True)
        y = y.at(d.index(distinct=style == "node", local=True))
    always = d.chance(0.4)
    _rounds(d, left, [f"{y} = {'1u' if style == 'same' else f'(unsigned){left} + 9u'};"], always=always)
    if style != "same":
        d.line(f"{d.own(d.target('unsigned', 'job'), write=True)} = {y} + 1u;")


def rows(d: Draft) -> None:
    """A row of numbers in each round: what it sums up, or where the first one is that is large enough."""
    d.note("rounds", "csr", "gather")
    starts = [0]
    for _ in range(d.extent):
        starts.append(starts[-1] + d.draw.randint(0, 4))
    size = max(1, starts[-1])
    row = d.new("row", "int", d.extent + 1, fill=starts, locked=True, plain=True)
    column = d.new("col", "int", size, fill=[d.draw.randrange(d.nodes) for _ in range(size)], plain=True)
    left, e, some = d.fresh("left"), d.fresh("e"), d.chance(0.3)
    head = f"for (int {e} = {row.at(d.i)}; {e} < {row.at(f'{d.i} + 1')}; {e}++)"
    style = d.pick({"sum": 50, "search": 25, "updates": 25})
    if style == "updates":
        d.note("memory-sum")
        y = d.target("unsigned", "node").at(column.at(e))
        lines = [head, f"    {y} += {d.draw.choice(['2u', f'(unsigned){left}'])};"]
    else:
        value, z = d.new("k", "unsigned", d.nodes, locked=True).at(column.at(e)), _own(d, "total")
        lines = [head, f"    {z} += {value} >> ({left} & 3);"]
        if style == "search":
            lines = [f"{head} {{", f"if ({value} % 64u > (unsigned){left})", "    break;", f"{z} += 3u;", "}"]
    if some:
        lines = [f"if ({left} & 1) {{", *lines, "}"]
    _rounds(d, left, lines)


def roots(d: Draft) -> None:
    """Newton's method for a square root, with the number that it has come to in memory."""
    d.note("rounds", "math", "if-data")
    a = f"(1 + fabs({d.own(d.new('square', 'double', d.extent, locked=True))}))"
    s = d.own(d.new("root", "double", d.extent, written=True, locked=True), write=True)
    step = d.fresh("step")
    d.line(f"{s} = {a};", f"double {step};", "do {", f"{step} = 0.5 * ({s} - {a} / {s});", f"{s} -= {step};")
    d.line(f"}} while ({step} > 1e-4);")


def moves(d: Draft) -> None:
    """Each round goes on to another place: the next one, that of a list, or the one that the number says."""
    d.note("rounds", "rounds-move")
    left, at, style = d.fresh("left"), d.fresh("at"), d.pick({"next": 35, "list": 35, "number": 30})
    start, writes = d.index(local=True), d.chance(0.6)
    y = d.target("unsigned", "node") if writes else d.source("unsigned", "node")
    if style == "list":
        order = [d.draw.randrange(d.nodes) for _ in range(d.nodes)]
        step = d.new("next", "int", d.nodes, fill=order, locked=True, plain=True).at(at)
    else:
        step = f"({at} + 1) % {d.nodes}" if style == "next" else f"({at} + {left}) % {d.nodes}"
    z = "" if writes else _own(d, "seen")
    d.line(f"int {at} = {start};")
    _rounds(d, left, [f"{y.at(at)} += 5u;" if writes else f"{z} += {y.at(at)};", f"{at} = {step};"])


def _own(d: Draft, hint: str) -> str:
    """A number of the iteration's own."""
    return d.own(d.new(hint, "unsigned", d.extent, written=True, locked=True), write=True)


def _rounds(d: Draft, left: str, lines: list[str], *, always: bool = False) -> None:
    """Put lines in a loop that `left` ends: it may be any number below 64. `always`: one round at least."""
    loads = [d.draw.randrange(64) for _ in range(d.extent)]
    load = d.own(d.new("load", "int", d.extent, fill=loads, constant=False, locked=True))
    ends, next = d.draw.randint(2, 6), f"{left} = ({left} * 5 + 3) & 63"
    style = "do" if always else d.pick({"for": 35, "while": 35, "do": 10, "break": 20})
    d.line(f"int {left} = {load};")
    if style == "for":
        d.line(f"for (; {left} % {ends} != 0; {next}) {{", *lines, "}")
    elif style == "while":
        d.line(f"while ({left} % {ends}) {{", *lines, f"{next};", "}")
    elif style == "do":
        d.line("do {", *lines, f"{next};", f"}} while ({left} % {ends});")
    else:
        r = d.fresh("r")
        d.line(f"for (int {r} = 0; {r} < {d.draw.randint(2, 9)}; {r}++) {{", f"if ({left} % {ends} == 0)", "    break;")
        d.line(*lines, f"{next};", "}")
