"""What products cost on a machine: a table that `tracecut tune` measures and keeps, and the one that is shipped.

The table is the offline part of the auto-tuning of TileSpMV §3.3: speed by the shape of the work, there of a warp's
rectangle, here of rows of each length; `estimate.py` is the online part.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tracecut.ir.machine.machine import Machine
from tracecut.support.errors import OutputError
from tracecut.support.files import write_json
from tracecut.tracer.toolchain.find_compilers import cache_home

from .shipped_costs import SHIPPED

LENGTHS = (1, 2, 4, 8, 16, 32, 64, 256)  # of the rows that are measured
VERSION = 1  # of the kernels and of the table: another one is measured anew
LINE = 64
LEAST, MOST = 0.0, 1e6  # nanoseconds that can be believed


@dataclass(frozen=True)
class FormCosts:
    """Nanoseconds of one core for one form and type of values.

    Attributes:
        rows: of a row of each of `LENGTHS` (in `sliced` a lane, in `tiled` a row within a tile), all in nearest caches.
        end: of a row whose length differs from the one before, a misprediction.
        misses: of an entry whose x comes from the second level, the third, and memory.
        bytes: of a byte of the form that comes from the third level, and from memory.
    """

    rows: tuple[float, ...]
    end: float
    misses: tuple[float, float, float]
    bytes: tuple[float, float]


@dataclass(frozen=True)
class Costs:
    """A machine's table.

    Attributes:
        forms: `"FORMAT DTYPE"` → costs, for float32 and float64.
        call: microseconds that a product takes beside its work. moves: nanoseconds of an element of a vector that is
            brought into another order, by the level that a vector fits in: the second, the third, none.
        source: where the table comes from.
    """

    forms: dict[str, FormCosts]
    call: float
    moves: tuple[float, float, float]
    source: str

    def of(self, name: str, dtype: np.dtype[Any]) -> FormCosts:
        """The costs of a form; complex values cost what float64 ones do."""
        return self.forms[f"{name} {'float32' if dtype == np.float32 else 'float64'}"]


def known_costs() -> Costs:
    """The table that was measured on this machine, if there is one; else the shipped one. Read once a process."""
    return _known(str(table_path()))


@cache
def _known(path: str) -> Costs:
    found = read_table(Path(path))
    return shipped_costs() if found is None else found


def forget_table() -> None:
    """Read it again at the next use."""
    _known.cache_clear()


@cache
def shipped_costs() -> Costs:
    """Measured on an AMD Zen 4 at 3.7 GHz; on other machines the proportions are about the same."""
    return _costs(SHIPPED, "the table that is shipped, of an AMD Zen 4 (`tracecut tune` measures this machine)")


def table_path() -> Path:
    """Where the table of this machine lies."""
    return cache_home() / "spmv-costs.json"


def read_table(path: Path) -> Costs | None:
    """A table; None where there is none of this version and machine, or a damaged one: it is a cache."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["version"] != VERSION or found["machine"] != machine_key():
            return None
        return _costs(found["costs"], f"measured on this machine by `tracecut tune` on {found['when']}")
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return None


def write_table(path: Path, costs: Costs, when: str) -> None:
    """Keep a table for the processes to come. Raises OutputError."""
    held = asdict(costs)
    del held["source"]
    write_json(path, {"version": VERSION, "machine": machine_key(), "when": when, "costs": held})
    if read_table(path) is None:
        raise OutputError(f"{path} does not hold what was written to it")
    forget_table()


@cache
def machine_key() -> str:
    """What tells machines apart: the processor's name, its caches and cores."""
    found = Machine.detect()
    caches = [(each.level, each.size, each.line, each.shared_by) for each in found.caches]
    return hashlib.sha256(repr((found.name, found.cores, caches)).encode()).hexdigest()[:16]


@cache
def cache_lines() -> tuple[int, int, int]:
    """Lines of the three levels of this machine, as far as it says; else those of usual ones."""
    usual = (512, 16384, 524_288)
    found = {each.level: each.size // LINE for each in Machine.detect().caches}
    first, second, third = (found.get(level, usual[level - 1]) for level in (1, 2, 3))
    return first, max(first, second), max(first, second, third)


def _costs(found: Any, source: str) -> Costs:
    """Raises ValueError, TypeError or LookupError for what is no table."""
    forms = {str(name): _form_costs(one) for name, one in found["forms"].items()}
    if forms.keys() != SHIPPED["forms"].keys():
        raise ValueError("other forms")
    near, far, memory = _numbers(found["moves"], 3)
    return Costs(forms, _numbers([found["call"]], 1)[0], (near, far, memory), source)


def _form_costs(found: Any) -> FormCosts:
    rows, end = _numbers(found["rows"], len(LENGTHS)), _numbers([found["end"]], 1)[0]
    second, third, memory = _numbers(found["misses"], 3)
    near, far = _numbers(found["bytes"], 2)
    return FormCosts(rows, end, (second, third, memory), (near, far))


def _numbers(given: Any, size: int) -> tuple[float, ...]:
    numbers = tuple(float(each) for each in given)
    if len(numbers) != size or not all(LEAST <= each <= MOST for each in numbers):
        raise ValueError("no costs")
    return numbers
