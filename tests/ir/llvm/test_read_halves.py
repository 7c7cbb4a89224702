"""Words of which only halves are used are loaded half by half, and mean the same."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.read_halves import read_halves
from tracecut.ir.llvm.passes.split_vectors import split_vectors
from tracecut.tracer.toolchain.passes import parse, target_machine

pytestmark = pytest.mark.quick

HEAD = "define i64 @f(ptr %p) {\nentry:\n  %v = load i64, ptr %p, align 4\n"
TAKEN = {  # what makes %r, an i64, of the word
    "low": "%a = trunc i64 %v to i32\n  %r = zext i32 %a to i64",
    "low, masked": "%r = and i64 %v, 4294967295",
    "low as a distance": "%a = shl i64 %v, 32\n  %r = ashr exact i64 %a, 29",
    "low with its sign": "%a = shl i64 %v, 32\n  %r = ashr exact i64 %a, 32",
    "high": "%a = lshr i64 %v, 32\n  %b = trunc nuw i64 %a to i32\n  %r = sext i32 %b to i64",
    "high with its sign": "%r = ashr i64 %v, 32",
    "high as a distance": "%a = ashr i64 %v, 29\n  %r = and i64 %a, -8",
    "high as a distance of one": "%a = ashr i64 %v, 31\n  %r = and i64 %a, -2",
    "both": "%a = ashr i64 %v, 32\n  %b = and i64 %v, 4294967295\n  %r = add i64 %a, %b",
    "two distances": "%a = shl i64 %v, 32\n  %b = ashr exact i64 %a, 30\n"
    "  %c = ashr exact i64 %a, 29\n  %r = xor i64 %b, %c",
}
KEPT = {
    "all of it": "%r = add i64 %v, 0",
    "a quarter": "%a = trunc i64 %v to i16\n  %r = zext i16 %a to i64",
    "middle": "%r = lshr i64 %v, 16",
    "other mask": "%r = and i64 %v, 65535",
    "shifted far": "%a = shl i64 %v, 32\n  %r = ashr exact i64 %a, 33",
    "shifted, and stays": "%a = shl i64 %v, 32\n  %r = add i64 %a, 1",
    "a bit of the low half": "%a = ashr i64 %v, 29\n  %r = and i64 %a, -4",
    "shifts by it": "%r = lshr i64 32, %v",
    "a half, and all": "%a = lshr i64 %v, 32\n  %r = add i64 %a, %v",
}


def text(use: str, word: str = "") -> str:
    return HEAD.replace("load i64", f"load {word}i64") + f"  {use}\n  ret i64 %r\n}}"


def answers(module: str, words: list[int]) -> list[int]:
    """What the function returns for each word."""
    with llvm.create_mcjit_compiler(parse(module), target_machine()) as engine:
        engine.finalize_object()
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(engine.get_function_address("f"))
        return [call(ctypes.addressof(ctypes.c_int64(word))) for word in words]


@pytest.mark.parametrize("use", TAKEN.values(), ids=TAKEN)
def test_halves(use: str) -> None:
    made = str(split_vectors(read_halves(parse_module(text(use)))))
    assert "load i32" in made and "load i64" not in made
    words = [0, 1, -1, 1 << 31, -(1 << 31), 1 << 32, -(1 << 32), (1 << 63) - 1, -(1 << 63), 0x123456789ABCDEF]
    assert answers(made, words) == answers(text(use), words)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=20))
def test_any_words(words: list[int]) -> None:
    for name in ("both", "two distances", "high as a distance"):
        assert answers(MADE[name], words) == answers(text(TAKEN[name]), words)


MADE = {name: str(split_vectors(read_halves(parse_module(text(use))))) for name, use in TAKEN.items()}


@pytest.mark.parametrize("use", KEPT.values(), ids=KEPT)
def test_other_uses(use: str) -> None:
    assert str(read_halves(parse_module(text(use)))) == str(parse_module(text(use)))


def test_an_access_that_is_to_stay_as_it_is() -> None:
    volatile = text(TAKEN["both"], "volatile ")
    assert str(read_halves(parse_module(volatile))) == str(parse_module(volatile))
