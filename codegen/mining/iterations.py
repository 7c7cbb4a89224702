"""What all iterations share: their options, vectors of nodes, and a step on several threads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.codegen.sparse.row_threads import run_blocks, usable
from tracecut.support.argument_checks import one_of, whole_number
from tracecut.support.arrays import Floats, frozen
from tracecut.support.errors import ArgumentError

from .in_links import Gathered
from .links import Links
from .on_disk.disk_links import DiskLinks

NORMS = {"l1": 0, "l2": 1, "max": 2}  # as in `steps`
NOWHERE = (np.zeros(0, np.uint32), np.zeros(0, np.uint32), None)  # the links of a product that was made already


@dataclass(frozen=True)
class Bounds:
    """When an iteration ends: the norm of a change is below `tol`, or `max_iter` products were made."""

    tol: float
    norm: int
    max_iter: int
    threads: int

    def length(self, sums: Floats) -> Floats:
        """The norm of a change, of each column, from those of its blocks."""
        if self.norm == NORMS["max"]:
            return np.asarray(sums.max(axis=0, initial=0.0))
        total = sums.sum(axis=0)
        return np.asarray(np.sqrt(total) if self.norm == NORMS["l2"] else total)

    def norm_of(self, change: Floats) -> Floats:
        """The norm of each column."""
        return self.length(change * change if self.norm == NORMS["l2"] else np.abs(change))


def check_bounds(tol: float, norm: str, max_iter: int, device: str | Ranks, threads: int | None) -> Bounds:
    """Raises ArgumentError naming the argument, what it is and what was expected."""
    if not isinstance(device, Ranks):
        check_device(device)
    return Bounds(
        positive("tol", tol), NORMS[one_of("norm", norm, tuple(NORMS))], whole_number("max_iter", max_iter, 1),
        usable(threads),
    )  # fmt: skip


def check_device(device: object) -> None:
    """Raises ArgumentError unless the steps run on this machine's CPUs."""
    if device != "cpu":
        raise ArgumentError(
            f"device is {device!r}, 'cpu' or tracecut.Ranks(…) was expected",
            hint="tracecut.spmv(A, device=…) makes an operator whose products run on a card.",
        )


def positive(name: str, value: float) -> float:
    """A number above 0. Raises ArgumentError."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise ArgumentError(f"{name} is {value!r}, a positive number was expected")
    return float(value)


def probability(name: str, value: float) -> float:
    """A number from 0 to 1. Raises ArgumentError."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ArgumentError(f"{name} is {value!r}, a number from 0 to 1 was expected")
    return float(value)


def distribution(name: str, given: Any, links: Links | DiskLinks) -> Floats:
    """A number for each node, scaled to the sum 1: from a mapping (0 for those it lacks) or an array. New array, (n).

    Raises ArgumentError for unknown nodes, a wrong length, numbers that are negative or not finite, and those that sum
    to 0.
    """
    if isinstance(given, Mapping):
        names = list(given)
        try:
            numbers = np.array([float(given[node]) for node in names])
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(f"{name} holds values that are no numbers") from None
        values = np.zeros(links.size)
        values[places_of(name, names, links)] = numbers
    else:
        values = np.array(frozen(name, given, np.float64))
        names = list(range(values.size)) if links.nodes is None else list(links.nodes)
        numbers = values
        if values.size != links.size:
            raise ArgumentError(f"{name} has {values.size} entries, the graph has {links.size} nodes")
    bad = np.flatnonzero(~((numbers >= 0) & (numbers < np.inf)))
    if bad.size:
        where = f"{name}[{names[bad[0]]!r}]"
        raise ArgumentError(f"{where} = {numbers[bad[0]]}, a finite number of at least 0 was expected")
    largest = values.max(initial=0.0)
    if not largest:
        raise ArgumentError(f"{name} sums to 0, which cannot be scaled to 1", hint="Give some node a share of it.")
    shares = values / largest  # whose sum no float64 is too small for
    return np.asarray(shares / shares.sum())


def places_of(name: str, nodes: list[Any], links: Links | DiskLinks) -> npt.NDArray[np.int64]:
    """The numbers of nodes. Raises ArgumentError for one that is not in the graph."""
    if links.nodes is None:
        for node in nodes:
            if not isinstance(node, int | np.integer) or isinstance(node, bool) or not 0 <= node < links.size:
                raise ArgumentError(f"{name} names {node!r}, which is not in the graph: 0 to {links.size - 1} are")
        return np.array(nodes, np.int64)
    places = {node: i for i, node in enumerate(links.nodes)}
    for node in nodes:
        if not isinstance(node, Hashable) or node not in places:
            raise ArgumentError(f"{name} names {node!r}, which is not in the graph")
    return np.array([places[node] for node in nodes], np.int64)


def inverses(weights: Floats) -> Floats:
    """1 / weight, 0 for 0; the weights of the links of each node. Raises ArgumentError where that is infinite."""
    with np.errstate(over="ignore"):
        found = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
    if found.max(initial=0.0) == np.inf:
        raise ArgumentError(
            f"the weights of a node's links sum to {weights[np.argmax(found)]:.3g} while others reach "
            f"{weights.max():.3g}: no float64 holds what one of them is of the other",
            hint="Leave out links that weigh nothing beside others, or scale all weights.",
        )
    return found


def run_step(step: Callable[..., None], graph: Gathered, threads: int, *arguments: Any) -> None:
    """A kernel of `steps` on all blocks, shared out among threads."""
    run_blocks(lambda first, last: step(first, last, graph.cuts, *arguments), graph.for_threads(threads))


def operator_for(operator: Any, size: int) -> Any:
    """What stands for the graph's matrix, checked. Raises ArgumentError for what has no products or another shape."""
    shape = getattr(operator, "shape", None)
    if shape is None or not hasattr(operator, "T") or not hasattr(operator, "__matmul__"):
        raise ArgumentError(
            f"operator is a {type(operator).__name__}, a scipy LinearOperator was expected",
            hint="scipy.sparse.linalg.aslinearoperator(A) makes one.",
        )
    if tuple(shape) != (size, size):
        raise ArgumentError(f"operator has the shape {tuple(shape)}, the graph has {size} nodes")
    return operator
