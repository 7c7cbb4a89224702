"""Random kernels with loops, branches, barriers, shuffles and votes against the same program on NumPy vectors."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .kernels import BARRIER, kernel
from .launching import MODES, run

VARIABLES, BLOCK, BLOCKS = 5, 96, 2
Vectors = list[np.ndarray]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "xor": np.bitwise_xor,
    "and": np.bitwise_and,
}


class Program:
    """Statements as IR (`lines`), and as functions that change vectors: one element a thread of the block."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.effect = self.statements(depth=0, may_wait=True)

    def new(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def emit(self, text: str) -> str:
        name = self.new()
        self.lines.append(f"%{name} = {text}")
        return f"%{name}"

    def get(self, variable: int) -> str:
        return self.emit(f"load i64, ptr %v{variable}")

    def put(self, variable: int, value: str) -> None:
        self.lines.append(f"store i64 {value}, ptr %v{variable}")

    def statements(self, depth: int, *, may_wait: bool) -> Callable[[Vectors, np.ndarray], None]:
        parts = [self.statement(depth, may_wait=may_wait) for _ in range(self.random.randint(2, 5))]

        def run_all(values: Vectors, active: np.ndarray) -> None:
            for part in parts:
                part(values, active)

        return run_all

    def statement(self, depth: int, *, may_wait: bool) -> Callable[[Vectors, np.ndarray], None]:
        kinds = [self.arithmetic, self.arithmetic]
        if may_wait:
            kinds += [self.exchange, self.shuffle, self.ballot]
        if depth < 3:
            kinds += [lambda: self.loop(depth, may_wait), lambda: self.branch(depth)]
        return self.random.choice(kinds)()

    def arithmetic(self) -> Callable[[Vectors, np.ndarray], None]:
        name = self.random.choice(sorted(OPERATORS))
        a, b, c = (self.random.randrange(VARIABLES) for _ in range(3))
        self.put(c, self.emit(f"{name} i64 {self.get(a)}, {self.get(b)}"))

        def effect(values: Vectors, active: np.ndarray) -> None:
            values[c] = np.where(active, OPERATORS[name](values[a], values[b]), values[c])

        return effect

    def exchange(self) -> Callable[[Vectors, np.ndarray], None]:
        """Through shared memory, to the thread `far` further on."""
        a, b, far = self.random.randrange(VARIABLES), self.random.randrange(VARIABLES), self.random.randrange(BLOCK)
        at = self.emit("getelementptr i64, ptr addrspace(3) @tc.shared, i64 %t")
        self.lines.append(f"store i64 {self.get(a)}, ptr addrspace(3) {at}")
        self.lines.append(BARRIER)
        moved = self.emit(f"add i64 %t, {far}")
        around = self.emit(f"urem i64 {moved}, {BLOCK}")
        theirs = self.emit(f"getelementptr i64, ptr addrspace(3) @tc.shared, i64 {around}")
        self.put(b, self.emit(f"load i64, ptr addrspace(3) {theirs}"))
        self.lines.append(BARRIER)

        def effect(values: Vectors, active: np.ndarray) -> None:
            values[b] = np.roll(values[a], -far)

        return effect

    def shuffle(self) -> Callable[[Vectors, np.ndarray], None]:
        a, b, mask = self.random.randrange(VARIABLES), self.random.randrange(VARIABLES), self.random.randrange(32)
        low = self.emit(f"trunc i64 {self.get(a)} to i32")
        moved = self.emit(f"call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 {low}, i32 {mask}, i32 31)")
        self.put(b, self.emit(f"sext i32 {moved} to i64"))

        def effect(values: Vectors, active: np.ndarray) -> None:
            values[b] = values[a].astype(np.int32).astype(np.int64)[np.arange(BLOCK) ^ mask]

        return effect

    def ballot(self) -> Callable[[Vectors, np.ndarray], None]:
        a, b, bit = self.random.randrange(VARIABLES), self.random.randrange(VARIABLES), self.random.randrange(4)
        shifted = self.emit(f"lshr i64 {self.get(a)}, {bit}")
        truth = self.emit(f"trunc i64 {shifted} to i1")
        found = self.emit(f"call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 {truth})")
        self.put(b, self.emit(f"zext i32 {found} to i64"))

        def effect(values: Vectors, active: np.ndarray) -> None:
            bits = (values[a] >> bit & 1).reshape(-1, 32) << np.arange(32)
            values[b] = np.repeat(bits.sum(axis=1), 32)

        return effect

    def loop(self, depth: int, may_wait: bool) -> Callable[[Vectors, np.ndarray], None]:
        """As often for every thread; 0 times at least once in a while."""
        turns, name = self.random.randint(0, 3), self.new()
        counter = self.random.randrange(VARIABLES)
        self.lines += [f"store i64 0, ptr %c{depth}", f"br label %{name}", f"{name}:"]
        at = self.emit(f"load i64, ptr %c{depth}")
        more = self.emit(f"icmp ult i64 {at}, {turns}")
        self.lines += [f"br i1 {more}, label %{name}.on, label %{name}.end", f"{name}.on:"]
        inner = self.statements(depth + 1, may_wait=may_wait)
        again = self.emit(f"load i64, ptr %c{depth}")
        self.put(counter, again)
        self.lines.append(f"store i64 {self.emit(f'add i64 {again}, 1')}, ptr %c{depth}")
        self.lines += [f"br label %{name}", f"{name}.end:"]

        def effect(values: Vectors, active: np.ndarray) -> None:
            for turn in range(turns):
                inner(values, active)
                values[counter] = np.where(active, turn, values[counter])

        return effect

    def branch(self, depth: int) -> Callable[[Vectors, np.ndarray], None]:
        """Of some threads; nobody waits in it."""
        a, name = self.random.randrange(VARIABLES), self.new()
        odd = self.emit(f"trunc i64 {self.get(a)} to i1")
        self.lines += [f"br i1 {odd}, label %{name}.then, label %{name}.end", f"{name}.then:"]
        inner = self.statements(depth + 1, may_wait=False)
        self.lines += [f"br label %{name}.end", f"{name}.end:"]

        def effect(values: Vectors, active: np.ndarray) -> None:
            inner(values, active & (values[a] & 1 == 1))

        return effect

    def text(self) -> str:
        own = [f"%v{v} = alloca i64" for v in range(VARIABLES)] + [f"%c{depth} = alloca i64" for depth in range(4)]
        starts = [f"%s{v} = mul i64 %i, {2 * v + 3}\n  store i64 %s{v}, ptr %v{v}" for v in range(VARIABLES)]
        ends = []
        for v in range(VARIABLES):
            ends += [
                f"%o{v} = getelementptr i64, ptr addrspace(1) %out.at, i64 {v}",
                f"%e{v} = load i64, ptr %v{v}",
                f"store i64 %e{v}, ptr addrspace(1) %o{v}",
            ]
        place = f"%place = mul i64 %i, {VARIABLES}\n  %out.at = getelementptr i64, ptr addrspace(1) %out, i64 %place"
        body = "\n  ".join([*own, "{numbers}", *starts, place, *self.lines, *ends, "ret void"])
        return kernel("ptr addrspace(1) %out", f"entry:\n  {body}")

    def expected(self) -> np.ndarray:
        out = np.zeros((BLOCKS, BLOCK, VARIABLES), np.int64)
        for block in range(BLOCKS):
            thread = block * BLOCK + np.arange(BLOCK)
            values = [thread * (2 * v + 3) for v in range(VARIABLES)]
            self.effect(values, np.ones(BLOCK, bool))
            out[block] = np.stack(values, axis=1)
        return out


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels(seed: int) -> None:
    program = Program(seed)
    text, expected = program.text(), program.expected()
    for how in MODES:
        out = np.zeros((BLOCKS, BLOCK, VARIABLES), np.int64)
        run(text, [out], BLOCKS, BLOCK, 8 * BLOCK, **how)
        np.testing.assert_array_equal(out, expected, err_msg=str(how))
