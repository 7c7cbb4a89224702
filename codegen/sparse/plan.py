"""What was decided for a matrix, and why: an artefact that another run can use instead of deciding again."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.support.arrays import check_permutation
from tracecut.support.errors import ArgumentError
from tracecut.support.files import held, read_arrays, write_arrays

from .csr import Csr
from .estimate import Estimate
from .forms import CARD_FORMATS, FORMATS
from .orders import ORDERS, MatrixOrder, Words, structure_key

_NONE = np.zeros(0, np.uint32)
CPU = "cpu"


@dataclass(frozen=True, eq=False)
class SpmvPlan:
    """The form and the order of a sparse operator.

    Attributes:
        format: `"csr"`, `"csr-vector"`, `"sliced"` or `"tiled"`; on a card `"csr-vector"` or `"tile-composite"`.
        order: `"natural"`, `"rcm"`, `"degree"` or `"spac"`.
        bytes: of the form and the order, which a product reads beside its vectors.
        inspect_seconds: what deciding and converting took.
        break_even: calls after which that is paid back against plain compressed rows, by the model; None: never, or on
            a card.
        reason: why this form and this order.
        candidates: what else was considered, with the model's predictions.
        costs: where the costs come from that the model reckoned with.
        shape, entries, dtype, key: of the matrix; `key` stands for where its entries are.
        places: the new places of rows and columns.
        device: `"cpu"`, `"emulated"`, or the number of a card.
    """

    format: str
    order: str
    bytes: int
    inspect_seconds: float
    break_even: int | None
    reason: str
    candidates: tuple[Estimate, ...]
    costs: str
    shape: tuple[int, int]
    entries: int
    dtype: str
    key: int
    places: MatrixOrder = field(repr=False)
    device: str = CPU

    def verify(self) -> None:
        """Raises ArgumentError unless the names are known and the places are permutations of rows and columns."""
        known = FORMATS if self.device == CPU else CARD_FORMATS
        if self.format not in known or self.order not in ORDERS:
            raise ArgumentError(f"the plan has the format {self.format!r} in the order {self.order!r}")
        for name, size in (("rows", self.shape[0]), ("columns", self.shape[1])):
            order = getattr(self.places, name)
            if order is None:
                continue
            if order.size != size:
                raise ArgumentError(f"the plan's order of {name} has {order.size} entries, the matrix {size} {name}")
            check_permutation(f"the plan's order of {name}", order)

    def check(self, matrix: Csr) -> None:
        """Raises ArgumentError for a matrix that the plan was not made for. O(rows + entries)."""
        if (self.shape, self.entries) != (matrix.shape, matrix.entries):
            raise ArgumentError(
                f"the plan is of a matrix {self.shape[0]} × {self.shape[1]} with {self.entries} entries, "
                f"A is {matrix.shape[0]} × {matrix.shape[1]} with {matrix.entries}"
            )
        if self.dtype != str(matrix.values.dtype):
            raise ArgumentError(f"the plan is of {self.dtype} values, A holds {matrix.values.dtype}")
        if self.key != structure_key(matrix):
            raise ArgumentError("the plan is of another matrix of this size: its entries are in other places")

    def explain(self) -> str:
        """The decision in words, and a line for each candidate."""
        pays = "it is never paid back" if self.break_even is None else f"paid back after {self.break_even} calls"
        after = f", {pays}" if self.device == CPU else ""
        lines = [
            f"{self.format}, {self.order} order: {self.reason}",
            f"{self.bytes:,} bytes; inspection took {self.inspect_seconds * 1e3:.3g} ms{after}",
            f"costs: {self.costs}",
        ]
        for one in self.candidates:
            chosen = "*" if (one.format, one.order) == (self.format, self.order) else " "
            lines.append(
                f"{chosen} {one.format:<10} {one.order:<8} {one.bytes:>15,} bytes  {one.padding:.3f} slots an entry  "
                f"{one.us:.4g} µs predicted"
            )
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file. Raises OutputError."""
        meta = {name: getattr(self, name) for name in _META} | {"form": self.format}  # "format" is the file's own
        meta["candidates"] = [asdict(one) for one in self.candidates]
        same = self.places.rows is self.places.columns
        arrays = {
            "rows": _NONE if self.places.rows is None else self.places.rows,
            "columns": _NONE if same or self.places.columns is None else self.places.columns,
        }
        return write_arrays(path, "SpmvPlan", arrays, {**meta, "same": same and self.places.rows is not None})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SpmvPlan:
        """Read what `save` wrote. Raises ArtefactError, which names the path, on anything else."""
        arrays, meta = read_arrays(path, "SpmvPlan", {"rows": "uint32", "columns": "uint32"})
        with held(path, "plan"):
            found = cls(**_fields(meta), places=_places(arrays, meta))
            found.verify()
        return found


_META = (
    *("order", "bytes", "inspect_seconds", "break_even", "reason", "costs", "shape", "entries", "dtype", "key"),
    "device",
)


def _fields(meta: dict[str, Any]) -> dict[str, Any]:
    even = meta["break_even"]
    return {
        "format": str(meta["form"]),
        **{name: str(meta[name]) for name in ("order", "reason", "costs", "dtype")},
        "device": str(meta.get("device", CPU)),  # plans of older versions have none
        **{name: int(meta[name]) for name in ("bytes", "entries", "key")},
        "inspect_seconds": float(meta["inspect_seconds"]),
        "break_even": None if even is None else int(even),
        "shape": (int(meta["shape"][0]), int(meta["shape"][1])),
        "candidates": tuple(
            Estimate(
                format=str(one["format"]),
                order=str(one["order"]),
                bytes=int(one["bytes"]),
                padding=float(one["padding"]),
                us=float(one["us"]),
                making=float(one["making"]),
            )
            for one in meta["candidates"]
        ),
    }


def _places(arrays: dict[str, Words], meta: dict[str, Any]) -> MatrixOrder:
    rows, columns = (part if part.size else None for part in (arrays["rows"], arrays["columns"]))
    return MatrixOrder(str(meta["order"]), rows, rows if meta["same"] is True else columns)
