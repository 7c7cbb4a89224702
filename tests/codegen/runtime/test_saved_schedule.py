"""Schedules that are used as they were saved: which ones are, that nothing heavy is loaded, and where objects are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.runtime.saved_schedule import MANY, Objects
from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.tracer.legality.evaluation.memory import HEAP
from tracecut.tracer.legality.live_memory import apart
from tracecut.tracer.runtime.binding import support

from ..harness import Inspected, trace
from ..woven_programs import run_woven, woven

MEMBERS = """
#include <stdio.h>
#include <stdlib.h>
struct mesh { int n; unsigned char *from; struct { int *index; } *inner; } mesh;
unsigned char *to; /* what is stored there may be any of the pointers, as far as the compiler knows */
int main(int argc, char **argv) {
    to = calloc(500, 1);
    mesh.n = 500;
    mesh.from = malloc(500 * sizeof *mesh.from);
    mesh.inner = malloc(64);
    mesh.inner->index = malloc(500 * sizeof(int));
    for (int i = 0; i < 500; i++) mesh.from[i] = i, mesh.inner->index[i] = i * 7 % 500;
    if (argc > 1 && argv[1][0] == 'b') mesh.inner->index += 4;
    for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
        if (!malloc(24)) return 1;
    for (int step = 0; step < 3; step++)
        for (int i = 0; i < 400; i++) to[i] += mesh.from[mesh.inner->index[i]]; // @members
    int sum = 0;
    for (int i = 0; i < 500; i++) sum += to[i] * i;
    printf("%d\\n", sum);
    return 0;
}
"""


@settings(max_examples=100, deadline=None)
@given(ranges=st.lists(st.tuples(st.integers(2, 40), st.integers(0, 12)), max_size=9), tables=st.booleans())
def test_an_address_is_found_in_objects_that_overlap_no_other(ranges: list[tuple[int, int]], tables: bool) -> None:
    """As `LiveObjects` has them, which drops both of two that share a byte."""
    bases, sizes = (np.array(column, np.int64) for column in (list(zip(*ranges, strict=True)) or [[], []]))
    expected = apart(bases, sizes, np.full(len(ranges), HEAP, np.uint8), {})
    objects = Objects(support().library, [], ranges, tables=tables)
    addresses = list(range(60))
    found = objects.find(addresses)
    holding = [next((item for item in expected if address in item), None) for address in addresses]
    assert [None if item is None else (item.base, item.size) for item in found] == [
        None if item is None else (item.base, item.size) for item in holding
    ]
    made = {item.base: item for item in found if item is not None}
    assert all(item is made[item.base] for item in found if item is not None), "each object is one"


def test_a_pointer_is_read_only_where_all_of_it_lies_in_an_object() -> None:
    room = np.array([3, 4], np.uint64)
    objects = Objects(support().library, [], [(room.ctypes.data, 12)])
    assert objects.bytes_at(room.ctypes.data, 8) == bytes([3, *[0] * 7])
    assert objects.bytes_at(room.ctypes.data + 8, 4) == bytes([4, 0, 0, 0])
    assert objects.bytes_at(room.ctypes.data + 8, 8) is None, "four bytes of it are not the object's"
    assert objects.bytes_at(8, 8) is None


def test_what_every_program_of_these_tests_asks_is_complete(
    inspected: Callable[[str], dict[str, Inspected | str]],
) -> None:
    """So that the tests of guards are tests of the guard without NumPy."""
    items = [item for item in inspected("guards").values() if not isinstance(item, str)]
    _, scopes, _ = woven(
        items, [item.schedule(item.random(place)) for place, item in enumerate(items)], name="complete"
    )
    folder = items[0].program.folder
    assert scopes
    for scope in scopes:
        look = first_look(scope, f"complete-{scope.number}.npz", folder)
        assert look["complete"] and look["pointers"] and look["codes"].keys() == {str(loop) for loop in scope.regions}


@pytest.mark.parametrize("mark", ["pulled", "turned"])
def test_nothing_is_expected_of_pointers_that_a_scope_swaps(
    inspected: Callable[[str], dict[str, Inspected | str]], mark: str
) -> None:
    item = inspected("states")[mark]
    assert not isinstance(item, str)
    _, (scope,), _ = woven([item], [item.schedule(item.random(0))], name=f"swapped-{mark}")
    look = first_look(scope, f"swapped-{mark}-{scope.number}.npz", item.program.folder)
    assert look["complete"] and look["codes"]


@pytest.mark.parametrize("more", ["0", str(2 * MANY)])  # all objects are looked at for each pointer, or once
@pytest.mark.parametrize(("mode", "used"), [("same", 1), ("behind", 0)])
def test_pointers_that_lie_in_structures_are_followed(tmp_path: Path, mode: str, used: int, more: str) -> None:
    program = trace(MEMBERS, tmp_path, argv=["same"])
    item = program.inspect("members")
    made = woven([item], [item.schedule(item.random(0))])
    look = first_look(made[1][0], "woven-0.npz", tmp_path)
    assert look["complete"] and any(not isinstance(recipe, int) for recipe in look["pointers"])
    argv = [mode, more]
    ran, native = run_woven(program, made, argv=argv), run_woven(program, made, argv=argv, enabled=False)
    assert (ran.code, ran.stdout) == (0, native.stdout)
    assert list(ran.used.values()) == [used], ran.stderr
    assert used or "lies elsewhere in its object" in ran.stderr


def test_what_can_not_be_followed_is_left_to_the_host(inspected: Callable[[str], dict[str, Inspected | str]]) -> None:
    """A guard with a number that JSON has no word for is asked by the host alone."""
    item = next(item for item in inspected("guards").values() if not isinstance(item, str))
    _, (scope,), _ = woven([item], [item.schedule(item.random(0))], name="part")
    numbers = {**scope.schedule.guard.numbers, scope.values[0][0]: float("inf")}
    odd = replace(scope, schedule=replace(scope.schedule, guard=replace(scope.schedule.guard, numbers=numbers)))
    look = first_look(odd, "part-0.npz", item.program.folder)
    assert not look["complete"] and not look["codes"] and scope.values[0][0] not in look["guard"]["numbers"]


def test_what_a_run_imports_is_light() -> None:
    """NumPy and what inspects take longer to load than many programs run."""
    words = "import sys, tracecut.cli.run\n"
    words += "from tracecut.codegen.runtime import active_layouts, light_host, saved_schedule\n"
    words += "print([name for name in ('numpy', 'numba', 'llvmlite', 'zipfile', 'tempfile') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


FEW = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 30, *index = malloc(400 * sizeof *index);
    long *to = calloc(500, sizeof *to), sum = 0;
    for (int i = 0; i < 400; i++) index[i] = i * 7 % 500;
    for (int step = 0; step < steps; step++)
        for (int i = 0; i < 400; i++) to[index[i]] += i + step; // @few
    for (int i = 0; i < 500; i++) sum += to[i] * i;
    printf("%ld\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize(("steps", "used"), [(30, 1), (8, 1), (5, 0), (1, 0)])
def test_a_layout_that_too_few_sweeps_pay_for_is_not_used(tmp_path: Path, steps: int, used: int) -> None:
    """One exit costs seven sweeps here."""
    program = trace(FEW, tmp_path)
    item = program.inspect("few")
    library, (scope,), names = woven([item], [item.schedule(item.random(0))])
    costly = replace(scope, costs={**scope.costs, "optimized": 1.0, "copy": 7.0})
    assert costly.pays_after == 7
    made = library, [costly], names
    native = run_woven(program, made, argv=[str(steps)], enabled=False)
    ran = run_woven(program, made, argv=[str(steps)])
    assert (ran.code, ran.stdout, list(ran.used.values())) == (0, native.stdout, [used])
    assert ("would pay after 7 sweeps" in ran.stderr) == (not used)
