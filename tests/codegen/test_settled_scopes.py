"""Whether a smaller scope would move more: what stays for a reason that holds in any scope needs no further look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .harness import trace

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{{
    int n = 400, steps = 3, *to = malloc(n * sizeof *to), *bin = malloc(n * sizeof *bin);
    double *x = malloc(n * sizeof *x), *y = calloc(n, sizeof *y), *table = malloc(n * steps * sizeof *table);
    for (int i = 0; i < n; i++) {{
        to[i] = i * 77 % n;
        bin[i] = i * 7 % n;
        x[i] = i;
    }}
    for (int i = 0; i < n * steps; i++)
        table[i] = i % 13;
    for (int t = 0; t < steps; t++) {{
        for (int i = 0; i < n; i++) // @region
            {gathered};
        for (int i = 0; i < n; i++)
            x[i] += 0.5 * y[i];
    }}
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += y[i];
    printf("%g\\n", sum);
    return 0;
}}
"""


def test_what_a_smaller_scope_knows(tmp_path: Path) -> None:
    """An index with the number of the step is one in the scope of a step alone."""
    outer, inner = inspected("y[i] += x[to[i]] * table[t * n + bin[i]]", tmp_path)
    assert outer.gathered == (1, 1) and not outer.settled and not outer.enough
    assert outer.why_less.endswith("program.c:17 would stay where it is")
    assert inner.gathered == (2, 0) and inner.settled and inner.enough


def test_what_is_overwritten_around(tmp_path: Path) -> None:
    """What is computed of data that the scope writes is known where it does not."""
    outer, inner = inspected("y[i] += x[to[i]] * table[(int)x[i] % n]", tmp_path)
    assert outer.gathered == inner.gathered == (1, 1) and not outer.settled and not inner.settled
    assert "program.c:17 would stay where it is: an index is overwritten at " in outer.why_less
    assert outer.why_less.endswith("program.c:19")


@dataclass(frozen=True)
class Worth:
    """What a scope is worth to the loop: see `Inspection`."""

    gathered: tuple[int, int]
    settled: bool
    enough: bool
    why_less: str


def inspected(text: str, folder: Path) -> list[Worth]:
    """All scopes of the loop, the outermost first."""
    subject = trace(SOURCE.format(gathered=text), folder)
    region = subject.loop("region")
    scopes = [subject.inspect_in("region", region, scope).inspection for scope in subject.scopes_of(region)]
    return [
        Worth(scope.gathered(region), scope.settled(region), scope.enough(region), scope.why_less(region))
        for scope in scopes
    ]
