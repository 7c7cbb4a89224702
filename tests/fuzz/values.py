"""Right-hand sides: numbers that an iteration computes from arrays, from its indices and from its counter."""

from __future__ import annotations

from collections.abc import Callable

from .draft import Draft
from .model import CODES, real

LIBRARY = ("sqrt(fabs({}))", "exp(-fabs({}))", "sin({})", "cos({})", "fabs({})", "floor(4 * {})", "tanh({})")


def stream(d: Draft, type: str) -> str:
    return d.own(d.source(type, "job"))


def gathered(d: Draft, type: str) -> str:
    d.note("gather")
    return d.source(type, "node").at(d.index())


def scaled(d: Draft, type: str) -> str:
    if real(type):
        return f"({d.literal(type, d.draw.choice([0.5, -0.25, 0.75]))} * {stream(d, type)})"
    return f"({d.draw.choice([3, 5, 2])} * {stream(d, type)})"


def product(d: Draft, type: str) -> str:
    """A weight times what was gathered: the weight has an array of its own, so that nothing is squared."""
    if not real(type):
        return scaled(d, type)
    weight = d.new("w", type, d.extent, fill="near1", space="job", locked=True)
    return f"({d.own(weight)} * {gathered(d, type)})"


def difference(d: Draft, type: str) -> str:
    return f"({gathered(d, type)} - {stream(d, type)})"


def counter(d: Draft, type: str) -> str:
    d.note("counter-data")
    if real(type):
        return f"(0.01 * (double){d.i})"
    cast = f"({type}){d.i}"
    return d.draw.choice([cast, f"({cast} * {cast})", f"(7 - ({type})({d.i} % 5))"])


def index_number(d: Draft, type: str) -> str:
    """A loaded index, calculated with."""
    d.note("index-data")
    j = d.index(local=True, two_level=False)
    if real(type):
        return f"(0.01 * {j})"
    return d.draw.choice([f"({type}){j}", f"({type})(3 * {j} + 1)", f"({type})({j} % 4)"])


def library(d: Draft, type: str) -> str:
    if not real(type):
        return f"({type})abs({index_number(d, 'int')} - 9)"
    d.note("math")
    value = stream(d, type) if d.chance(0.5) else gathered(d, type)
    if d.chance(0.2):
        parts = d.draw.choice(("int w; double r = frexp(a, &w)", "double w, r = modf(a, &w)"))
        return f"{d.helper('parts', f'static double NAME(double a) {{ {parts}; return r + 0.25 * w; }}')}({value})"
    return d.draw.choice(LIBRARY).format(value)


def helped(d: Draft, type: str) -> str:
    result = "0.5 * a - 0.25 * b" if real(type) else "a > b ? a - b : b - a"
    name = d.helper(f"mix_{CODES[type]}", f"static {type} NAME({type} a, {type} b) {{ return ({type})({result}); }}")
    return f"{name}({stream(d, type)}, {gathered(d, type)})"


KINDS: dict[Callable[[Draft, str], str], float] = {
    stream: 32,
    gathered: 26,
    scaled: 9,
    product: 8,
    difference: 6,
    counter: 6,
    index_number: 6,
    library: 5,
    helped: 5,
}


def value(d: Draft, type: str) -> str:
    """An expression of about this type. In a tangled draft it is so small that numbers do not grow without bound."""
    text = d.pick(KINDS)(d, type)
    return f"0.125 * {text}" if d.tangled and real(type) else text


def individual(d: Draft, type: str) -> str:
    """A value that no two iterations share, so that their order shows."""
    text = d.pick({stream: 70, scaled: 30})(d, type)
    return f"0.125 * {text}" if d.tangled and real(type) else text


def held(d: Draft, type: str, text: str = "") -> str:
    """A value in a variable of its own."""
    text = text or value(d, type)
    name = d.fresh("v")
    d.line(f"{type} {name} = {text};")
    return name
