"""Arrays that others can see, or see under another address: the original order runs, and says why."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tracecut.codegen.runtime import shared_mappings
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.runtime.shared_mappings import AskedMaps, ListedMaps, Mapping, can_ask, require_own
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run

from ...waiting import HUNG
from ..harness import Inspected, Program, trace
from ..woven_programs import run_woven, woven

PROGRAMS = Path(__file__).parents[1] / "programs"
SHARED, FILE, GONE, RING = (
    "an array is in memory that is shared with other processes or mapped at other addresses",
    "an array is in a file that is also mapped as shared memory",
    "an array is in memory that is protected or not mapped",
    "asynchronous input and output",
)
MODES = {
    **dict.fromkeys(["anonymous", "last page", "index", "file", "twice", "elsewhere", "segment", "child"], SHARED),
    "private file": FILE,
    **dict.fromkeys(["read only", "protected", "gone"], GONE),
    "ring": RING,
    **dict.fromkeys(["own", "private"], ""),
}
Made = tuple[Path, list[ScopeFile], list[str]]


def ways() -> dict[str, Callable[[int], AskedMaps | ListedMaps]]:
    """How this kernel can be asked: one before Linux 6.11 only lists."""
    with open("/proc/self/maps", "rb", buffering=0) as file:
        return {"listed": ListedMaps} | ({"asked": AskedMaps} if can_ask(file.fileno()) else {})


WAYS = ways()


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    parts = [(PROGRAMS / name).read_text() for name in ("prelude.h", "shared.c")]
    return trace("#define _GNU_SOURCE\n" + "".join(parts), tmp_path_factory.mktemp("shared")).inspect("gather")


@pytest.fixture(scope="module")
def made(loop: Inspected) -> Made:
    schedule = loop.schedule(loop.random(1))
    assert {move.stride for move in schedule.moves} == {8}, "x and y are permuted in place"
    return woven([loop], [schedule], name="shared")


def native(subject: Program, mode: str) -> bytes:
    done = run([subject.compiled.native, mode], folder=subject.folder, name="native", limits=Limits(HUNG))
    assert done.ok, done
    return done.stdout.read_bytes()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", WAYS)
def test_where_arrays_lie(mode: str, way: str, loop: Inspected, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "listed":
        monkeypatch.setattr(shared_mappings, "can_ask", lambda handle: False)
    ran = run_woven(loop.program, made, argv=[mode])
    assert (ran.code, ran.stdout) == (0, native(loop.program, mode)), ran.stderr
    found = ran.report["scopes"][str(loop.scope)]
    assert found["used"] == (0 if MODES[mode] else 1), found
    expected = {MODES[mode], SHARED} if mode == "ring" else {MODES[mode]}  # where rings are not allowed
    assert any(why in found["refused"] for why in expected) and bool(found["refused"]) == bool(MODES[mode])
    if MODES[mode]:
        assert f"{found['refused']}; the original order runs" in ran.stderr


@pytest.fixture
def handle() -> Iterator[int]:
    found = os.open("/proc/self/maps", os.O_RDONLY)
    yield found
    os.close(found)


@pytest.mark.parametrize("way", WAYS)
def test_a_way_tells_what_the_kernel_lists(way: str, handle: int) -> None:
    with mmap.mmap(-1, 5 * mmap.PAGESIZE):
        maps = WAYS[way](handle)
        lines = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
        assert [hexadecimal(found) for found in maps.shared()] == [line[0] for line in lines if line[1][3] == "s"] != []
        listed = [[line[0], line[1][:2], line[1][3], line[3], line[4]] for line in lines if line[4] != "0"]
        files = [found for found in maps.between(0, 2**47) if found.file[2]]  # no allocator moves these
        assert [words(found) for found in files] == listed
        for found in files[::5]:
            for low, high in ((found.low, found.low + 1), (found.high - 1, found.high), (found.low + 9, found.high)):
                assert [(part.low, part.high) for part in maps.between(low, high)] == [(found.low, found.high)]


def hexadecimal(found: Mapping) -> str:
    return f"{found.low:08x}-{found.high:08x}"


def words(found: Mapping) -> list[str]:
    """What `/proc/self/maps` writes of a mapping: addresses, rights, device and inode."""
    major, minor, inode = found.file
    rights = ("r" if found.readable else "-") + ("w" if found.writable else "-")
    return [hexadecimal(found), rights, "s" if found.shared else "p", f"{major:02x}:{minor:02x}", str(inode)]


def test_ranges_of_two_mappings(handle: int) -> None:
    """An array across a border, with a part that is shared, or not there."""
    size = mmap.PAGESIZE
    with mmap.mmap(-1, 3 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        base = next(
            found.low
            for found in ListedMaps(handle).between(0, 2**47)
            if found.high - found.low >= 3 * size and not found.shared and found.writable and found.file == (0, 0, 0)
        )
        require_own([(base, 3 * size)])
        assert len(room) == 3 * size
    with pytest.raises(UnsupportedError, match="not mapped"):
        require_own([(2**46, size)])
