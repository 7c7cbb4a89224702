"""Kernels whose arrays are rows of their own, each behind a pointer: in tables of pointers, or in records."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from .generate import generate, suite_of
from .model import Array, Kernel, Suite

SHARE, INDICES = 0.6, 0.06  # of the arrays that may be rows: those of numbers, those of indices
SHARED, MOVED = 0.08, 0.15  # of tables: two pointers lead to one row; two pointers change places between the sweeps


def rows_suite(seed: int, count: int = 100) -> Suite:
    """The kernels of `generate` in which some array can be rows, with some of these."""
    draw = random.Random(f"{seed}/rows")
    kernels = [in_rows(kernel, draw) for kernel in generate(seed, count).kernels if candidates(kernel)]
    return suite_of(kernels, seed)


def candidates(kernel: Kernel) -> list[Array]:
    """Arrays of which a kernel reaches nothing but single elements, by their index."""
    parents = {array.parent for array in kernel.arrays}
    lines = [*kernel.body, *kernel.before, *kernel.after, *kernel.loop.before, *kernel.loop.head, *kernel.loop.tail]
    starts = [kernel.loop.test, *(cursor.start for cursor in kernel.loop.cursors)]
    around = "\n".join([*kernel.helpers, *kernel.opening, *kernel.ahead, *kernel.between, *kernel.closing])
    found = []
    for array in kernel.arrays:
        plain = array.storage == "heap" and array.passed and not array.parent and array.name not in parents
        name = re.compile(rf"\b{re.escape(array.name)}\b")
        texts = "\n".join([*lines, *starts])
        uses = [texts[match.end() : match.end() + 1] for match in name.finditer(texts)]
        elements = bool(uses) and (bool(array.record) or set(uses) == {"["})
        block = rf"&(?:\w+->)?(?:\w+\[[^]]*\]\.)?{name.pattern}"  # more than the element that is named
        elements = elements and not re.search(block, texts)
        if plain and array.length > 1 and elements and not name.search(around):
            found.append(array)
    return found if any(isinstance(array.fill, str) for array in found) else []


def in_rows(kernel: Kernel, draw: random.Random) -> Kernel:
    """The same kernel with some arrays as rows."""
    known = candidates(kernel)
    shares = [INDICES if isinstance(array.fill, tuple) else SHARE for array in known]
    chosen = [array for array, share in zip(known, shares, strict=True) if draw.random() < share]
    made = {
        array.name: replace(
            array,
            rows=draw.choice(["allocated", "allocated", "slices"]),
            shared=draw.random() < SHARED,
            width=draw.choice([1, 1, 3]),
        )
        for array in chosen
    }
    loop = kernel.loop
    between = list(kernel.between)
    for array in made.values():  # none, where the draw says so: then it is the kernel that it was
        if kernel.sweeps > 1 and draw.random() < MOVED:
            first, last = array.outside("0"), array.outside(str(array.length - 1))
            between.append(f"{{ {array.type} *t_ = {first}; {first} = {last}; {last} = t_; }}")
    return replace(
        kernel,
        arrays=tuple(made.get(array.name, array) for array in kernel.arrays),
        loop=replace(
            loop,
            before=_behind(loop.before, made.values()),
            head=_behind(loop.head, made.values()),
            tail=_behind(loop.tail, made.values()),
            cursors=tuple(replace(each, start=_behind([each.start], made.values())[0]) for each in loop.cursors),
            test=_behind([loop.test], made.values())[0],
        ),
        body=_behind(kernel.body, made.values()),
        before=_behind(kernel.before, made.values()),
        after=_behind(kernel.after, made.values()),
        between=tuple(between),
    )


def _behind(lines: Sequence[str], arrays: Sequence[Array]) -> tuple[str, ...]:
    """Lines in which each element is the first one of a row."""
    for array in arrays:
        lines = [_elements(line, array) for line in lines]
    return tuple(lines)


def _elements(line: str, array: Array) -> str:
    name = rf"(?:\.|->){array.name}\b" if array.record else rf"(?<![.\w]){array.name}\["
    ends = []
    for match in re.finditer(name, line):
        end, depth = match.end(), int(not array.record)
        while depth:
            depth += {"[": 1, "]": -1}.get(line[end], 0)
            end += 1
        ends.append(end)
    for end in sorted(ends, reverse=True):
        line = f"{line[:end]}[0]{line[end:]}"
    return line
