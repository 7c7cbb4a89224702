"""A loop that a new order serves, for the main of a C program that includes <stdio.h>."""

from __future__ import annotations

ARRAYS = """static int source[20000];
static double from[20000], to[20000];
"""
LOOP = r"""    unsigned state = 1;
    for (int i = 0; i < 20000; i++) {
        state = state * 1664525u + 1013904223u;
        source[i] = (int)((state >> 8) % 20000u);
        from[i] = i;
    }
    for (int step = 0; step < 8; step++)
        for (int i = 0; i < 20000; i++) to[i] += from[source[i]];
    double sum = 0;
    for (int i = 0; i < 20000; i++) sum += to[i];
    printf("sum %.9e\n", sum);
"""
