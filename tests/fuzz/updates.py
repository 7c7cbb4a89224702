"""Statements that read and write arrays: gathers, scatters, reductions in memory, and what looks like one."""

from __future__ import annotations

from .draft import Draft
from .model import CODES, real, wraps
from .values import gathered, held, individual, value

BITS = {"and": "&=", "or": "|=", "xor": "^="}


def gather(d: Draft) -> None:
    type = d.number_type()
    text = gathered(d, type)
    z = d.target(type, "job")
    if d.chance(0.5):
        text = f"{text} - {value(d, type)}" if real(type) else f"{text} + {value(d, type)}"
    d.line(f"{d.own(z, write=True)} = {_bounded(d, type, text)};")


def stream_out(d: Draft) -> None:
    """No index array at all."""
    type = d.number_type()
    z = d.own(d.target(type, "job"), write=True)
    text = value(d, type)
    d.line(f"{z} = {text};" if d.chance(0.5) else f"{z} = {_bounded(d, type, f'{text} + {value(d, type)}')};")


def scatter(d: Draft) -> None:
    d.note("scatter")
    type = d.number_type()
    j = d.index(distinct=d.chance(0.75))
    y = d.target(type, "node")
    d.line(f"{y.at(j)} = {value(d, type)};")


def gather_scatter(d: Draft) -> None:
    """From some nodes to others: in two arrays, or in one whose two sets of nodes may or may not meet."""
    d.note("gather-scatter")
    type = d.number_type()
    if d.chance(0.6):
        to = d.index(distinct=d.chance(0.8))
        d.line(f"{d.target(type, 'node').at(to)} = {_bounded(d, type, f'{gathered(d, type)} + {value(d, type)}')};")
        return
    first, second = pair(d, apart=d.chance(0.6))
    x = d.target(type, "node")
    text = f"0.5 * {x.at(second)} + 0.25" if real(type) else f"({x.at(second)} ^ {x.at(first)}) / 2"
    d.line(f"{x.at(first)} = {text};")


def in_place(d: Draft) -> None:
    """x[j] from x[j]."""
    d.note("in-place")
    type = d.number_type()
    if d.chance(0.5):
        x = d.own(d.target(type, "job"), write=True)
    else:
        j = d.index(distinct=d.chance(0.85), local=True)
        x = d.target(type, "node").at(j)
    if real(type):
        d.line(f"{x} = {d.draw.choice(['0.5 * {} + 0.1', '0.25 - {} * 0.75', 'fabs({})', '-{}'])};".format(x))
    else:
        d.line(f"{x} = {d.draw.choice(['({} & 63) + 1', '7 - {} / 2', '({} ^ 21) / 2'])};".format(x))


def swap(d: Draft) -> None:
    d.note("swap")
    type = d.number_type()
    first, second = pair(d, apart=d.chance(0.8))
    x, t = d.target(type, "node"), d.fresh("t")
    d.line(f"{type} {t} = {x.at(first)};", f"{x.at(first)} = {x.at(second)};", f"{x.at(second)} = {t};")


def reduce_sum(d: Draft) -> None:
    type = d.number_type()
    _sum(d, type)
    y = d.target(type, "node").at(d.index())
    v = value(d, type)
    style = d.pick({"+=": 40, "-=": 15, "plain": 15, "flipped": 10, "helper": 8, "both": 12})
    if style == "helper":
        name = d.helper(f"add_{CODES[type]}", f"static void NAME({type} *to, {type} v) {{ *to += v; }}")
        d.line(f"{name}(&{y}, {v});")
    elif style == "plain":
        d.line(f"{y} = {y} + {v};")
    elif style == "flipped":
        d.line(f"{y} = {v} + {y};")
    elif style == "both":
        d.line(f"{y} += {v};", f"{y} -= {value(d, type)};")
    else:
        d.line(f"{y} {style} {v};")


def histogram(d: Draft) -> None:
    d.note("histogram")
    y = d.target(d.number_type(real=0), "node")
    d.line(f"{y.at(d.index())}{d.draw.choice(['++', '--'])};")


def reduce_other(d: Draft) -> None:
    """Products, bits, least and greatest values."""
    kind = d.pick({"product": 20, "and": 13, "or": 13, "xor": 14, "min": 20, "max": 20})
    d.note(f"memory-{kind}")
    type = d.number_type(real={"product": 0.5, "min": 0.5, "max": 0.5}.get(kind, 0))
    if kind == "product":
        type = type if real(type) or wraps(type) else "unsigned"
    y = d.target(type, "node")
    target = y.at(d.index())
    if kind in ("min", "max"):
        v, sign = held(d, type), "<" if kind == "min" else ">"
        style = d.pick({"if": 45, "ternary": 40, "function": 15 * (type == "double")})
        if style == "if":
            d.line(f"if ({v} {sign} {target})", f"    {target} = {v};")
        elif style == "ternary":
            d.line(f"{target} = {v} {sign} {target} ? {v} : {target};")
        else:
            d.note("math")
            d.line(f"{target} = f{kind}({target}, {v});")
    elif kind == "product":
        if real(type):
            d.float_reduction = True
            weight = d.new("w", type, d.extent, fill="near1", space="job", locked=True)
            d.line(f"{target} *= {d.own(weight)};")
        else:
            d.line(f"{target} *= ({type})({value(d, type)} | 1);")
    else:
        d.line(f"{target} {BITS[kind]} {value(d, type)};")


def edge(d: Draft) -> None:
    """A flux over an edge, into one end and out of the other."""
    d.note("edge", "gather")
    type = d.pick({"double": 75, "float": 25})
    _sum(d, type)
    first, second = d.index(local=True), d.index(local=True)
    x, r, f = d.source(type, "node"), d.target(type, "node"), d.fresh("f")
    weight = d.literal(type, 0.125) if d.tangled else d.own(d.source(type, "job"))
    d.line(f"{type} {f} = {weight} * ({x.at(first)} - {x.at(second)});")
    d.line(f"{r.at(first)} += {f};", f"{r.at(second)} -= {f};")


def mixed_operators(d: Draft) -> None:
    """Two operators on one array that do not commute."""
    d.note("mixed-operators")
    type = d.number_type()
    type = type if real(type) or wraps(type) else "unsigned"
    d.float_reduction |= real(type)  # where they do not meet, each is a reduction
    y = d.target(type, "node")
    first, second = y.at(d.index(local=True)), y.at(d.index(local=True))
    style = d.pick({"scale": 30, "set": 25, "bits": 25 * (not real(type)), "range": 20})
    if style == "range":
        low, high = held(d, type, individual(d, type)), held(d, type, individual(d, type))
        d.line(f"if ({low} < {first})", f"    {first} = {low};", f"if ({high} > {second})", f"    {second} = {high};")
        return
    d.line(f"{first} {'^=' if style == 'bits' else '+='} {individual(d, type)};")
    if style == "scale":
        d.line(f"{second} *= {d.literal(type, 0.9) if real(type) else '3'};")
    else:
        d.line(f"{second} {'+=' if style == 'bits' else '='} {individual(d, type)};")


def circular_sum(d: Draft) -> None:
    """What is added comes from where others add."""
    d.note("circular-sum", "gather-scatter")
    type = d.number_type()
    type = type if real(type) or wraps(type) else "unsigned"
    _sum(d, type)
    y, (first, second) = d.target(type, "node"), pair(d, apart=d.chance(0.3))
    part = f"{d.literal(type, 0.0625)} * {y.at(second)}" if real(type) else y.at(second)
    d.line(f"{y.at(first)} += {part} + {individual(d, type)};")


def first_visit(d: Draft) -> None:
    """Whoever comes first takes the node."""
    d.note("first-visit", "if-data")
    owner = d.new("owner", "int", d.nodes, fill="zero", written=True, locked=True, space="node")
    z = d.own(d.target("int" if not d.tangled else "unsigned", "job"), write=True)
    j = d.index(distinct=d.chance(0.2), local=True)
    d.line(f"if ({owner.at(j)} == 0) {{", f"{owner.at(j)} = {d.int_i} + 1;", f"{z} = {j};", "}")


def one_place(d: Draft) -> None:
    """All iterations meet in one element."""
    kind = d.pick({"sum": 45, "max": 20, "count": 15, "last": 20})
    type = d.number_type(real=0.5)
    target = d.new("total", type, 1, fill="zero", written=True, locked=True).at("0")
    if kind == "sum":
        _sum(d, type)
        d.line(f"{target} += {individual(d, type)};")
    elif kind == "count":
        d.note("histogram")
        d.line(f"{target}{' += 1' if real(type) else '++'};")
    elif kind == "max":
        d.note("memory-max")
        v = held(d, type)
        d.line(f"{target} = {v} > {target} ? {v} : {target};")
    else:
        d.note("last-value", "if-data")
        d.line(f"if ({d.own(d.source(type, 'job'))} > {threshold(type)})", f"    {target} = {individual(d, type)};")


def through_bytes(d: Draft) -> None:
    """Words are updated, and bytes of the same words are read or written."""
    d.note("alias-bytes", "memory-sum")
    y = d.target("unsigned", "node", plain=True)
    pointer = d.fresh("bytes")
    d.before.append(f"unsigned char *{pointer} = (unsigned char *){y.base};")
    first, second = d.index(local=True, two_level=False), d.index(local=True, two_level=False)
    d.line(f"{y.at(first)} += {d.own(d.source('unsigned', 'job'))};")
    byte = f"{pointer}[4 * {second} + {d.draw.randint(0, 3)}]"
    if d.chance(0.5):
        d.line(f"{byte} ^= {d.own(d.source('unsigned char', 'job'))};")
    else:
        d.line(f"{d.own(d.target('unsigned char', 'job'), write=True)} = {byte};")


def observed_sum(d: Draft) -> None:
    d.note("observed-sum")
    type = d.number_type()
    _sum(d, type)
    y, z = d.target(type, "node"), d.target(type, "job")
    j = d.index(local=True)
    d.line(f"{y.at(j)} += {individual(d, type)};", f"{d.own(z, write=True)} = {y.at(j)};")


def damped(d: Draft) -> None:
    d.note("damped")
    type = d.number_type()
    y = d.target(type, "node").at(d.index(distinct=d.chance(0.3)))
    half = f"{d.literal(type, 0.5)} * {y}" if real(type) else f"{y} / 2"
    d.line(f"{y} = {half} + {individual(d, type)};")


def reversed_difference(d: Draft) -> None:
    d.note("reversed-difference")
    type = d.number_type()
    y = d.target(type, "node").at(d.index(distinct=d.chance(0.3)))
    d.line(f"{y} = {individual(d, type)} - {y};")


def own_test(d: Draft) -> None:
    """What is added depends on what is there."""
    d.note("own-test", "if-data")
    type = d.number_type()
    y = d.target(type, "node").at(d.index(distinct=d.chance(0.3)))
    d.line(f"if ({y} > {threshold(type)})", f"    {y} -= {individual(d, type)};")


def relax(d: Draft) -> None:
    """One step of Bellman and Ford."""
    d.note("relax")
    type = d.pick({"double": 60, "unsigned": 40})
    first, second = d.index(local=True), d.index(local=True)
    y, v = d.target(type, "node"), d.fresh("v")
    d.line(f"{type} {v} = {y.at(first)} + {d.own(d.source(type, 'job'))};")
    d.line(f"if ({v} < {y.at(second)})", f"    {y.at(second)} = {v};")


def same_value(d: Draft) -> None:
    d.note("same-value", "scatter")
    y = d.target(d.number_type(real=0), "node")
    d.line(f"{y.at(d.index())} = 1;")


def index_stored(d: Draft) -> None:
    d.note("index-stored")
    j = d.index(local=True, two_level=d.chance(0.3))
    z = d.own(d.target(d.pick({"int": 70, "long": 30}), "job"), write=True)
    d.line(f"{z} = {d.draw.choice(['{}', '3 * {} + 1', '{} / 2']).format(j)};")


def index_compared(d: Draft) -> None:
    """Which end of an edge comes first decides."""
    d.note("index-compared", "if-index")
    type = d.number_type()
    _sum(d, type)
    first, second = d.index(local=True, two_level=False), d.index(local=True, two_level=False)
    y = d.target(type, "node")
    if d.chance(0.5):
        d.line(f"if ({first} < {second})", f"    {y.at(first)} += {value(d, type)};")
    else:
        low = d.fresh("low")
        d.line(f"int {low} = {first} < {second} ? {first} : {second};", f"{y.at(low)} += {value(d, type)};")


def index_rewritten(d: Draft) -> None:
    """Each iteration goes where its index says, and changes it."""
    d.note("index-rewritten")
    type = d.number_type()
    _sum(d, type)
    values = [d.draw.randrange(d.nodes) for _ in range(d.extent)]
    index = d.new("walker", "int", d.extent, fill=values, written=True, locked=True, plain=True)
    y, j = d.target(type, "node"), d.fresh("j")
    d.line(f"int {j} = {index.at(d.i)};", f"{y.at(j)} += {value(d, type)};")
    d.line(f"{index.at(d.i)} = ({j} * 3 + 1) % {d.nodes};")


def pair(d: Draft, *, apart: bool) -> tuple[str, str]:
    """Two nodes of the iteration; `apart`: no other iteration has either, and the two differ."""
    if not apart or d.nodes < 2 * d.extent:
        return d.index(local=True, two_level=False), d.index(local=True, two_level=False, fresh=True)
    nodes = d.draw.sample(range(d.nodes), 2 * d.extent)
    names = []
    for half in (nodes[: d.extent], nodes[d.extent :]):
        name, table = d.fresh("j"), d.new("idx", "int", d.extent, fill=half, space="job")
        d.line(f"int {name} = {d.own(table)};")
        names.append(name)
    return names[0], names[1]


def threshold(type: str) -> str:
    return {"double": "0.1", "float": "0.1f", "unsigned": "2000000000u", "unsigned char": "99"}.get(type, "5")


def _sum(d: Draft, type: str) -> None:
    d.note("memory-float-sum" if real(type) else "memory-sum")
    d.float_reduction |= real(type)


def _bounded(d: Draft, type: str, text: str) -> str:
    """In a tangled draft, half of a real number, so that what goes around in circles does not grow."""
    return f"0.5 * ({text})" if d.tangled and real(type) else text
