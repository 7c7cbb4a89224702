"""The numbers behind the charts of one region."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracecut.support.errors import ArgumentError

from .reading.manifest_reader import LARGEST


@dataclass(frozen=True)
class Series:
    """Points (x, y) of one chart under a name, in ascending x."""

    name: str
    points: tuple[tuple[int, float], ...] = ()

    @property
    def total(self) -> float:
        """Sum of all y."""
        return math.fsum(y for _, y in self.points)

    def share_beyond(self, lines: int) -> float | None:
        """Of a reuse histogram: the share of touches that miss a cache of `lines` lines; None if it is empty.

        Exact where the capacity is a power of two. Within a bucket, touches count as evenly spread.
        """
        if not self.total:
            return None
        missed = 0.0
        for bucket, count in self.points:
            low, high = (0, 1) if bucket == 0 else (2 ** (bucket - 1), 2**bucket)
            missed += count * min(1.0, max(0.0, (high - lines) / (high - low)))
        return missed / self.total


@dataclass(frozen=True)
class RegionFigures:
    """The data of the charts of one region.

    Attributes:
        degrees: (jobs that touch a datum, number of such data).
        cluster_sizes: jobs of each block.
        reuse_before, reuse_after: (bucket, touches) of the original and of the chosen order; bucket 0 is distance 0,
            bucket b is [2**(b-1), 2**b) distinct cache lines, as in `tracecut.ir.reuse_distance`.
        cache_lines: (name, capacity in lines) of each cache, nearest first.
        misses_before, misses_after: predicted misses of each cache per job, in the order of `cache_lines`.
    """

    degrees: Series = Series("data")
    cluster_sizes: tuple[float, ...] = ()
    reuse_before: Series = Series("original order")
    reuse_after: Series = Series("new order")
    cache_lines: tuple[tuple[str, int], ...] = ()
    misses_before: tuple[float, ...] = ()
    misses_after: tuple[float, ...] = ()

    @classmethod
    def make(
        cls,
        *,
        degrees: Iterable[Sequence[float]] = (),
        cluster_sizes: Iterable[float] = (),
        reuse_before: Iterable[Sequence[float]] = (),
        reuse_after: Iterable[Sequence[float]] = (),
        cache_lines: Iterable[int | tuple[str, int]] = (),
        misses_before: Iterable[float] = (),
        misses_after: Iterable[float] = (),
    ) -> RegionFigures:
        """Figures from lists or arrays of pairs; a cache without a name is called L1, L2, ... by its place.

        Raises:
            ArgumentError: a number that is negative, not finite or too large.
        """
        named = (
            (str(item[0]), item[1]) if isinstance(item, tuple) else (f"L{level}", item)
            for level, item in enumerate(cache_lines, 1)
        )
        return cls(
            degrees=_series("degrees", "data", degrees),
            cluster_sizes=tuple(_amount("cluster_sizes", value) for value in cluster_sizes),
            reuse_before=_series("reuse_before", "original order", reuse_before, 64),
            reuse_after=_series("reuse_after", "new order", reuse_after, 64),
            cache_lines=tuple((name, max(1, int(_amount("cache_lines", lines)))) for name, lines in named),
            misses_before=tuple(_amount("misses_before", value) for value in misses_before),
            misses_after=tuple(_amount("misses_after", value) for value in misses_after),
        )


def _series(argument: str, name: str, pairs: Iterable[Sequence[float]], limit: float = 2.0**53) -> Series:
    points = []
    for x, y in pairs:
        if _amount(argument, x) > limit:
            raise ArgumentError(f"{argument} holds {x}, at most {limit:g} was expected")
        points.append((int(x), _amount(argument, y)))
    return Series(name, tuple(sorted(points)))


def _amount(argument: str, value: float) -> float:
    found = float(value)
    if not 0 <= found <= LARGEST:
        raise ArgumentError(f"{argument} holds {value}, a number from 0 to {LARGEST:g} was expected")
    return found
