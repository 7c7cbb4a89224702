"""The reason of a refusal is the decision that was made, at a line of the program."""

from __future__ import annotations

import json
from typing import Any

from tracecut.ir.llvm.debug_info import Place

ROWS = r"""
#include <fstream>
#include <vector>
int main() {
    int n = 3000; struct { int lines; std::ofstream told; } log{0, std::ofstream("told.txt")};
    std::vector<std::vector<int>> rows(n);
    std::vector<double> x(n, 1.0), y(n);
    unsigned s = 1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 8; k++) { s = s * 1664525u + 1013904223u; rows[i].push_back((s >> 4) % n); }
    for (int t = 0; t < 30; t++) {
        for (int i = 0; i < n; i++)
            for (int j : rows[i]) y[i] += x[j];
        log.told << "step " << t << " " << y[t] << std::endl;
    }
}
"""


WRITTEN = r"""
#include <cstdio>
#include <vector>
int main() {
    int n = 3000;
    std::vector<std::vector<int>> rows(n);
    std::vector<std::vector<double>> sums(n);
    std::vector<double> x(n, 1.0);
    unsigned s = 1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 8; k++) {
            s = s * 1664525u + 1013904223u;
            rows[i].push_back((s >> 4) % n);
            sums[i].push_back(0);
        }
    for (int t = 0; t < 30; t++) {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 8; k++) sums[i][k] += x[rows[i][k]];
        double *own = sums[t].data();
        for (int k = 1; k < 8; k++) own[k] = 0.5 * own[k] + 0.25 * own[k - 1];
    }
    std::printf("%g\n", sums[5][3]);
}
"""


DRAWN = r"""
#include <cstdio>
#include <random>
#include <vector>
static std::mt19937 engine(7);
int main() {
    int n = 20000, m = 5000;
    std::vector<int> at(n);
    std::vector<double> x(m), y(n, 0.5);
    for (int i = 0; i < n; i++) at[i] = (int)(i * 7919LL % m);
    std::uniform_real_distribution<double> draw(0, 1);
    for (int t = 0; t < 5; t++)
        for (int i = 0; i < n; i++)
            x[at[i]] += y[i] *
                        draw(engine);
    std::printf("%g\n", x[5]);
}
"""


SORTED = r"""
#include <algorithm>
#include <cstdio>
#include <vector>
static double middle(std::vector<double> &some) {
    std::sort(some.begin(), some.end());
    return some[some.size() / 2];
}
int main() {
    int n = 20000, m = 5000, k = 24;
    std::vector<int> at(n), near(n * k);
    std::vector<double> x(m, 1.0), y(m), some(k);
    for (int i = 0; i < n; i++) at[i] = (int)(i * 7919LL % m);
    for (int i = 0; i < n * k; i++) near[i] = (int)(i * 104729LL % m), x[near[i]] += i % 13;
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < k; j++) some[j] = x[near[i * k + j]];
            y[at[i]] += middle(some);
        }
    std::printf("%g\n", y[5]);
}
"""


def test_loops_of_the_library_name_the_line_that_calls_them(shell: Any) -> None:
    shell.source(SORTED, "sorted.cpp")
    done = shell("optimize", "sorted.cpp", "-o", "out", "--loop-budget", "0.1")
    assert done.code == 0, done
    regions = json.loads((shell.folder / "out" / "manifest.json").read_bytes())["regions"]
    called = [region for region in regions if not region["file"].endswith("sorted.cpp")]
    assert called and all(
        region["places"][0][1] == 6 and "comes to it by a call" in region["reason"] for region in called
    )
    own = [region for region in regions if region["file"].endswith("sorted.cpp")]
    assert not any("by a call" in region["reason"] for region in own)
    reasons = [region["reason"] for region in own]
    assert any("a call to std::__introsort_loop, which could not be inlined" in reason for reason in reasons), reasons


def test_random_generators_are_seen_in_the_text_of_a_loop(shell: Any) -> None:
    """No worker looks at it; the line is that of the program, not that of the C++ library."""
    shell.source(DRAWN, "drawn.cpp")
    done = shell("optimize", "drawn.cpp", "-o", "out", "--loop-budget", "0.1")
    assert done.code == 0, done
    regions = json.loads((shell.folder / "out" / "manifest.json").read_bytes())["regions"]
    region = next(region for region in regions if region["line"] in (12, 13))
    assert region["class"] == "ordered" and not region.get("timings")
    assert "takes over from its last iteration what that left in memory" in region["reason"]
    assert [(place[0].split("/")[-1], place[1]) for place in region["places"]][-1] == ("drawn.cpp", 15)


def test_rows_are_blamed_on_the_line_that_reaches_them_elsewhere(shell: Any) -> None:
    shell.source(WRITTEN, "rows.cpp")
    done = shell("optimize", "rows.cpp", "-o", "out", "--loop-budget", "0.1")
    assert done.code == 0, done
    regions = json.loads((shell.folder / "out" / "manifest.json").read_bytes())["regions"]
    assert next(region["class"] for region in regions if region["line"] == 17) == "reduction"
    remarks = (shell.folder / "out" / "remarks.yaml").read_text()
    why = "rows behind pointers are written, and a loop that runs as it is reaches them at rows.cpp:20"
    assert f"the layout is not kept over the loop at rows.cpp:16: {why}" in remarks


def test_streams_are_blamed_where_rows_are_understood(shell: Any) -> None:
    """At the line of the program that writes to them."""
    shell.source(ROWS, "rows.cpp")
    done = shell("optimize", "rows.cpp", "-o", "out", "--loop-budget", "0.1")
    assert done.code == 0, done
    regions = json.loads((shell.folder / "out" / "manifest.json").read_bytes())["regions"]
    assert next(region["class"] for region in regions if region["line"] == 12) == "parallel"
    remarks = (shell.folder / "out" / "remarks.yaml").read_text()
    assert "the layout is not kept over the loop at rows.cpp:11: the loop contains a call to" in remarks
    assert "(rows.cpp:14 (inlined from" in remarks


def test_what_is_inlined_from_a_header_belongs_to_its_line() -> None:
    mine = Place("mesh.cpp", 7, function="main")
    deep = Place("/usr/include/c++/12/bits/stl_vector.h", 1126, inlined_at=mine)
    inlined = Place("/usr/include/c++/12/ostream", 689, inlined_at=deep)
    assert inlined.own == mine and mine.own is mine
    assert inlined.told == "mesh.cpp:7 (inlined from ostream:689)" and mine.told == "mesh.cpp:7"
    alone = Place("/usr/include/c++/12/ostream", 689)
    assert alone.own is alone and alone.told == str(alone)
    header = Place("mesh.h", 3, inlined_at=mine)
    assert header.own is header
