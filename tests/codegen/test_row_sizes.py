"""Rows in vectors that a loop counts along: how many elements they have is the distance of two pointers."""

from __future__ import annotations

from pathlib import Path

import pytest

from .harness import Inspected, trace
from .woven_programs import run_woven, woven

SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <vector>
int main()
{
    const int n = 400;
    std::vector<std::vector<int>> rows(n), others(n);
    for (int v = 0; v < n; v++)
        for (int k = 0; k < v % 4; k++)
            rows[v].push_back((v * 167 + k * 31) % n), others[v].push_back((v * 59 + k * 7) % n);
    std::vector<long> x(n), y(n);
    for (int v = 0; v < n; v++)
        x[v] = v % 13;
    for (int t = 0; t < 6; t++) {
        for (int v = 0; v < n; v++) { // @rows
            long sum = 0;
            BODY
            y[v] = sum & 4095;
        }
        for (int v = 0; v < n; v++)
            x[v] = (x[v] + y[v]) & 1023;
        std::printf("%d\\n", t);
    }
    long sum = 0;
    for (int v = 0; v < n; v++)
        sum = sum * 31 + y[v];
    std::printf("%ld\\n", sum);
}
"""
IN_ORDER = {
    "counted": "for (std::size_t k = 0; k < rows[v].size(); k++) sum += x[rows[v][k]];",
    "twice": "for (std::size_t k = 0; k < rows[v].size(); k++) sum += x[rows[v][k]];"
    " for (std::size_t k = 0; k < rows[v].size(); k++) sum += 3 * x[rows[v][k]];",
    "size as data": "for (std::size_t k = 0; k < rows[v].size(); k++) sum += x[rows[v][k]]; sum *= 1 + rows[v].size();",
    "both tables": "for (std::size_t k = 0; k < rows[v].size(); k++) sum += x[rows[v][k]];"
    " for (std::size_t k = 0; k < others[v].size(); k++) sum -= x[others[v][k]];",
    "of the other table": "for (std::size_t k = 0; k < others[v].size(); k++) sum += x[rows[v][k]];",
}
AS_THEY_ARE = {
    "at most two": "for (std::size_t k = 0; k < rows[v].size() && k < 2; k++) sum += x[rows[v][k]];",
    "half of it": "for (std::size_t k = 0; k < rows[v].size() / 2; k++) sum += x[rows[v][k]];",
    "without the first": "for (std::size_t k = 1; k < rows[v].size(); k++) sum += x[rows[v][k]];",
}


def counting(folder: Path, body: str) -> Inspected:
    subject = trace(SOURCE.replace("BODY", body), folder, suffix=".cpp")
    region = subject.loop("rows")
    return subject.inspect_in("rows", region, subject.scopes_of(region)[0])


@pytest.mark.parametrize("name", [*IN_ORDER, *AS_THEY_ARE])
def test_rows_that_are_counted_along(tmp_path: Path, name: str) -> None:
    """Where all of a row is read, rows are copied in the order of the iterations. Any row is read as it was."""
    item = counting(tmp_path, {**IN_ORDER, **AS_THEY_ARE}[name])
    assert item.scope != item.region and item.inspection.gathered(item.region) == (1, 0)
    modes = {use.mode for use in item.inspection.plan.uses[item.region]}
    assert (modes >= {"offsets", "segment"}) == (name in IN_ORDER)
    ran = run_woven(item.program, woven([item], [item.schedule(item.random(3))]))
    assert ran.code == 0 and ran.stdout == item.program.native_output and ran.used[str(item.scope)] == 1
