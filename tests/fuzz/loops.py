"""How the loop of a kernel counts: one function for each way."""

from __future__ import annotations

from collections.abc import Callable

from .draft import Draft, Shape
from .model import Cursor, Loop


def _simple(d: Draft, type: str, condition: str, *, start: int = 0, count: str = "") -> Shape:
    """`for (T i = start; i < n; i++)`, n iterations."""
    n = d.scalar("n", count or type, d.jobs)
    head = f"for ({type} i = {start}; {condition.replace('n', n)}; i++) {{"
    walks = start == 0 and d.chance(0.15)
    if walks:
        d.note("pointer-walk")
    loop = Loop((head,), ("}",), (Cursor(type, "i", str(start)),), d.jobs)
    return Shape(loop, "i", d.jobs + start, walks=walks)


def up(d: Draft) -> Shape:
    return _simple(d, "int", "i < n")


def inclusive(d: Draft) -> Shape:
    d.note("inclusive")
    return _simple(d, "int", "i <= n", start=1)


def unequal(d: Draft) -> Shape:
    d.note("unequal")
    return _simple(d, "int", "i != n")


def unsigned(d: Draft) -> Shape:
    d.note("unsigned-counter")
    return _simple(d, "unsigned", "i < n")


def wide(d: Draft) -> Shape:
    d.note("long-counter")
    return _simple(d, d.pick({"long": 60, "size_t": 40}), "i < n")


def narrow(d: Draft) -> Shape:
    d.note("narrow-counter")
    return _simple(d, d.pick({"short": 50, "unsigned char": 50}), "i < n", count="int")


def strided(d: Draft) -> Shape:
    """First and step are variables."""
    d.note("start-step")
    d.jobs = min(d.jobs, 24)
    type = d.pick({"int": 70, "long": 15, "unsigned": 15})
    first, step = d.draw.randint(0, 3), d.draw.randint(1, 3)
    last = first + (d.jobs - 1) * step
    names = [d.scalar("first", type, first), d.scalar("last", type, last + d.draw.randint(1, step))]
    names.append(d.scalar("step", type, step))
    head = f"for ({type} i = {names[0]}; i < {names[1]}; i += {names[2]}) {{"
    return Shape(Loop((head,), ("}",), (Cursor(type, "i", names[0], names[2]),), d.jobs), "i", last + 1)


def offset(d: Draft) -> Shape:
    """A window: first and last are variables."""
    d.note("start-step")
    first = d.draw.randint(0, 9)
    names = d.scalar("first", "int", first), d.scalar("last", "int", first + d.jobs)
    head = f"for (int i = {names[0]}; i < {names[1]}; i++) {{"
    return Shape(Loop((head,), ("}",), (Cursor("int", "i", names[0]),), d.jobs), "i", first + d.jobs)


def down(d: Draft) -> Shape:
    d.note("down")
    type = d.pick({"int": 60, "unsigned": 20, "long": 20})
    n = d.scalar("n", type, d.jobs)
    if type == "unsigned" or d.chance(0.3):
        head = f"for ({type} i = {n}; i-- > 0;) {{"
    else:
        head = f"for ({type} i = {n} - 1; i >= 0; i--) {{"
    return Shape(Loop((head,), ("}",), (Cursor(type, "i", f"{n} - 1", "-1"),), d.jobs), "i", d.jobs)


def while_up(d: Draft) -> Shape:
    d.note("while")
    n = d.scalar("n", "int", d.jobs)
    loop = Loop((f"while (i < {n}) {{",), ("i++;", "}"), (Cursor("int", "i", "0"),), d.jobs, ("int i = 0;",))
    return Shape(loop, "i", d.jobs, skips=False)


def while_down(d: Draft) -> Shape:
    d.note("while", "down")
    n = d.scalar("n", "int", d.jobs)
    head = ("while (i > 0) {", "i--;") if d.chance(0.5) else ("while (i-- > 0) {",)
    return Shape(Loop(head, ("}",), (Cursor("int", "i", f"{n} - 1", "-1"),), d.jobs, (f"int i = {n};",)), "i", d.jobs)


def do_while(d: Draft) -> Shape:
    d.note("do-while")
    type = d.pick({"int": 60, "unsigned": 20, "long": 20})
    n = d.scalar("n", type, d.jobs)
    tail = (f"}} while (++i < {n});",) if d.chance(0.4) else ("i++;", f"}} while (i < {n});")
    loop = Loop(("do {",), tail, (Cursor(type, "i", "0"),), d.jobs, (f"{type} i = 0;",))
    return Shape(loop, "i", d.jobs, skips=False)


def pointers(d: Draft) -> Shape:
    """From one pointer to another; the draft adds both when it knows the array."""
    d.note("pointer-loop")
    n = d.scalar("n", d.pick({"int": 60, "long": 20, "size_t": 20}), d.jobs)
    return Shape(Loop((), (), (), d.jobs), "i", d.jobs, walks=True, pointers_only=True, bound=n)


def counted_outside(d: Draft) -> Shape:
    """The counter outlives the loop."""
    d.note("counter-after")
    n = d.scalar("n", "int", d.jobs)
    d.kept("int", "i")
    head = f"for (i = 0; i < {n}; i++) {{"
    return Shape(Loop((head,), ("}",), (Cursor("int", "i", "0"),), d.jobs, ("int i;",)), "i", d.jobs)


def ended_by_data(d: Draft) -> Shape:
    """A list of nodes with a mark at its end; the loop looks for it."""
    d.note("data-ended")
    values = [d.draw.randrange(max(2, d.jobs // 2)) for _ in range(d.jobs)]
    stops = d.new("list", "int", d.jobs + 1, fill=[*values, -1], locked=True, plain=True, constant=False)
    d.tables.append(stops.name)
    test = f"{stops.at('i')} >= 0"
    if d.chance(0.5):
        loop = Loop((f"for (int i = 0; {test}; i++) {{",), ("}",), (Cursor("int", "i", "0"),), d.jobs, test=test)
        return Shape(loop, "i", d.jobs)
    d.note("while")
    head, tail = (f"while ({test}) {{",), ("i++;", "}")
    return Shape(Loop(head, tail, (Cursor("int", "i", "0"),), d.jobs, ("int i = 0;",), test), "i", d.jobs, skips=False)


LOOPS: dict[Callable[[Draft], Shape], float] = {
    up: 42,
    inclusive: 4,
    unequal: 3,
    unsigned: 6,
    wide: 7,
    narrow: 4,
    strided: 6,
    offset: 3,
    down: 7,
    while_up: 4,
    while_down: 2,
    do_while: 4,
    pointers: 7,
    counted_outside: 2,
    ended_by_data: 2,
}
