"""From a loop of a function to its `Nest`: loops, sites, effects, results, and what each of them is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tracecut.ir.llvm import Instruction, Operand
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.debug_info import Lines, Place
from tracecut.ir.llvm.module import GlobalVariable
from tracecut.ir.loops.expressions import Expr, Pool, pointer_roots, walk_all
from tracecut.ir.loops.nest import (
    NOWHERE,
    Carried,
    Edge,
    Exit,
    Nest,
    NestLoop,
    Obstacle,
    ObstacleKind,
    Result,
    Site,
    ValueKind,
)
from tracecut.ir.loops.path_conditions import ALWAYS, Condition, Literal, both

from .find_sites import SiteFinder
from .index_roles import Pairs, exit_tests, piece_pairs, roles, row_lengths
from .linear_forms import Forms
from .live_ins import live_ins, made_at, may_stray
from .reach_conditions import reach_conditions
from .scalar_evolution import ScalarView
from .trip_counts import Ending, ending
from .unrolled_loops import parts_of
from .updates.reductions import Uses, feeds_itself, register_reduction


def describe_nest(
    uses: Uses,
    root: Loop,
    lines: Lines,
    variables: Mapping[str, GlobalVariable],
    own: set[str],
    exits: tuple[Exit, ...] = (),
    *,
    plain_streams: bool = False,
) -> Nest:
    """Analyse `root` of the function of `uses`. `own` names the functions that the module defines.

    `exits`: what is left out. `plain_streams`: whether output to standard streams does nothing but to write.
    """
    return _Builder(uses, root, lines, variables, own, exits, plain_streams).build()


class _Builder:
    def __init__(
        self,
        uses: Uses,
        root: Loop,
        lines: Lines,
        variables: Mapping[str, GlobalVariable],
        own: set[str],
        exits: tuple[Exit, ...],
        plain_streams: bool,
    ) -> None:
        self.view = view = uses.view
        self.root = root
        self.lines = lines
        self.pool = Pool()
        self.taken = exits
        self.scalars = ScalarView(view, root, self.pool, exits)
        self.uses = uses
        self.pairs: Pairs = frozenset()
        self.exits: frozenset[str] = frozenset()
        self.signed: set[str] = set()
        self.sites = SiteFinder(self.scalars, self.uses, lines, variables, own, plain_streams)

    def build(self) -> Nest:
        loops = {}
        sites: list[Site] = []
        reaches: dict[int, dict[str, Condition]] = {}
        for loop in self.view.flow.inside(self.root):
            if loop.header in self.scalars.skipped.blocks:
                continue
            number = self.view.loop_ids[loop]
            reaches[number] = reach_conditions(self.scalars, loop)
            entered = ALWAYS
            if loop is not self.root and loop.parent is not None:
                parent = reaches[self.view.loop_ids[loop.parent]]
                entered = parent.get(loop.preheader or "", None)
            obstacles = self._cycles(loop)
            found = self.sites.find(loop, number, reaches[number], obstacles)
            sites.extend(found)
            loops[number] = self._loop(loop, number, entered, obstacles, reaches[number])
        pieces = piece_pairs(info.trip for info in loops.values())
        lengths = row_lengths(self.uses, sites, self.sites.forms)
        lengths = tuple(pair for pair in lengths if frozenset(pair) not in pieces)
        self.pairs = pieces | {frozenset(pair) for pair in lengths}
        counting = [info.exit for info in loops.values() if info.trip is not None]
        self.exits = exit_tests(self.uses, counting)
        loops = {number: replace(info, counter_data=self._counter_data(info)) for number, info in loops.items()}
        used = [*(site.address for site in sites), *(info.trip for info in loops.values() if info.trip is not None)]
        names = {str(node.data[0]) for node in walk_all(used) if node.kind == "load"}.union(*lengths)
        leaving = exit_tests(self.uses, (*counting, *self.root.exits))  # a job leaves none of its loops by the others
        nest = Nest(
            self.view.function.name,
            self.view.loop_ids[self.root],
            loops,
            tuple(sites),
            {name: self._data_places(name, self.root, leaving) for name in sorted(names)},
            {},
            self._values(loops),
            self.pool,
        )
        lives = nest.lives()
        made = {name: made_at(self.view, self.lines, name) for name in lives}
        loose = frozenset(name for name, type in lives.items() if type == "ptr" and may_stray(self.view, name))
        known = self._stack(dict.fromkeys([*self.uses.told, *lives]) if nest.pointers[1] else lives)
        stack = {**self._lent(lives, sites), **known}
        lent = _lent_behind(sites, self.sites.forms)
        signed = frozenset(self.signed)
        nest = replace(nest, stack=stack, made=made, loose=loose, exits=self.taken)
        return replace(nest, lent=lent, signed=signed, lengths=lengths)

    def _cycles(self, loop: Loop) -> list[Obstacle]:
        """Cycles in a loop, and in none inside of it, that are no loops: entered in several places by gotos."""
        flow = self.view.flow
        return [
            self.sites.obstacle(ObstacleKind.UNKNOWN, "a jump into the middle of a loop", flow.blocks[name].terminator)
            for name in sorted(loop.blocks, key=flow.rank)
            for target in flow.successors[name]
            if target in loop.blocks and flow.rank(target) <= flow.rank(name) and not flow.dominates(target, name)
            if not any({name, target} <= child.blocks for child in loop.children)
        ]

    def _values(self, loops: Mapping[int, NestLoop]) -> dict[str, Expr]:
        """Values that the countable inner loops use, as far as the root does not hand them in itself."""
        found = {}
        for number, info in loops.items():
            if info.trip is None or number == self.view.loop_ids[self.root]:
                continue
            for name, type in live_ins(self.view, self.view.loops[number]):
                if not self.scalars.is_invariant(name) and (type == "ptr" or type in ("i64", "i32", "i16", "i8")):
                    found[name] = self.scalars.value(name, type)
        return found

    def _counter_data(self, info: NestLoop) -> tuple[Place, ...]:
        loop = self.view.loops[info.id]
        counters = [carried.name for carried in info.carried if carried.kind is ValueKind.COUNTER]
        return tuple(place for name in counters for place in self._data_places(name, loop, self.exits))

    def _data_places(self, name: str, within: Loop, exits: frozenset[str]) -> tuple[Place, ...]:
        found = roles(self.uses, name, within.blocks, exits, self.pairs)
        if found.signs:
            self.signed.add(name)
        return tuple(self._place(instruction) or NOWHERE for instruction in found.data)

    def _stack(self, lives: Iterable[str]) -> dict[str, int]:
        """Stack arrays of a fixed size among the live values, and what lies behind addresses of their members."""
        found = {}
        for name in lives:
            made, skipped = self.view.definitions.get(name), 0
            while made is not None and (ahead := _bytes_ahead(made.instruction)) is not None:
                skipped += ahead
                made = self.view.definitions.get(made.instruction.operands[0].text)
            if made is not None and made.instruction.op == "alloca" and not made.instruction.operands:
                size = self._allocated(made.instruction.word) - skipped
                if size > 0 or not skipped:
                    found[name] = size
        return found

    def _lent(self, lives: Mapping[str, str], sites: list[Site]) -> dict[str, int]:
        """Bytes of what pointers from elsewhere lead to, and of members of it, where only fixed places are reached from
        there: `double *norm`, `a->rows`.

        Where a caller has such a variable on its stack, nothing else than this is known of it.
        """
        found = {name: 0 for name, type in lives.items() if type == "ptr" and not name.startswith("@")}
        for site in sites:
            form = self.sites.forms.of(site.address)
            for atom, factor in form.terms.items():
                for name in [str(node.data[0]) for node in pointer_roots(atom) if node.kind == "live"]:
                    alone = len(form.terms) == factor == 1 and atom.kind == "live" and site.length is None
                    if name in found and alone and form.const >= 0:
                        found[name] = max(found[name], form.const + site.size)
                    else:
                        found.pop(name, None)
        return {name: size for name, size in found.items() if size}

    def _allocated(self, type: str) -> int:
        try:
            return self.view.types.size(type)
        except ValueError:
            return 0

    def _loop(
        self, loop: Loop, number: int, entered: Condition, obstacles: list[Obstacle], reach: Mapping[str, Condition]
    ) -> NestLoop:
        end = ending(self.scalars, loop)
        header = self.view.flow.blocks[loop.header]
        carried = tuple(self._carried(phi, loop) for phi in header.phis)
        return NestLoop(
            id=number,
            parent=self.view.loop_ids[loop.parent] if loop is not self.root and loop.parent else None,
            header=loop.header,
            depth=loop.depth,
            place=self._loop_place(loop),
            trip=end.trip,
            why=end.why,
            reach=entered,
            obstacles=tuple(obstacles),
            carried=carried,
            results=tuple(self._results(loop, carried, end.edge if end.edge[0] else None)),
            instructions=sum(len(self.view.flow.blocks[name].instructions) for name in self.view.own_blocks(loop)),
            exit=end.edge,
            early=tuple((edge, self._taken(loop, edge, holds, reach)) for edge, holds in end.early),
            through=tuple(self.view.loop_ids[inner] for inner in end.through),
            left=self._left(loop, end) if end.why else (),
            parts=parts_of(self.scalars, loop, carried) if end.trip is not None else {},
        )

    def _left(self, loop: Loop, end: Ending) -> tuple[Place, ...]:
        """Where a loop is left, but for its trip count; its own line only where there is no other."""
        edges = [edge for edge in loop.exits if edge != end.edge] if end.trip is not None else list(loop.exits)
        edges += [edge for edge, _ in end.early if edge == end.edge]
        here = self._loop_place(loop)
        found = {place: None for edge in edges if (place := self._end_place(edge[0])) is not None and place.line}
        others = [place for place in found if (place.own.file, place.own.line) != (here.own.file, here.own.line)]
        return tuple(sorted(others or found, key=lambda place: (place.own.file, place.own.line)))

    def _end_place(self, name: str) -> Place | None:
        """The line on which a block decides where to go."""
        instructions = self.view.flow.blocks[name].instructions
        found = (self._place(item) for item in reversed(instructions))
        return next((place for place in found if place is not None and place.line), None)

    def _taken(self, loop: Loop, edge: Edge, holds: tuple[Literal, ...], reach: Mapping[str, Condition]) -> Condition:
        """When an exit is taken: its block runs, or the inner loop that it leaves, and some conditions hold."""
        start = self.view.innermost(edge[0])
        taken = reach.get(edge[0] if start is None or start is loop else start.preheader or "")
        for literal in holds:
            taken = both(taken, literal)
        return taken

    def _carried(self, phi: Instruction, loop: Loop) -> Carried:
        kind, operator = ValueKind.OTHER, ""
        value = self.scalars.value(str(phi.result), phi.type)
        if value.kind not in ("any", "state", "opaque"):
            # One of two constants in turn, say, is known, but no range function could start in the middle.
            if self.scalars.increment(phi, loop) is not None:
                kind = ValueKind.COUNTER
        else:
            found = register_reduction(self.uses, phi, loop)
            if found is not None:
                kind, operator = ValueKind.REDUCTION, found
            elif not feeds_itself(self.uses, phi, loop):
                kind = ValueKind.DELAYED
        return Carried(
            str(phi.result),
            phi.type,
            kind,
            operator,
            self._place(phi) or self.lines.loop_place(self.view.flow, loop) or NOWHERE,
        )

    def _results(self, loop: Loop, carried: tuple[Carried, ...], counted: Edge | None) -> list[Result]:
        """What is left behind at the exit that counts; where none does, at any."""
        found = []
        kinds = {info.name: info.kind for info in carried}
        latches = {}
        for phi in self.view.flow.blocks[loop.header].phis:
            for operand, label in zip(phi.operands, phi.labels, strict=True):
                if label in loop.blocks:
                    latches[operand.text] = kinds[str(phi.result)]
        edges = loop.exits if counted is None else (counted,)
        for _, target in dict.fromkeys(edges):
            for phi in self.view.flow.blocks[target].phis:
                for operand, label in zip(phi.operands, phi.labels, strict=True):
                    if label not in loop.blocks or (counted is not None and label != counted[0]):
                        continue
                    kind = self._result_kind(operand, loop, kinds, latches, counted)
                    found.append(Result(str(phi.result), operand.text, phi.type, kind))
        return found

    def _result_kind(
        self,
        operand: Operand,
        loop: Loop,
        kinds: Mapping[str, ValueKind],
        latches: Mapping[str, ValueKind],
        counted: Edge | None,
    ) -> ValueKind:
        definition = self.view.definitions.get(operand.text)
        if definition is None or definition.block not in loop.blocks:
            return ValueKind.INVARIANT
        after = counted is not None and counted[0] == loop.latches[0]
        if operand.text in latches:
            return latches[operand.text] if after else ValueKind.OTHER
        kind = kinds.get(operand.text, ValueKind.OTHER)
        # Left from the latch, a phi still holds what was there before the last iteration.
        return ValueKind.OTHER if kind is ValueKind.REDUCTION and after else kind

    def _place(self, instruction: Instruction) -> Place | None:
        return self.lines.place(instruction.meta.get("dbg"))

    def _loop_place(self, loop: Loop) -> Place:
        return self.lines.loop_place(self.view.flow, loop) or NOWHERE


VARYING = ("counter", "opaque", "any", "state", "choice")


def _lent_behind(sites: Iterable[Site], forms: Forms) -> tuple[tuple[Expr, int], ...]:
    """Bytes behind pointers that are loaded from one place, where only fixed places are reached from there.

    `this->problem->rows`: the problem may be on the stack of any caller, as what parameters point to (`_lent`).
    """
    found: dict[Expr, int] = {}
    roams: set[Expr] = set()
    for site in sites:
        form = forms.of(site.address)
        for atom, factor in form.terms.items():
            for node in pointer_roots(atom):
                if (
                    node.kind != "load"
                    or node.data[1] != "ptr"
                    or node.has("counter", "opaque", "any", "state", "choice")
                ):
                    continue
                if len(form.terms) == factor == 1 and atom is node and site.length is None and form.const >= 0:
                    found[node] = max(found.get(node, 0), form.const + site.size)
                else:
                    roams.add(node)
    return tuple((node, found[node]) for node in sorted(found.keys() - roams, key=lambda node: node.serial))


def _bytes_ahead(made: Instruction) -> int | None:
    """How far an address lies behind the one that it is made of, if that is a fixed number of bytes."""
    if made.op != "getelementptr" or made.word != "i8" or len(made.operands) != 2:
        return None
    distance = made.operands[1].text
    return int(distance) if distance.isdigit() else None
