"""What a kernel's accesses cost on a GPU, as the memory model counted it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Longs, frozen
from tracecut.support.dataclass_json import from_json, to_json
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import read_arrays, write_arrays

from .description import SECTOR
from .occupancy import Occupancy
from .roofline import PARTS, bound, together
from .sites import ATOMIC, GLOBAL, LOAD, Sites

COLUMNS = ("requests", "accesses", "sectors", "lines", "wavefronts", "conflicts", "l1_found", "l2_asked", "l2_found")
_SITE_COLUMNS = ("space", "kind", "bytes", "hint")


@dataclass(frozen=True, eq=False)
class MemoryReport:
    """Counts and time of one launch.

    Attributes:
        gpu: name of the GPU.
        sites: the memory instructions.
        counts: int64 (sites, 9), in the order of COLUMNS: requests of warps; accesses of lanes; sectors of 32 bytes and
            lines of 128 in these requests; wavefronts of L1 or shared memory, and conflicts among the latter; sectors
            that L1 had; sectors that the L2 was asked for, and those that it had.
        hbm_read, hbm_written: sectors from and to memory; what is changed in the L2 in the end counts as written.
        occupancy: blocks that reside on a multiprocessor.
        seconds: float64 (6), of HBM, bytes and requests of the L2, L1 and shared memory, issue, latency.
        overlap: how well these hide behind each other.
        launch: seconds before a kernel begins.
        warps: that were counted.
    """

    gpu: str
    sites: Sites
    counts: Longs
    hbm_read: int
    hbm_written: int
    occupancy: Occupancy
    seconds: tuple[float, ...]
    overlap: float
    launch: float
    warps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", frozen("counts", self.counts, np.int64, ndim=2))
        self.verify()

    def verify(self) -> None:
        """Raises ArgumentError, which names the count, unless the counts fit to each other and to the sites."""
        if self.counts.shape != (len(self.sites), len(COLUMNS)):
            raise ArgumentError(f"counts have the shape {self.counts.shape}, {len(self.sites)} sites were expected")
        if self.counts.min(initial=0) < 0:
            raise ArgumentError("a count is negative")
        for low, high, factor in (
            ("requests", "accesses", 1),
            ("lines", "sectors", 1),
            ("conflicts", "wavefronts", 1),
            ("sectors", "lines", 4),
            ("l1_found", "sectors", 1),
            ("l2_asked", "sectors", 1),
            ("l2_found", "l2_asked", 1),
        ):
            wrong = np.flatnonzero(self._column(low) > factor * self._column(high))
            if wrong.size:
                raise ArgumentError(f"site {wrong[0]} has more {low} than its {high} allow")
        for name in ("hbm_read", "hbm_written", "overlap", "launch", "warps"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ArgumentError(f"{name} = {getattr(self, name)}, at least 0 was expected")
        if len(self.seconds) != len(PARTS) or not all(0 <= part < float("inf") for part in self.seconds):
            raise ArgumentError(f"seconds = {self.seconds}, {len(PARTS)} finite numbers of at least 0 were expected")

    def _column(self, name: str) -> Longs:
        return self.counts[:, COLUMNS.index(name)]

    @property
    def requests_by_site(self) -> Longs:
        """Requests of warps, int64 (sites)."""
        return self._column("requests")

    @property
    def sectors_by_site(self) -> Longs:
        """Sectors in these requests, int64 (sites); 0 in shared memory."""
        return self._column("sectors")

    @property
    def sectors_per_request_by_site(self) -> npt.NDArray[np.float64]:
        """Sectors of a request, float64 (sites); 0 where there was none."""
        return self.sectors_by_site / np.maximum(self.requests_by_site, 1)

    @property
    def bank_conflicts_by_site(self) -> Longs:
        """Wavefronts of shared memory beyond the least, int64 (sites)."""
        return self._column("conflicts")

    @property
    def l2_bytes_by_site(self) -> Longs:
        """Bytes between multiprocessors and L2, or memory where there is no L2, int64 (sites); atomic ones twice."""
        return SECTOR * self._column("l2_asked") * np.where(self.sites.kind == ATOMIC, 2, 1)

    @property
    def requests(self) -> int:
        """Requests to global memory."""
        return int(self.requests_by_site[self.sites.space == GLOBAL].sum())

    @property
    def sectors(self) -> int:
        return int(self.sectors_by_site.sum())

    @property
    def sectors_per_request(self) -> float:
        """Of global memory; 0 without any request."""
        return self.sectors / max(self.requests, 1)

    @property
    def bank_conflicts(self) -> int:
        return int(self.bank_conflicts_by_site.sum())

    @property
    def l1_bytes(self) -> int:
        """Bytes of sectors that loads of global memory asked for."""
        return SECTOR * int(self.sectors_by_site[(self.sites.kind == LOAD)].sum())

    @property
    def l2_bytes(self) -> int:
        return int(self.l2_bytes_by_site.sum())

    @property
    def hbm_bytes(self) -> int:
        return SECTOR * (self.hbm_read + self.hbm_written)

    @property
    def bound(self) -> str:
        """What takes longest: one of PARTS, or launch."""
        return bound(self.seconds, self.launch)

    @property
    def time(self) -> float:
        """Seconds."""
        return together(self.seconds, self.overlap) + self.launch

    @property
    def busy(self) -> float:
        """Seconds if there were always warps that need not wait."""
        parts = dict(zip(PARTS, self.seconds, strict=True)) | {"latency": 0.0}
        return together(tuple(parts.values()), self.overlap) + self.launch

    def save(self, path: str | os.PathLike[str]) -> Path:
        columns = {name: getattr(self.sites, name) for name in _SITE_COLUMNS}
        names = ("gpu", "hbm_read", "hbm_written", "occupancy", "seconds", "overlap", "launch", "warps")
        meta = {name: to_json(getattr(self, name)) for name in names}
        return write_arrays(
            path, "MemoryReport", {"counts": self.counts, **columns}, {**meta, "where": list(self.sites.where)}
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MemoryReport:
        """Read a file of `save`. Raises ArtefactError, which names the path."""
        dtypes = {"counts": "int64", **dict.fromkeys(_SITE_COLUMNS, "uint8")}
        arrays, meta = read_arrays(path, "MemoryReport", dtypes)
        try:
            where = from_json(tuple[str, ...], meta["where"])
            space, kind, size, hint = (arrays[name] for name in _SITE_COLUMNS)
            sites = Sites(space, kind, size, hint, where)
            return cls(
                gpu=from_json(str, meta["gpu"]),
                sites=sites,
                counts=arrays["counts"],
                hbm_read=from_json(int, meta["hbm_read"]),
                hbm_written=from_json(int, meta["hbm_written"]),
                occupancy=from_json(Occupancy, meta["occupancy"]),
                seconds=from_json(tuple[float, ...], meta["seconds"]),
                overlap=from_json(float, meta["overlap"]),
                launch=from_json(float, meta["launch"]),
                warps=from_json(int, meta["warps"]),
            )
        except (ArgumentError, KeyError) as error:
            raise ArtefactError(f"{path}: {error}") from error

    def table(self) -> str:
        """A line for each site, in the order of the sites."""
        head = f"{'requests':>12} {'sectors':>12} {'a request':>9} {'conflicts':>9} {'L2 bytes':>12}  site"
        rows = [head]
        for site in range(len(self.sites)):
            rows.append(
                f"{self.requests_by_site[site]:>12} {self.sectors_by_site[site]:>12} "
                f"{self.sectors_per_request_by_site[site]:>9.2f} {self.bank_conflicts_by_site[site]:>9} "
                f"{self.l2_bytes_by_site[site]:>12}  {self.sites.words(site)}"
            )
        return "\n".join(rows)

    def summary(self) -> dict[str, Any]:
        """Plain values for a manifest."""
        names = ("requests", "sectors", "sectors_per_request", "l1_bytes", "l2_bytes", "hbm_bytes", "bank_conflicts")
        found = {name: getattr(self, name) for name in (*names, "time", "bound", "gpu")}
        return {**found, "seconds": dict(zip(PARTS, self.seconds, strict=True)), "launch": self.launch}

    def __repr__(self) -> str:
        return (
            f"<MemoryReport {self.gpu}: {self.time * 1e6:.3g} us, bound by {self.bound}; "
            f"{self.sectors_per_request:.2f} sectors a request, L2 {self.l2_bytes:.4g} B, HBM {self.hbm_bytes:.4g} B>"
        )
