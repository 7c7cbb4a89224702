"""Reuse distances: the number of distinct cache lines touched between two touches of one line.

In a fully associative cache of C lines with least-recently-used replacement a touch hits exactly when fewer than C
other lines were touched since the last touch of its line (Mattson et al. 1970). One histogram of these distances
therefore gives the misses of every cache size at once, without running anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tracecut.ir.machine.parts import Cache
from tracecut.support.arrays import Floats, Ints, Longs, frozen, inverse
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import compiled

from .locality_graph import LocalityGraph
from .ordering import Ordering

BINS = 48
FEWEST_LINES = 4096  # lines followed at least, so that the smallest cache is still resolved
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
STRETCH = 1 << 16  # jobs whose pins are put in sequence together
FOLLOWED, UNTOLD = 128, 255  # a datum of which some line is followed; one that has too many to count them ahead

Bits = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class LocalityProfile:
    """Predicted cache behaviour of one order.

    Attributes:
        caches: the levels, as given.
        misses_per_job: float64 (levels), lines fetched from beyond each level per job.
        accesses_per_job: lines touched per job.
        histogram: float64 (48), touches per job by distance: entry 0 is distance 0, entry b is [2**(b-1), 2**b).
        cold_per_job: first touches per job; 0 for repeated sweeps.
        rate: share of the lines that was followed; 1 is exact.
    """

    caches: tuple[Cache, ...]
    misses_per_job: Floats
    accesses_per_job: float
    histogram: Floats
    cold_per_job: float
    rate: float

    def __repr__(self) -> str:
        levels = ", ".join(
            f"L{cache.level} {miss:.3g}" for cache, miss in zip(self.caches, self.misses_per_job, strict=True)
        )
        return f"<LocalityProfile misses per job: {levels}; {self.accesses_per_job:.3g} lines touched>"


def stack_distances(lines: npt.ArrayLike, *, repeated: bool = False) -> Longs:
    """Distinct other lines touched since the last touch of the same line.

    Args:
        lines: int64 (n), line addresses, any values.
        repeated: the stream runs over and over, so that the last touch of a line may lie in the run before.

    Returns:
        int64 (n); -1 for the first touch of a line unless `repeated`. O(n log n).
    """
    stream = frozen("lines", lines, np.int64)
    low = int(stream.min(initial=0))
    if stream.size and int(stream.max()) - low < 4 * stream.size:
        names = stream - low
    else:
        names = np.unique(stream, return_inverse=True)[1]
    return _distances(names.astype(np.uint32), int(names.max(initial=-1)) + 1, repeated)


def reuse_histogram(distances: Longs) -> tuple[Longs, int]:
    """Touches by distance in powers of two, and first touches.

    Returns:
        int64 (48): entry 0 counts distance 0, entry b distances in [2**(b-1), 2**b); and the number of -1. O(n).
    """
    values = frozen("distances", distances, np.int64)
    known = values[values >= 0]
    return np.bincount(np.frexp(known)[1], minlength=BINS).astype(np.int64), values.size - known.size


def predicted_misses(distances: Longs, capacities: npt.ArrayLike) -> Longs:
    """Misses of fully associative LRU caches of `capacities` lines, first touches included; int64. O(n · levels)."""
    values = frozen("distances", distances, np.int64)
    sizes = frozen("capacities", capacities, np.int64)
    if sizes.min(initial=1) < 1:
        raise ArgumentError(f"capacities = {sizes.tolist()}, at least one line each was expected")
    return np.array([np.count_nonzero((values < 0) | (values >= size)) for size in sizes], np.int64)


def locality_profile(
    graph: LocalityGraph,
    ordering: Ordering,
    bytes_per_datum: int | Sequence[int | Sequence[int]],
    machine_caches: Sequence[Cache],
    *,
    bytes_per_job: int = 0,
    repeated: bool = True,
    sample: int = 1 << 19,
) -> LocalityProfile:
    """Predict the misses of running the jobs in a new order over data in its new layout.

    Every job touches the lines of its data in pin order, then its own record. Caches are taken as fully associative
    LRU. On large graphs one line out of each group of 2**s neighbouring lines is followed, at a fixed pseudo-random
    place in its group, through the whole order: distances then shrink by 2**s and counts scale up by it (spatially
    hashed sampling, Waldspurger et al. 2015). Windows of the order would need a warm-up as long as the largest
    cache; this needs none, is as right for a cache that holds half of the data as for a small one, and is the
    same on every run.

    Args:
        graph: the locality graph.
        ordering: an order of it, the original one included.
        bytes_per_datum: size of one datum; or one entry per index space, each a size or the element sizes of the
            arrays that are reached through it (each array then has its own address range).
        machine_caches: levels to predict; only sizes and line lengths are used.
        bytes_per_job: size of a job's own record (its indices, its coefficients), stored in the new order.
        repeated: the sweep runs many times, and what is counted is one of the later ones; else one run that starts
            with empty caches.
        sample: about how many touches to follow at most; more takes longer and is more exact.

    Returns:
        A LocalityProfile. O(pins + sample · log(sample)).

    Raises:
        ArgumentError: an ordering of another graph, a size below 1, caches of different line lengths.
    """
    if ordering.jobs.size != graph.n_jobs or ordering.data.size != graph.n_data:
        raise ArgumentError(
            f"the ordering is of {ordering.jobs.size} jobs and {ordering.data.size} data, "
            f"the graph has {graph.n_jobs} and {graph.n_data}"
        )
    if sample < 1 or bytes_per_job < 0:
        raise ArgumentError(f"sample = {sample}, bytes_per_job = {bytes_per_job}: at least 1 and 0 were expected")
    line = _line_length(machine_caches)
    firsts, sizes = _arrays(bytes_per_datum, graph.n_spaces)
    extents = np.repeat(np.diff(graph.space_offsets), np.diff(firsts)) * sizes
    heads = np.concatenate([[0], np.cumsum(-(-extents // line))]).astype(np.int64) * line
    lines = int(heads[-1] + graph.n_jobs * bytes_per_job) // line + 1
    shift = _sampling_shift(graph.n_pins + graph.n_jobs * bytes_per_job // line, lines, sample)
    pins = graph.offsets, graph.data, ordering.jobs, inverse(ordering.data)
    arrays = (
        graph.space_offsets,
        frozen("firsts", firsts, np.int64),
        frozen("sizes", sizes, np.int64),
        frozen("heads", heads, np.int64),
    )
    line_bits = line.bit_length() - 1
    marks = _marks(*arrays, graph.n_data, line_bits, shift)
    stream, touched = _sampled_touches(*pins, *arrays, bytes_per_job, line_bits, shift, marks)
    distances = _distances(stream, (lines >> shift) + 1, repeated)
    distances[distances > 0] <<= shift
    counts, cold = reuse_histogram(distances)
    misses = predicted_misses(distances, [cache.size // line for cache in machine_caches])
    scale = 2.0**shift / max(1, graph.n_jobs)
    return LocalityProfile(
        caches=tuple(machine_caches),
        misses_per_job=frozen("misses", misses * scale, np.float64),
        accesses_per_job=touched / max(1, graph.n_jobs),
        histogram=frozen("histogram", counts * scale, np.float64),
        cold_per_job=cold * scale,
        rate=0.5**shift,
    )


def _line_length(caches: Sequence[Cache]) -> int:
    lengths = {cache.line for cache in caches}
    if len(lengths) != 1:
        raise ArgumentError(
            f"the caches have lines of {sorted(lengths)} bytes, one length was expected",
            hint="Make one profile for each line length.",
        )
    line = lengths.pop()
    if line & (line - 1):
        raise ArgumentError(f"a cache has lines of {line} bytes, a power of two was expected")
    return line


def _arrays(bytes_per_datum: int | Sequence[int | Sequence[int]], spaces: int) -> tuple[Longs, Longs]:
    """Offsets of the arrays of each space, int64 (spaces + 1), and the element size of each array."""
    entries = [bytes_per_datum] * spaces if isinstance(bytes_per_datum, int) else list(bytes_per_datum)
    if len(entries) != spaces:
        raise ArgumentError(f"bytes_per_datum has {len(entries)} entries for {spaces} index spaces")
    groups = [[entry] if isinstance(entry, int) else list(entry) for entry in entries]
    sizes = frozen("bytes_per_datum", [size for group in groups for size in group], np.int64)
    if sizes.min(initial=1) < 1:
        raise ArgumentError(f"bytes_per_datum = {bytes_per_datum!r}, sizes of at least 1 were expected")
    return np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64), sizes


def _sampling_shift(touches: int, lines: int, sample: int) -> int:
    """s such that following one line in 2**s keeps `sample` touches, but no fewer than FEWEST_LINES lines."""
    wanted = max(0, math.ceil(math.log2(max(1, touches) / sample)))
    return min(wanted, max(0, math.floor(math.log2(lines / FEWEST_LINES))))


@compiled(cache=True, nogil=True)
def _in_order(offsets: Longs, data: Ints, jobs: Ints, place: Ints) -> tuple[Longs, Ints]:
    """The incidence of some jobs, in this sequence, with data by new place.

    Two plain loops: each has many loads under way at once, which one loop over everything has not.
    """
    rows = np.zeros(jobs.size + 1, np.int64)
    for position in range(jobs.size):
        rows[position + 1] = rows[position] + offsets[jobs[position] + 1] - offsets[jobs[position]]
    places = np.empty(rows[jobs.size], np.int32)
    count = 0
    for position in range(jobs.size):
        for pin in range(offsets[jobs[position]], offsets[jobs[position] + 1]):
            places[count] = data[pin]
            count += 1
    for pin in range(count):
        places[pin] = place[places[pin]]
    return rows, places


@compiled(cache=True, nogil=True, inline="always")
def _is_followed(line: int, shift: int) -> bool:
    """Multiplication by the golden ratio spreads the followed places evenly over the groups."""
    place = ((np.uint64(line >> shift) * GOLDEN) >> np.uint64(1)) >> np.uint64(63 - shift)
    return np.uint64(line & ((1 << shift) - 1)) == place


@compiled(cache=True, nogil=True)
def _marks(
    space_offsets: Longs, firsts: Longs, sizes: Longs, heads: Longs, n_data: int, line_bits: int, shift: int
) -> Bytes:
    """For each place of a datum, the lines of its records, and `FOLLOWED` where any of these is; `UNTOLD`: too many."""
    marks = np.empty(n_data, np.uint8)
    for space in range(space_offsets.size - 1):
        for index in range(space_offsets[space + 1] - space_offsets[space]):
            count, followed = 0, False
            for array in range(firsts[space], firsts[space + 1]):
                address = heads[array] + index * sizes[array]
                first, last = address >> line_bits, (address + sizes[array] - 1) >> line_bits
                count += last - first + 1
                if count >= FOLLOWED - 1:
                    break
                for line in range(first, last + 1):
                    followed = followed or _is_followed(line, shift)
            mark = UNTOLD if count >= FOLLOWED - 1 else count + FOLLOWED if followed else count
            marks[space_offsets[space] + index] = mark
    return marks


@compiled(cache=True, nogil=True)
def _sampled_touches(
    offsets: Longs,
    data: Ints,
    jobs: Ints,
    place: Ints,
    space_offsets: Longs,
    firsts: Longs,
    sizes: Longs,
    heads: Longs,
    bytes_per_job: int,
    line_bits: int,
    shift: int,
    marks: Bytes,
) -> tuple[Words, int]:
    """The touches of followed lines, by the number of their group; and the number of all touches.

    `jobs`: in their new order. `place`: of each datum. `marks`: of the data by place, most of which have no line that
    is followed. Jobs are put in sequence stretch by stretch: no array has as many numbers as there are pins.
    """
    stream = np.empty(1024 + ((data.size + jobs.size) >> shift), np.uint32)
    count = touched = 0
    for begin in range(0, jobs.size, STRETCH):
        rows, places = _in_order(offsets, data, jobs[begin : begin + STRETCH], place)
        for job in range(rows.size - 1):
            end = rows[job + 1]
            for pin in range(rows[job], end + 1):
                space = 0
                if pin == end:
                    # The job's own record comes last, as an array behind all others.
                    if bytes_per_job == 0:
                        break
                    index, first, last = begin + job, heads.size - 1, heads.size
                else:
                    index = places[pin]
                    if marks[index] < FOLLOWED:
                        touched += marks[index]
                        continue
                    while index >= space_offsets[space + 1]:
                        space += 1
                    index -= space_offsets[space]
                    first, last = firsts[space], firsts[space + 1]
                for array in range(first, last):
                    size = bytes_per_job if pin == end else sizes[array]
                    address = heads[array] + index * size
                    for line in range(address >> line_bits, ((address + size - 1) >> line_bits) + 1):
                        touched += 1
                        group = line >> shift
                        if _is_followed(line, shift):
                            if count == stream.size:
                                longer = np.empty(2 * count, np.uint32)
                                for i in range(count):
                                    longer[i] = stream[i]
                                stream = longer
                            stream[count] = group
                            count += 1
    return stream[:count].copy(), touched


@compiled(cache=True, nogil=True, inline="always")
def _ones(word: np.uint64) -> np.int64:
    """Number of one bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled(cache=True, nogil=True)
def _distances(stream: Words, lines: int, repeated: bool) -> Longs:
    """Stack distance of each touch (Bennett and Kruskal 1975, Olken 1981).

    Every live line holds one mark, on the time slot of its last touch; the distance is the number of marks after
    it. Marks are bits, with a Fenwick tree over the words, so that the tree stays in the nearest cache. When the
    slots run out, the live marks are packed to the front: amortised O(1) a touch.
    """
    distances = np.empty(stream.size, np.int64)
    words = max(64, (2 * lines + 63) // 64)
    slots = 64 * words
    bits = np.zeros(words, np.uint64)
    tree = np.zeros(words + 1, np.int32)
    owner = np.empty(slots, np.uint32)
    last = np.full(lines, -1, np.int64)
    first_touches = np.empty(lines, np.int64)
    firsts = live = now = 0
    for turn in range(2 if repeated else 1):
        touches = stream.size if turn == 0 else firsts
        for step in range(touches):
            # The second turn repeats only the first touches: in a later sweep, all others see what they saw before.
            i = step if turn == 0 else first_touches[step]
            name = stream[i]
            slot = last[name]
            if slot < 0:
                distances[i] = -1
                first_touches[firsts] = i
                firsts += 1
                live += 1
            else:
                word, bit = slot >> 6, np.uint64(slot & 63)
                before = _ones(bits[word] & ((np.uint64(2) << bit) - np.uint64(1)))
                node = word
                while node > 0:
                    before += tree[node]
                    node &= node - 1
                distances[i] = live - before
                bits[word] ^= np.uint64(1) << bit
                node = word + 1
                while node <= words:
                    tree[node] -= 1
                    node += node & -node
            if now == slots:
                now = _pack(bits, tree, owner, last)
            bits[now >> 6] |= np.uint64(1) << np.uint64(now & 63)
            node = (now >> 6) + 1
            while node <= words:
                tree[node] += 1
                node += node & -node
            owner[now] = name
            last[name] = now
            now += 1
    return distances


@compiled(cache=True, nogil=True)
def _pack(bits: Bits, tree: Ints, owner: Words, last: Longs) -> int:
    """Move all marks to the front, in order; the first free slot."""
    count = 0
    for slot in range(owner.size):
        if (bits[slot >> 6] >> np.uint64(slot & 63)) & np.uint64(1):
            owner[count] = owner[slot]
            last[owner[count]] = count
            count += 1
    bits[:] = np.uint64(0)
    for slot in range(count):
        bits[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
    tree[:] = 0
    for word in range(bits.size):
        node = word + 1
        tree[node] += _ones(bits[word])
        above = node + (node & -node)
        if above < tree.size:
            tree[above] += tree[node]
    return count
