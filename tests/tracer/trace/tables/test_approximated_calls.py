"""The list of library functions whose effects a trace approximates, and what a run met of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tracecut.tracer.trace.events.library_effects import EXTERNALS
from tracecut.tracer.trace.tables.approximated_calls import _REASONS, APPROXIMATED, UNKNOWN, listing, met
from tracecut.tracer.trace.tables.static_tables import static_of

pytestmark = pytest.mark.quick

PAGE = Path(__file__).parents[4] / "docs" / "library-effects.md"
TEXT = """
@s = constant [2 x i8] c"a\\00"
declare ptr @strchr(ptr, i32)
declare i64 @strlen(ptr)
declare void @strange(ptr)
define i32 @main() {
entry:
  %p = call ptr @strchr(ptr @s, i32 97)
  %n = call i64 @strlen(ptr @s)
  call void @strange(ptr @s)
  %q = call ptr @strchr(ptr @s, i32 98)
  ret i32 0
}
"""


def test_the_page_is_made_of_the_tables() -> None:
    assert PAGE.read_text() == listing(), (
        "python -m tracecut.tracer.trace.tables.approximated_calls > docs/library-effects.md"
    )


def test_every_function_is_in_the_table_once() -> None:
    names = [name for listed in _REASONS.values() for name in listed.split()]
    assert len(names) == len(set(names)) == len(APPROXIMATED)
    assert set(names) <= set(EXTERNALS)
    page = listing()
    assert all(f"`{name}`" in page for name in EXTERNALS)


def test_what_a_run_met() -> None:
    static = static_of(TEXT)
    counts = np.array([3, 5, 2, 4, 1], np.int64)
    rows = [(row.name, row.calls, row.why) for row in met(static, counts)]
    assert rows == [("strchr", 7, APPROXIMATED["strchr"]), ("strange", 2, UNKNOWN)]
    assert met(static, np.zeros(5, np.int64)) == []
