"""A scope's schedule on disk: its arrays, what it assumes, and the description of its loops and code.

The file holds data only. The code that it belongs to is in the program's library beside it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.codegen.schedule.schedule_json import (
    SCHEDULE_ARRAYS,
    outlined_in,
    outlined_out,
    schedule_arrays,
    schedule_in,
    schedule_out,
    whole,
)
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.nest_json import from_json, to_json
from tracecut.support.dataclass_json import from_json as from_plain
from tracecut.support.dataclass_json import to_json as to_plain
from tracecut.support.errors import ArtefactError, ScheduleError
from tracecut.support.files import read_arrays, write_arrays
from tracecut.tracer.legality.evaluation.memory import HEAP, Object
from tracecut.tracer.loops.flatten_rows import RowTable
from tracecut.tracer.runtime.fingerprint_key import Secret

from .rows.saved_columns import SavedColumn, columns_in, columns_out

MAX_NUMBER = 4096  # scopes and regions of one program, as in runtime.c
OPTIONS = {"method", "threads", "reduce", "single", "renumber", "region", "seed"}
ROW_ARRAYS = {"rows*_used": "int64", "columns*_offsets": "int64"}
COSTS = {"original", "optimized", "inspect", "copy", "sweeps"}


@dataclass(frozen=True, eq=False)
class ScopeFile:
    """All that the host of a running program needs for one layout scope.

    Attributes:
        number: the scope's number in the woven program. `numbers`: region loop id → its number there.
        nest: description of the scope. values: (name, type) of what its hook hands over.
        regions: loops that are rescheduled; movable: those whose iterations may be reordered.
        outlined: region → its range function.
        schedule: made for the traced input. key: the secret of its fingerprints.
        tables: of row pointers, where the code is that of the flattened program (`flatten_rows.py`).
        used_rows: arena → bytes of each row that are read (`row_arenas.py`).
        columns: where the pointers of these tables stand; none where the host has to look for them.
        costs: nanoseconds a job: `original`, `optimized`, `inspect`, `copy`, and `sweeps` an entry.
        options: how it was made: method, threads, reduce, single, renumber, seed.
    """

    number: int
    numbers: Mapping[int, int]
    nest: Nest
    values: Sequence[tuple[str, str]]
    regions: Sequence[int]
    movable: frozenset[int]
    outlined: Mapping[int, Outlined]
    schedule: Schedule
    key: Secret
    costs: Mapping[str, float]
    options: Mapping[str, Any]
    tables: tuple[RowTable, ...] = ()
    used_rows: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    columns: tuple[SavedColumn, ...] = ()

    @property
    def main(self) -> int:
        """The number of the region that it was made for."""
        return self.numbers[int(self.options["region"])]

    @property
    def nested(self) -> bool:
        """Whether loops of the scope lie between it and the region: then its own trip count tells too few sweeps."""
        return self.nest.loops[int(self.options["region"])].parent not in (None, self.nest.root)

    @property
    def lookup_gain(self) -> float:
        """What a sweep gains, as a share of its time in the new order, if something beside it looks records up; else 0.
        Infinite where it is not known."""
        if not self.schedule.lookups or not self.options["single"]:
            return 0.0
        new = self.costs["optimized"]
        return self.costs["original"] / new - 1 if new > 0 else math.inf

    @property
    def pays_after(self) -> float:
        """Calls of that region that pay for moving the data once and back; 0 where nothing is known to be gained."""
        gain = self.costs["original"] - self.costs["optimized"]
        return self.costs["copy"] / gain if gain > 0 else 0.0

    def save(self, path: str | os.PathLike[str]) -> Path:
        schedule = self.schedule
        arrays = schedule_arrays(schedule)
        arrays |= {f"rows{place}_used": used for place, used in enumerate(self.used_rows.values())}
        offsets, columns = columns_out(self.columns)
        arrays |= offsets
        meta = {
            "number": self.number,
            "numbers": {str(loop): number for loop, number in self.numbers.items()},
            "nest": to_json(self.nest),
            "values": [list(value) for value in self.values],
            "regions": list(self.regions),
            "movable": sorted(self.movable),
            "outlined": {str(loop): outlined_out(found) for loop, found in self.outlined.items()},
            "schedule": schedule_out(schedule),
            "key": self.key.seed.hex(),
            "costs": dict(self.costs),
            "options": dict(self.options),
            "tables": [to_plain(table) for table in self.tables],
            "used_rows": list(self.used_rows),
            "columns": columns,
        }
        return write_arrays(path, "ScopeFile", arrays, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ScopeFile:
        members = {f"{name}?": dtype for name, dtype in {**SCHEDULE_ARRAYS, **ROW_ARRAYS}.items()}
        arrays, meta = read_arrays(path, "ScopeFile", members)
        try:
            found = cls(
                number=whole(meta["number"]),
                numbers={int(loop): whole(number) for loop, number in meta["numbers"].items()},
                nest=from_json(meta["nest"]),
                values=[(str(name), str(type)) for name, type in meta["values"]],
                regions=[whole(loop) for loop in meta["regions"]],
                movable=frozenset(whole(loop) for loop in meta["movable"]),
                outlined={int(loop): outlined_in(found) for loop, found in meta["outlined"].items()},
                schedule=schedule_in(meta["schedule"], arrays),
                key=Secret(bytes.fromhex(meta["key"])),
                costs={str(name): float(cost) for name, cost in meta["costs"].items()},
                options=dict(meta["options"]),
                tables=tuple(from_plain(RowTable, table) for table in meta["tables"]),
                used_rows={str(name): arrays[f"rows{place}_used"] for place, name in enumerate(meta["used_rows"])},
                columns=columns_in(arrays, meta["columns"]),
            )
            found.verify()
            return found
        except ArtefactError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, ScheduleError) as error:
            raise ArtefactError(
                f"{path} is not a valid schedule: {error}", hint="Run tracecut optimize again."
            ) from error

    def verify(self) -> None:
        """Raise ScheduleError or ValueError unless the parts fit each other, and the schedule the objects it names.

        The host hands all of it to machine code that checks nothing. O(jobs + data).
        """
        regions = {region.region for region in self.schedule.regions}
        if not regions <= self.numbers.keys() or not regions <= self.outlined.keys():
            raise ValueError("a region has no code")
        if not all(0 <= number < MAX_NUMBER for number in (self.number, *self.numbers.values())):
            raise ValueError("a number of a scope or region is out of range")
        if len(set(self.numbers.values())) < len(self.numbers) or self.options.get("region") not in self.numbers:
            raise ValueError("regions and their numbers do not fit")
        if not self.options.keys() >= OPTIONS or not self.costs.keys() >= COSTS:
            raise ValueError("it does not say how it was made")
        check_schedule(self.schedule, [Object(0, ref.size, HEAP) for ref in self.schedule.guard.objects])
