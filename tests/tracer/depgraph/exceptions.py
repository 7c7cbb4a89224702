"""Exceptions and run-time types of C++ in the slow interpreter, by the Itanium ABI."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tracecut.ir.llvm.lexer import split_type

if TYPE_CHECKING:
    from .interpreter import Interpreter

SINGLE, SEVERAL = "@_ZTVN10__cxxabiv120__si_class_type_infoE", "@_ZTVN10__cxxabiv121__vmi_class_type_infoE"


class Thrown(Exception):
    """An exception on its way up: the object, its type, the part that a handler catches, which vertex sent it on."""

    def __init__(self, object: int, kind: int, destructor: int, by: int) -> None:
        super().__init__(object)
        self.object, self.kind, self.destructor, self.by = object, kind, destructor, by
        self.selector, self.part = 0, object
        self.handlers, self.again = 0, False


def bases(machine: Interpreter, kind: int) -> Iterator[tuple[int, int]]:
    """(type, offset) of the bases of a class that has a type description in the module."""
    word = lambda place: int.from_bytes(machine.peek(kind + place, 8), "little")  # noqa: E731
    if word(0) == machine.address.get(SINGLE, -1) + 16:
        yield word(16), 0
    elif word(0) == machine.address.get(SEVERAL, -1) + 16:
        for number in range(word(16) >> 32):
            yield word(24 + 16 * number), word(32 + 16 * number) >> 8


def part_of(machine: Interpreter, kind: int, wanted: int) -> int | None:
    """Offset of the base `wanted` in an object of a class; None when it has none."""
    if kind == wanted:
        return 0
    for base, offset in bases(machine, kind):
        found = part_of(machine, base, wanted)
        if found is not None:
            return offset + found
    return None


def selected(machine: Interpreter, thrown: Thrown, clauses: str) -> int | None:
    """What a landing pad gets as its selector: a type, 0 for a clean-up, None when it lets the exception pass."""
    _, rest = split_type(clauses)
    cleanup = rest.startswith("cleanup")
    rest = rest.removeprefix("cleanup").strip()
    while rest:
        assert rest.startswith("catch "), f"the interpreter has no {rest}"
        kind, rest = split_type(rest.removeprefix("catch "))
        text, _, rest = rest.partition(" catch ")
        rest = rest and "catch " + rest
        wanted = machine.constants.value(kind, text.strip())
        offset = part_of(machine, thrown.kind, wanted) if wanted else 0
        if offset is not None:
            thrown.part = thrown.object + offset
            return wanted & 0x7FFFFFFF or 1
    return 0 if cleanup else None


def throw(machine: Interpreter, vertex: int, object: int, kind: int, destructor: int) -> None:
    raise Thrown(object, kind, destructor, vertex)


def throw_again(machine: Interpreter, vertex: int) -> None:
    thrown = machine.handled[-1]
    thrown.again, thrown.by = True, vertex
    raise thrown


def begin(machine: Interpreter, vertex: int, object: int) -> int:
    thrown = machine.flying[object]
    if not (machine.handled and machine.handled[-1] is thrown):
        machine.handled.append(thrown)
    thrown.again = False
    thrown.handlers += 1
    return thrown.part


def end(machine: Interpreter, vertex: int) -> None:
    thrown = machine.handled[-1]
    thrown.handlers -= 1
    if thrown.handlers == 0:
        machine.handled.pop()
        if not thrown.again:
            if thrown.destructor:
                machine.call(machine.code[thrown.destructor], [("ptr", thrown.object, vertex)])
            machine.release(thrown.object)


def pointer(machine: Interpreter, vertex: int, object: int) -> int:
    return machine.flying[object].part


def cast(machine: Interpreter, vertex: int, object: int, source: int, target: int, hint: int) -> int:
    """`dynamic_cast`, for bases that are not virtual; it reads the pointer to the table of the object."""
    table = int.from_bytes(machine.reads(vertex, object, 8), "little")
    whole = object + int.from_bytes(machine.peek(table - 16, 8), "little", signed=True)
    offset = part_of(machine, int.from_bytes(machine.peek(table - 8, 8), "little"), target)
    return 0 if offset is None else whole + offset


def bad_alloc(machine: Interpreter, vertex: int) -> Thrown:
    return Thrown(machine.allocate(8), machine.address["@_ZTISt9bad_alloc"], 0, vertex)


def new(machine: Interpreter, vertex: int, size: int, *more: int) -> int:
    if "@malloc" in machine.functions:
        found, _ = machine.call("@malloc", [("i64", size, vertex)])
        if not found:
            raise bad_alloc(machine, vertex)
        return int(found)
    if size >> 47:  # more than a process can have
        raise bad_alloc(machine, vertex)
    return machine.allocate(size)


def delete(machine: Interpreter, vertex: int, address: int, *more: int) -> None:
    if "@free" in machine.functions:
        machine.call("@free", [("ptr", address, vertex)])
    else:
        machine.release(address)


def new_several(machine: Interpreter, vertex: int, size: int) -> int:
    """`new[]` is the other `new`, which the program may have itself."""
    if "@_Znwm" not in machine.functions:
        return new(machine, vertex, size)
    return int(machine.call("@_Znwm", [("i64", size, vertex)])[0])


def delete_another_way(machine: Interpreter, vertex: int, address: int, *more: int) -> None:
    """`delete[]`, or one that is told the size."""
    if "@_ZdlPv" in machine.functions:
        machine.call("@_ZdlPv", [("ptr", address, vertex)])
    else:
        delete(machine, vertex, address)


LIBRARY: dict[str, Callable[..., Any]] = {
    "__cxa_allocate_exception": new,
    "__cxa_free_exception": delete,
    "__cxa_throw": throw,
    "__cxa_rethrow": throw_again,
    "__cxa_begin_catch": begin,
    "__cxa_end_catch": end,
    "__cxa_get_exception_ptr": pointer,
    "__dynamic_cast": cast,
    "_Znwm": new,
    "_Znam": new_several,
    "_ZdlPv": delete,
    "_ZdlPvm": delete_another_way,
    "_ZdaPv": delete_another_way,
    "_ZdaPvm": delete_another_way,
}
