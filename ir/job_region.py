"""One loop of a program as jobs."""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.support.arrays import Longs

from .locality_graph import LocalityGraph

DATUM = 8  # bytes of a datum, where nothing else is asked for


@dataclass(frozen=True, eq=False)
class Region:
    """The iterations of one loop, and what they touch.

    Attributes:
        function, header: the loop, by the name of its first block.
        graph: its iterations × the data that they touch, in the order in which each job met them first; `site` is the
            static instruction of that first access, job weights are instructions, data weights bytes.
        runs: int64 (runs + 1), first job of each run of the loop, and the number of jobs.
        unknown: static instructions in it whose effect on memory is not known: the graph lacks what they touch.
    """

    function: str
    header: str
    graph: LocalityGraph
    runs: Longs
    unknown: tuple[int, ...]

    def __repr__(self) -> str:
        where = f"{self.function}:{self.header}"
        return f"<Region {where}: {self.graph.n_jobs} jobs in {self.runs.size - 1} runs, {self.graph.n_data} data>"
