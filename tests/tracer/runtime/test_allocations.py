"""The table of allocations against a dictionary: what is alive, and which object an address lies in."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tracecut.tracer.runtime.link import runtime_object, shared_library
from tracecut.tracer.toolchain.clang import Flags, to_object


class Entry(ctypes.Structure):
    _fields_ = [("base", ctypes.c_uint64), ("size", ctypes.c_size_t)]


class Table:
    """The run-time support with a table of its own, and what is thought to be in it."""

    def __init__(self, path: Path) -> None:
        self.library = shared_library([runtime_object()], Flags(), path)
        self.calls = ctypes.CDLL(str(self.library))
        for name in ("tc_malloc", "tc_realloc", "tc_memalign"):
            getattr(self.calls, name).restype = ctypes.c_void_p
        self.calls.tc_objects.restype = ctypes.c_size_t
        self.alive: dict[int, int] = {}

    def malloc(self, size: int) -> int:
        base = int(self.calls.tc_malloc(ctypes.c_size_t(size)))
        self.alive[base] = size
        return base

    def realloc(self, base: int, size: int) -> int:
        found = int(self.calls.tc_realloc(ctypes.c_void_p(base), ctypes.c_size_t(size)))
        del self.alive[base]
        self.alive[found] = size
        return found

    def free(self, base: int) -> None:
        self.calls.tc_free(ctypes.c_void_p(base))
        del self.alive[base]

    def objects(self) -> dict[int, int]:
        count = self.calls.tc_objects(None, None, ctypes.c_size_t(0))
        bases, sizes = (ctypes.c_uint64 * (count + 1))(), (ctypes.c_size_t * (count + 1))()
        assert self.calls.tc_objects(bases, sizes, ctypes.c_size_t(count + 1)) == count
        return dict(zip(bases[:count], sizes[:count], strict=True))

    def find(self, addresses: list[int], others: list[tuple[int, int]]) -> list[tuple[int, int]]:
        found = (Entry * max(1, len(addresses)))()
        asked = (ctypes.c_uint64 * max(1, len(addresses)))(*addresses)
        more = (Entry * max(1, len(others)))(*(Entry(*item) for item in others))
        self.calls.tc_find(asked, ctypes.c_size_t(len(addresses)), more, ctypes.c_size_t(len(others)), found)
        return [(item.base, item.size) for item in found[: len(addresses)]]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    made = Table(tmp_path / "support.so")
    yield made
    for base in list(made.alive):
        made.free(base)


def test_any_order_of_calls(table: Table) -> None:
    draw = random.Random(3)
    for step in range(6000):
        few = step > 4500  # nearly all is given back in the end
        if table.alive and draw.random() < (0.95 if few else 0.4):
            base = draw.choice(list(table.alive)) if step % 7 else min(table.alive)
            if draw.random() < 0.3:
                table.realloc(base, draw.choice([1, 24, 300, 5000]))
            else:
                table.free(base)
        else:
            table.malloc(draw.choice([1, 8, 16, 17, 40, 100, 257, 4096, 70000]))
        if step % 500 == 0:
            assert table.objects() == table.alive
    assert table.objects() == table.alive


def test_objects_without_bytes_hold_nothing(table: Table) -> None:
    empty, base = table.malloc(0), table.malloc(40)
    assert table.objects() == {base: 40}
    assert table.find([empty, base], []) == [(0, 0), (base, 40)]


def test_more_than_four_gigabytes(table: Table) -> None:
    size = (1 << 32) + 4096  # no byte of it is touched
    first, other, second = table.malloc(size), table.malloc(64), table.malloc(size + 16)
    assert table.objects() == {first: size, other: 64, second: size + 16}
    assert table.find([first + size - 1, first + size, other + 63], []) == [(first, size), (0, 0), (other, 64)]
    table.free(first)
    assert table.objects() == {other: 64, second: size + 16}


def test_find(table: Table) -> None:
    """In a table, or among others; what has a byte in common with something else is not relied on."""
    bases = [table.malloc(48) for _ in range(300)]
    addresses = [base + 47 for base in bases]
    assert table.find(addresses, []) == [(base, 48) for base in bases]  # more than are looked for at once
    apart, overlapping, twice = (1 << 20, 64), (bases[7] + 40, 16), (bases[9], 48)
    found = table.find([apart[0] + 5, bases[7], bases[8], bases[9], 5], [apart, overlapping, twice, (77, 0)])
    assert found == [apart, (0, 0), (bases[8], 48), (0, 0), (0, 0)]


def test_what_lies_behind_the_last_bit_is_the_same_in_each_run(tmp_path: Path) -> None:
    """Of words that `new` gives, as `vector<bool>` asks for; nothing else of what lay there changes."""
    source = tmp_path / "new.c"
    source.write_text(
        "long words[6];\n"
        "void *_Znwm(unsigned long size) { for (int k = 0; k < 6; k++) words[k] = -1; return size ? words + 1 : 0; }\n"
    )
    library = shared_library([runtime_object(), to_object(source, Flags(), tmp_path)[0]], Flags(), tmp_path / "new.so")
    calls = ctypes.CDLL(str(library))
    words = (ctypes.c_long * 6).in_dll(calls, "words")
    for size, cleared in ((24, 3), (8, 1), (20, None), (4, None), (0, None)):
        calls.tc__Znwm(ctypes.c_size_t(size))
        assert list(words) == [0 if place == cleared else -1 for place in range(6)]
