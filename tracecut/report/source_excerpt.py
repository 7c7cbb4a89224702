"""The few source lines that a verdict is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

BEFORE, AFTER, AROUND = 2, 6, 2
MOST_LINES = 40
WIDEST = 400


@dataclass(frozen=True)
class Place:
    """A source position; line 0 is unknown."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file or '?'}:{self.line}" if self.line > 0 else self.file or "unknown position"


@dataclass(frozen=True)
class Line:
    """One line of source. `note` says why it is marked, and is empty if it is not."""

    number: int
    text: str
    note: str = ""


@dataclass(frozen=True)
class Excerpt:
    """Lines of one file in ascending order, with gaps; without the indentation that all of them share."""

    file: str
    lines: tuple[Line, ...]


def excerpts(loop: Place, evidence: Sequence[Place], sources: Mapping[str, Sequence[str]]) -> tuple[Excerpt, ...]:
    """What to show of the source for a loop and the lines behind its verdict.

    Args:
        loop: where the loop stands.
        evidence: the lines that the verdict names; for a dependence the first and the second access.
        sources: file → its lines. A missing file has no excerpt, a line beyond its end is left out.
    """
    evidence = [place for place in evidence if place != loop]
    notes: dict[Place, list[str]] = {}
    for name, place in zip(_names(len(evidence)), evidence, strict=True):
        notes.setdefault(place, []).append(name)
    found = []
    for file in dict.fromkeys(place.file for place in (loop, *evidence)):
        lines = sources.get(file, ())
        windows = [range(place.line - AROUND, place.line + AROUND + 1) for place in evidence if place.file == file]
        if loop.file == file:
            windows.append(range(loop.line - BEFORE, loop.line + AFTER + 1))
        marked = {place.line: " and ".join(names) for place, names in notes.items() if place.file == file}
        if file == loop.file:
            marked[loop.line] = "loop"
        numbers = _chosen(windows, marked, len(lines))
        if numbers and any(lines[number - 1].strip() for number in numbers):
            texts = _dedented([lines[number - 1].rstrip("\r\n")[:WIDEST] for number in numbers])
            rows = (Line(number, text, marked.get(number, "")) for number, text in zip(numbers, texts, strict=True))
            found.append(Excerpt(file, tuple(rows)))
    return tuple(found)


def _names(evidence: int) -> list[str]:
    if evidence == 1:
        return ["here"]
    return ["first access", "second access"] if evidence == 2 else [f"access {place + 1}" for place in range(evidence)]


def _chosen(windows: Iterable[range], marked: Mapping[int, str], length: int) -> list[int]:
    wanted = {number for window in windows for number in window if 1 <= number <= length}
    nearest_first = sorted(wanted, key=lambda number: (min((abs(number - mark) for mark in marked), default=0), number))
    return sorted(nearest_first[:MOST_LINES])


def _dedented(lines: Sequence[str]) -> list[str]:
    indents = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    first, last = min(indents), max(indents)
    shared = next(
        (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
    )
    return [line[shared:] for line in lines]
