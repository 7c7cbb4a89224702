"""From what ran to the lines of the source: hot lines, and a listing of a file with the work of each of its lines.

Work is given for static instructions (`events.Static`): how often each ran, and what that cost. A line gets the work
of the instructions that came from it; a line that calls a function which was inlined also shows what was inlined there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.llvm.debug_info import Lines, Place
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.lazy_kernels import compiled
from tracecut.support.plain_kernels import fitting
from tracecut.tracer.trace.events.event_words import FIRST_MARK
from tracecut.tracer.trace.tables.records import BAD, Lengths
from tracecut.tracer.trace.tables.static_tables import Static

Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]


@dataclass(frozen=True)
class HotLine:
    """Work of one source line.

    Attributes:
        file, line: as the debug information names them; line 0 collects what has no line.
        functions: names of the functions that the line's instructions are in; several for an instantiated template.
        count: dynamic instructions. weight: their cost, in the unit of the weights.
        share: of the weight of the whole program, 0 to 1.
        inlined: weight of the code that was inlined at this line, not part of `weight`.
    """

    file: str
    line: int
    functions: tuple[str, ...]
    count: int
    weight: float
    share: float
    inlined: float


def places_of(static: Static, *, nearest: bool = False) -> tuple[Place | None, ...]:
    """Position of every static instruction, with the call sites that it was inlined through; None: it has none.

    `nearest`: what the compiler made without a position (phis, jumps) gets that of the last instruction before it in
    its block that has one, else of the first behind it. O(instructions + metadata).
    """
    lines = Lines(static.module.metadata())
    found = [lines.place(instruction.meta.get("dbg")) for instruction in static.instructions]
    if nearest:
        for first, end in itertools.pairwise(static.block_first.tolist()):
            near = next((place for place in found[first:end] if place is not None and place.line), None)
            for number in range(first, end):
                place = found[number]
                near = place if place is not None and place.line else near
                found[number] = near or place
    return tuple(found)


class SegmentCounter:
    """Counts how often each segment ran, from the words of a trace as they come; memory O(segments).

    Attributes:
        counts: int64[S].
    """

    def __init__(self, static: Static) -> None:
        self.counts = np.zeros(static.n_segments, np.int64)
        lengths = Lengths.of(static)
        self._lengths, self._marks = lengths.words[: lengths.segments], lengths.marks

    def take(self, stream: int, words: npt.NDArray[np.uint32]) -> None:
        """Add a chunk of whole records of any stream. Raises ArtefactError when it is none. O(records)."""
        if fitting(_count, words.size)(words, self._lengths, self._marks, self.counts) != words.size:
            raise ArtefactError(f"a chunk of stream {stream} does not hold whole records")


@compiled(cache=True, nogil=True)
def _count(words: Any, lengths: Any, marks: Any, counts: Any) -> Any:
    """Count the records of a chunk. Returns the words passed: all of them, or those before what is no record."""
    place, size = np.int64(0), np.int64(words.size)
    while place < size:
        word = words[place]
        known = word < np.uint32(lengths.size)
        length = np.int64(lengths[word]) if known else np.int64(marks[word & np.uint32(0xFF)])
        if word == 0 or (not known and (word < np.uint32(FIRST_MARK) or length == BAD)) or place + length > size:
            return place
        if known:
            counts[word] += 1
        place += length
    return place


def instruction_counts(static: Static, segments: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How often every static instruction ran, int64[I], from how often every segment did, int64[S].

    Raises ArgumentError when `segments` is not one number for each segment.
    """
    found = np.asarray(segments)
    if found.shape != (static.n_segments,):
        raise ArgumentError(f"segments has the shape {found.shape}, ({static.n_segments},) was expected")
    counts = np.zeros(static.n_instructions, np.int64)
    for first, end, times in zip(static.segment_first, static.segment_end, found, strict=True):
        counts[first:end] = times
    return counts


def hot_lines(static: Static, counts: Numbers, weights: Numbers | None = None) -> list[HotLine]:
    """Lines of the program that did something, the most expensive first (ties: by file and line).

    Args:
        static: the traced module.
        counts: [I], how often each static instruction ran.
        weights: [I], what all its executions cost together; default: one unit each.

    What has no position of its own belongs to its neighbour in the block (`places_of`, nearest).

    O(instructions × depth of inlining). Raises ArgumentError when the arrays do not fit the module.
    """
    count, weight = (
        _checked(static, "counts", counts),
        _checked(static, "weights", counts if weights is None else weights),
    )
    work: dict[tuple[str, int], list[float]] = {}
    functions: dict[tuple[str, int], dict[str, None]] = {}
    for number, place in enumerate(places_of(static, nearest=True)):
        if not count[number] and not weight[number]:
            continue
        chain = [Place("", 0)] if place is None else place.chain()
        for depth, at in enumerate(chain):
            line = work.setdefault((at.file, at.line), [0, 0.0, 0.0])
            functions.setdefault((at.file, at.line), {})[at.function] = None
            if depth == 0:
                line[0] += int(count[number])
                line[1] += float(weight[number])
            elif at not in chain[:depth]:  # recursion that was inlined into itself counts once
                line[2] += float(weight[number])
    total = float(weight.sum()) or 1.0
    found = [
        HotLine(file, line, tuple(filter(None, functions[file, line])), int(ran), cost, cost / total, inside)
        for (file, line), (ran, cost, inside) in work.items()
    ]
    return sorted(found, key=lambda hot: (-hot.weight, -hot.inlined, hot.file, hot.line))


def annotate(
    file: str, source: Sequence[str], hot: Sequence[HotLine], *, width: int = 100, around: int | None = None
) -> str:
    """The lines of a file, each with its share of the program's work and the instructions that it ran.

    Args:
        file: its name in the debug information. source: its lines. hot: what `hot_lines` found.
        width: columns; longer source lines are cut.
        around: show only lines that did something and so many neighbours of them; None: the whole file.

    Lines that the program ran but that the file does not have (it has changed, or it is another one) are named at the
    end: nothing is left out silently. O(lines).
    """
    mine = {item.line: item for item in hot if item.file == file}
    total = sum(item.weight for item in hot) or 1.0
    wanted = range(1, len(source) + 1)
    if around is not None:
        near = {line + step for line in mine for step in range(-around, around + 1)}
        shown = [number for number in wanted if number in near]
    else:
        shown = list(wanted)
    digits = len(str(len(source)))
    head = f"{'share':>7} {'inlined':>7} {'executed':>8}  {'line':>{digits}}  {file}"
    rows, last = [head], 0
    for number in shown:
        if last and number > last + 1:
            rows.append(f"{'':24}  {'…':>{digits}}")
        last = number
        item = mine.get(number)
        share = _percent(item.weight / total) if item and item.count else ""
        inside = _percent(item.inlined / total) if item and item.inlined else ""
        ran = _amount(item.count) if item and item.count else ""
        text = source[number - 1].rstrip().expandtabs(4)
        rows.append(f"{share:>7} {inside:>7} {ran:>8}  {number:>{digits}}  {text}".rstrip())
    beyond = [item for line, item in sorted(mine.items()) if not 1 <= line <= len(source)]
    if beyond:
        where = ", ".join(str(item.line) for item in beyond if item.line)
        share = _percent(sum(item.weight for item in beyond) / total)
        rows.append(
            f"{share:>7} without a line here{': the file has changed, it has no line ' + where if where else ''}"
        )
    return "\n".join(row if len(row) <= width else row[: width - 1] + "…" for row in rows) + "\n"


def _checked(static: Static, name: str, values: Numbers) -> Numbers:
    found: Numbers = np.asarray(values)  # type: ignore[assignment]
    if found.shape != (static.n_instructions,):
        raise ArgumentError(f"{name} has the shape {found.shape}, ({static.n_instructions},) was expected")
    if found.size and (not np.isfinite(found).all() or found.min() < 0):
        raise ArgumentError(f"{name} holds values that are negative or not finite")
    return found


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 else "· %"


def _amount(count: int) -> str:
    """A count in at most six characters: 999, 1.23 k, 45.6 M."""
    for unit, size in (("", 1), (" k", 10**3), (" M", 10**6), (" G", 10**9), (" T", 10**12)):
        if count < 999.5 * size or unit == " T":
            return f"{count}" if not unit else f"{count / size:.3g}{unit}"
    raise AssertionError("the last unit takes everything")
