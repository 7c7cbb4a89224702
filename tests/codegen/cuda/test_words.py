"""Numbers, names, operands and statements of C, without a compiler."""

from __future__ import annotations

import math
import re
import struct

import pytest
from tracecut.codegen.cuda.expressions import Expr, literal, pair
from tracecut.codegen.cuda.names import Names
from tracecut.codegen.cuda.statements import Assign, If, Jump, Loop, Plain, Statement, lines
from tracecut.codegen.cuda.tidy import declared, usual_loops
from tracecut.codegen.cuda.types import float_literal, integer_literal, key_of
from tracecut.support.errors import UnsupportedError

pytestmark = pytest.mark.quick


def hexadecimal(value: float) -> str:
    return f"0x{struct.pack('>d', value).hex().upper()}"


@pytest.mark.parametrize("value", [0.0, -0.0, 0.1, 1e300, 5e-324, -2.5, 1 / 3, 123456789.0])
def test_doubles_keep_every_bit(value: float) -> None:
    said = float_literal(hexadecimal(value), "f64")
    assert struct.pack("d", float(said)) == struct.pack("d", value)


@pytest.mark.parametrize("value", [0.0, -0.0, 0.1, 16777217.0, 3.4e38, 1e-45, 1.0])
def test_floats_keep_every_bit(value: float) -> None:
    single = struct.unpack("f", struct.pack("f", value))[0]
    said = float_literal(hexadecimal(single), "f32")
    assert said.endswith("f") and any(mark in said for mark in ".e")
    assert struct.pack("f", float(said[:-1])) == struct.pack("f", value)


def test_what_is_no_number_is_said_by_its_bits() -> None:
    assert float_literal(hexadecimal(math.inf), "f64") == "__longlong_as_double(0x7ff0000000000000ull)"
    assert float_literal(hexadecimal(-math.inf), "f32") == "__int_as_float(0xff800000)"
    with pytest.raises(UnsupportedError, match="the constant half cannot"):
        float_literal("half", "f64")


def test_whole_numbers_have_the_type_that_is_meant() -> None:
    assert integer_literal(-1, "u32") == "0xffffffffu" and integer_literal(-1, "i64") == "-1ll"
    assert integer_literal(-1, "u8") == "255" and integer_literal(200, "i8") == "-56"
    assert integer_literal(1 << 63, "i64") == "(-9223372036854775807ll - 1)"


@pytest.mark.parametrize("type", ["i128", "i24", "half", "<2 x i32>", "ptr", "{ i32, i1 }"])
def test_types_without_a_word_are_refused(type: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(type)):
        key_of(type)


def test_operands_meet_in_the_wanted_type() -> None:
    signed, short, number = Expr("a", "i64"), Expr("b", "u32"), literal(5, "i64")
    assert [item.text for item in pair(signed, short, "i64")] == ["a", "b"]
    assert [item.text for item in pair(signed, signed, "u64")] == ["(unsigned long long)a", "a"]
    assert [item.text for item in pair(short, short, "u64")] == ["(unsigned long long)b", "b"]
    assert [item.text for item in pair(signed, number, "i64")] == ["a", "5"]
    assert [item.text for item in pair(Expr("c", "u64"), signed, "i64")] == ["(long long)c", "a"]


def test_names_are_words_of_c_and_no_two_alike() -> None:
    names = Names(frozenset({"kernel"}))
    found = [names.of(name) for name in ("%tc.pre0.i", "%pre0.i", "%45", "%for", "%kernel", '%"a b"', "%threadIdx")]
    assert found == ["pre0_i", "pre0_i_2", "v45", "for_2", "kernel_2", "a_b", "threadIdx_2"]
    assert names.of("%45") == "v45"


def test_loops_get_their_usual_form() -> None:
    body: list[Statement] = [If("i >= n", [Jump("break")], opposite="i < n"), Plain("use(i)"), Assign("i", "i + 1")]
    made = declared(usual_loops([Assign("i", "0"), Loop(body)]), {"i": "int"}, at_top=False)
    assert lines(made) == ["    for (int i = 0; i < n; i += 1) {", "        use(i);", "    }"]


def test_a_loop_that_goes_on_in_the_middle_keeps_its_step() -> None:
    body: list[Statement] = [
        If("i >= n", [Jump("break")], opposite="i < n"),
        If("odd", [Jump("continue")]),
        Assign("i", "i + 1"),
    ]
    text = "\n".join(lines(declared(usual_loops([Assign("i", "0"), Loop(body)]), {"i": "int"}, at_top=False)))
    assert "while (i < n)" in text and "int i = 0;" in text


def test_variables_are_declared_where_all_their_uses_are() -> None:
    inner: list[Statement] = [Assign("a", "1"), Plain("use(a)")]
    made = declared([If("c", inner), If("d", [Assign("b", "2")], [Assign("b", "3")]), Plain("use(b)")],
                    {"a": "int", "b": "int"}, at_top=False)  # fmt: skip
    text = lines(made)
    assert text[:2] == ["    if (c) {", "        int a = 1;"] and text[4] == "    int b;"
    jumped = declared([If("c", inner), Plain("use(a)")], {"a": "int"}, at_top=True)
    assert lines(jumped)[0] == "    int a;"
