"""Where `tracecut pagerank|hits|rwr|cg` compute: in this process, on ranks that are threads, on ranks of `mpiexec`."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tracecut.support.argument_checks import whole
from tracecut.support.errors import TracecutError, UsageError
from tracecut.support.process.rank_guard import become_rank, started_rank

if TYPE_CHECKING:
    from tracecut.codegen.ranks.mpi import MpiCommunicator

T = TypeVar("T")
SPLITS = ("bitonic", "columns", "grid", "km1", "spac")  # as in `codegen.ranks.split`, which is not loaded for --help
EXCHANGES = ("needed", "allgather")
USAGE = "mpiexec -n N tracecut … starts ranks; --ranks N takes threads in their place."
_RANKS = whole(1, 1 << 16)


@dataclass(frozen=True)
class Place:
    """Where a command computes.

    Attributes:
        device: for the functions. comm: the ranks of `mpiexec`, if any.
    """

    device: Any = "cpu"
    comm: MpiCommunicator | None = None

    @property
    def first(self) -> bool:
        """Whether this process reads, writes and prints."""
        return self.comm is None or self.comm.rank == 0

    def read(self, work: Callable[[], T]) -> T | None:
        """`work` on the first rank; where it fails, all fail."""
        if self.comm is None:
            return work()
        from tracecut.codegen.ranks.communicator import agree

        return agree(self.comm, lambda: work() if self.first else None)


def add_rank_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--split", choices=SPLITS, help="how ranks share the matrix (default: bitonic)")
    add("--exchange", choices=EXCHANGES, help="what ranks send: what is needed, or all they have (default: needed)")
    add("--ranks", type=_RANKS.word, metavar="N", help="so many ranks that are threads of this process, without MPI")


def parsed(
    parser: argparse.ArgumentParser, words: list[str], check: Callable[[argparse.Namespace, bool], None]
) -> argparse.Namespace:
    """As `parse_args`; of several ranks, the first one alone reports a wrong command line.

    check: gets the options, and whether there are several ranks; raises UsageError for those that do not fit.
    """
    try:
        options = parser.parse_args(words)
        many = options.ranks is not None or started_rank() is not None
        check(options, many)
        if not many and (options.split or options.exchange):
            name = "--split" if options.split else "--exchange"
            raise UsageError(f"{name}: there is one rank", hint=USAGE)
        if options.ranks is not None and started_rank() is not None:
            raise UsageError(f"--ranks {options.ranks}: mpiexec has started ranks", hint=USAGE)
    except UsageError as error:
        if started_rank():
            raise SystemExit(error.exit_code) from None
        raise
    return options


def on_place(options: argparse.Namespace, work: Callable[[argparse.Namespace, Place], int]) -> int:
    """`work` where the options say. Returns the exit status.

    Of several ranks, the first alone reports an error that all have or hear of. One that a single rank has, in the
    midst of the iteration, is reported by it and ends all.
    """
    number = started_rank()
    if options.ranks is not None:
        from tracecut.codegen.ranks.ranks import Ranks

        return work(options, Place(Ranks(_split(options), _exchange(options), options.ranks)))
    if number is None:
        return work(options, Place())
    comm = None
    try:
        from tracecut.codegen.ranks.mpi import MpiCommunicator
        from tracecut.codegen.ranks.ranks import Ranks

        comm = MpiCommunicator()
        return work(options, Place(Ranks(_split(options), _exchange(options), comm), comm))
    except TracecutError as error:
        if number:
            return error.exit_code
        raise
    except Exception as error:
        if comm is None or (isinstance(error, OSError) and not number):  # what is left to do is to print
            raise
        if os.environ.get("TRACECUT_DEBUG"):
            traceback.print_exc()
        said = "not enough memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"
        print(f"tracecut: rank {number}: {said}; all ranks end", file=sys.stderr, flush=True)
        comm.end_all(1)


def begin_rank() -> None:
    """Lets a child go on as the rank, if `mpiexec` started this process."""
    number = started_rank()
    if number is not None:
        become_rank(number)


def _split(options: argparse.Namespace) -> str:
    return options.split or SPLITS[0]


def _exchange(options: argparse.Namespace) -> str:
    return options.exchange or EXCHANGES[0]
