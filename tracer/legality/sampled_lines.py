"""What windows of a loop's iterations fetch, in the order of the program: known long before all of it is looked at.

Each window comes behind as many iterations that only fill the cache: what is fetched in it was not touched shortly
before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.nest import Nest, Site
from tracecut.tracer.loops.phi_sources import LEFT_BEHIND

from .evaluation.evaluate import Evaluation
from .evaluation.memory import Memory

LINE = 64
WINDOWS, FEW = 8, 2  # windows that are looked at; what fewer take less tells what one does
LENGTHS = (4096, 2048, 1024)  # iterations of a window: the most whose lines fit in the cache
MOST = 0.25  # share of a loop that is looked at: another loop is no longer to look at as a whole
FEWEST = int(2 * WINDOWS * LENGTHS[0] / MOST)  # iterations of a loop that windows are looked at of
NEAR = 8  # lines from one to the next in a stretch of memory
LITTLE = 0.02  # share of the lines from which on it matters how some of them are reached

Longs = npt.NDArray[np.int64]
Arrays = dict[tuple[int, ...], list[tuple[Longs, Longs]]]


@dataclass(frozen=True, eq=False)
class Reached:
    """How the windows reach one array, or rows of their own in memory.

    Attributes:
        fetched: lines in all windows. touched: these and the lines before.
        stretches: pieces of memory in which they lie in each window, line behind line or nearly. spanned: lines of
            these, with those in between.
        extent: lines of the array from the first that is touched to the last; of all rows between these.
    """

    fetched: int
    touched: int
    stretches: int
    spanned: int
    extent: int


@dataclass(frozen=True, eq=False)
class SampledLines:
    """What windows of a loop's iterations fetch.

    Attributes:
        share: of all iterations that the windows are. footprint: bytes of a window and of the iterations before it.
        reached: by array.
    """

    share: float
    footprint: float
    reached: tuple[Reached, ...]

    def once(self, nearly: float) -> bool:
        """Whether each line is fetched about once (`nearly` times), in long stretches of memory."""
        every = sum(item.fetched for item in self.reached)
        return all(self._once(item, nearly) for item in self.reached if item.fetched > LITTLE * every)

    def _once(self, item: Reached, nearly: float) -> bool:
        dense = item.touched / item.spanned
        return NEAR * item.stretches <= item.touched and item.fetched <= self.share * nearly * dense * item.extent


def sample_lines(
    nest: Nest, memory: Memory, lives: Mapping[str, int | float], *, cache: int, nearly: float, limit: int
) -> SampledLines | None:
    """Look at windows of the outermost loop of a nest.

    Args:
        nest, memory, lives: as in `Evaluation`. cache: bytes, of which a window takes no more.
        nearly: how often a line may be fetched; where long windows fetch it more often, shorter ones do too.
        limit: bytes that the evaluation may take.

    Returns None where the loop is too short for it, windows do not fit in the cache, or some address is not known.
    """
    whole = Evaluation(nest, memory, lives, limit=limit)
    count = whole.root_size()
    if count is None or count < FEWEST:
        return None
    for length in LENGTHS:
        found = _windows(whole, count, WINDOWS, length)
        if found is None or found.footprint <= cache or not found.once(nearly):
            return found
    return None


def seconds_in_all(nest: Nest, memory: Memory, lives: Mapping[str, int | float], *, limit: int) -> float:
    """Seconds of the processor that the addresses of all iterations take, by those of a few windows.

    For loops that `sample_lines` has looked at: what is done for the first time takes longer.
    """
    whole = Evaluation(nest, memory, lives, limit=limit)
    count = whole.root_size() or 0
    many, few = (_addresses(whole, count, windows, LENGTHS[-1])[1] for windows in (WINDOWS, FEW))
    return max(0.0, many - few) * count / (2 * LENGTHS[-1] * (WINDOWS - FEW))


def _windows(whole: Evaluation, count: int, windows: int, length: int) -> SampledLines | None:
    arrays, _ = _addresses(whole, count, windows, length)
    if arrays is None:
        return None
    reached: list[Reached] = []
    footprint = 0
    for key, parts in arrays.items():
        lines, half = (np.concatenate(column) for column in zip(*parts, strict=True))
        extent = _extent(whole.memory, key, int(lines.min()), int(lines.max()))
        reached.append(_reached(lines, half, extent))
        footprint += reached[-1].touched
    return SampledLines(windows * length / count, LINE * footprint / windows, tuple(reached))


def _addresses(whole: Evaluation, count: int, windows: int, length: int) -> tuple[Arrays | None, float]:
    """(lines and half windows of all accesses by array, None where some are not known, seconds of the processor)."""
    began = time.process_time()
    starts = np.linspace(0, count - 2 * length, windows).astype(np.int64)
    evaluation = whole.some((starts[:, None] + np.arange(2 * length)).ravel())
    arrays: Arrays = {}
    try:
        for site in whole.nest.sites:
            for key, lines, half in _touched(evaluation, site, length):
                arrays.setdefault(key, []).append((lines, half))
    except _NotKnown:
        return None, time.process_time() - began
    return arrays, time.process_time() - began


class _NotKnown(Exception):
    """An address is not known."""


def _touched(evaluation: Evaluation, site: Site, length: int) -> Iterator[tuple[tuple[int, ...], Longs, Longs]]:
    """(array, lines, number of the half window) of the accesses of one site.

    An array is named by its object, rows by their sizes. Raises _NotKnown. What is reached through a value that an
    inner loop leaves behind is passed over: it stays where it is, and no order of jobs is made for its sake.
    """
    domain, memory = evaluation.domain(site.loop), evaluation.memory.columns()
    if domain is None:
        raise _NotKnown
    if domain.size == 0 or any(node.kind == "opaque" and node.data[0] == LEFT_BEHIND for node in site.address.walk()):
        return
    values = evaluation.at(site.address, site.loop)
    runs = np.broadcast_to(evaluation.truth(site.reach, site.loop), domain.size)
    if not np.all(values.known | ~runs):
        raise _NotKnown
    addresses = np.broadcast_to(values.data, domain.size)[runs]
    half = evaluation.jobs(site.loop, evaluation.nest.root)[runs] // length
    if not addresses.size:
        return
    places = np.searchsorted(memory.bases, (int(addresses.min()), int(addresses.max())), side="right") - 1
    if places[0] < 0:
        raise _NotKnown
    if places[0] == places[1]:
        yield (int(places[0]),), addresses // LINE, half
        return
    each = np.searchsorted(memory.bases, addresses, side="right") - 1
    yield (-1, *np.unique(memory.sizes[each]).tolist()), addresses // LINE, half


def _reached(lines: Longs, half: Longs, extent: int) -> Reached:
    """Lines of one array, by half windows. O(n log n)."""
    order = np.lexsort((half, lines, half // 2))
    lines, half = lines[order], half[order]
    gaps, same = np.diff(lines), np.diff(half // 2) == 0
    first = np.concatenate(([True], (gaps != 0) | ~same))
    within = gaps[same & (gaps > 0) & (gaps <= NEAR)]
    touched = int(np.count_nonzero(first))
    stretches = touched - within.size
    fetched = int(np.count_nonzero(first & (half % 2 == 1)))
    return Reached(fetched, touched, stretches, int(within.sum()) + stretches, extent)


def _extent(memory: Memory, key: tuple[int, ...], first: int, last: int) -> int:
    """Lines from the first to the last one of an array, or of all rows between them that are as long."""
    if key[0] >= 0:
        return last - first + 1
    known = memory.columns()
    low, high = np.searchsorted(known.bases, (first * LINE, (last + 1) * LINE))
    sizes = known.sizes[low:high]
    rows = np.isin(sizes, key[1:])
    begins = known.bases[low:high][rows] // LINE
    ends = (known.bases[low:high][rows] + sizes[rows] - 1) // LINE
    begins = np.maximum(begins, np.concatenate(([-1], np.maximum.accumulate(ends)[:-1])) + 1)
    return int(np.maximum(ends - begins + 1, 0).sum())
