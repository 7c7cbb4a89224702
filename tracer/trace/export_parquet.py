"""A trace as Parquet files (extra `arrow`): three tables that need no tracecut to be read.

- `NAME.parquet`: one row for each record in the order of its stream: `stream`, `segment` (a mark of `event_words.Mark`
  has its id here), and `payload`, the words that the record brings.
- `NAME.segments.parquet`: one row for each instruction of each segment: `segment`, `instruction`, `function`, `block`,
  `text`, `file`, `line`.
- `NAME.items.parquet`: what the words mean: `segment`, `word` (first one in the payload), `kind` (`event_words.Kind`),
  `instruction`, `reads`, `writes`, `bytes` (0: the payload holds the length) and `lanes`. An address has two words, the
  low one first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.lazy_kernels import kept
from tracecut.support.parquet import dictionary, lists, write_parquet
from tracecut.tracer.trace.events.event_words import FIRST_MARK, MARK_WORDS, READ, WRITE, Kind
from tracecut.tracer.trace.tables.static_tables import Static

from .line_profile import places_of
from .trace import Trace


def export_trace(trace: Trace, path: str | Path) -> list[Path]:
    """Write the three tables; the files. `path` ends in `.parquet`.

    Raises ArgumentError for another ending or a trace without records, UnsupportedError without pyarrow, OutputError.
    """
    target = Path(path)
    if target.suffix != ".parquet":
        raise ArgumentError(f"{target}: traces are exported as .parquet")
    if trace.path is None:
        raise ArgumentError("the trace was made with keep=False: there are no records to export")
    tables = {"segments": _segments(trace.static), "items": _items(trace.static)}
    beside = [write_parquet(target.with_name(f"{target.stem}.{name}.parquet"), [rows]) for name, rows in tables.items()]
    about = {key: str(value) for key, value in trace.meta.items()} | {"outcome": trace.outcome}
    return [write_parquet(target, _records(trace), about), *beside]


def _records(trace: Trace) -> Iterator[dict[str, Any]]:
    lengths = (trace.static.segment_words + 1).astype(np.int64)
    marks = np.zeros(256, np.int64)
    for mark, size in MARK_WORDS.items():
        marks[int(mark) & 0xFF] = size + 1
    empty = True
    for stream, words in trace.chunks():
        starts = np.empty(words.size, np.int64)
        count = _starts(words, lengths, marks, starts)
        if count < 0:
            raise ArtefactError(f"a chunk of stream {stream} does not hold whole records")
        payloads = np.append(starts[:count], words.size) - np.arange(count + 1)
        yield _rows(stream, words[starts[:count]], payloads, np.delete(words, starts[:count]))
        empty = False
    if empty:
        nothing = np.zeros(0, np.uint32)
        yield _rows(0, nothing, np.zeros(1, np.int64), nothing)


def _rows(
    stream: int, ids: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], payload: npt.NDArray[np.uint32]
) -> dict[str, Any]:
    return {"stream": np.full(ids.size, stream, np.int32), "segment": ids, "payload": lists(offsets, payload)}


@kept
def _starts(words: Any, lengths: Any, marks: Any, starts: Any) -> Any:
    """Note where each record begins. Returns their number, −1 when there is half a one or what is none."""
    place, count = np.int64(0), np.int64(0)
    while place < words.size:
        word = np.int64(words[place])
        length = np.int64(0)
        if word >= FIRST_MARK:
            length = marks[word & 0xFF]
        elif 0 < word < lengths.size:
            length = lengths[word]
        if length == 0 or place + length > words.size:
            return -1
        starts[count] = place
        count += 1
        place += length
    return count


def _segments(static: Static) -> dict[str, Any]:
    sizes = static.segment_end - static.segment_first
    segment = np.repeat(np.arange(static.n_segments), sizes)
    instruction = np.concatenate(
        [np.arange(a, b) for a, b in zip(static.segment_first, static.segment_end, strict=True)]
    )
    block = static.segment_block[segment]
    function = np.searchsorted(static.function_block, block, side="right") - 1
    places = places_of(static)
    return {
        "segment": segment.astype(np.uint32),
        "instruction": instruction.astype(np.int32),
        "function": dictionary(function, [name.removeprefix("@") for name in static.functions]),
        "block": [static.block_names[number] for number in block.tolist()],
        "text": [static.instructions[number].text for number in instruction.tolist()],
        "file": [getattr(places[number], "file", None) for number in instruction.tolist()],
        "line": [getattr(places[number], "line", None) for number in instruction.tolist()],
    }


def _items(static: Static) -> dict[str, Any]:
    kinds = [kind.name for kind in Kind]
    return {
        "segment": np.repeat(np.arange(static.n_segments, dtype=np.uint32), np.diff(static.segment_item)),
        "word": static.item_word,
        "kind": dictionary(static.item_kind, kinds),
        "instruction": static.item_instruction,
        "reads": (static.item_access & READ) > 0,
        "writes": (static.item_access & WRITE) > 0,
        "bytes": static.item_bytes,
        "lanes": static.item_lanes,
    }
