"""What can be done to statements as a whole: conditions around them, ways out of the loop, pointers that alias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .draft import Draft
from .model import Array, real, wraps
from .updates import threshold
from .values import value

Statement = Callable[[Draft], None]


def conditional(d: Draft, first: Statement, second: Statement | None) -> None:
    """`if` on data, on an index or on the counter around a statement; with another one for `else`."""
    kind = d.pick({"data": 40, "index": 28, "counter": 32})
    d.note(f"if-{kind}")
    if kind == "data":
        type = d.number_type()
        space = d.pick({"job": 60, "node": 40})
        source = d.source(type, space)
        condition = f"{d.own(source) if space == 'job' else source.at(d.index())} > {threshold(type)}"
    elif kind == "index":
        j = d.index(local=True, two_level=False)
        condition = d.draw.choice([f"{j} % 3 != 0", f"{j} < {d.nodes // 2}", f"{j} & 1"])
    else:
        cut = d.draw.randint(1, d.extent)
        condition = d.draw.choice([f"{d.i} % 2 == 0", f"{d.i} % 3 != 1", f"{d.int_i} < {cut}", f"{d.int_i} > {cut}"])
    around = d.enclose()
    before = len(d.body)
    d.line(f"if ({condition}) {{")
    first(d)
    d.close()
    if second is not None:
        d.note("else")
        d.line("} else {")
        second(d)
        d.close()
    d.line("}")
    if second is None and d.counting.skips and d.chance(0.2):
        d.note("continue")
        d.body[before:] = [f"if (!({condition}))", "    continue;", *d.body[before + 1 : -1]]
    d.line(*around)


def early_exit(d: Draft) -> None:
    """Out of the loop when a value is found; the limit may be one that no value has."""
    d.note("early-exit", "if-data")
    type = d.pick({"double": 60, "int": 40 * (not d.tangled)})
    limit = {"double": ("0.6", "0.9", "1.5"), "int": ("60", "90", "150")}[type]
    condition = f"{d.own(d.source(type, 'job'))} > {d.draw.choice(limit)}"
    lines = [f"if ({condition})", "    break;"]
    if d.chance(0.3):
        lines = [f"if ({condition}) {{", f"{d.kept('int')} = {d.int_i};", "break;", "}"]
    at_start = d.chance(0.6)
    d.body = [*lines, *d.body] if at_start else [*d.body, *lines]


def chosen_pointer(d: Draft) -> None:
    """Which of two arrays is written: decided once, or by each iteration."""
    d.note("alias-ternary")
    type = d.number_type()
    first, second = d.target(type, "node", plain=True), d.target(type, "node", plain=True)
    pointer = d.fresh("to")
    if d.chance(0.5):
        flag = d.scalar("flag", "int", d.draw.randint(0, 1))
        d.before.append(f"{type} *{pointer} = {flag} ? {first.base} : {second.base};")
    else:
        d.line(f"{type} *{pointer} = {d.i} % 2 == 0 ? {first.base} : {second.base};")
    j = d.index(distinct=d.chance(0.5))
    if d.chance(0.6):
        d.note("memory-float-sum" if real(type) else "memory-sum")
        d.float_reduction |= real(type)
        d.line(f"{pointer}[{j}] += {value(d, type)};")
    else:
        d.note("scatter")
        d.line(f"{pointer}[{j}] = {value(d, type)};")


def alias(d: Draft) -> bool:
    """Put two arrays of a tangled draft into one, at the same place, overlapping or side by side."""
    found = [array for array in d.arrays.values() if _may_alias(d, array)]
    pairs = [
        (first, second)
        for place, first in enumerate(found)
        for second in found[place + 1 :]
        if first.type == second.type and (first.written or second.written)
    ]
    if not pairs:
        return False
    first, second = d.draw.choice(pairs)
    kind = d.pick({"same": 40, "overlap": 40, "disjoint": 20})
    offset = {"same": 0, "overlap": d.draw.randint(1, first.length), "disjoint": first.length}[kind]
    d.note("alias-disjoint" if offset >= first.length else f"alias-{kind}")
    length = max(first.length, offset + second.length)
    written = first.written or second.written
    both = Array(d.fresh("both"), first.type, length, first.fill, written, passed=False)
    d.arrays = {both.name: both, **d.arrays}  # in front: the others point into it
    for part, start in ((first, 0), (second, offset)):
        d.arrays[part.name] = replace(part, storage="heap", parent=both.name, offset=start)
    return True


def _may_alias(d: Draft, array: Array) -> bool:
    return (
        array.name not in d.locked
        and isinstance(array.fill, str)
        and not (array.by_name or array.record or array.parent)
        and (real(array.type) or wraps(array.type))
    )
