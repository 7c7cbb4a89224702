"""What callers may choose of a dependence graph; apart from its builder, which loads Numba."""

from __future__ import annotations

WANTED = ("raw", "war", "waw", "control")  # kinds of dependences
WEIGHTS = ("model", "unit", "measured", "seed")  # where the times of memory accesses come from
