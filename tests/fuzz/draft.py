"""A kernel in the making: names, arrays, index tables and lines of text, and the random draws behind them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from .features import FEATURES
from .model import Array, Cursor, Kernel, Loop, Scalar
from .tables import DISTINCT, INDEX_TYPES, TABLES, table_values

Item = TypeVar("Item")

DEFAULT_FILL = {
    "double": "real",
    "float": "real",
    "int": "small",
    "long": "small",
    "short": "small",
    "unsigned": "any",
    "unsigned char": "byte",
}


@dataclass(frozen=True)
class Shape:
    """How a loop counts. `walks`: pointers may walk along, from element 0 and by one each time."""

    loop: Loop
    counter: str
    extent: int  # all values of the counter lie below
    walks: bool = False
    pointers_only: bool = False
    bound: str = ""  # how many there are, for the end of a pointer
    skips: bool = True  # `continue` moves the counter on


class Draft:
    """Collects one kernel.

    A tangled draft may use an array in several statements and give several parameters to one array. Its numbers
    then go around in circles, so that it is kept short and to arithmetic that cannot overflow.
    """

    def __init__(self, seed: int, number: int) -> None:
        self.number = number
        self.draw = random.Random(f"{seed}/{number}")
        self.features: set[str] = set()
        self.tangled = self.chance(0.2)
        self.bundle = self.chance(0.12)
        self.records = {name for name in ("edge", "node") if self.chance(0.12)}
        self.jobs = self._draw_jobs()
        self.arrays: dict[str, Array] = {}
        self.scalars: dict[str, Scalar] = {}
        self.locked: set[str] = set()  # arrays that one statement has for itself
        self.tables: list[str] = []  # index tables: counter → node
        self.before: list[str] = []
        self.top: list[str] = []
        self.body: list[str] = []
        self.after: list[str] = []
        self.helpers: list[str] = []
        self.ahead: list[str] = []
        self.between: list[str] = []
        self.opening: list[str] = []
        self.closing: list[str] = []
        self.sweeps = 1
        self.float_reduction = False
        self.size = ""  # where the driver finds how many iterations there are, if that is in memory
        self._names: dict[str, int] = {}
        self._walkers: dict[tuple[str, bool], str] = {}
        self._cursors: list[Cursor] = []
        self._counted = False
        self._open = 0

    def shape(self, shape: Shape) -> None:
        """Settle how the loop counts. Comes before all statements."""
        self.counting = shape
        self.extent = shape.extent
        factor = self.pick({0.5: 18, 1.0: 32, 1.5: 18, 2.5: 32})
        self.nodes = min(max(2, round(factor * self.extent)), 160)

    # Draws

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def pick(self, weights: Mapping[Item, float]) -> Item:
        return self.draw.choices(list(weights), list(weights.values()))[0]

    def _draw_jobs(self) -> int:
        low, high = self.pick({(1, 1): 1, (2, 5): 12, (6, 8): 32, (9, 24): 40, (25, 64): 15})
        return min(self.draw.randint(low, high), 16 if self.tangled else 64)

    def number_type(self, *, real: float = 0.6) -> str:
        if self.chance(real):
            return self.pick({"double": 70, "float": 30})
        weights = {"int": 0 if self.tangled else 40, "long": 0 if self.tangled else 20}
        return self.pick(weights | {"unsigned": 25, "short": 10, "unsigned char": 10})

    # Names and lines

    def note(self, *features: str) -> None:
        for feature in features:
            if feature not in FEATURES:
                raise KeyError(feature)
            self.features.add(feature)

    def fresh(self, hint: str) -> str:
        self._names[hint] = self._names.get(hint, 0) + 1
        return hint if self._names[hint] == 1 else f"{hint}{self._names[hint]}"

    def line(self, *texts: str) -> None:
        self.body.extend(texts)

    def guard(self, condition: str) -> None:
        """Put the rest of the statement under a condition."""
        if self.counting.skips and not self._open and self.chance(0.25):
            self.note("continue")
            self.line(f"if (!({condition}))", "    continue;")
        else:
            self.line(f"if ({condition}) {{")
            self._open += 1

    def close(self) -> None:
        """End a statement."""
        self.line(*["}"] * self._open)
        self._open = 0

    def enclose(self) -> list[str]:
        """Leave open what is open, around whole statements to come; the lines that close it."""
        closing, self._open = ["}"] * self._open, 0
        return closing

    def scalar(self, hint: str, type: str, value: int | float) -> str:
        name = self.fresh(hint)
        self.scalars[name] = Scalar(name, type, value)
        return ("m->" if self.bundle else "") + name

    def literal(self, type: str, value: float) -> str:
        return f"{value!r}f" if type == "float" and self.chance(0.6) else repr(value)

    def helper(self, name: str, text: str) -> str:
        """Define a function of the program, which `text` calls NAME; its name."""
        full = f"{name}_{self.number}"
        definition = text.replace("NAME", full)
        if definition not in self.helpers:
            self.helpers.append(definition)
        self.note("helper")
        return full

    # Arrays

    def new(
        self,
        hint: str,
        type: str,
        length: int,
        *,
        fill: str | Sequence[int] = "",
        space: str = "",
        written: bool = False,
        locked: bool = False,
        plain: bool = False,
        constant: bool = True,
    ) -> Array:
        """A new array.

        `space`: `job`, `node` or nothing: what its elements belong to. `plain`: no record. `constant`: the compiler
        may know its contents, when they are given and not written.
        """
        name = self.fresh(hint)
        contents = tuple(fill) if not isinstance(fill, str) else fill or DEFAULT_FILL[type]
        record = {"job": "edge", "node": "node"}.get(space, "")
        prefix = "m->" if self.bundle else ""
        array = Array(name, type, length, contents, written, prefix=prefix)
        if record in self.records and not plain:
            array = replace(array, record=record)
            self.note("records")
        else:
            known = {"const": 10} if constant and isinstance(contents, tuple) and not written else {}
            storage = self.pick({"heap": 70, "static": 10, "global": 10} | known)
            array = replace(array, storage=storage)
            if array.by_name:
                array = replace(array, name=f"{name}_{self.number}", prefix="")
            if storage != "heap":
                self.note("static-array")
        if self.bundle and array.prefix:
            self.note("bundle")
        self.arrays[array.name] = array
        if locked:
            self.locked.add(array.name)
        if isinstance(contents, str):
            self.note(type)
        return array

    def _length(self, space: str) -> int:
        return self.extent if space == "job" else self.nodes

    def _candidates(self, type: str, space: str) -> list[Array]:
        return [
            array
            for array in self.arrays.values()
            if array.type == type
            and array.length == self._length(space)
            and isinstance(array.fill, str)
            and array.name not in self.locked
            and array.storage != "const"
        ]

    def source(self, type: str, space: str) -> Array:
        """An array to read."""
        found = [array for array in self._candidates(type, space) if self.tangled or not array.written]
        if found and self.chance(0.5):
            return self.draw.choice(found)
        return self.new("x" if space == "node" else "c", type, self._length(space), space=space)

    def target(self, type: str, space: str, *, plain: bool = False) -> Array:
        """An array to write."""
        found = [array for array in self._candidates(type, space) if not plain or not array.record]
        if self.tangled and found and self.chance(0.4):
            array = replace(self.draw.choice(found), written=True)
            self.arrays[array.name] = array
            return array
        hint = "y" if space == "node" else "z"
        return self.new(hint, type, self._length(space), space=space, written=True, plain=plain)

    def kept(self, type: str, value: str = "") -> str:
        """A place outside of the loop for one result; with `value`, which is stored after the loop."""
        array = self.new("result", type, 1, fill="zero", written=True, locked=True)
        if value:
            self.after.append(f"{array.at('0')} = {value};")
        return array.at("0")

    # What belongs to an iteration

    @property
    def i(self) -> str:
        """The counter."""
        self._counted = True
        return self.counting.counter

    @property
    def int_i(self) -> str:
        """The counter as an int."""
        cursors = self.counting.loop.cursors
        return self.i if not cursors or cursors[0].type == "int" else f"(int){self.i}"

    def own(self, array: Array, *, write: bool = False) -> str:
        """The element of the iteration: z[i], or what a walking pointer points to."""
        if self.counting.pointers_only or (self.counting.walks and self.chance(0.7)):
            return self._walk(array, write)
        return array.at(self.i)

    def _walk(self, array: Array, write: bool) -> str:
        place = array.record or array.name
        held = bool(array.record) or write
        if (place, held) not in self._walkers:
            pointer, local = self.fresh("p"), self.fresh("here" if held else "v")
            self._walkers[place, held] = local
            if array.record:
                type = f"struct {array.record}_{self.number} *"
            else:
                type = f"{array.type} *" if write else f"const {array.type} *"
            self._cursors.append(Cursor(type, pointer, array.base))
            what = f"{type}{local} = {pointer}++;" if held else f"{array.type} {local} = *{pointer}++;"
            self.top.append(what)
        local = self._walkers[place, held]
        if array.record:
            return f"{local}->{array.name}"
        return f"(*{local})" if held else local

    # Index tables

    def table(self, kind: str = "", *, sentinel: bool = False) -> Array:
        """A new index table: for each value of the counter a node."""
        kind = kind or self.pick(TABLES)
        values = table_values(self.draw, kind, self.extent, self.nodes)
        type = self.pick(INDEX_TYPES)
        if sentinel:
            type = self.pick({"int": 80, "short": 10, "long": 10})
            values = [-1 if self.chance(0.25) else value for value in values]
            self.note("sentinel")
        array = self.new("idx", type, self.extent, fill=values, space="job")
        if not sentinel:
            self.tables.append(array.name)
        return array

    def index(self, *, distinct: bool = False, local: bool = False, two_level: bool = True, fresh: bool = False) -> str:
        """A node of the iteration, as an index of arrays over nodes.

        `distinct`: better no two iterations have the same. `local`: it stands in a variable. `fresh`: from a table of
        its own.
        """
        if not distinct and not fresh and two_level and self.chance(0.08):
            return self._computed_index()
        if self.tables and not distinct and not fresh and self.chance(0.4):
            table = self.arrays[self.draw.choice(self.tables)]
        else:
            kind = self.pick({name: TABLES[name] for name in DISTINCT}) if distinct else ""
            table = self.table(kind, sentinel=self.chance(0.12))
        text = self.own(table)
        sentinel = table.name not in self.tables
        if two_level and self.chance(0.12):
            values = list(range(self.nodes))
            self.draw.shuffle(values)
            mapping = self.new("map", self.pick(INDEX_TYPES), self.nodes, fill=values, space="node")
            self.note("two-level")
            if sentinel:
                self.guard(f"{text} >= 0")
            text = mapping.at(text)
        elif sentinel:
            name = self._held_index(text, table.type)
            self.guard(f"{name} >= 0")
            return name
        return self._held_index(text, table.type) if local or self.chance(0.4) else text

    def _computed_index(self) -> str:
        self.note("computed-index")
        if self.tables and self.chance(0.5):
            text = self.own(self.arrays[self.draw.choice(self.tables)])
            texts = [f"({text} + 3) % {self.nodes}", f"{self.nodes - 1} - {text}", f"{text} / 2"]
        else:
            texts = [f"{self.i} % {self.draw.randint(1, self.nodes)}", f"({self.i} * 5 + 2) % {self.nodes}"]
            texts += [f"{self.i} / 2"] * (2 * self.nodes > self.extent)
        return self._held_index(self.draw.choice(texts), "long")

    def _held_index(self, text: str, type: str) -> str:
        name = self.fresh("j")
        self.line(f"int {name} = {'(int)' if type in ('long', 'unsigned') else ''}{text};")
        return name

    # The end

    def finish(self) -> Kernel:
        loop = self._finished_loop()
        arrays = tuple(self.arrays.values())
        return Kernel(
            number=self.number,
            features=tuple(sorted(self.features, key=list(FEATURES).index)),
            float_reduction=self.float_reduction,
            arrays=arrays,
            scalars=tuple(self.scalars.values()),
            loop=loop,
            body=(*self.top, *self.body),
            before=tuple(self.before),
            after=tuple(self.after),
            helpers=tuple(self.helpers),
            ahead=tuple(self.ahead),
            between=tuple(self.between),
            opening=tuple(self.opening),
            closing=tuple(self.closing),
            sweeps=self.sweeps,
            bundle=self.bundle,
        )

    def _finished_loop(self) -> Loop:
        loop = self.counting.loop
        starts = [f"{cursor.type}{cursor.name} = {cursor.start};" for cursor in self._cursors]
        if not self.counting.pointers_only:
            return replace(loop, before=(*loop.before, *starts), cursors=(*loop.cursors, *self._cursors))
        if not self._cursors:  # nothing to walk over
            table = self.new("c", "double", self.extent, plain=True)
            self._walk(table, False)
            self.line(f"(void){self._walkers[table.name, False]};")
            return self._finished_loop()
        first = self._cursors[0]
        stop = f"{first.type}stop = {first.start} + {self.counting.bound};"
        if self._counted:
            self.top.insert(0, f"int i = (int)({first.name} - {first.start});")
        compare = self.pick({"<": 60, "!=": 40})
        head = (f"while ({first.name} {compare} stop) {{",)
        return Loop(head, ("}",), tuple(self._cursors), loop.jobs, (*starts, stop))
