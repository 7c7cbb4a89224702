"""Statements over complex numbers: two real ones side by side, with products that a library function may finish."""

from __future__ import annotations

from .draft import Draft
from .model import Array

PARTS = ("creal({})", "cimag({})", "cabs({})", "creal({0}) * cimag({0})")
CHANGES = ("conj({})", "{0} * {0}", "{} / (2 + 1.5 * I)", "0.5 * {} - 0.25 * I", "(creal({0}) > 0 ? {0} : -{0})")


def product(d: Draft) -> None:
    """A product of what is read one by one and of what an index reaches."""
    d.note("complex")
    x, z, c = _new(d, "x", d.nodes), _new(d, "z", d.extent, written=True), _new(d, "c", d.extent)
    gathered, own = _at(d, x, d.index()), _at(d, c, d.i)
    d.line(f"{_at(d, z, d.i, write=True)} = {d.draw.choice(['{} * {}', '{} + 0.5 * I * {}'])};".format(gathered, own))


def spread(d: Draft) -> None:
    """A product is added to a sum that an index reaches, or a number takes its place."""
    d.note("complex")
    y, c = _new(d, "y", d.nodes, written=True), _new(d, "c", d.extent)
    style = d.pick({"+=": 55, "product": 20, "damped": 25})
    place, own = _at(d, y, d.index(distinct=style == "damped" and d.chance(0.5)), write=True), _at(d, c, d.i)
    if style == "damped":
        d.note("damped")
        d.line(f"{place} = (0.5 + 0.25 * I) * {place} + {own};")
    else:
        d.note("memory-float-sum")
        d.float_reduction = True
        d.line(f"{place} += {f'{own} * (0.5 - 0.75 * I)' if style == 'product' else own};")


def edge(d: Draft) -> None:
    """A flux over an edge, into one end and out of the other."""
    d.note("complex", "edge", "memory-float-sum")
    d.float_reduction = True
    x, r, w = _new(d, "x", d.nodes), _new(d, "r", d.nodes, written=True), _new(d, "w", d.extent)
    first, second, f = d.index(local=True), d.index(local=True), d.fresh("f")
    d.line(f"{_type(x)} {f} = {_at(d, w, d.i)} * ({_at(d, x, first)} - {_at(d, x, second)});")
    d.line(f"{_at(d, r, first, write=True)} += {f};", f"{_at(d, r, second, write=True)} -= {f};")


def neighbours(d: Draft) -> None:
    """A sum of products over a few neighbours."""
    d.note("complex", "fixed-inner")
    x, z, w = _new(d, "x", d.nodes), _new(d, "z", d.extent, written=True), _new(d, "w", 3)
    nodes = [d.draw.randrange(d.nodes) for _ in range(3 * d.extent)]
    near = d.new("nb", "int", 3 * d.extent, fill=nodes, plain=True)
    k, s = d.fresh("k"), d.fresh("s")
    d.line(f"{_type(x)} {s} = 0;", f"for (int {k} = 0; {k} < 3; {k}++)")
    d.line(f"    {s} += {_at(d, w, k)} * {_at(d, x, near.at(f'3 * {d.i} + {k}'))};")
    d.line(f"{_at(d, z, d.i, write=True)} = {s};")


def change(d: Draft) -> None:
    """A number of its own becomes another one, or its parts are what is stored."""
    d.note("complex")
    j = d.index(distinct=d.chance(0.7), local=True)
    if d.chance(0.5):
        x = _at(d, _new(d, "x", d.nodes, written=True), j, write=True)
        d.line(f"{x} = {d.draw.choice(CHANGES)};".format(x))
    else:
        x, z = _at(d, _new(d, "x", d.nodes), j), d.own(d.target("double", "job"), write=True)
        d.line(f"{z} = {d.draw.choice(PARTS)};".format(x))


def total(d: Draft) -> None:
    """A sum over all iterations, in a variable."""
    d.note("complex", "register-float-sum")
    d.float_reduction = True
    x, s = _new(d, "x", d.nodes), d.fresh("s")
    d.before.append(f"{_type(x)} {s} = 0;")
    d.line(f"{s} += {_at(d, x, d.index())};")
    d.after += [f"{d.kept(x.type)} = creal({s});", f"{d.kept(x.type)} = cimag({s});"]


def _new(d: Draft, hint: str, count: int, *, written: bool = False) -> Array:
    """An array of so many complex numbers, as real ones."""
    type = d.pick({"double": 85, "float": 15})
    return d.new(hint, type, 2 * count, written=written, locked=True, plain=True)


def _type(array: Array) -> str:
    return f"{array.type} complex"


def _at(d: Draft, array: Array, index: str, *, write: bool = False) -> str:
    return f"(({'' if write else 'const '}{_type(array)} *){array.base})[{index}]"
