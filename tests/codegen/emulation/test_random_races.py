"""Random accesses to one word against a slow reference that compares all pairs of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from .kernels import BARRIER, kernel
from .test_faults import faults, lines

BLOCK, BLOCKS = 64, 2
TEXTS = {
    "load": "%r{n} = load i32, ptr addrspace({s}) {at} @{n}",
    "store": "store i32 1, ptr addrspace({s}) {at} @{n}",
    "atomic": "%r{n} = atomicrmw add ptr addrspace({s}) {at}, i32 1 monotonic, align 4 @{n}",
}


@dataclass(frozen=True)
class Access:
    """By the threads first to first + count − 1 of some blocks, all in one step of the program."""

    number: int
    kind: str
    blocks: tuple[int, ...]
    first: int
    count: int

    def by(self) -> list[tuple[int, int]]:
        return [(block, thread) for block in self.blocks for thread in range(self.first, self.first + self.count)]


def drawn(seed: int, shared: bool) -> list[Access | str]:
    """Accesses, `barrier` and `warp` in the order of the program; shared memory is written to first of all."""
    rng = random.Random(seed)
    steps: list[Access | str] = [Access(99, "store", (0, 1), 5, 1), "barrier"] if shared else []
    for number in range(rng.randint(2, 7)):
        blocks = rng.choice([(0,), (1,), (0, 1)])
        first, count = rng.choice([(5, 1), (5, 1), (6, 1), (5, 2), (40, 1)])
        steps.append(Access(number, rng.choice(sorted(TEXTS)), blocks, first, count))
        steps += [rng.choice(["barrier", "warp"])] * (rng.random() < 0.4)
    return steps


def ordered(steps: list[Access | str], a: int, b: int, one: tuple[int, int], other: tuple[int, int]) -> bool:
    if one == other:
        return True
    between = [step for step in steps[min(a, b) : max(a, b)] if isinstance(step, str)]
    same_warp = one[1] // 32 == other[1] // 32
    return one[0] == other[0] and ("barrier" in between or (same_warp and "warp" in between))


def racing(steps: list[Access | str], shared: bool) -> set[tuple[str, ...]]:
    """Pairs of lines that race."""
    accesses = [(place, step, who) for place, step in enumerate(steps) if isinstance(step, Access) for who in step.by()]
    found = set()
    for (a, one, first), (b, other, second) in combinations(accesses, 2):
        kinds = {one.kind, other.kind}
        if "store" not in kinds and kinds != {"load", "atomic"}:
            continue
        if (shared and first[0] != second[0]) or ordered(steps, a, b, first, second):
            continue
        found.add(tuple(sorted((str(one.number), str(other.number)))))
    return found


def text_of(steps: list[Access | str], shared: bool) -> str:
    body = ["entry:", "{numbers}"]
    for place, step in enumerate(steps):
        if isinstance(step, str):
            body.append(BARRIER if step == "barrier" else "call void @llvm.nvvm.bar.warp.sync(i32 -1)")
            continue
        block = " ".join([f"%b{place} = icmp ne i32 %b32, {3 if len(step.blocks) == 2 else 1 - step.blocks[0]}"])
        body += [
            block,
            f"%f{place} = sub i32 %t32, {step.first}",
            f"%t{place} = icmp ult i32 %f{place}, {step.count}",
            f"%c{place} = and i1 %b{place}, %t{place}",
            f"br i1 %c{place}, label %do{place}, label %on{place}",
            f"do{place}:",
            TEXTS[step.kind].format(n=step.number, s=3 if shared else 1, at="@tc.shared" if shared else "%out"),
            f"br label %on{place}",
            f"on{place}:",
        ]
    return kernel("ptr addrspace(1) %out", "\n".join([*body, "ret void"]))


@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize("seed", range(30))
def test_random_accesses(seed: int, shared: bool) -> None:
    steps = drawn(seed, shared)
    wanted = racing(steps, shared)
    found = faults(text_of(steps, shared), [np.zeros(1, np.int32)], BLOCKS, BLOCK, 16, seed=seed % 3)
    pairs = {pair for kind, pair in lines(found)}
    assert {fault.kind for fault in found} <= {"shared race" if shared else "global race"}
    assert pairs <= wanted and bool(pairs) == bool(wanted), (steps, pairs, wanted)
    if len(wanted) == 1:
        assert pairs == wanted
