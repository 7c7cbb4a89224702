"""Flattened nests on the program's own memory, before there is an arena.

A row begins at arena + unit · number. Here the arena is at address 0, and unit · number is the pointer in whose place
the number will stand. So what is read of rows is known too, and where rows lead that are picked by an index in another
row (`x[near[i][k]][d]`), or by a pointer in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr, pointer_roots, walk_all
from tracecut.ir.loops.nest import Nest
from tracecut.tracer.loops.flatten_rows import RowTable
from tracecut.tracer.loops.linear_forms import linear_form
from tracecut.tracer.loops.row_numbers import BEHIND

from .evaluation.evaluate import Evaluation
from .evaluation.masked_arithmetic import UNKNOWN, Values


@dataclass
class RowEvaluation(Evaluation):
    """Evaluates a flattened nest where its rows lie.

    The value of a number is the pointer. It is asked for in no other way than times its unit, as the distance of two,
    times that unit, or as one of two that are compared, 0 for null; all else that is made of it is unknown.

    Attributes:
        units: load of a number → bytes that it counts.
    """

    units: Mapping[str, int] = field(default_factory=dict)

    def _left_soon(self, loop: int) -> bool:
        return False  # a short cut alone, which would evaluate numbers as they are

    def walk(self, name: str, address: Expr, level: int | None, type: str) -> npt.NDArray[Any] | None:
        """Without the short cut for pieces of one array, which takes the factors of an address as they are."""
        if any(self._unit(atom) for atom in linear_form(address, self.lives).atoms()):
            return None
        return super().walk(name, address, level, type)

    def _unit(self, expr: Expr) -> int:
        """Bytes that a number, or the distance of two, counts; 0 for everything else."""
        if expr.kind == "load":
            return self.units.get(expr.data[0], 0)
        if expr.kind == "op" and expr.data[0] == "sub" and all(part.kind == "load" for part in expr.args):
            units = {self._unit(part) for part in expr.args}
            return units.pop() if len(units) == 1 else 0
        return 0

    def _compute(self, expr: Expr, level: int | None) -> Values:
        units = [] if expr.kind == "load" else [self._unit(part) for part in expr.args]
        unit = max(units, default=0)
        if unit <= 1:  # a pointer as it is
            return super()._compute(expr, level)
        if expr.kind == "op" and expr.data[0] == "mul":
            for number, factor in (expr.args, expr.args[::-1]):
                if self._unit(number) == unit and factor.kind == "const" and factor.data[0] == unit:
                    inner, values = self.evaluated(number)
                    return values if level is None else self.spread(values, inner, level)
        both = units == [unit, unit] and all(part.kind == "load" for part in expr.args)
        if expr.kind == "cmp" and units == [unit, 0] and expr.args[1].kind == "const" and not expr.args[1].data[0]:
            return super()._compute(expr, level)
        return super()._compute(expr, level) if both and (expr.kind == "cmp" or self._unit(expr)) else UNKNOWN


def changing_loads(nest: Nest) -> frozenset[str]:
    """Loads on which conditions alone depend, from an array that the nest writes by the same pointer."""
    written = {root for site in nest.sites if site.writes for root in pointer_roots(site.address)}
    trips = [info.trip for info in nest.loops.values() if info.trip is not None]
    picking = {node for node in walk_all([*(site.address for site in nest.sites), *trips]) if node.kind == "load"}
    asked = (node for node in walk_all(nest.expressions()) if node.kind == "load" and node not in picking)
    return frozenset(str(node.data[0]) for node in asked if not written.isdisjoint(pointer_roots(node.args[0])))


def with_pointers(tables: Sequence[RowTable], lives: Mapping[str, int | float]) -> dict[str, int | float]:
    """The live values with which numbers are read where the pointers are, and rows where these lead."""
    numbers = {BEHIND + name: 0 for table in tables for name in table.loads}
    return {**lives, **numbers, **{table.arena: 0 for table in tables}}
