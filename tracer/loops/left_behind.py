"""What inner loops leave behind: numbers of the iterations in which they are left, and by which exit.

`for (k = row[u]; k < row[u + 1]; k++) if (col[k] == v) { a[k] += x; break; }`: the place in `a` is that of the
iteration which the search ends with. A run tells which one that is, and by which of its exits the loop is left (`Expr`
of the kind `left`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.expressions import Expr, Pool, rewritten
from tracecut.ir.loops.nest import Edge


class LeftBehind:
    """Values that the loops inside of `root`, one loop of the function, leave behind.

    `left_out`: blocks that the analysis does not look at; of loops in them nothing is known.
    """

    def __init__(self, view: FunctionView, root: Loop, pool: Pool, left_out: Collection[str] = ()) -> None:
        self.view, self.root, self.pool, self.left_out = view, root, pool, left_out

    def by(self, loop: Loop, edge: Edge) -> Expr | None:
        """Whether a loop is left by an edge, in each iteration of the loop around it; None where it is not inside."""
        if loop is self.root or loop.parent is None or not self._is_inside(loop):
            return None
        return self.pool.left(self.view.loop_ids[loop], self.view.loop_ids[loop.parent], edge)

    def at_the_end(self, value: Expr, labels: Sequence[str], block: str) -> Expr:
        """A value in `block`, which is entered from the blocks `labels`, by the iteration in which their loop is left.

        Itself where they are not of one inner loop. O(nodes).
        """
        loops = {self.view.flow.innermost(label) for label in labels}
        loop = loops.pop() if len(loops) == 1 else None
        around = None if loop is None else self._around(loop, block)
        if loop is None or around is None:
            return value
        number = self.view.loop_ids[loop]
        counter, last = self.pool.counter(number), self.pool.left(number, around)
        return rewritten(value, self.pool, lambda node, _: last if node is counter else None)

    def chosen(self, labels: Sequence[str], values: Sequence[Expr], block: str) -> Expr | None:
        """The value of a phi by the exits through which its block is reached; None where no loop is left to there.

        Of two exits that lead there, one is taken at most. What comes in another way than by an exit is not decided.
        """
        taken = [self._exit_into(label, block) for label in labels]
        if not any(taken):
            return None
        ways = list(zip(taken, values, strict=True))
        others = [value for by, value in ways if by is None]
        found = self.pool.any_of(others) if others else ways.pop()[1]
        for by, value in reversed(ways):
            if by is not None and value is not found:
                found = self.pool.make("choice", (), (by, value, found))
        return found

    def _exit_into(self, label: str, block: str) -> Expr | None:
        """Whether a block is entered from its predecessor `label` by an exit of a loop: from there, or by a block that
        only leads on."""
        flow, edge = self.view.flow, (label, block)
        if flow.innermost(label) is flow.innermost(block) and len(flow.predecessors[label]) == 1:
            (before,) = flow.predecessors[label]
            edge = (before, label) if len(flow.successors[label]) == 1 else edge
        loop = flow.innermost(edge[0])
        return None if loop is None or self._around(loop, block) is None else self.by(loop, edge)

    def _around(self, loop: Loop, block: str) -> int | None:
        """Number of the loop around an inner loop, if that is the innermost one of a block."""
        around = self.view.flow.innermost(block)
        if around is None or loop.parent is not around or not self._is_inside(loop):
            return None
        return self.view.loop_ids[around]

    def _is_inside(self, loop: Loop) -> bool:
        return loop.blocks <= self.root.blocks and loop.header not in self.left_out
