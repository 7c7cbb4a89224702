"""Statements that tie iterations together: scalars that are carried on, and arrays that refer to their neighbours."""

from __future__ import annotations

from .draft import Draft
from .model import real, wraps
from .updates import threshold
from .values import held, individual, value


def register_sum(d: Draft) -> None:
    type = d.number_type()
    d.note("register-float-sum" if real(type) else "register-sum")
    d.float_reduction |= real(type)
    s = _register(d, type, "0")
    d.line(f"{s} {d.draw.choice(['+=', '+=', '-='])} {value(d, type)};")


def register_other(d: Draft) -> None:
    kind = d.pick({"product": 20, "min": 22, "max": 22, "count": 22, "bits": 14})
    d.note(f"register-{kind}")
    type = d.number_type(real={"product": 0.6, "min": 0.6, "max": 0.6}.get(kind, 0))
    if kind == "product" and not real(type) and not wraps(type):
        type = "unsigned"
    if kind == "count":
        s = _register(d, "int", "0")
        tested = d.number_type()
        d.line(f"if ({value(d, tested)} > {threshold(tested)})", f"    {s}++;")
    elif kind == "bits":
        operator = d.draw.choice("&|^")
        s = _register(d, type, f"({type})-1" if operator == "&" else "0")
        d.line(f"{s} {operator}= {value(d, type)};")
    elif kind == "product":
        s = _register(d, type, "1")
        d.float_reduction |= real(type)
        weight = d.new("w", type, d.extent, fill="near1" if real(type) else "", space="job", locked=True)
        d.line(f"{s} *= {d.own(weight)};" if real(type) else f"{s} *= ({type})({d.own(weight)} | 1);")
    else:
        sign = "<" if kind == "min" else ">"
        s, v = _register(d, type, _greatest(type) if kind == "min" else "0"), held(d, type)
        style = d.pick({"if": 40, "ternary": 40, "function": 20 * (type == "double")})
        if style == "if":
            d.line(f"if ({v} {sign} {s})", f"    {s} = {v};")
        elif style == "ternary":
            d.line(f"{s} = {v} {sign} {s} ? {v} : {s};")
        else:
            d.note("math")
            d.line(f"{s} = f{kind}({s}, {v});")


def register_damped(d: Draft) -> None:
    d.note("register-damped")
    type = d.number_type()
    s = _register(d, type, "1")
    d.line(f"{s} = {'0.5 * ' + s if real(type) else s + ' / 2'} + {individual(d, type)};")


def last_value(d: Draft) -> None:
    """Kept under a condition, or read from what is written afterwards: else a compiler takes it out of the loop."""
    d.note("last-value")
    type = d.number_type()
    s = _register(d, type, "0")
    if d.chance(0.5):
        d.note("if-data")
        text = individual(d, type)
        d.line(f"if ({d.own(d.source(type, 'job'))} > {threshold(type)})", f"    {s} = {text};")
    else:
        y = d.target(type, "node")
        d.line(f"{s} = {y.at(d.index())};", f"{y.at(d.index())} = {individual(d, type)};")


def previous_value(d: Draft) -> None:
    d.note("previous-value")
    type = d.number_type()
    s, v = _register(d, type, "0"), held(d, type, individual(d, type))
    z = d.own(d.target(type, "job"), write=True)
    d.line(f"{z} = {f'0.5 * ({v} - {s})' if real(type) else f'({v} / 2) - ({s} / 2)'};", f"{s} = {v};")


def prefix_sum(d: Draft) -> None:
    d.note("prefix-sum")
    type = d.number_type()
    s = _register(d, type, "0")
    text = individual(d, type)
    z = d.own(d.target(type, "job"), write=True)
    d.line(f"{s} += {text};", f"{z} = {s};")


def compaction(d: Draft) -> None:
    d.note("compaction", "if-data")
    type = d.number_type()
    count = _register(d, "int", "0", resumes=False)
    out = d.new("out", type, d.extent, written=True, locked=True)
    v = held(d, type, individual(d, type))
    d.line(f"if ({v} > {threshold(type)})", f"    {out.at(count + '++')} = {v};")


def argmin(d: Draft) -> None:
    d.note("argmin", "counter-data")
    type = d.number_type()
    least, where, v = _register(d, type, _greatest(type)), _register(d, "int", "-1"), held(d, type)
    d.line(f"if ({v} < {least}) {{", f"{least} = {v};", f"{where} = {d.int_i};", "}")


def chase(d: Draft) -> None:
    """From node to node along a list."""
    d.note("chase")
    type = d.number_type()
    d.note("memory-float-sum" if real(type) else "memory-sum")
    d.float_reduction |= real(type)
    values = [d.draw.randrange(d.nodes) for _ in range(d.nodes)]
    links = d.new("next", "int", d.nodes, fill=values, space="node")
    at = d.fresh("at")
    d.before.append(f"int {at} = {d.draw.randrange(d.nodes)};")
    d.line(f"{d.target(type, 'node').at(at)} += {individual(d, type)};")
    d.close()
    d.line(f"{at} = {links.at(at)};")


def recurrence(d: Draft) -> None:
    """a[i] from a[i - lag], or the other way round; the lag may be so long that iterations never meet."""
    far = d.chance(0.45)
    d.note("far-recurrence" if far else "recurrence")
    type = d.number_type()
    lag = d.extent if far else d.draw.randint(1, 3)
    array = d.new("a", type, d.extent + lag, written=True, locked=True, plain=True)
    distance = d.scalar("lag", "int", lag) if d.chance(0.5) else str(lag)
    here, there = array.at(f"{d.i} + {distance}"), array.at(d.i)
    if d.chance(0.4):
        here, there = there, here
    half = f"{d.literal(type, 0.5)} * {there}" if real(type) else f"{there} / 2"
    d.line(f"{here} = {half} + {individual(d, type)};")


def running_sum(d: Draft) -> None:
    """The prefix sum in memory."""
    d.note("prefix-sum", "recurrence")
    type = d.number_type()
    array = d.new("a", type, d.extent + 1, written=True, locked=True, plain=True)
    d.line(f"{array.at(d.i + ' + 1')} = {array.at(d.i)} + {individual(d, type)};")


def mirror(d: Draft) -> None:
    d.note("mirror")
    type = d.number_type()
    array = d.new("a", type, d.extent, written=True, locked=True, plain=True)
    there = array.at(f"{d.extent - 1} - {d.i}")
    d.line(f"{array.at(d.i)} = {'0.5 * ' + there if real(type) else there + ' / 2'} + {value(d, type)};")


def _register(d: Draft, type: str, start: str, *, resumes: bool = True) -> str:
    """A local variable outside of the loop, which is stored after it. Some resume from what is stored."""
    name = d.fresh("s")
    kept = d.kept(type, name)
    d.before.append(f"{type} {name} = {kept if resumes and start == '0' and d.chance(0.2) else start};")
    return name


def _greatest(type: str) -> str:
    return "4294967295u" if type == "unsigned" else "99"
