"""Makes the guard of a schedule; `check_guard.py` evaluates it.

It covers the backward slice of every address and every branch: integers that are live into the scope, how its pointers
lie in objects, and the memory that indices, trip counts and branch conditions were loaded from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tracecut.codegen.schedule.schedule import Guard, LoadGuard, ObjectRef
from tracecut.ir.loops.expressions import Expr, walk_all
from tracecut.ir.loops.nest import Nest
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import Memory, Object
from tracecut.tracer.legality.row_checks import guarded_places
from tracecut.tracer.loops.row_numbers import BEHIND
from tracecut.tracer.runtime.binding import Native
from tracecut.tracer.runtime.fingerprint_key import Secret


def pointers_of(nest: Nest) -> list[Expr]:
    """Every pointer of a scope that is the same in all of its iterations: live ones, and those loaded once."""
    found: dict[Expr, None] = {}
    for node in walk_all(nest.expressions()):
        if node.kind not in ("live", "load") or node.data[1] != "ptr":
            continue
        if node.kind == "live" or not node.has("counter", "opaque", "any", "state"):
            found[node] = None
    return list(found)


def pointers_made(nest: Nest) -> list[str]:
    """Where each of `pointers_of` comes from, as in `Nest.made`."""
    places = {site.key: str(site.place.own) for site in nest.sites}
    return [
        nest.made.get(str(expr.data[0]), "") if expr.kind == "live" else places.get(str(expr.data[0]), "")
        for expr in pointers_of(nest)
    ]


def pointer_values(nest: Nest, memory: Memory, lives: Mapping[str, int | float]) -> list[int | None]:
    """The address in each of `pointers_of`, None where it is not known."""
    evaluation = Evaluation(nest, memory, lives, single=True)
    values = [evaluation.at(expr, nest.root) for expr in pointers_of(nest)]
    return [int(value.data) if value.all_known else None for value in values]


def place_pointers(memory: Memory, values: Iterable[int | None]) -> list[tuple[Object, int] | None]:
    """(object, offset) of each pointer, None for one that lies in no known object."""
    held = [(None if value is None else memory.find(value), value) for value in values]
    return [None if item is None or value is None else (item, value - item.base) for item, value in held]


def loaded_root(evaluation: Evaluation, name: str) -> int:
    """The pointer that a load inside of a region yields, the same in all iterations; 0 when it is not known."""
    site = next(site for site in evaluation.nest.sites if site.key == name)
    address = evaluation.at(site.address, evaluation.nest.root)
    data = evaluation.memory.read(int(address.data), 8) if address.all_known else None
    return int.from_bytes(data, "little") if data is not None else 0


def make_guard(accesses: Accesses, native: Native, secret: Secret) -> tuple[Guard, list[Object]]:
    """Guard of everything that the evaluation of a scope relied on, and its objects in the guard's order.

    Raises UnsupportedError when something is reached from a pointer that lies outside of its object: what else it
    might reach the next time could not be told.
    """
    nest, memory = accesses.nest, accesses.memory
    values = pointer_values(nest, memory, accesses.lives)
    placed = place_pointers(memory, values)
    objects: list[Object] = []
    pointers: dict[Object, list[tuple[int, int]]] = {}
    unplaced = []
    for number, found in enumerate(placed):
        if found is None:
            unplaced.append(number)
            continue
        if found[0] not in pointers:
            objects.append(found[0])
        pointers.setdefault(found[0], []).append((number, found[1]))
    copies = {copy: pointers[item] for item in objects if (copy := numbers_of(memory, item)) is not None}
    objects += copies
    pointers |= copies
    for access in accesses.all():
        if access.runs and access.object is not None and access.object not in pointers:
            raise UnsupportedError(
                f"the array at {access.site.place} is reached from a pointer that lies outside of it"
            )
    refs = tuple(ObjectRef(item.size, tuple(pointers[item]), item in copies) for item in objects)
    loads: dict[tuple[int, int, int, int, int], LoadGuard] = {}
    grounds = accesses.evaluation.grounds()
    for node in grounds:
        if node.kind != "load" or node.data[1] == "ptr":
            continue
        touched = guarded_places(accesses, node)
        if touched is None:
            continue
        item, low, high, step, width = touched
        if item not in pointers:
            raise UnsupportedError("an index is loaded from memory that no pointer of the loop names")
        stride = step if step >= width else width
        count = (high - low - width) // stride + 1
        if step < width and high - low > width:  # a contiguous block
            stride, count, width = 1, high - low, 1
        guard_key = (objects.index(item), low, stride, width, count)
        if guard_key not in loads:
            print_ = native.fingerprint(address_of(memory, item, low), count, stride, width, secret)
            loads[guard_key] = LoadGuard(*guard_key, fingerprint=print_)
    numbers = {
        str(node.data[0]): accesses.lives[node.data[0]]
        for node in grounds
        if node.kind == "live" and node.data[1] != "ptr" and node.data[0] in accesses.lives
        if not str(node.data[0]).startswith(BEHIND)  # of this run alone
    }
    nulls = tuple(number for number in unplaced if values[number] == 0)
    return Guard(numbers, refs, tuple(unplaced), nulls, tuple(loads.values())), objects


def numbers_of(memory: Memory, item: Object) -> Object | None:
    """The copy of a table with numbers in the places of its pointers to rows, None where there is none."""
    found = memory.rows.numbers.get(item)
    return None if found is None else memory.find(found.base)


def address_of(memory: Memory, item: Object, offset: int) -> int:
    """Where the bytes of an object can be read in this process."""
    data = memory.bytes_of(item)
    if data is None:
        raise UnsupportedError("an index array was not captured")
    return int(data.ctypes.data) + offset
