"""Random integer arithmetic and branches, in CUDA C and in LLVM's IR: widths, signs, wrap-around, phis that swap."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from .hand_written import kernel_of, text_of
from .on_host import compiled, differences, run_on_host

WIDTHS = (8, 16, 32, 64)
VALUES = (0, 1, -1, 2, 7, -128, 255, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63), 0x123456789ABCDEF, -77, 65535)


class _Maker:
    """Lines of a random function of %x."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.known: dict[int, list[str]] = {bits: [] for bits in (1, *WIDTHS)}
        self.known[64].append("%x")
        self.count = 0

    def value(self, bits: int) -> str:
        if self.random.random() < 0.2 or not self.known[bits]:
            if self.known[bits] or self.random.random() < 0.5 or bits == 1:
                low = -(1 << (bits - 1)) if bits > 1 else 0
                chosen = self.random.choice(VALUES) & ((1 << bits) - 1)
                return str(chosen - (1 << bits) if bits > 1 and chosen >= -low else chosen & 1 if bits == 1 else chosen)
            return self.make(f"trunc i64 %x to i{bits}" if bits < 64 else "add i64 %x, 1", bits)
        return self.random.choice(self.known[bits][-6:])

    def make(self, text: str, bits: int) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {text}")
        self.known[bits].append(name)
        return name

    def one(self) -> None:
        kind = self.random.randrange(8)
        bits = self.random.choice(WIDTHS)
        if kind < 3:
            op = self.random.choice("add sub mul and or xor".split())
            self.make(f"{op} i{bits} {self.value(bits)}, {self.value(bits)}", bits)
        elif kind == 3:
            op, by = self.random.choice("shl lshr ashr".split()), self.random.randrange(bits)
            self.make(f"{op} i{bits} {self.value(bits)}, {by}", bits)
        elif kind == 4:
            word = self.random.choice("eq ne slt sle sgt sge ult ule ugt uge".split())
            self.make(f"icmp {word} i{bits} {self.value(bits)}, {self.value(bits)}", 1)
        elif kind == 5:
            condition = self.random.choice(self.known[1]) if self.known[1] else "true"
            self.make(f"select i1 {condition}, i{bits} {self.value(bits)}, i{bits} {self.value(bits)}", bits)
        elif kind == 6:
            source = self.random.choice([1, *WIDTHS])
            target = self.random.choice(WIDTHS)
            if source != target and (self.known[source] or source > 1):
                op = "trunc" if source > target else self.random.choice(["zext", "sext"])
                self.make(f"{op} i{source} {self.value(source)} to i{target}", target)
        else:
            op, by = self.random.choice("sdiv udiv srem urem".split()), self.random.choice([3, 5, 16])
            self.make(f"{op} i{bits} {self.value(bits)}, {by}", bits)

    def text(self) -> str:
        for _ in range(25):
            self.one()
        total = self.make(f"add i64 {self.value(64)}, {self.value(64)}", 64)
        for bits in (8, 16, 32):
            if self.known[bits]:
                wide = self.make(f"{self.random.choice(['zext', 'sext'])} i{bits} {self.known[bits][-1]} to i64", 64)
                total = self.make(f"xor i64 {total}, {wide}", 64)
        test = self.known[1][-1] if self.known[1] else "true"
        turns = self.random.randrange(1, 6)
        self.lines += [
            f"br i1 {test}, label %yes, label %no",
            "yes:",
            f"%seven = mul i64 {total}, 7",
            "br label %join",
            "no:",
            "br label %join",
            "join:",
            f"%start = phi i64 [ %seven, %yes ], [ {total}, %no ]",
            "br label %loop",
            "loop:",
            "%i = phi i64 [ 0, %join ], [ %i.next, %turn ]",
            "%a = phi i64 [ %start, %join ], [ %b, %turn ]",
            "%b = phi i64 [ %x, %join ], [ %c, %turn ]",
            "%sum = add i64 %a, %i",
            "%odd.bit = and i64 %sum, 1",
            "%odd = icmp eq i64 %odd.bit, 1",
            "br i1 %odd, label %more, label %turn",
            "more:",
            "%twice = shl i64 %a, 1",
            "%big = icmp ugt i64 %twice, 1000000000000000000",
            "br i1 %big, label %finish, label %turn",
            "turn:",
            "%c = phi i64 [ %sum, %loop ], [ %twice, %more ]",
            "%i.next = add i64 %i, 1",
            f"%again = icmp ult i64 %i.next, {turns}",
            "br i1 %again, label %loop, label %finish",
            "finish:",
            "%last = phi i64 [ %a, %more ], [ %c, %turn ]",
            "%both = xor i64 %last, %b",
            "store i64 %both, ptr addrspace(1) %out.at, align 8",
        ]
        return text_of(self.lines)


@pytest.mark.parametrize("count", [40, pytest.param(120, marks=pytest.mark.long)])
def test_random_functions_have_the_same_bits(count: int) -> None:
    made = [kernel_of(_Maker(seed).text(), [*VALUES, *range(-9, 9)]) for seed in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(made, Path(folder))
        wrong = [
            number
            for number, kernel in enumerate(made)
            if differences(kernel, run_on_host(library, number, kernel), kernel.run_cpu().memory, 0.0)
        ]
    assert wrong == []
