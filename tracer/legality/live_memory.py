"""The objects of a program that runs in this process: heap by the run-time table, globals, stack arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import Nest
from tracecut.support.process.own_stack import own_stack, variables_on

from .evaluation.contents import LiveBytes
from .evaluation.memory import GLOBAL, HEAP, STACK, Memory, Object, Table

Lives = Mapping[str, int | float]
POINTER = 8


class LiveObjects:
    """Finds the objects of a loaded program.

    Args:
        library: the program's library, linked with the run-time support.
        names: names of its globals, in the order of `tc_globals`.
    """

    def __init__(self, library: ctypes.CDLL, names: Sequence[str]) -> None:
        self._library = library
        self._library.tc_objects.restype = ctypes.c_size_t
        self._generation = ctypes.c_uint64.in_dll(library, "tc_generation")
        self._seen, self._room = -1, 1024
        self._tables: dict[tuple[Object, ...], Table] = {}  # as long as nothing is allocated or given back
        self._globals = []
        if names:
            table = (ctypes.c_uint64 * (2 * len(names))).in_dll(library, "tc_globals")
            self._globals = [
                Object(int(table[2 * place]), int(table[2 * place + 1]), GLOBAL, name)
                for place, name in enumerate(names)
                if table[2 * place + 1]
            ]

    def all(self, nests: Iterable[tuple[Nest, Lives]] = ()) -> Table:
        """Every object that is alive now, the stack arrays of nests among them.

        O(objects log objects); O(1) if they are those of the last time.
        """
        if self._generation.value != self._seen:
            self._tables, self._seen = {}, self._generation.value
        nests = list(nests)
        direct = stack_objects(nests, own_stack, lambda _: None)
        known = self._with(direct)
        if not any(nest.lent for nest, _ in nests):
            return known
        memory, stack = Memory(known, LiveBytes(known.bases, known.sizes, self._library)), own_stack()

        def read(address: int) -> bytes | None:
            on_stack = stack[0] <= address <= stack[1] - POINTER
            return ctypes.string_at(address, POINTER) if on_stack else memory.read(address, POINTER)

        found = stack_objects(nests, lambda: stack, read)
        return known if found == direct else self._with(found)

    def _with(self, others: Sequence[Object]) -> Table:
        """The objects of the program, and further ones."""
        key = tuple(others)
        if key not in self._tables:
            bases, sizes = self._heap()
            named = [*self._globals, *others]
            self._tables[key] = apart(
                np.concatenate([bases, np.array([item.base for item in named], np.int64)]),
                np.concatenate([sizes, np.array([item.size for item in named], np.int64)]),
                np.concatenate(
                    [np.full(bases.size, HEAP, np.uint8), np.array([item.kind for item in named], np.uint8)]
                ),
                {item.base: item.name for item in named},
            )
        return self._tables[key]

    def _heap(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Addresses and bytes of what the program has allocated."""
        while True:
            bases, sizes = np.zeros(self._room, np.uint64), np.zeros(self._room, np.uint64)
            places = ctypes.c_void_p(bases.ctypes.data), ctypes.c_void_p(sizes.ctypes.data)
            count = self._library.tc_objects(*places, ctypes.c_size_t(self._room))
            if count <= self._room:
                return bases[:count].view(np.int64), sizes[:count].view(np.int64)
            self._room = count + count // 4

    def memory(self, nests: Iterable[tuple[Nest, Lives]] = ()) -> Memory:
        """All objects, readable where they are."""
        table = self.all(nests)
        return Memory(table, LiveBytes(table.bases, table.sizes, self._library))


def apart(
    bases: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], kinds: npt.NDArray[np.uint8], names: Mapping[int, str]
) -> Table:
    """The objects that have a byte and share none with another one, by address. Takes them in any order.

    Where two do, one is gone: a library freed memory of the program (getline does with a buffer that it was given)
    and the allocator used it again. Which of them is alive is not known, so that neither may be relied on.
    """
    order = np.argsort(bases, kind="stable")
    order = order[sizes[order] > 0]
    bases, ends = bases[order], bases[order] + sizes[order]
    keep = np.ones(order.size, np.bool_)
    keep[1:] &= bases[1:] >= np.maximum.accumulate(ends)[:-1]
    keep[:-1] &= ends[:-1] <= bases[1:]
    return Table(bases[keep], sizes[order][keep], kinds[order][keep], names)


def stack_objects(
    nests: Iterable[tuple[Nest, Lives]],
    stack: Callable[[], tuple[int, int]],
    read: Callable[[int], bytes | None],
) -> list[Object]:
    """Stack arrays that are live into nests, and variables of their callers, which loaded pointers may lead to.

    `stack`: says which addresses it has. `read`: a pointer in memory, None where nothing can be read.
    """
    nests = list(nests)
    named = {
        (int(lives[name]), size): name for nest, lives in nests for name, size in nest.stack.items() if name in lives
    }
    lent = [(_value(pointer, lives, read), size) for nest, lives in nests for pointer, size in nest.lent]
    found = [*named, *((address, size) for address, size in lent if address is not None)]
    places = variables_on(stack(), found) if found else []
    return [Object(base, size, STACK, named.get((base, size), "")) for base, size in places]


def _value(expr: Expr, lives: Lives, read: Callable[[int], bytes | None]) -> int | None:
    """The number that a loaded pointer is, None where that is not known."""
    if expr.kind == "live":
        found = lives.get(str(expr.data[0]))
        return None if found is None else int(found)
    if expr.kind == "const":
        return int(expr.data[0])
    parts = [_value(part, lives, read) for part in expr.args]
    if expr.kind == "load" and parts[0] is not None:
        data = read(parts[0])
        return None if data is None else int.from_bytes(data, "little", signed=True)
    known = [part for part in parts if part is not None]
    return sum(known) if expr.kind == "op" and expr.data[0] == "add" and len(known) == len(parts) else None
