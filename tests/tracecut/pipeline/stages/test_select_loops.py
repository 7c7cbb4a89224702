"""Which loops are looked at, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.support.errors import UsageError

from tracecut.pipeline.stages.capture import trace_program
from tracecut.pipeline.stages.compile import compile_program
from tracecut.pipeline.stages.select_loops import Hot, choose_loops
from tracecut.pipeline.stages.settings import Settings

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#define N 400
struct node { double value; struct node *next; };
struct spring { struct node *a, *b; };
int main(void) {
    int *idx = malloc(N * sizeof *idx), *map = malloc(N * sizeof *map);
    double *x = malloc(N * sizeof *x), *y = calloc(N, sizeof *y), sum = 0;
    struct node *nodes = calloc(N, sizeof *nodes);
    struct spring *springs = malloc(N * sizeof *springs);
    for (int i = 0; i < N; i++) { idx[i] = (i * 7) % N; map[i] = (i * 3) % N; x[i] = i; nodes[i].value = i; }
    for (int i = 0; i < N; i++) springs[i] = (struct spring){&nodes[idx[i]], &nodes[map[i]]};
    double *grid[20];
    for (int i = 0; i < 20; i++) grid[i] = calloc(20, sizeof **grid);
    int *link = malloc(N * sizeof *link);
    double z[3] = {0};
    int *key = calloc(256, sizeof *key);
    for (int i = 0; i < 255; i++) key[i] = i % 5 * 100;
    for (int i = 0; i < N; i++) link[i] = i + 7 < N ? i + 7 : i % 7 < 6 ? i % 7 + 1 : -1;
    for (int t = 0; t < 40; t++) {
        for (int i = 0; i < N; i++) y[idx[i]] += x[map[i]]; // indexed
        for (int i = 0; i < N; i++) x[i] = 0.5 * x[i] + y[i]; // regular
        for (int i = 0; i < N; i++) springs[i].a->value += 0.1 * springs[i].b->value; // records
        for (int i = 0; i < 20; i++) for (int j = 0; j < 20; j++) grid[i][j] += 0.1 * x[j]; // pointers
        for (int i = 1; i < N; i++) sum = 0.5 * sum + x[i]; // carried
        for (int i = 0; i < N; i++) if (x[i] < -1e300) puts("never"); // prints
        for (int i = 0, h; i < N; i++) { // searches
            for (h = i & 127; key[h] > i; h++);
            y[i] += x[h];
        }
        for (int i = 0; i < N / 2; i++) { // returns
            double s = z[0] = 0;
            for (int q = 0; q < 8; q++) {
                s += x[(idx[i] + q) % N];
                if (s > 1e300) return i;
            }
            y[idx[i]] += s;
        }
        for (int i = 0; i < N / 2; i++) { // leaves
            for (int h = idx[i] & 1; h; h = h * 2 & 3) if (key[h] > 1000) goto out;
            for (int q = 0; q < 2; q++) y[idx[i]] += x[map[i]] * q;
        }
    out:
        for (int j = 0; j >= 0; j = link[j]) { // follows
            for (int d = 0; d < 2; d++) z[d] += x[j];
            z[2] += x[j] * y[j] + map[j] * (x[j] - y[j]) / (1 + idx[j]) + (map[j] ^ idx[j]) % 7 + (idx[j] & map[j]) % 5;
            z[2] -= x[j] / (2 + y[j]) + idx[j] * (y[j] - x[j]) / (1 + map[j]) + (map[j] | idx[j]) % 3;
        }
    }
    printf("%.9e %.9e %.9e\n", sum, nodes[3].value + grid[3][4], z[0] + z[1] + z[2]);
    return 0;
}
"""
LINES = {
    line.rsplit("// ", 1)[1]: number
    for number, line in enumerate(SOURCE.splitlines(), 1)
    if line.rstrip()[-1:].isalpha()
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Hot]:
    """Line → what is said of the loop there."""
    return chosen(tmp_path_factory.mktemp("choosing"), None)


def chosen(folder: Path, region: str | None) -> dict[int, Hot]:
    source = folder / "program.c"
    source.write_text(SOURCE)
    settings = Settings((str(source),), output=folder / "out", region=region)
    compiled = compile_program(settings, folder)
    (folder / "trace").mkdir()
    traced = trace_program(settings, compiled.analysis, compiled.native, folder / "trace")
    assert not isinstance(traced, str), traced
    places = {record.id: record.place.line for record in compiled.analysis.records}
    return {places[hot.loop]: hot for hot in choose_loops(settings, compiled.analysis, traced.profile)}


@pytest.mark.parametrize("mark", ["indexed", "records"])
def test_indexed_loops_are_captured(found: dict[int, Hot], mark: str) -> None:
    """By numbers, or by pointers to records."""
    hot = found[LINES[mark]]
    assert hot.captured and hot.share > 0.05  # of thirteen loops


@pytest.mark.parametrize(
    ("mark", "kind", "reason"),
    [
        ("regular", "rejected", "its addresses are regular"),
        ("pointers", "rejected", "it walks along rows that pointers lead to"),
        ("carried", "ordered", "the loop carries a value across iterations"),
        ("searches", "rejected", "each iteration searches where it goes"),
        ("prints", "rejected", "the loop contains a call to puts"),
        ("follows", "ordered", "the loop carries a value across iterations"),
        ("leaves", "rejected", "it may be left early"),  # not that the loop in it is short
        ("returns", "rejected", "it may be left early inside the loop at"),  # not that the loop in it adds up
    ],
)
def test_the_others_have_a_reason(found: dict[int, Hot], mark: str, kind: str, reason: str) -> None:
    hot = found[LINES[mark]]
    assert not hot.captured and hot.verdict is not None
    assert hot.verdict[0] == kind and hot.verdict[1].startswith(reason)
    behind = {"searches": {0, 2}, "leaves": {1}, "returns": {4}}.get(mark, {0})  # where it is left to somewhere else
    assert mark != "returns" or hot.verdict[1].endswith(f":{LINES[mark] + 2}")
    assert {place.line - LINES[mark] for place in hot.verdict[2]} <= behind


def test_shares_are_parts_of_one(found: dict[int, Hot]) -> None:
    shares = [hot.share for hot in found.values()]
    assert shares == sorted(shares, reverse=True) and 0.5 < sum(shares) <= 1 + 1e-9


def test_a_region_can_be_asked_for(tmp_path: Path) -> None:
    line = LINES["indexed"]
    assert list(chosen(tmp_path, f"program.c:{line}")) == [line]


def test_a_region_that_is_no_loop_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"program\.c:3"):
        chosen(tmp_path, "program.c:3")
