"""The program under analysis: its canonical module, and a description of every loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tracecut.ir.llvm import Module
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.debug_info import Lines, Place
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.stream_output import may_ask_to_throw, may_do_more
from tracecut.ir.loops.indirect import is_indirect
from tracecut.ir.loops.nest import Nest

from .build_nest import describe_nest
from .exits import exits_at
from .flatten_rows import RowTable, flatten_rows
from .updates.reductions import Uses


@dataclass(frozen=True)
class LoopRecord:
    """One loop of the program. `id` is unique in the program; `indirect`: some address in it is a loaded index."""

    id: int
    function: str
    place: Place
    parent: int | None
    depth: int
    indirect: bool


class Analysis:
    """Everything that is known of a canonical module without running it.

    Args:
        module: the canonical module. It is not to be edited from here on; what instruments and weaves takes a copy.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines = Lines(self.module.metadata())
        self.variables = self.module.globals
        self.types = self.module.types()
        self.own = set(self.module.functions)
        more = may_do_more({*self.variables, *self.module.declarations}) or may_ask_to_throw(module)
        self.plain_streams = not more
        self.views: dict[str, FunctionView] = {}
        self._holding: list[FunctionView] = []  # of each loop
        self._uses: dict[str, Uses] = {}
        self._nests: dict[tuple[int, tuple[str, ...]], Nest] = {}
        self._flattened: dict[object, tuple[Analysis, tuple[RowTable, ...]]] = {}
        first = 0
        for name, function in self.module.functions.items():
            view = FunctionView(function, self.types, first)
            self.views[name] = view
            self._holding += [view] * len(view.loops)
            first += len(view.loops)
        self.n_loops = first

    def view_of(self, loop: int) -> FunctionView:
        """The function that holds a loop."""
        if not 0 <= loop < self.n_loops:
            raise KeyError(loop)
        return self._holding[loop]

    def loop(self, number: int) -> Loop:
        return self.view_of(number).loops[number]

    def nest(self, loop: int, exits: tuple[str, ...] = ()) -> Nest:
        """Description of a loop and everything in it, relative to itself; without the exits at these blocks."""
        if (loop, exits) not in self._nests:
            view, root = self.view_of(loop), self.loop(loop)
            found = exits_at(view, self._uses_of(view).of, root, exits)
            self._nests[loop, exits] = describe_nest(
                self._uses_of(view), root, self.lines, self.variables, self.own, found, plain_streams=self.plain_streams
            )
        return self._nests[loop, exits]

    def _uses_of(self, view: FunctionView) -> Uses:
        name = view.function.name
        if name not in self._uses:
            self._uses[name] = Uses(view)
        return self._uses[name]

    def parent(self, loop: int) -> int | None:
        view = self.view_of(loop)
        above = view.loops[loop].parent
        return None if above is None else view.loop_ids[above]

    def flattened(
        self,
        functions: frozenset[str],
        units: Mapping[str, int] | None = None,
        together: frozenset[frozenset[str]] = frozenset(),
        unused: frozenset[str] = frozenset(),
    ) -> tuple[Analysis, tuple[RowTable, ...]]:
        """The same loops, with rows behind pointers of some functions as rows of one array; and the tables of these.

        It is this program where there are none. `units`, `together`, `unused`: as of `flatten_rows`.
        """
        key = functions, frozenset((units or {}).items()), together, unused
        if key not in self._flattened:
            views = (self.views[name] for name in sorted(functions))
            pairs = ((view, [self.nest(n) for n, loop in view.loops.items() if loop.parent is None]) for view in views)
            module, tables = flatten_rows(self.module, pairs, units, together, unused)
            self._flattened[key] = (Analysis(module), tables) if tables else (self, ())
        return self._flattened[key]

    @cached_property
    def records(self) -> list[LoopRecord]:
        """All loops of the program."""
        found = []
        for view in self.views.values():
            for number, loop in view.loops.items():
                if loop.parent is None:
                    found.extend(self._records(view, number))
        return sorted(found, key=lambda record: record.id)

    def _records(self, view: FunctionView, root: int) -> list[LoopRecord]:
        nest = self.nest(root)
        found = []
        for number, info in nest.loops.items():
            indirect = is_indirect(nest, number)
            found.append(LoopRecord(number, view.function.name, info.place, self.parent(number), info.depth, indirect))
        return found
