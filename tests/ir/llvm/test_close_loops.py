"""What loops make is used behind them in phis of their exits, also where a pass has put something there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.ir.llvm import Module, parse_module
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.edit import sources
from tracecut.ir.llvm.passes.allocated.close_loops import close_loops
from tracecut.tracer.toolchain.clang import to_ir
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical, parse

# An inner loop in an outer one: what both make is used on a way out, and by a phi behind it.
NEST = """
define ptr @f(ptr %p, i64 %n, ptr %place) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %j, %latch ]
  br label %inner
inner:
  %k = phi i64 [ %i, %outer ], [ %l, %inner ]
  %v = getelementptr i64, ptr %p, i64 %k
  %l = add i64 %k, 1
  %more = icmp slt i64 %l, %n
  br i1 %more, label %inner, label %tracecut.way
tracecut.way:
  store ptr %v, ptr %place
  br label %latch
latch:
  %w = phi ptr [ %v, %tracecut.way ]
  %j = add i64 %i, 1
  %again = icmp slt i64 %j, %n
  br i1 %again, label %outer, label %tracecut.end
tracecut.end:
  br label %out
out:
  %r = phi ptr [ %v, %tracecut.end ]
  %q = getelementptr i64, ptr %r, i64 %j
  ret ptr %q
}
"""


def open_uses(module: Module) -> list[str]:
    """Uses of what a loop makes, behind it, other than in phis at its exits."""
    found = []
    for function in module.functions.values():
        flow = ControlFlow(function)
        for loop in flow.loops:
            made = {str(item.result) for name in loop.blocks for item in flow.blocks[name].instructions}
            for block, item in function.instructions():
                if block.name not in loop:
                    come = sources(item) if item.op == "phi" else [(name, "") for name in item.uses]
                    found += [item.text for name, label in come if name in made and label not in loop]
    return found


@pytest.mark.quick
def test_what_is_used_behind_a_loop() -> None:
    module = parse_module(NEST)
    assert len(open_uses(module)) == 5  # the store, both phis, one of which leaves two loops, and the last pointer
    closed = close_loops(module)
    assert not open_uses(closed)
    text = str(parse(str(closed)))
    assert text.count("phi ptr [ %v, %inner ]") == 1  # both uses have the same
    assert str(close_loops(parse_module(str(closed)))) == str(closed)


@pytest.mark.quick
def test_what_no_pass_has_changed_stays() -> None:
    plain = NEST.replace("tracecut.", "")
    assert str(close_loops(parse_module(plain))) == str(parse_module(plain))


@pytest.mark.quick
def test_where_several_exits_meet() -> None:
    """Which of them has been taken would have to be asked: it stays as it is."""
    text = """
define i64 @f(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %tracecut.on ]
  %j = add i64 %i, 1
  %even = icmp eq i64 %j, %n
  br i1 %even, label %one, label %tracecut.on
tracecut.on:
  %more = icmp slt i64 %j, 100
  br i1 %more, label %loop, label %other
one:
  br label %end
other:
  br label %end
end:
  ret i64 %j
}
"""
    assert str(close_loops(parse_module(text))) == str(parse_module(text))


CHECKED = """
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
struct Rows { std::vector<int> start, column; };
static void sweep(const Rows &rows, const std::vector<double> &from, std::vector<double> &to) {
    for (std::size_t v = 0; v < to.size(); ++v) {
        double sum = 0;
        for (int k = rows.start.at(v); k < rows.start.at(v + 1); ++k) sum += from.at(rows.column.at(k));
        to.at(v) = 0.5 * from.at(v) + 0.125 * sum;
    }
}
int main(int, char **argv) {
    int n = std::atoi(argv[1]), wrong = std::atoi(argv[2]);
    Rows rows;
    std::vector<int> some(n + 1, 0);
    rows.start.assign(some.begin(), some.end());
    rows.column.assign(some.begin(), some.end());
    std::vector<double> x(n, 1.0), y(n);
    for (int t = 0; t < 20; ++t) {
        int before = rows.column[rows.column.size() / 2];
        if (t == wrong) rows.column[rows.column.size() / 2] = -1;
        try {
            sweep(rows, x, y);
        } catch (const std::out_of_range &error) {
            std::printf("%s %g\\n", error.what(), y[0]);
            rows.column[rows.column.size() / 2] = before;
            continue;
        }
        rows.column[rows.column.size() / 2] = before;
        std::swap(x, y);
    }
    std::printf("%g\\n", x[0]);
}
"""


def test_a_step_whose_exceptions_are_caught_in_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "checked.cpp"
    path.write_text(CHECKED)
    module = canonical([to_ir(path, Flags(), tmp_path, canonical=True)], for_regions=True)
    assert "tracecut.carried" in str(module)
    assert not open_uses(module)
