"""Evaluates the guard of a schedule. Light: `tracecut run` does this before it loads other modules.

The caller finds the present values of the scope's pointers: from the description of the scope (`make_guard.py`),
or by the few ways in which nearly all of them are reached (`saved_schedule.py`).
"""

from __future__ import annotations

from tracecut.codegen.schedule.schedule import ANY_SIZE

from .differences import named, other_number

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol, TypeVar

    from tracecut.codegen.schedule.schedule import Guard
    from tracecut.tracer.runtime.binding import Native
    from tracecut.tracer.runtime.fingerprint_key import Secret

    class Held(Protocol):
        """An object of the program."""

        @property
        def base(self) -> int: ...
        @property
        def size(self) -> int: ...

    Item = TypeVar("Item", bound=Held)


def check_guard(
    guard: Guard,
    lives: Mapping[str, int | float],
    values: Sequence[int | None],
    placed: Sequence[tuple[Item, int] | None],
    address: Callable[[Item, int], int],
    native: Native,
    secret: Secret,
    *,
    made: Mapping[str, str],
    pointers_made: Callable[[], Sequence[str]],
    require: Callable[[Sequence[Item]], None] | None = None,
    numbers: Callable[[Item], Item | None] = lambda item: None,
) -> tuple[list[Item] | None, str]:
    """(objects in the guard's order, "") when everything holds, else (None, what differs).

    Args:
        lives: numbers of the scope's live values. values: the address in each of its pointers, None where it cannot
            be read. placed: (object, offset) of each, None for one that lies in no known object; one object is the
            same one each time. secret: of the guard's fingerprints.
        address: where a byte of an object can be read.
        made, pointers_made: where numbers, by name, and pointers come from, as in `Nest.made`: words for what differs.
            That of the pointers is asked for only then.
        numbers: the copy of an object with numbers in the places of row pointers, None where there is none.
        require: is called with the objects before anything of them is read; it raises where they cannot be used.
    """
    if why := other_number(guard.numbers, lives, made):
        return None, why

    def pointer_named(pointer: int) -> str:
        words = pointers_made()
        return named("pointer", words[pointer] if pointer < len(words) else "", pointer)

    objects: list[Item] = []
    for number, ref in enumerate(guard.objects):
        item: Item | None = None
        for pointer, offset in ref.pointers:
            here = placed[pointer] if pointer < len(placed) else None
            if here is None or here[1] != offset or (item is not None and here[0] is not item):
                return None, f"{pointer_named(pointer)} lies elsewhere in its object"
            item = here[0]
        if item is not None and ref.numbers:
            item = numbers(item)
        if item is None or ref.size not in (ANY_SIZE, item.size):
            whose = pointer_named(ref.pointers[0][0]) if ref.pointers else f"object {number}"
            return None, f"the object of {whose} has {item.size if item else 0} bytes, it had {ref.size}"
        if any(item is other for other in objects):
            return None, "two pointers that were apart share an object"
        objects.append(item)
    if require is not None:
        require(objects)
    for pointer in guard.unplaced:
        if placed[pointer] is not None:
            return None, f"{pointer_named(pointer)} lies in an object now"
        if (values[pointer] == 0) != (pointer in guard.nulls):
            return None, f"{pointer_named(pointer)} {'was' if pointer in guard.nulls else 'is'} null"
    for load in guard.loads:
        item = objects[load.object]
        last = load.offset + load.stride * (load.count - 1) + load.width
        if load.offset < 0 or last > item.size:
            return None, "an index array is shorter than it was"
        print_ = native.fingerprint(address(item, load.offset), load.count, load.stride, load.width, secret)
        if print_ != load.fingerprint:
            return None, f"an index array of {load.count} entries has other values"
    return objects, ""
