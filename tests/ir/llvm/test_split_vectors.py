"""Vectors that are put together lane by lane are stored, and loaded, lane by lane."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.split_vectors import split_vectors

pytestmark = pytest.mark.quick

STORED = """define void @f(ptr %p, float %x, float %y) {{
entry:
  {known}
  %v = insertelement <2 x float> poison, float %x, i64 {lane}
  %w = insertelement <2 x float> %v, float %y, i64 1
  store {word}<2 x float> %w, ptr %p, align 8
  ret void
}}"""
LOADED = """define float @f(ptr %p) {{
entry:
  %v = load {word}<2 x float>, ptr %p, align 8
  %a = extractelement <2 x float> %v, i64 0
  %b = extractelement <2 x float> %v, {lane}
  %c = fadd float %a, %b
  {use}
  ret float %c
}}"""


def lines(text: str) -> list[str]:
    return [str(item) for _, item in split_vectors(parse_module(text)).functions["@f"].instructions()]


def stored(**words: str) -> list[str]:
    return lines(STORED.format(**{"known": "", "lane": "0", "word": "", **words}))


def loaded(**words: str) -> list[str]:
    return lines(LOADED.format(**{"word": "", "lane": "i64 1", "use": "", **words}))


def test_stores() -> None:
    assert stored() == [
        "store float %x, ptr %p, align 8",
        "%tc.lane0.2.at4 = getelementptr i8, ptr %p, i64 4",
        "store float %y, ptr %tc.lane0.2.at4, align 4",
        "ret void",
    ]


def test_an_address_that_is_there_is_taken() -> None:
    known = "%q = getelementptr i8, ptr %p, i64 4"
    assert stored(known=known) == [
        known,
        "store float %x, ptr %p, align 8",
        "store float %y, ptr %q, align 4",
        "ret void",
    ]


@pytest.mark.parametrize("words", [{"word": "volatile "}, {"lane": "1"}])
def test_stores_that_stay(words: dict[str, str]) -> None:
    """Each access counts, or a lane is not known."""
    assert any("store" in line and "<2 x float>" in line for line in stored(**words))


def test_loads() -> None:
    assert loaded() == [
        "%tc.lane0.0.0 = load float, ptr %p, align 8",
        "%tc.lane0.0.at4 = getelementptr i8, ptr %p, i64 4",
        "%tc.lane0.0.1 = load float, ptr %tc.lane0.0.at4, align 4",
        "%c = fadd float %tc.lane0.0.0, %tc.lane0.0.1",
        "ret float %c",
    ]


@pytest.mark.parametrize(
    "words", [{"word": "volatile "}, {"lane": "i64 2"}, {"lane": "i64 %i"}, {"use": "%d = fneg <2 x float> %v"}]
)
def test_loads_that_stay(words: dict[str, str]) -> None:
    """Each access counts, a lane is not there or not known, or the vector is used as one."""
    text = LOADED.format(**{"word": "", "lane": "i64 1", "use": "", **words}).replace("ptr %p)", "ptr %p, i64 %i)")
    assert any("load" in line and "<2 x float>" in line for line in lines(text))
