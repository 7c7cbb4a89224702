"""Traces as Parquet files: the same records as in the trace, and what happens without pyarrow."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.tracer.trace.export_parquet import export_trace

import tracecut
from tracecut.cli.trace import run_info

PROGRAM = """
static int cells[40];
int main(void) {
  for (int i = 0; i < 40; i++) cells[(7 * i) % 40] = i;
  return cells[7] - 1;
}
"""


def test_all_records_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prog.c").write_text(PROGRAM)
    trace = tracecut.trace([tmp_path / "prog.c", "-g"], opt="seed")
    if importlib.util.find_spec("pyarrow") is not None:
        read = importlib.import_module("pyarrow.parquet").read_table
        files = export_trace(trace, tmp_path / "t.parquet")
        assert [path.name for path in files] == ["t.parquet", "t.segments.parquet", "t.items.parquet"]
        rows = read(files[0]).to_pylist()
        words = [word for row in rows for word in (row["segment"], *row["payload"])]
        assert words == np.concatenate([part for _, part in trace.chunks()]).tolist()
        assert read(files[0]).schema.metadata[b"outcome"] == b"left with status 0"
        segments, items = read(files[1]).to_pylist(), read(files[2]).to_pylist()
        assert {row["function"] for row in segments} == {"main"} and {row["line"] for row in segments} >= {4, 5}
        store = next(row for row in items if row["writes"] and "cells" in _pointer(segments, row["instruction"]))
        places = set()
        for row in rows:
            if row["segment"] == store["segment"]:
                low, high = row["payload"][store["word"] : store["word"] + 2]
                places.add(low + (high << 32))
        assert len(places) == 40 and max(places) - min(places) == 39 * 4 and store["bytes"] == 4
    with pytest.raises(ArgumentError, match="traces are exported as"):
        export_trace(trace, tmp_path / "t.csv")
    with pytest.raises(ArgumentError, match="no records to export"):
        export_trace(tracecut.trace(tmp_path / "prog.c", keep=False), tmp_path / "u.parquet")
    kept = tracecut.trace(tmp_path / "prog.c", output=tmp_path / "kept.tct")
    assert kept.path is not None and tracecut.export_trace is export_trace
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match="pyarrow, which is not installed"):
        export_trace(trace, tmp_path / "u.parquet")
    with pytest.raises(UnsupportedError, match="pyarrow, which is not installed"):
        run_info([str(kept.path), "--parquet", str(tmp_path / "u.parquet")])
    assert not list(tmp_path.glob("u*"))


def _pointer(segments: list[dict[str, object]], number: int) -> str:
    """Text of the instruction that made the pointer of another, or of that one itself."""
    texts = {row["instruction"]: str(row["text"]) for row in segments}
    name = texts[number].rsplit("ptr ", 1)[1].split(",")[0]
    made = [text for text in texts.values() if text.startswith(f"{name} = ")]
    return made[0] if made else texts[number]
