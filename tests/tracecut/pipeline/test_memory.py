"""No process of `tracecut optimize` takes more memory than it is allowed, whatever the program runs through.

The long test has thirty programs, ten of them with loops of 10⁸ iterations and more: `pytest -m long
tests/tracecut/pipeline/test_memory.py`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tracecut.support import memory_amounts, memory_budget
from tracecut.support.memory_budget import LEAST, default_budget, free_memory, read_size

from .peaks import Watched, watch

ALLOWED = 1 << 30
HOT = """
#include <stdio.h>
#include <stdlib.h>
#define N 65536
static double x[N], y[N];
static int a[2 * N], b[2 * N];
static void setup(unsigned s)
{
    for (int i = 0; i < 2 * N; i++) {
        s = s * 1664525u + 1013904223u;
        a[i] = s >> 16;
        s = s * 1664525u + 1013904223u;
        b[i] = s >> 16;
    }
    for (int i = 0; i < N; i++)
        x[i] = 0.5 * i;
}
static void work(int sweeps)
{
    for (int t = 0; t < sweeps; t++)
        for (int e = 0; e < 2 * N; e++) /* hot */
            y[a[e]] += x[b[e]];
}
static void end(void)
{
    double z = 0;
    for (int i = 0; i < N; i++)
        z += y[i] * (i % 7);
    printf("%.10g\\n", z);
}
static int q[64], m[64];
static unsigned r[64];
int main(int argc, char **argv)
{
    for (int i = 0; i < 64; i++) {
        q[i] = (37 * i) & 63;
        m[i] = (11 * i) & 63;
    }
    BODY
    end();
    return 0;
}
"""
# Loops that take long, once or often, and are not worth an order; or one that is, in the same scope.
COLD = {
    "generator": "unsigned s = argc; for (long i = 0; i < 300000000; i++) s = s * 1664525u + 1013904223u; setup(s);",
    "state in memory": "for (long i = 0; i < 100000000; i++) r[i & 3] = r[(i + 1) & 3] * 1664525u + i; setup(r[0]);",
    "histogram": "for (long i = 0; i < 100000000; i++) r[q[i & 63]]++; setup(r[1]);",
    "two levels": "for (long i = 0; i < 100000000; i++) r[m[q[i & 63]]] += i; setup(r[1]);",
    "often": "for (int t = 0; t < 30; t++) for (long i = 0; i < 10000000; i++) r[q[i & 63]] += i; setup(r[1]);",
    "same scope": """setup(7);
    for (int t = 0; t < 6; t++) {
        for (long i = 0; i < 40000000; i++)
            r[q[i & 63]] += i;
        for (int e = 0; e < 2 * N; e++)
            y[a[e]] += x[b[e]];
    }""",
    "rows": """static int row[] = {0, 50000000, 100000000, 200000000};
    for (int v = 0; v < 3; v++)
        for (int k = row[v]; k < row[v + 1]; k++)
            r[v] += m[q[k & 63]];
    setup(r[1]);""",
    "down": "unsigned n = argc * 200000000u; do r[q[n & 63]]++; while (--n); setup(r[1]);",
    "wraps": "unsigned n = argc - 1; setup(9); for (unsigned i = 0; argc > 5 && i < n - 1u; i++) r[q[i & 63]]++;",
    "sieve": """long n = 20000000;
    char *p = calloc(n + 1, 1);
    for (long i = 2; i * i <= n; i++)
        if (!p[i])
            for (long j = i * i; j <= n; j += i)
                p[j] = 1;
    setup(p[n / 3]);
    free(p);""",
}
COMPACT = ("same scope", "wraps")


def optimize(source: str, folder: Path, *options: str, memory: str = "1G") -> tuple[Watched, dict[str, Any]]:
    """Optimize a program under watch: its processes, and the manifest."""
    (folder / "program.c").write_text(source)
    command = [
        sys.executable,
        "-P",
        "-m",
        "tracecut",
        "optimize",
        "program.c",
        "-O2",
        "-q",
        "--memory",
        memory,
        *options,
    ]
    seen = watch(command, folder)
    assert seen.code == 0, seen.output
    return seen, json.loads((folder / "tracecut-out" / "manifest.json").read_text())


def above(seen: Watched, allowed: int) -> list[str]:
    """Processes that took more than they may: the program itself as much as it takes by itself, and that besides."""
    native = seen.largest("/program")
    return [
        f"{memory_amounts.size(peak.resident)}: {peak.command}"
        for peak in seen.peaks.values()
        if peak.resident > allowed + native * ("/program" in peak.command or "tracer.capture.child" in peak.command)
    ]


@pytest.mark.parametrize("name", COMPACT)
def test_long_cold_loops_are_not_looked_at(name: str, tmp_path: Path) -> None:
    source = HOT.replace("BODY", COLD[name] + " work(6);")
    seen, manifest = optimize(source, tmp_path, "--loop-budget", "1", memory="400M")
    assert above(seen, read_size("400M")) == []
    assert seen.largest("codegen.tuning.worker") > 0
    if name != "wraps":
        reasons = [region["reason"] for region in manifest["regions"]]
        assert any(
            re.search(r"would need at least \d.*[GM]iB for [\d,]+ iterations of .*\(--memory\)", why) for why in reasons
        )


def test_what_does_not_fit_is_refused_with_the_number(tmp_path: Path) -> None:
    source = HOT.replace("BODY", "setup(3); work(8);").replace("65536", "1048576").replace(">> 16", ">> 12")
    seen, manifest = optimize(source, tmp_path, "--loop-budget", "1", memory="320M")
    assert above(seen, read_size("320M")) == []
    (why,) = {region["reason"] for region in manifest["regions"] if region["share"] > 0.4}
    assert re.search(r"would need .* for 2,097,152 iterations of .*program.c:\d+.*\(--memory\)", why), why


@pytest.mark.long
@pytest.mark.parametrize("name", COLD)
def test_thirty_programs_cold(name: str, tmp_path: Path) -> None:
    seen, _ = optimize(HOT.replace("BODY", COLD[name] + " work(6);"), tmp_path, "--loop-budget", "3")
    assert above(seen, ALLOWED) == []


@pytest.mark.long
@pytest.mark.parametrize("sweeps", [2, 20])
@pytest.mark.parametrize("count", [1 << power for power in range(12, 22)])
def test_thirty_programs_hot(count: int, sweeps: int, tmp_path: Path) -> None:
    source = HOT.replace("BODY", f"setup(3); work({sweeps});").replace("65536", str(count))
    seen, _ = optimize(source.replace(">> 16", f">> {33 - count.bit_length()}"), tmp_path, "--loop-budget", "3")
    assert above(seen, ALLOWED) == []


def test_sizes() -> None:
    assert [read_size(text) for text in ("800M", "2g", "1.5 GB", "7", "4KiB")] == [800 << 20, 2 << 30, 3 << 29, 7, 4096]
    for text in ("", "x", "-1G", "1 2", "2P", "1e9"):
        with pytest.raises(ValueError, match="a size such as 800M or 2G expected"):
            read_size(text)


def test_the_default_is_a_share_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, allowed, expected in ((8 << 30, -1, 4 << 30), (8 << 30, 3 << 30, 3 << 30), (100 << 20, -1, LEAST)):
        monkeypatch.setattr(memory_budget, "free_memory", lambda free=free: free)
        monkeypatch.setattr(memory_budget.resource, "getrlimit", lambda _, allowed=allowed: (allowed, allowed))
        assert default_budget() == expected
    monkeypatch.undo()
    assert LEAST <= default_budget() <= max(LEAST, free_memory())
