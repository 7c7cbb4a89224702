"""Symbolic values: what an address, a branch or a trip count is made of.

An expression is a small immutable tree over constants, values that are live into the analysed loop, iteration
counters and loaded values. It is built once from the IR (`scalar.py`), saved with the program, and evaluated on
numbers when a run provides them (`evaluate.py`): first for the traced input, later as the guard of a schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..ir.errors import ArtefactError

# kind      data                              arguments
# const     (value,)
# live      (name, type)                      a value from outside of the analysed loop; a global's address
# counter   (loop,)                           iteration number of a loop, from 0
# load      (site, type)                      address
# op        (opcode, type)                    operands; wraps at the type's width
# cast      (opcode, from, to)                value
# cmp       (predicate, type)                 a, b
# choice    ()                                condition, value if true, value if false
# any       ()                                one of several values, unknown which
# trip      (bits, predicate, continues, tested_after)   first tested value, step, bound
# opaque    (reason,)                         not understood
KINDS = ("const", "live", "counter", "load", "op", "cast", "cmp", "choice", "any", "trip", "opaque")


@dataclass(frozen=True, eq=False, slots=True)
class Expr:
    """One node. Nodes made by one `Pool` are shared, so identity is equality; `serial` gives them an order."""

    kind: str
    data: tuple[Any, ...] = ()
    args: tuple[Expr, ...] = ()
    serial: int = 0

    def walk(self) -> Iterator[Expr]:
        """This node and everything below it, each once, arguments first."""
        seen: set[int] = set()
        stack: list[tuple[Expr, bool]] = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                yield node
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((arg, False) for arg in reversed(node.args))

    def loads(self) -> list[Expr]:
        """Every load in it."""
        return [node for node in self.walk() if node.kind == "load"]

    def has(self, kind: str) -> bool:
        return any(node.kind == kind for node in self.walk())

    def __str__(self) -> str:
        return _show(self)

    def __repr__(self) -> str:
        return f"<{_show(self)}>"


class Pool:
    """Makes nodes, one of each."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Expr] = {}

    def make(self, kind: str, data: tuple[Any, ...] = (), args: tuple[Expr, ...] = ()) -> Expr:
        key = (kind, data, *map(id, args))
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = Expr(kind, data, args, len(self._nodes))
        return found

    def const(self, value: int) -> Expr:
        return self.make("const", (int(value),))

    def live(self, name: str, type: str) -> Expr:
        return self.make("live", (name, type))

    def counter(self, loop: int) -> Expr:
        return self.make("counter", (loop,))

    def opaque(self, reason: str) -> Expr:
        return self.make("opaque", (reason,))

    def op(self, opcode: str, type: str, a: Expr, b: Expr) -> Expr:
        if opcode == "add":
            if a.kind == "const" and a.data[0] == 0:
                return b
            if b.kind == "const" and b.data[0] == 0:
                return a
        if opcode == "mul":
            for first, second in ((a, b), (b, a)):
                if first.kind == "const" and first.data[0] in (0, 1):
                    return first if first.data[0] == 0 else second
        if opcode in ("shl", "sub", "lshr", "ashr", "or", "xor") and b.kind == "const" and b.data[0] == 0:
            return a
        return self.make("op", (opcode, type), (a, b))

    def any_of(self, options: Iterable[Expr]) -> Expr:
        unique = tuple(dict.fromkeys(options))
        return unique[0] if len(unique) == 1 else self.make("any", (), unique)


def dump(roots: Iterable[Expr | None]) -> tuple[list[list[Any]], list[int | None]]:
    """Expressions as plain lists for JSON: shared nodes once, arguments before users; and the place of each root."""
    nodes: list[list[Any]] = []
    places: dict[int, int] = {}
    found: list[int | None] = []
    for root in roots:
        if root is None:
            found.append(None)
            continue
        for node in root.walk():
            if id(node) not in places:
                places[id(node)] = len(nodes)
                nodes.append([node.kind, list(node.data), [places[id(arg)] for arg in node.args]])
        found.append(places[id(root)])
    return nodes, found


def restore(nodes: list[Any], pool: Pool) -> list[Expr]:
    """The inverse of `dump`: every node, by place. Raises ArtefactError on anything that `dump` would not write."""
    made: list[Expr] = []
    for place, node in enumerate(nodes):
        try:
            kind, data, arguments = node
            if kind not in KINDS or any(not 0 <= argument < place for argument in arguments):
                raise ValueError
            made.append(pool.make(str(kind), tuple(data), tuple(made[argument] for argument in arguments)))
        except (TypeError, ValueError) as error:
            raise ArtefactError(f"expression {place} is damaged: {node!r}") from error
    return made


def _show(node: Expr) -> str:
    parts = [_show(arg) for arg in node.args]
    match node.kind:
        case "const":
            return str(node.data[0])
        case "live":
            return str(node.data[0])
        case "counter":
            return f"k{node.data[0]}"
        case "load":
            return f"[{parts[0]}]"
        case "op":
            return f"({parts[0]} {node.data[0]} {parts[1]})"
        case "cast":
            return f"{node.data[0]}({parts[0]})"
        case "cmp":
            return f"({parts[0]} {node.data[0]} {parts[1]})"
        case "choice":
            return f"({parts[0]} ? {parts[1]} : {parts[2]})"
        case "opaque":
            return f"?{node.data[0]}?"
    return f"{node.kind}({', '.join(parts)})"
