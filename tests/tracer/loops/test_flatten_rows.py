"""Which pointers are taken for rows, and what becomes of them."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.tracer.loops.flatten_rows import RowTable
from tracecut.tracer.loops.program import Analysis

pytestmark = pytest.mark.quick

SUM = """declare void @keep(ptr)
define double @f(ptr %rows, ptr %x, ptr %out, i64 %n, i64 %m) {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %latch ]
  %at = getelementptr {record}, ptr %rows, i64 %k
  %p = load ptr, ptr %at, align 8, !tbaa !0
  {more}
  br label %inner
inner:
  %j = phi i64 [ 0, %loop ], [ %step, %inner ]
  %s = phi double [ 0.0, %loop ], [ %t, %inner ]
  %to = getelementptr {type}, ptr %p, i64 %j
  %c = load i32, ptr %to, align 4
  %i = sext i32 %c to i64
  %from = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %from, align 8
  %t = fadd double %s, %v
  %step = add nuw nsw i64 %j, 1
  %again = icmp slt i64 %step, %m
  br i1 %again, label %inner, label %latch
latch:
  %result = getelementptr double, ptr %out, i64 %k
  store double %t, ptr %result, align 8
  %next = add nuw nsw i64 %k, 1
  %rest = icmp slt i64 %next, %n
  br i1 %rest, label %loop, label %end
end:
  ret double 0.0
}}
!0 = !{{}}
"""


def flattened(more: str = "", record: str = "ptr", type: str = "i32") -> tuple[str, tuple[RowTable, ...]]:
    """The text of the flattened program, and its tables."""
    analysis, tables = Analysis(parse_module(SUM.format(more=more, record=record, type=type))).flattened(
        frozenset({"@f"})
    )
    return str(analysis.module), tables


def test_a_pointer_becomes_a_number() -> None:
    text, tables = flattened()
    assert tables == (RowTable("@f", "@tc.rows0", 4, ("%p.row",)),)
    assert "  %p.row = load i64, ptr %at, align 8\n" in text  # what was known of the pointer is not known of the number
    assert "  %p = getelementptr [4 x i8], ptr @tc.rows0, i64 %p.row\n" in text
    assert "@tc.rows0 = global i8 0" in text


def test_its_unit_is_what_all_steps_are_multiples_of() -> None:
    assert flattened(type="{ i32, i32, i32 }")[1][0].unit == 12
    assert flattened("%q = getelementptr i16, ptr %p, i64 %m\n  %w = load i16, ptr %q")[1][0].unit == 2


END = """%after = getelementptr ptr, ptr %at, i64 1
  %e = load ptr, ptr %after, align 8
  """


def test_distances_are_of_numbers() -> None:
    more = END + "%pe = ptrtoint ptr %e to i64\n  %pp = ptrtoint ptr %p to i64\n  %way = sub i64 %pe, %pp\n"
    text, tables = flattened(more + "  %none = icmp eq ptr %p, %e\n  %less = icmp ult ptr %p, %e", "{ ptr, ptr }")
    assert [table.loads for table in tables] == [("%p.row", "%e.row")]  # the other pointer only says how far it is
    assert "  %way.row = sub i64 %e.row, %p.row\n" in text
    text, tables = flattened(
        more + "  %q = getelementptr i32, ptr %e, i64 %m\n  %w = load i32, ptr %q\n"
        "  %none = icmp eq ptr %p, %e\n  %less = icmp ult ptr %p, %e",
        "{ ptr, ptr }",
    )
    assert len(tables) == 1 and set(tables[0].loads) == {"%p.row", "%e.row"}
    assert "  %way.row = sub i64 %e.row, %p.row\n  %way = mul i64 %way.row, 4\n" in text
    assert "  %none = icmp eq i64 %p.row, %e.row\n  %less = icmp slt i64 %p.row, %e.row\n" in text
    assert ("%p.row", "%e.row") in tables[0].pairs


def test_a_pointer_that_is_compared_with_another_one_leads_to_no_rows() -> None:
    """What is done with it has to be known, or it stays a pointer, and what it is compared with."""
    _, tables = flattened(END + "%less = icmp ult ptr %p, %e\n  store ptr %e, ptr %out", "{ ptr, ptr }")
    assert not tables


def test_null_is_number_0() -> None:
    text, (table,) = flattened("%null = icmp eq ptr %p, null\n  %some = icmp ne ptr %p, null")
    assert "  %null = icmp eq i64 %p.row, 0\n  %some = icmp ne i64 %p.row, 0\n" in text
    assert table.null_checked and not flattened()[1][0].null_checked


def test_fields_of_records_are_tables_of_their_own() -> None:
    more = END + "%q = getelementptr double, ptr %e, i64 %m\n  %w = load double, ptr %q"
    found = {(table.unit, table.loads) for table in flattened(more, "{ ptr, ptr }")[1]}
    assert found == {(4, ("%p.row",)), (8, ("%e.row",))}


def test_tables_of_common_rows_are_one_that_counts_what_both_can() -> None:
    more = END + "%q = getelementptr double, ptr %e, i64 %m\n  %w = load double, ptr %q"
    analysis = Analysis(parse_module(SUM.format(more=more, record="{ ptr, ptr }", type="i32")))
    together = frozenset({frozenset({"%p.row", "%e.row"})})
    ((table,), again) = (analysis.flattened(frozenset({"@f"}), None, joined)[1] for joined in (together, frozenset()))
    assert (table.unit, set(table.loads)) == (4, {"%p.row", "%e.row"}) and len(again) == 2


@pytest.mark.parametrize(
    "more",
    [
        "store ptr %p, ptr %out",
        "call void @keep(ptr %p)",
        "%null = icmp ult ptr %p, null",
        "%q = getelementptr i8, ptr %p, i64 4\n  %null = icmp eq ptr %q, null",
        "%other = icmp eq ptr %p, %x",
        "%bits = ptrtoint ptr %p to i64\n  %low = and i64 %bits, 63",
        "%either = select i1 true, ptr %p, ptr %x\n  %w = load i32, ptr %either",
        "%q = getelementptr i8, ptr %p, i64 4\n  store ptr %q, ptr %out",
    ],
)
def test_pointers_that_are_data_stay(more: str) -> None:
    text, tables = flattened(more)
    assert not tables and ".row" not in text


SELDOM = """latch:
  %rare = icmp eq i64 %k, 7
  br i1 %rare, label %seldom, label %goes
seldom:
  %there = getelementptr ptr, ptr %rows, i64 %k
  %changed = load ptr, ptr %there, align 8
  store i32 1, ptr %changed, align 4
  call void @keep(ptr %changed)
  br label %goes
goes:
"""


def test_pointers_that_are_data_where_few_iterations_come_to_stay_alone() -> None:
    """That may be an exit of the scope."""
    text = SUM.format(more="", record="ptr", type="i32")
    seldom = text.replace("latch:\n", SELDOM)
    analysis, tables = Analysis(parse_module(seldom)).flattened(frozenset({"@f"}))
    assert [table.loads for table in tables] == [("%p.row",)] and not tables[0].written
    assert "  %changed = load ptr, ptr %there, align 8\n" in str(analysis.module)
    always = text.replace("latch:\n", SELDOM.replace("br i1 %rare, label %seldom, label %goes", "br label %seldom"))
    assert not Analysis(parse_module(always)).flattened(frozenset({"@f"}))[1]


def test_what_is_loaded_from_one_place_stays() -> None:
    text = SUM.format(more="", record="ptr", type="i32").replace("i64 %k\n  %p", "i64 0\n  %p")
    assert not Analysis(parse_module(text)).flattened(frozenset({"@f"}))[1]


def test_volatile_pointers_stay() -> None:
    text = SUM.format(more="", record="ptr", type="i32").replace("%p = load ptr", "%p = load volatile ptr")
    assert not Analysis(parse_module(text)).flattened(frozenset({"@f"}))[1]


@pytest.mark.parametrize(
    ("found", "index", "taken"),
    [
        ("%h = load volatile i64, ptr %x", "ptr %rows, i64 %h", True),  # what only the iteration itself knows
        ("%h = load volatile ptr, ptr %x", "ptr %h, i64 %k", False),  # which table it is, nobody knows
    ],
)
def test_where_in_a_table_a_pointer_stands_need_not_be_known(found: str, index: str, taken: bool) -> None:
    more = f"{found}\n  %hat = getelementptr ptr, {index}\n  %q = load ptr, ptr %hat\n  %z = load double, ptr %q"
    assert ("%q.row" in {name for table in flattened(more)[1] for name in table.loads}) == taken


def test_tables_that_are_not_used_stay_as_they_are() -> None:
    analysis = Analysis(parse_module(SUM.format(more="", record="ptr", type="i32")))
    made, tables = analysis.flattened(frozenset({"@f"}), unused=frozenset({"%p.row"}))
    assert made is analysis and tables == ()
    assert analysis.flattened(frozenset({"@f"}), unused=frozenset({"%q.row"}))[1]
