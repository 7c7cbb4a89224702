"""Comparisons of indices with constants that come out the same by new numbers.

Where a list ends by what stands in it, each iteration compares the index that it follows. With the old number for that,
the code would read a second copy of the list, as long as the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tracecut.codegen.schedule.plan.range_function import Group, IndexTest
from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.control_flow import Loop
from tracecut.tracer.loops.updates.reductions import Uses

PREDICATES = frozenset(("eq", "ne", *(sign + way for sign in "su" for way in ("lt", "le", "gt", "ge"))))


def with_tests(uses: Uses, loop: Loop, groups: Sequence[Group], numbers: Mapping[str, tuple[int, int]]) -> list[Group]:
    """The groups with the tests that may be made by new numbers. `numbers`: of `renumbered`. O(uses)."""
    found = []
    for group in groups:
        asked = [test for key in group.sites if key in numbers for test in _tests_of(uses, loop, key)]
        same = (test for test in asked if test.same_in(*numbers[test.load]))
        found.append(replace(group, tests=tuple(dict.fromkeys(same))))
    return found


def tests_in(uses: Uses, loop: Loop, group: Group) -> Iterator[Instruction]:
    """The instructions that make the tests of a group."""
    for load in dict.fromkeys(test.load for test in group.tests):
        for instruction in _comparisons(uses, loop, load):
            if _read(instruction, load) in group.tests:
                yield instruction


def _tests_of(uses: Uses, loop: Loop, load: str) -> Iterator[IndexTest]:
    return (test for item in _comparisons(uses, loop, load) if (test := _read(item, load)) is not None)


def _comparisons(uses: Uses, loop: Loop, load: str) -> Iterator[Instruction]:
    return (item for block, item in uses.of(load) if block in loop.blocks and item.op == "icmp")


def _read(instruction: Instruction, load: str) -> IndexTest | None:
    """None for a comparison with something else than a constant; the canonical form has that on the right."""
    left, right = (operand.text for operand in instruction.operands)
    if left != load or not right.removeprefix("-").isdecimal() or instruction.word not in PREDICATES:
        return None
    return IndexTest(load, instruction.word, int(right))
