"""What happens around the kernel: how often it is called, and what changes its data between the calls."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from .draft import Draft
from .model import Array, real, wraps

UNLIKE = re.compile(r"0\.5|/ 2|= 0(?=;)")  # what is another number in a part that differs from the others


def calls(d: Draft) -> None:
    """Settle the driver's loop. Comes last."""
    if d.chance(0.12):
        d.note("called-once")
        d.sweeps = 1
        return
    d.sweeps = d.pick({2: 20, 3: 70, 5: 10})
    changes = {"none": 36, "companion": 24, "clear": 9, "copy": 9, "exchange": 9, "index": 6, "count": 7}
    kind = d.pick(changes)
    if kind == "companion":
        _companion(d)
    elif kind == "clear":
        _clear(d)
    elif kind in ("copy", "exchange"):
        _two_arrays(d, kind)
    elif kind == "index":
        _index(d)
    elif kind == "count":
        _count(d)


def _companion(d: Draft) -> None:
    """A loop over what the kernel has written."""
    found = [a for a in data(d) if a.written and a.length > 1 and (real(a.type) or wraps(a.type))]
    if not found:
        return
    d.note("companion")
    array = d.draw.choice(found)
    name = array.outside("v")
    style = d.pick({"apply": 45, "damp": 20, "move": 20, "pick": 15})
    if style == "pick":
        contents = "real" if real(array.type) else tuple(7 * v % 11 for v in range(256))
        few = Array(d.fresh("few"), array.type, 256, contents, False, passed=False)
        d.arrays[few.name] = few
        lines = [f"{name} = {name} / 2 + {few.outside(d.draw.choice(['(unsigned char)v', '(v & 7)']))};"]
    elif style == "damp":
        lines = [f"{name} = {'0.5 * ' + name if real(array.type) else name + ' / 2'};"]
    else:
        other = Array(d.fresh("state"), array.type, array.length, "real", True, passed=False)
        if not real(array.type):
            other = replace(other, fill="zero")
        d.arrays[other.name] = other
        half = f"0.5 * {name}" if real(array.type) else name
        lines = [f"{other.outside('v')} {'+=' if style == 'apply' else '='} {half};", f"{name} = 0;"]
    d.between += _walk(d, array.length, lines)
    own = random.Random(str(d.draw.getstate()))  # what else is drawn stays the same
    if own.random() < 0.3:
        d.note("ordered-companion")
        d.between += _ordered(own, array)


def _ordered(draw: random.Random, array: Array) -> list[str]:
    """A loop that needs the order of the elements."""
    element, before, first = array.outside("v"), array.outside("v - 1"), array.outside("0")
    head = f"for (int v = 0; v < {array.length}; v++)"
    total = [f"{array.type} s = 0;", head, f"{{ s = s / 2 + {element}; {element} = s; }}"]
    neighbours = [f"for (int v = 1; v < {array.length}; v++) {element} = {element} / 2 + {before};"]
    some = [f"for (int v = 1; v < {array.length}; v += 3) {element} = {element} / 2;"]
    search = [head, f"if ({element} > {first}) {{ {element} = {first}; break; }}"]
    return draw.choice([total, neighbours, some, search])


def _walk(d: Draft, length: int, lines: list[str]) -> list[str]:
    """A loop over elements `v`; sometimes unrolled by hand, with what is left over in front of it or behind."""
    count = d.pick({1: 60, 2: 15, 3: 10, 4: 15})
    if length < count or count == 1:
        return [f"for (int v = 0; v < {length}; v++) {{", *lines, "}"]
    d.note("unrolled")
    parts = [[re.sub(r"\bv\b", f"(v + {part})" if part else "v", line) for line in lines] for part in range(count)]
    if d.chance(0.15):
        parts[-1] = [UNLIKE.sub(lambda found: f"{found[0][:-1]}3", line) for line in parts[-1]]
    body = [line for part in parts for line in part]
    rest = length % count
    if d.chance(0.5):
        behind = [f"for (int v = {length - rest}; v < {length}; v++) {{", *lines, "}"]
        return [f"for (int v = 0; v < {length - rest}; v += {count}) {{", *body, "}", *behind]
    ahead = [f"for (int v = 0; v < {rest}; v++) {{", *lines, "}"]
    return [*ahead, f"for (int v = {rest}; v < {length}; v += {count}) {{", *body, "}"]


def _clear(d: Draft) -> None:
    found = [a for a in data(d) if a.written and not a.record and not a.parent]
    if found:
        d.note("memset")
        name, length = (array := d.draw.choice(found)).name, array.length
        d.ahead.append(f"memset({name}, 0, {length} * sizeof {array.outside('0')});")


def _two_arrays(d: Draft, kind: str) -> None:
    """Copy an array into one that is read, or have them change places."""
    if kind == "exchange":
        pair = exchanged(d)
        if pair is not None:
            d.note("swap-buffers")
            new, old = pair[0].name, pair[1].name
            d.between += [f"{pair[0].type} *other = {new};", f"{new} = {old};", f"{old} = other;"]
        return
    pairs = _pairs(d)
    if pairs:
        d.note("memcpy")
        new, old = d.draw.choice(pairs)
        d.between.append(f"memcpy({old.name}, {new.name}, {new.length} * sizeof {new.outside('0')});")
        d.arrays[old.name] = replace(old, written=True)


def exchanged(d: Draft) -> tuple[Array, Array] | None:
    """Two arrays that may change places, one of them written; both are, then."""
    pairs = [pair for pair in _pairs(d) if all(a.storage == "heap" and not a.prefix for a in pair)]
    if not pairs:
        return None
    new, old = d.draw.choice(pairs)
    d.arrays[old.name] = replace(old, written=True)
    return new, old


def _pairs(d: Draft) -> list[tuple[Array, Array]]:
    """An array that is written and one that is read, of the same kind."""
    found = [a for a in data(d) if not a.record and not a.parent and a.name not in d.locked]
    found = [a for a in found if real(a.type) or wraps(a.type)]
    return [
        (new, old)
        for new in found
        for old in found
        if new.written and not old.written and (new.type, new.length) == (old.type, old.length)
    ]


def _index(d: Draft) -> None:
    tables = [d.arrays[name] for name in d.tables if d.arrays[name].storage != "const"]
    tables = [table for table in tables if table.length == d.extent]
    if tables:
        d.note("index-changes")
        table = d.draw.choice(tables)
        d.arrays[table.name] = replace(table, written=True)
        element = table.outside("v")
        d.between += [f"for (int v = 0; v < {table.length}; v++)", f"    {element} = ({element} + 1) % {d.nodes};"]


def _count(d: Draft) -> None:
    n = d.scalars.get("n")
    if d.size and d.jobs > 3:
        d.note("count-changes")
        d.between.append(f"{d.size}--;")
    elif n is not None and not d.bundle and d.jobs > 3:
        d.note("count-changes")
        d.scalars["n"] = replace(n, later=f"n - ({n.type})sweep")


def data(d: Draft) -> list[Array]:
    """Arrays of numbers that the kernel is given."""
    return [a for a in d.arrays.values() if isinstance(a.fill, str) and a.passed]
