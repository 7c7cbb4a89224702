"""The C library of the slow interpreter, with what each function reads and writes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from . import exceptions
from .interpreter import Exit, Interpreter, LongJump
from .llvalues import signed

JUMP_BYTES = 200  # of a jmp_buf


def malloc(machine: Interpreter, vertex: int, size: int) -> int:
    return machine.allocate(size)


def calloc(machine: Interpreter, vertex: int, count: int, size: int) -> int:
    address = machine.allocate(count * size)
    machine.writes(vertex, address, bytes(count * size))
    return address


def realloc(machine: Interpreter, vertex: int, old: int, size: int) -> int:
    if old == 0:
        return machine.allocate(size)
    kept = machine.reads(vertex, old, min(size, machine.objects[old]))
    machine.release(old)
    address = machine.allocate(size)
    machine.writes(vertex, address, kept)
    return address


def free(machine: Interpreter, vertex: int, address: int) -> None:
    machine.release(address)


def strdup(machine: Interpreter, vertex: int, source: int) -> int:
    """With the allocator of the program, of which nothing else is known: it may do anything to what it is given."""
    assert "@malloc" in machine.functions
    text = machine.peek(source, 4096)
    text = text[: text.index(0) + 1]
    unknown(machine, vertex, source)
    target, _ = machine.call("@malloc", [("i64", len(text), vertex)])
    machine.poke(target, text)
    return int(target)


def copy(machine: Interpreter, vertex: int, target: int, source: int, length: int) -> int:
    machine.writes(vertex, target, machine.reads(vertex, source, length))
    return target


def fill(machine: Interpreter, vertex: int, target: int, byte: int, length: int) -> int:
    machine.writes(vertex, target, bytes([byte & 255]) * length)
    return target


def strlen(machine: Interpreter, vertex: int, address: int) -> int:
    return len(machine.text_at(vertex, address))


def strcpy(machine: Interpreter, vertex: int, target: int, source: int) -> int:
    machine.writes(vertex, target, machine.text_at(vertex, source) + b"\0")
    return target


def strcmp(machine: Interpreter, vertex: int, a: int, b: int) -> int:
    x, y = machine.text_at(vertex, a), machine.text_at(vertex, b)
    return ((x > y) - (x < y)) & 0xFFFFFFFF


def memcmp(machine: Interpreter, vertex: int, a: int, b: int, length: int) -> int:
    x, y = machine.reads(vertex, a, length), machine.reads(vertex, b, length)
    return ((x > y) - (x < y)) & 0xFFFFFFFF


def atoi(machine: Interpreter, vertex: int, text: int) -> int:
    found = re.match(rb"\s*[-+]?\d+", machine.text_at(vertex, text))
    return int(found.group()) & 0xFFFFFFFF if found else 0


def strtol(machine: Interpreter, vertex: int, text: int, end: int, base: int) -> int:
    assert end == 0 and base == 10
    return atoi(machine, vertex, text)


def printf(machine: Interpreter, vertex: int, format: int, *arguments: Any) -> int:
    text = machine.text_at(vertex, format).decode()
    rest = list(arguments)

    def shown(found: re.Match[str]) -> str:
        letter = found.group()[-1]
        if letter == "%":
            return "%"
        value = rest.pop(0)
        if letter == "s":
            return machine.text_at(vertex, value).decode()
        if letter in "di":
            value = signed(value, 64 if "l" in found.group() else 32)
        return re.sub("[lhz]", "", found.group()).replace("i", "d").replace("u", "d") % value

    machine.output += re.sub(r"%[-+ 0#]*\d*(?:\.\d+)?[lhz]*[a-zA-Z%]", shown, text).encode()
    return 0


def vprintf(machine: Interpreter, vertex: int, format: int, list: int) -> int:
    """It may look at all arguments that are left; what it prints nobody compares."""
    machine.text_at(vertex, format)
    machine.writes(vertex, list, machine.reads(vertex, list, 24))
    offsets, stack, save = (machine.number_at(list + place) for place in (0, 8, 16))
    general, real = offsets & 0xFFFFFFFF, offsets >> 32
    machine.reads(vertex, save + general, 48 - general)
    machine.reads(vertex, save + real, 176 - real)
    for frame in machine.frames:
        if frame.passed and frame.passed[3] <= stack <= frame.passed[4]:
            machine.reads(vertex, stack, frame.passed[4] - stack)
    return 0


def puts(machine: Interpreter, vertex: int, text: int) -> int:
    machine.output += machine.text_at(vertex, text) + b"\n"
    return 0


def putchar(machine: Interpreter, vertex: int, letter: int) -> int:
    machine.output += bytes([letter & 255])
    return letter


def unknown(machine: Interpreter, vertex: int, *pointers: int) -> None:
    """What a function may do of which nothing is known: read and write the objects that its pointers lie in."""
    objects = [found for found in map(machine.object_at, pointers) if found is not None]
    for start, length in objects:
        machine.reads(vertex, start, length)
    for start, length in objects:
        machine.writes(vertex, start, machine.peek(start, length))


def bsearch(machine: Interpreter, vertex: int, key: int, base: int, count: int, size: int, compare: int) -> int:
    machine.reads(vertex, key, size)
    machine.reads(vertex, base, count * size)
    low, high = 0, count
    while low < high:
        place = (low + high) // 2
        value, _ = machine.call(machine.code[compare], [("ptr", key, vertex), ("ptr", base + place * size, vertex)])
        if value == 0:
            return base + place * size
        if signed(value, 32) < 0:
            high = place
        else:
            low = place + 1
    return 0


def swab(machine: Interpreter, vertex: int, source: int, target: int, length: int) -> None:
    unknown(machine, vertex, source, target)
    data = machine.peek(source, length)
    machine.poke(target, b"".join(data[place : place + 2][::-1] for place in range(0, length, 2)))


def qsort(machine: Interpreter, vertex: int, base: int, count: int, size: int, compare: int, *more: int) -> None:
    """Elements stay where they were stored until all are compared, in the order of glibc's merge sort.

    What was done to the array before comes before the call; whoever compares still finds who stored the elements.
    """
    data = machine.reads(vertex, base, count * size)
    before = {place: machine.writers[place] for place in range(base, base + len(data)) if place in machine.writers}
    machine.writes(vertex, base, data)
    for place in range(base, base + len(data)):
        machine.writers.pop(place)
    machine.writers |= before
    rest = [("ptr", argument, vertex) for argument in more]

    def merged(places: list[int]) -> list[int]:
        if len(places) < 2:
            return places
        left, right = merged(places[: len(places) // 2]), merged(places[len(places) // 2 :])
        found: list[int] = []
        while left and right:
            given = [("ptr", left[0], vertex), ("ptr", right[0], vertex), *rest]
            value, _ = machine.call(machine.code[compare], given)
            found.append((right if signed(value, 32) > 0 else left).pop(0))
        return found + left + right

    order = merged(list(range(base, base + count * size, size)))
    machine.wrote(vertex, base, b"".join(machine.peek(place, size) for place in order))


def tsearch(machine: Interpreter, vertex: int, key: int, root: int, compare: int) -> int:
    """A tree that is not balanced; each node is the key's address and two links, in memory of the library."""
    machine.writes(vertex, root, machine.reads(vertex, root, 8))
    place = root
    while node := machine.number_at(place):
        value = signed(_compared(machine, vertex, compare, key, machine.number_at(node)), 32)
        if value == 0:
            return node
        place = node + (8 if value < 0 else 16)
    node = machine.allocate(24)
    machine.objects.pop(node)
    machine.poke(node, bytes(24))
    machine.poke(place, node.to_bytes(8, "little"))
    machine.wrote(vertex, node, key.to_bytes(8, "little"))
    return node


def twalk(machine: Interpreter, vertex: int, root: int, action: int) -> None:
    def visit(node: int, depth: int) -> None:
        def act(order: int) -> None:
            machine.call(machine.code[action], [("ptr", node, vertex), ("i32", order, vertex), ("i32", depth, vertex)])

        left, right = machine.number_at(node + 8), machine.number_at(node + 16)
        if not left and not right:
            act(3)
            return
        act(0)
        for child, order in ((left, 1), (right, 2)):
            if child:
                visit(child, depth + 1)
            act(order)

    if root:
        visit(root, 0)


def lfind(machine: Interpreter, vertex: int, key: int, base: int, count: int, size: int, compare: int) -> int:
    number = int.from_bytes(machine.reads(vertex, count, 8), "little")
    machine.reads(vertex, base, number * size)
    return _found(machine, vertex, key, base, number, size, compare)


def lsearch(machine: Interpreter, vertex: int, key: int, base: int, count: int, size: int, compare: int) -> int:
    number = int.from_bytes(machine.reads(vertex, count, 8), "little")
    machine.writes(vertex, count, machine.peek(count, 8))
    machine.reads(vertex, key, size)
    machine.reads(vertex, base, number * size)
    found = _found(machine, vertex, key, base, number, size, compare)
    if not found:
        found = base + number * size
        machine.poke(count, (number + 1).to_bytes(8, "little"))
        machine.wrote(vertex, found, machine.peek(key, size))
    return found


def _found(machine: Interpreter, vertex: int, key: int, base: int, count: int, size: int, compare: int) -> int:
    places = range(base, base + count * size, size)
    return next((place for place in places if _compared(machine, vertex, compare, key, place) == 0), 0)


def _compared(machine: Interpreter, vertex: int, compare: int, a: int, b: int) -> int:
    return int(machine.call(machine.code[compare], [("ptr", a, vertex), ("ptr", b, vertex)])[0])


def setjmp(machine: Interpreter, vertex: int, buffer: int, *more: int) -> int:
    machine.jumps[buffer] = (machine.frames[-1], machine.here)
    machine.writes(vertex, buffer, machine.peek(buffer, JUMP_BYTES))
    return 0


def longjmp(machine: Interpreter, vertex: int, buffer: int, value: int) -> None:
    frame, place = machine.jumps[buffer]
    machine.reads(vertex, buffer, JUMP_BYTES)
    raise LongJump(frame, place, value or 1, vertex)


def leave(machine: Interpreter, vertex: int, status: int) -> None:
    raise Exit(status)


def pure(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda machine, vertex, *values: function(*values)


LIBRARY: dict[str, Callable[..., Any]] = {
    **exceptions.LIBRARY,
    "malloc": malloc,
    "calloc": calloc,
    "realloc": realloc,
    "free": free,
    "strdup": strdup,
    "memcpy": copy,
    "memmove": copy,
    "memset": fill,
    "strlen": strlen,
    "strcpy": strcpy,
    "strcmp": strcmp,
    "memcmp": memcmp,
    "bcmp": memcmp,
    "atoi": atoi,
    "strtol": strtol,
    "printf": printf,
    "vprintf": vprintf,
    "vfprintf": lambda machine, vertex, file, format, list: vprintf(machine, vertex, format, list),
    "puts": puts,
    "putchar": putchar,
    "qsort": qsort,
    "qsort_r": qsort,
    "tsearch": tsearch,
    "twalk": twalk,
    "lfind": lfind,
    "lsearch": lsearch,
    "bsearch": bsearch,
    "swab": swab,
    "setjmp": setjmp,
    "_setjmp": setjmp,
    "longjmp": longjmp,
    "exit": leave,
    "abs": pure(lambda value: abs(signed(value, 32)) & 0xFFFFFFFF),
    **{name: pure(getattr(math, name)) for name in "sqrt sin cos tan exp exp2 log log2 log10 pow hypot fabs".split()},
}
