"""What depends on where something lies in memory is of one run: refused. Distances within an array are of all runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.support.errors import UnsupportedError

from ...harness import Program, trace
from ...woven_programs import run_woven, woven

SOURCE = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define N 600
#define BIT(p, n) ((uintptr_t)(p) >> (n) & 1)
int main(void) {
    double *x = malloc(N * sizeof *x), *y = calloc(4 * N, sizeof *y), *z = calloc(N, sizeof *z);
    int *from = malloc(N * sizeof *from), **owner = calloc(N, sizeof *owner);
    for (int i = 0; i < N; i++) x[i] = i, from[i] = (int)(i * 7919L % N), owner[i] = i % 3 ? from : NULL;
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < N; i++) y[(uintptr_t)&x[from[i]] / 8 % 512] += 1; // @hashed
        for (int i = 0; i < N; i++) y[from[i] + N * BIT(&x[from[i]], 34)] += x[i]; // @bit
        for (int i = 0; i < N; i++) if (BIT(&x[from[i]], 12)) y[from[i]] += x[i]; // @branch
        for (int i = 0; i < N; i++) if ((uintptr_t)&x[i] < (uintptr_t)&y[from[i]]) y[from[i]] += x[i]; // @lower
        for (int i = 0; i < N; i++) // @times
            for (uintptr_t k = 0; k < BIT(&x[from[i]], 34); k++) y[from[i] + k] += x[i];
        for (int i = 0; i < N; i++) if (owner[i]) y[from[i]] += x[i]; // @owned
        for (int i = 0; i < N; i++) if (&x[from[i]] != NULL) y[&x[from[i]] - x] += x[i]; // @distance
        for (int i = 0; i < N; i++) y[(unsigned)((char *)&x[from[i]] - (char *)x) % N] += 1; // @bytes
        for (int i = 0; i < N; i++) x[i] *= 1.5;
    }
    double *volatile begin = z, *p = begin, *stop = z + N;
    for (int step = 0; step < 3; step++, p = begin)
        while (p != stop) { // @walked
            int i = (int)(p - z);
            double *here = p++;
            for (int k = 0; k < 2; k++) *here += x[from[(i + k) % N]] * i;
        }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += i * z[i];
    printf("%.17g\\n", sum);
    return 0;
}
"""


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return trace(SOURCE, tmp_path_factory.mktemp("whereabouts"))


@pytest.mark.parametrize("mark", ["hashed", "bit", "branch", "lower", "times", "owned"])
def test_what_an_address_decides_is_refused_with_its_line(subject: Program, mark: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        subject.inspect(mark, mark)
    line = subject.lines[mark] + (mark == "times")
    what = "pointers that are stored in memory" if mark == "owned" else "addresses"
    assert f"program.c:{line} depends on {what}" in caught.value.message


@pytest.mark.parametrize("mark", ["distance", "bytes", "walked"])
def test_distances_within_an_array_may_decide(subject: Program, mark: str) -> None:
    item = subject.inspect(mark, mark)
    assert item.inspection.verdicts[item.region].movable


def test_a_schedule_of_a_loop_that_tells_its_place_by_a_pointer_holds_in_other_runs(subject: Program) -> None:
    """The number of its array's address is another one each time."""
    item = subject.inspect("walked")
    made = woven([item], [item.schedule(item.random(1))])
    native = run_woven(subject, made, enabled=False)
    for _ in range(2):
        found = run_woven(subject, made)
        assert (found.code, found.stdout) == (0, native.stdout)
        assert list(found.used.values()) == [3], found.stderr


OPTIONAL = """
#include <stdio.h>
#include <stdlib.h>
#define N 600
unsigned char x[N], y[N], *out = y; /* what is stored there may be any pointer, as far as the compiler knows */
struct { FILE *log; } options, *chosen = &options;
int main(int argc, char **argv) {
    int *from = malloc(N * sizeof *from);
    for (int i = 0; i < N; i++) x[i] = i, from[i] = (int)(i * 7919L % N);
    chosen->log = argc > 1 ? stdout : NULL;
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < N; i++) out[from[i]] += 3 * x[i]; // @added
        if (chosen->log) for (int i = 0; i + 1 < N; i++) out[i] += out[i + 1];
    }
    int sum = 0;
    for (int i = 0; i < N; i++) sum += i * y[i];
    printf("%d\\n", sum);
    return 0;
}
"""


def test_a_pointer_into_no_array_has_to_be_null_or_not_as_it_was(tmp_path: Path) -> None:
    """What a branch asks for, where the pointer leads to memory of a library."""
    program = trace(OPTIONAL, tmp_path)
    item = program.inspect("added")
    assert item.scope != item.region
    made = woven([item], [item.schedule(item.random(1))])
    for argv, used in (([], 1), (["log"], 0)):
        found, native = run_woven(program, made, argv=argv), run_woven(program, made, argv=argv, enabled=False)
        assert (found.code, found.stdout) == (0, native.stdout)
        assert list(found.used.values()) == [used], found.stderr
    assert "was null" in found.stderr
