"""Sizes, alignments and offsets of types, compared with LLVM's own; and the splitting of lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from llvmlite import binding
from tracecut.ir.llvm.data_layout import TypeTable, int_bits
from tracecut.ir.llvm.lexer import marks, matching, split_commas, split_type
from tracecut.tracer.toolchain.passes import parse, target_machine

pytestmark = pytest.mark.quick

SCALARS = "i1 i7 i8 i16 i24 i32 i33 i48 i64 i65 i128 half bfloat float double x86_fp80 fp128 ptr".split()
SCALARS += ["ptr addrspace(270)", "ptr addrspace(1)"]
VECTORS = "i1 i8 i16 i32 i64 float double ptr".split()


def types(depth: int) -> st.SearchStrategy[str]:
    scalar = st.sampled_from(SCALARS)
    vector = st.tuples(st.sampled_from([1, 2, 3, 4, 5, 8, 9, 16]), st.sampled_from(VECTORS)).map(
        lambda pair: f"<{pair[0]} x {pair[1]}>"
    )
    if depth == 0:
        return st.one_of(scalar, vector)
    inner = types(depth - 1)
    members = st.lists(inner, max_size=4)
    return st.one_of(
        scalar,
        vector,
        st.tuples(st.integers(0, 5), inner).map(lambda pair: f"[{pair[0]} x {pair[1]}]"),
        members.map(lambda parts: f"{{ {', '.join(parts)} }}" if parts else "{}"),
        members.map(lambda parts: f"<{{ {', '.join(parts)} }}>" if parts else "<{}>"),
    )


def by_llvm(text: str) -> tuple[int, int, int, Any]:
    """(size, alignment, bytes stored, the type) as LLVM lays it out."""
    data: Any = binding.create_target_data(str(target_machine().target_data))
    module = parse(f'target datalayout = "{data}"\n@g = external global {text}\n')
    kind = module.get_global_variable("g").global_value_type
    return int(data.get_abi_size(kind)), int(data.get_abi_alignment(kind)), 0, (data, kind, module)


@settings(max_examples=250, deadline=None)
@given(types(3))
@example("<3 x i1>")
@example("<{ i8, { i8, x86_fp80 }, <3 x float> }>")
@example("[3 x <{ i8, i128 }>]")
def test_layout_is_that_of_llvm(text: str) -> None:
    table = TypeTable({})
    size, align, _, (data, kind, _module) = by_llvm(text)
    assert (table.size(text), table.align(text)) == (size, align)
    if text.startswith(("{", "<{")):
        body = text.strip("<>").strip("{} ") if text.count("{") == 1 else ""
        for place in range(len(split_commas(body)) if body else 0):
            assert table.field(text, place)[0] == data.get_element_offset(kind, place)
        named = TypeTable({'%"u v"': text})
        assert named.size('%"u v"') == size
        assert named.size('[2 x %"u v"]') == 2 * size


@pytest.mark.parametrize(
    ("text", "stored"),
    [("i1", 1), ("i7", 1), ("i33", 5), ("i65", 9), ("x86_fp80", 10), ("<3 x i32>", 12), ("<9 x i1>", 2), ("ptr", 8)],
)
def test_bytes_that_an_access_touches(text: str, stored: int) -> None:
    assert TypeTable({}).stored(text) == stored
    assert TypeTable({"%t": text}).stored("%t") == stored


@pytest.mark.parametrize(
    "text", ["void", "label", "<vscale x 4 x i32>", "token", "i32 i32", "", "%missing", "[4 x opaque]"]
)
def test_what_has_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        TypeTable({}).size(text)


def test_elements_and_members() -> None:
    table = TypeTable({"%s": "{ i8, [4 x i32] }", "%a": "[7 x %s]"})
    assert table.element("%a") == "%s"
    assert table.element("<4 x float>") == "float"
    assert table.element("%s") is None and table.element("<{ i8 }>") is None and table.element("i32") is None
    assert table.field("%s", 1) == (4, "[4 x i32]")
    assert table.field("%a", 3) == (60, "%s")
    with pytest.raises(ValueError, match="has no member 2"):
        table.field("%s", 2)
    with pytest.raises(ValueError, match="has no members"):
        table.field("i32", 0)


def test_integer_widths() -> None:
    assert [int_bits(text) for text in ("i1", "i64", "i128", "ptr", "float", "<2 x i8>")] == [
        1,
        64,
        128,
        None,
        None,
        None,
    ]


PIECE = st.sampled_from(
    ["i32 %x", 'ptr @"a, b(c"', '[2 x i8] c"},{"', "{ i8, i16 } zeroinitializer", "<4 x i1> %v", 'ptr @"x\\22,y"', ""]
)


@given(st.lists(PIECE.filter(bool), min_size=1, max_size=5))
def test_commas_outside_of_brackets_and_strings_split(parts: list[str]) -> None:
    assert split_commas(", ".join(parts)) == parts
    whole = f"({', '.join(parts)}) tail)"
    assert whole[matching(whole, 0) :] == ") tail)"


@pytest.mark.parametrize(
    ("text", "kind", "rest"),
    [
        ("i32 %x", "i32", "%x"),
        ("ptr addrspace(3) null", "ptr addrspace(3)", "null"),
        ('%"a b"  %x', '%"a b"', "%x"),
        ("i32 (ptr, ...) @printf", "i32 (ptr, ...)", "@printf"),
        ("<{ i8, [2 x i64] }> undef", "<{ i8, [2 x i64] }>", "undef"),
        ('target("spirv.Image", void, 1) %x', 'target("spirv.Image", void, 1)', "%x"),
        ("void", "void", ""),
    ],
)
def test_types_split_from_what_follows(text: str, kind: str, rest: str) -> None:
    assert split_type(text) == (kind, rest)


@pytest.mark.parametrize("text", ["", "  ", "%", "[3 x i32", "42"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        split_type(text)


def test_strings_are_skipped() -> None:
    text = 'a["b\\"{c"d,"\\5C("e]"<'
    assert [(text[place], mark) for place, mark in marks(text)] == [(mark, mark) for mark in "[,]"]
