"""Symbolic expressions of addresses, branch conditions and trip counts.

An expression is a small immutable tree over constants, values that are live into the analysed loop, iteration
counters and loaded values. It is built once from the IR (`scalar_evolution.py`), saved with the program, and evaluated
on numbers when a run provides them (`evaluate.py`): first for the traced input, later as the guard of a schedule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracecut.support.errors import ArtefactError

# kind      data                              arguments
# const     (value,)
# live      (name, type)                      a value from outside of the analysed loop; a global's address
# counter   (loop,)                           iteration number of a loop, from 0
# left      (loop, edge)                      counter of the loop around it: in which iteration it is left; with an
#                                             edge ("block>block"), whether it is left by that one
# load      (site, type)                      address
# op        (opcode, type)                    operands; wraps at the type's width. `exact`: no remainder.
#                                             `mask`: `and` with a second operand that does not change in the loop
# cast      (opcode, from, to)                value
# cmp       (predicate, type)                 a, b
# choice    ()                                condition, value if true, value if false
# any       (serial,)                         one of several values, unknown which
# state     (web,)                            its value in each state of a web of pointers (`pointer_rotation.py`)
# trip      (bits, predicate, tested_after, narrow)   first tested value, step, bound
# opaque    (reason, serial)                  not understood
#
# Two unknown values have different serial numbers, so that they never compare equal. `narrow` is the width
# that the tested value was extended from: positive by zext, negative by sext, 0 when it was not.
_WIDTH = r"i([1-9]|[1-5]\d|6[0-4])"  # wider integers are never made: nothing here holds them
_FLOAT = "(float|double)"
_INTEGER_TEST = "icmp (eq|ne|[su][lg][te])"
_FLOAT_TEST = "fcmp ([ou](eq|ne|[lg][te])|ord|uno|true|false)"
_CASTS = rf"[sz]ext {_WIDTH} {_WIDTH}|trunc {_WIDTH} {_WIDTH}|[su]itofp {_WIDTH} {_FLOAT}|fpto[su]i {_FLOAT} {_WIDTH}"
_CASTS += rf"|fp(ext|trunc) {_FLOAT} {_FLOAT}"
_OPERATIONS = rf"(add|sub|mul|[su]div|[su]rem|shl|[al]shr|and|or|xor|[su](min|max)|abs|exact|mask) ({_WIDTH}|ptr)"
_OPERATIONS += rf"|(fadd|fsub|fmul|fdiv|frem|fabs) {_FLOAT}"
_COMPARISONS = rf"{_INTEGER_TEST} ({_WIDTH}|ptr)|{_FLOAT_TEST} {_FLOAT}"
# kind → what its words look like together
_WORDS = {"op": _OPERATIONS, "cast": _CASTS, "cmp": _COMPARISONS}
# kind → what its data look like (a type, or a pattern of text), and how many arguments it has (None: one or more)
_SHAPES: dict[str, tuple[tuple[Any, ...], int | None]] = {
    "live": ((".+", ".+"), 0),
    "counter": ((int,), 0),
    "left": ((int, ".*"), 1),
    "load": ((".+", ".+"), 1),
    "op": ((".+", ".+"), 2),
    "cast": ((".+", ".+", ".+"), 1),
    "cmp": ((".+", ".+"), 2),
    "choice": ((), 3),
    "any": ((int,), None),
    "state": ((".+",), None),
    "trip": ((int, "eq|ne|[su][lg][te]", bool, int), 3),
    "opaque": ((str, int), 0),
}
NEVER_KNOWN = ("opaque", "any", "state", "trip")  # what no run tells the value of
_BITS = {kind: 1 << place for place, kind in enumerate(("const", *_SHAPES))}  # kind → its bit in `Expr.kinds`


@dataclass(frozen=True, eq=False, slots=True)
class Expr:
    """One node. Nodes made by one `Pool` are shared, so identity is equality; `serial` gives them an order.

    `kinds`: the bits of its own kind and of those below it.
    """

    kind: str
    data: tuple[Any, ...] = ()
    args: tuple[Expr, ...] = ()
    serial: int = 0
    kinds: int = 0

    def walk(self, seen: set[int] | None = None) -> Iterator[Expr]:
        """This node and everything below it, each once, arguments first. O(nodes).

        `seen`: identities of nodes to leave out, with all below them; those of this walk are added.
        """
        seen = set() if seen is None else seen
        stack: list[Expr | None] = [self]
        entered: list[Expr] = []  # their arguments lie on the stack, above a None for each of these
        while stack:
            node = stack.pop()
            if node is None:
                yield entered.pop()
            elif id(node) not in seen:
                seen.add(id(node))
                if node.args:
                    entered.append(node)
                    stack.append(None)
                    stack.extend(node.args[::-1])
                else:
                    yield node

    @property
    def is_null(self) -> bool:
        """Whether it is the number 0: of a pointer, what nothing can be reached through."""
        return self.kind == "const" and self.data[0] == 0

    def loads(self) -> list[Expr]:
        """Every load in it."""
        return [node for node in self.walk() if node.kind == "load"]

    def numbers(self) -> list[Expr]:
        """Loads of numbers in it, but those that only say where others, or pointers, are loaded from."""
        found: dict[Expr, None] = {}
        seen: set[Expr] = set()
        stack = [self]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node.kind != "load":
                stack.extend(reversed(node.args))
            elif node.data[1] != "ptr":
                found[node] = None
        return list(found)

    def has(self, *kinds: str) -> bool:
        """Whether it or a node below it is of one of these kinds. O(kinds)."""
        return any(self.kinds & _BITS[kind] for kind in kinds)

    def __str__(self) -> str:
        return _show(self)

    def __repr__(self) -> str:
        return f"<{_show(self)}>"


class Pool:
    """Makes nodes, one of each."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Any, ...], Expr] = {}
        self._serials = 0  # the largest in use

    def make(self, kind: str, data: tuple[Any, ...] = (), args: tuple[Expr, ...] = ()) -> Expr:
        # 1, 1.0 and True are equal, and so are 0.0 and −0.0: constants go by their text.
        key = (kind, repr(data) if kind == "const" else data, *map(id, args))
        found = self._nodes.get(key)
        if found is None:
            kinds = _BITS[kind]
            for arg in args:
                kinds |= arg.kinds
            found = self._nodes[key] = Expr(kind, data, args, len(self._nodes), kinds)
            if kind in ("any", "opaque"):
                self._serials = max(self._serials, data[-1])
        return found

    def const(self, value: int) -> Expr:
        """An integer; what does not fit 64 bits wraps."""
        return self.make("const", (wrapped(int(value)),))

    def live(self, name: str, type: str) -> Expr:
        return self.make("live", (name, type))

    def counter(self, loop: int) -> Expr:
        return self.make("counter", (loop,))

    def left(self, loop: int, around: int, edge: tuple[str, str] | None = None) -> Expr:
        """Number of the iteration in which a loop is left, in each iteration of the loop around it; or whether it is
        left by an edge."""
        return self.make("left", (loop, ">".join(edge or ())), (self.counter(around),))

    def opaque(self, reason: str) -> Expr:
        """A value that is not understood; each call makes another one."""
        return self.make("opaque", (reason, self._fresh()))

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
        """One of several values; each call makes another one, unless there is no choice."""
        unique = tuple(dict.fromkeys(options))
        return unique[0] if len(unique) == 1 else self.make("any", (self._fresh(),), unique)

    def _fresh(self) -> int:
        """A serial number that no node has: neither of those made here nor of those that came from a file."""
        self._serials += 1
        return self._serials


def walk_all(roots: Iterable[Expr]) -> Iterator[Expr]:
    """Every node of several expressions, each once, arguments first. O(nodes)."""
    seen: set[int] = set()
    for root in roots:
        yield from root.walk(seen)


def pointer_roots(address: Expr) -> list[Expr]:
    """The base pointers that an address may have, through sums, selects and merges."""
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    stack = [address]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.kind == "op" and node.data == ("add", "ptr"):
            stack.append(node.args[0])
        elif node.kind in ("choice", "any", "state"):
            stack.extend(node.args[1 if node.kind == "choice" else 0 :])
        else:
            found[node] = None
    return list(found)


def roams(address: Expr) -> bool:
    """Whether an address may have different base pointers in different iterations."""
    if address.has("any", "state", "choice"):
        return True
    return any(node.kind == "load" and node.data[1] == "ptr" and node.has("counter") for node in address.walk())


def rewritten(expr: Expr, pool: Pool, replace: Callable[[Expr, Mapping[int, Expr]], Expr | None]) -> Expr:
    """`expr` with other nodes in the places of those for which `replace` (node, id → what was made) gives one."""
    made: dict[int, Expr] = {}
    for node in expr.walk():
        other = replace(node, made)
        if other is None and node.args and any(made[id(arg)] is not arg for arg in node.args):
            other = pool.make(node.kind, node.data, tuple(made[id(arg)] for arg in node.args))
        made[id(node)] = node if other is None else other
    return made[id(expr)]


def wrapped(value: int) -> int:
    """The number that 64 bits hold of it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def dump(roots: Iterable[Expr | None]) -> tuple[list[list[Any]], list[int | None]]:
    """Expressions as plain lists for JSON: shared nodes once, arguments before users; and the place of each root."""
    nodes: list[list[Any]] = []
    places: dict[int, int] = {}
    found = list(roots)
    for node in walk_all(root for root in found if root is not None):
        places[id(node)] = len(nodes)
        nodes.append([node.kind, list(node.data), [places[id(arg)] for arg in node.args]])
    return nodes, [None if root is None else places[id(root)] for root in found]


def restore(nodes: list[Any], pool: Pool) -> list[Expr]:
    """The inverse of `dump`: every node, by place. Raises ArtefactError on anything that `dump` would not write."""
    if not isinstance(nodes, list):
        raise ArtefactError(f"the table of expressions is damaged: {repr(nodes)[:200]}")
    made: list[Expr] = []
    for place, node in enumerate(nodes):
        try:
            kind, data, arguments = node
            if not isinstance(data, list) or not isinstance(arguments, list):
                raise TypeError
            if any(type(argument) is not int for argument in arguments):
                raise TypeError
            if any(not 0 <= argument < place for argument in arguments):
                raise ValueError
            _check_shape(kind, data, arguments)
            made.append(pool.make(str(kind), tuple(data), tuple(made[argument] for argument in arguments)))
        except (TypeError, ValueError, KeyError) as error:
            raise ArtefactError(f"expression {place} is damaged: {repr(node)[:200]}") from error
    return made


def _check_shape(kind: str, data: list[Any], arguments: list[int]) -> None:
    """Raise ValueError or TypeError unless data and arguments are such as the kind has."""
    if kind == "const":
        (value,) = data
        finite = math.isfinite(value) if type(value) is float else wrapped(value) == value
        if type(value) not in (int, float) or not finite or arguments:
            raise ValueError
        return
    expected, count = _SHAPES[kind]
    if len(data) != len(expected) or not (len(arguments) == count or (count is None and arguments)):
        raise ValueError
    for item, shape in zip(data, expected, strict=True):
        # The very types: True is no number here.
        right = re.fullmatch(shape, item) if isinstance(shape, str) else type(item) is shape
        if not right:
            raise ValueError
    if kind in _WORDS and not re.fullmatch(_WORDS[kind], " ".join(data)):
        raise ValueError
    if kind == "trip" and not abs(data[3]) < data[0] <= 64:
        raise ValueError


def _show(node: Expr) -> str:
    parts = [_show(arg) for arg in node.args]
    match node.kind:
        case "const":
            return str(node.data[0])
        case "live":
            return str(node.data[0])
        case "counter":
            return f"k{node.data[0]}"
        case "left":
            return f"left(k{node.data[0]}{', ' * bool(node.data[1])}{node.data[1]})"
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
