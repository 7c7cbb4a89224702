"""Parquet files, which need pyarrow: `pip install 'tracecut[arrow]'`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .errors import ArgumentError, UnsupportedError
from .files import write_atomic


def arrow(part: str = "") -> Any:
    """The module pyarrow, or a part of it. Raises UnsupportedError when it is not installed."""
    try:
        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        raise UnsupportedError(
            "Parquet files are written by pyarrow, which is not installed", hint="pip install 'tracecut[arrow]'"
        ) from error


def dictionary(values: npt.NDArray[Any], names: Sequence[str]) -> Any:
    """A column of names, given by indices."""
    return arrow().DictionaryArray.from_arrays(np.asarray(values, np.int32), list(names))


def lists(offsets: npt.NDArray[Any], values: npt.NDArray[Any]) -> Any:
    """A column of lists: row i holds `values[offsets[i]:offsets[i + 1]]`."""
    return arrow().ListArray.from_arrays(np.asarray(offsets, np.int32), values)


def write_parquet(path: Path, batches: Iterable[Mapping[str, Any]], metadata: Mapping[str, str] | None = None) -> Path:
    """Write columns by name, batch by batch, as a Parquet file, atomically.

    `batches`: at least one, with the same columns. `metadata`: stored in the schema. Raises UnsupportedError,
    OutputError.
    """
    pyarrow, parquet = arrow(), arrow("parquet")

    def write(file: BinaryIO) -> None:
        writer = None
        for batch in batches:
            table = pyarrow.table(dict(batch))
            if writer is None:
                schema = table.schema if metadata is None else table.schema.with_metadata(dict(metadata))
                writer = parquet.ParquetWriter(file, schema, compression="zstd")
            writer.write_table(table.replace_schema_metadata(writer.schema.metadata))
        if writer is None:
            raise ArgumentError(f"{path}: there is nothing to write")
        writer.close()

    return write_atomic(path, write)
