"""Whether a smaller scope would move more: what stays for a reason that holds in any scope needs no further look."""

from __future__ import annotations

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
    assert outer[0] == (1, 1) and not outer[1]
    assert inner[0] == (2, 0) and inner[1]


def test_what_is_overwritten_around(tmp_path: Path) -> None:
    """What is computed of data that the scope writes is known where it does not."""
    outer, inner = inspected("y[i] += x[to[i]] * table[(int)x[i] % n]", tmp_path)
    assert outer == inner == ((1, 1), False)


def inspected(text: str, folder: Path) -> list[tuple[tuple[int, int], bool]]:
    """What moves and what stays, and whether that is settled, in all scopes of the loop, the outermost first."""
    subject = trace(SOURCE.format(gathered=text), folder)
    region = subject.loop("region")
    scopes = [subject.inspect_in("region", region, scope).inspection for scope in subject.scopes_of(region)]
    return [(scope.gathered(region), scope.settled(region)) for scope in scopes]
