"""The device of several ranks: how a matrix is split, what is exchanged, and which ranks take part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tracecut.codegen.sparse.row_threads import usable
from tracecut.support.argument_checks import MAX_SEED, one_of, whole_number
from tracecut.support.errors import ArgumentError

from .communicator import Communicator
from .in_process import run_threads
from .mpi import MpiCommunicator
from .simple_splits import bitonic, columns, grid
from .split import EXCHANGES, MOST, SPLITS, Entries, Split

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """Several ranks as the `device` of `tracecut.pagerank`, `hits`, `rwr` and `cg`.

    All ranks make the call, with the same arguments; the graph, or the matrix and vectors, are taken from the first
    rank, and the others may give None. Each rank gets the whole result; names of nodes are known to the first alone.

    Attributes:
        split: "bitonic": rows dealt out by length (TileSpMV §3.2). "columns": contiguous columns. "grid": blocks of a
            grid of ranks. "km1": rows by a partition of the hypergraph of columns. "spac": entries by an edge
            partition. A row of the matrix holds the links into a node.
        exchange: "needed": ranks send each other the entries that are multiplied, while they multiply with their own.
            "allgather": each rank sends all that it owns, as the seed does.
        comm: a communicator of mpi4py; None: COMM_WORLD. A number: so many threads of this process in place of ranks,
            without MPI.
        seed: of the partitioners.

    Raises ArgumentError, naming the argument; ToolchainError, when it is used, where MPI is missing.
    """

    split: str = "bitonic"
    exchange: str = "needed"
    comm: Any = None
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("split", self.split, SPLITS)
        one_of("exchange", self.exchange, EXCHANGES)
        whole_number("seed", self.seed, 0, MAX_SEED)
        if isinstance(self.comm, bool | float | str):
            raise ArgumentError(f"comm is {self.comm!r}, a communicator of mpi4py or a number of ranks was expected")
        if isinstance(self.comm, int):
            whole_number("comm", self.comm, 1, MOST)

    def run(self, work: Callable[[Communicator], T]) -> T:
        """`work` on each rank; its result, of threads that of the first."""
        if isinstance(self.comm, int):
            return run_threads(self.comm, work)
        if hasattr(self.comm, "rows"):  # one of this package's own
            return work(self.comm)
        own = MpiCommunicator(self.comm)
        found = work(own)
        own.free()  # not after an error, which other ranks may not have had
        return found

    def threads(self, comm: Communicator, given: int | None) -> int:
        """Threads of a rank: what was asked for, else the cores of this machine by the ranks on it."""
        return usable(given) if given is not None else max(1, usable(None) // comm.beside)

    def make_split(self, matrix: Entries, ranks: int) -> Split:
        """The split of a matrix."""
        simple = {"bitonic": bitonic, "columns": columns, "grid": grid}
        if self.split in simple:
            return simple[self.split](matrix, ranks)
        from .partitioned_splits import km1, spac

        return (km1 if self.split == "km1" else spac)(matrix, ranks, self.seed)
