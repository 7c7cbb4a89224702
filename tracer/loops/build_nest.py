"""From a loop of a function to its `Nest`: loops, sites, effects, results, and what each of them is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tracecut.ir.llvm import Instruction, Operand
from tracecut.ir.llvm.call_effects import effect_of
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.debug_info import Lines, Place
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.module import GlobalVariable
from tracecut.ir.loops.expressions import Expr, Pool, pointer_roots
from tracecut.ir.loops.nest import NOWHERE, Carried, Edge, Nest, NestLoop, Obstacle, Result, Site
from tracecut.ir.loops.path_conditions import ALWAYS, Condition, Literal, both

from .array_lifetimes import birthplace
from .index_roles import Pairs, exit_tests, piece_pairs, roles
from .live_ins import live_ins, made_at
from .reach_conditions import reach_conditions
from .reductions import MemoryReduction, Uses, feeds_itself, guarded_reduction, memory_reduction, register_reduction
from .scalar_evolution import ScalarView
from .trip_counts import ending


def _walk_outside(expr: Expr, inside: set[Expr]) -> list[Expr]:
    """Nodes of an expression; what lies below those of `inside`, and these themselves, left out."""
    found: dict[Expr, None] = {}
    stack = [expr]
    while stack:
        node = stack.pop()
        if node not in found and node not in inside:
            found[node] = None
            stack.extend(node.args)
    return list(found)


def describe_nest(
    view: FunctionView, root: Loop, lines: Lines, variables: Mapping[str, GlobalVariable], own: set[str]
) -> Nest:
    """Analyse `root` of a function. `own` names the functions that the module defines."""
    return _Builder(view, root, lines, variables, own).build()


class _Builder:
    def __init__(
        self, view: FunctionView, root: Loop, lines: Lines, variables: Mapping[str, GlobalVariable], own: set[str]
    ) -> None:
        self.view = view
        self.root = root
        self.lines = lines
        self.variables = variables
        self.own = own
        self.pool = Pool()
        self.scalars = ScalarView(view, root, self.pool)
        self.uses = Uses(view)
        self.pairs: Pairs = frozenset()
        self.exits: frozenset[str] = frozenset()
        self.births: dict[str, int | None] = {}

    def build(self) -> Nest:
        loops = {}
        sites: list[Site] = []
        reaches: dict[int, dict[str, Condition]] = {}
        for loop in self.view.flow.inside(self.root):
            number = self.view.loop_ids[loop]
            reaches[number] = reach_conditions(self.scalars, loop)
            entered = ALWAYS
            if loop is not self.root and loop.parent is not None:
                parent = reaches[self.view.loop_ids[loop.parent]]
                entered = parent.get(loop.preheader or "", None)
            obstacles = self._cycles(loop)
            found = self._accesses(loop, number, reaches[number], obstacles)
            sites.extend(found)
            loops[number] = self._loop(loop, number, entered, obstacles, reaches[number])
        self.pairs = piece_pairs(info.trip for info in loops.values())
        self.exits = exit_tests(self.uses, [info.exit for info in loops.values() if info.trip is not None])
        loops = {number: replace(info, counter_data=self._counter_data(info)) for number, info in loops.items()}
        names = {node.data[0] for site in sites for node in site.address.walk() if node.kind == "load"}
        trips = [info.trip for info in loops.values() if info.trip is not None]
        names |= {node.data[0] for trip in trips for node in trip.walk() if node.kind == "load"}
        nest = Nest(
            self.view.function.name,
            self.view.loop_ids[self.root],
            loops,
            tuple(sites),
            {name: self._data_places(name, self.root) for name in sorted(names)},
            {},
            self._values(loops),
            self.pool,
        )
        lives = nest.lives()
        made = {name: made_at(self.view, self.lines, name) for name in lives}
        return replace(nest, stack=self._stack(lives), made=made)

    def _cycles(self, loop: Loop) -> list[Obstacle]:
        """Cycles in a loop, and in none inside of it, that are no loops: entered in several places by gotos."""
        flow = self.view.flow
        return [
            self._obstacle("unknown", "a jump into the middle of a loop", flow.blocks[name].terminator)
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
        counters = [carried.name for carried in info.carried if carried.kind == "counter"]
        return tuple(place for name in counters for place in self._data_places(name, loop))

    def _data_places(self, name: str, within: Loop) -> tuple[Place, ...]:
        found = roles(self.uses, name, within.blocks, self.exits, self.pairs)
        return tuple(self._place(instruction) or NOWHERE for instruction in found.data)

    def _stack(self, lives: Mapping[str, str]) -> dict[str, int]:
        """Stack arrays of a fixed size among the live values."""
        found = {}
        for name in lives:
            made = self.view.definitions.get(name)
            if made is not None and made.instruction.op == "alloca" and not made.instruction.operands:
                found[name] = self._allocated(made.instruction.word)
        return found

    def _allocated(self, type: str) -> int:
        try:
            return self.view.types.size(type)
        except ValueError:
            return 0

    def _birthplace(self, address: Expr) -> int | None:
        """The loop in whose body the stack array that an address lies in, whatever else decides, is born and dies."""
        roots = pointer_roots(address)
        name = self.view.origin(str(roots[0].data[0])) if len(roots) == 1 and roots[0].kind == "live" else ""
        if name not in self.view.definitions or self.view.definitions[name].instruction.op != "alloca":
            return None
        if name not in self.births:
            loop = birthplace(self.uses, name)
            self.births[name] = None if loop is None else self.view.loop_ids[loop]
        return self.births[name]

    def _loop(
        self, loop: Loop, number: int, entered: Condition, obstacles: list[Obstacle], reach: Mapping[str, Condition]
    ) -> NestLoop:
        end = ending(self.scalars, loop)
        header = self.view.flow.blocks[loop.header]
        carried = tuple(self._carried(phi, loop) for phi in header.phis)
        own_blocks = [name for name in loop.blocks if self.view.innermost(name) is loop]
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
            instructions=sum(len(self.view.flow.blocks[name].instructions) for name in own_blocks),
            exit=end.edge,
            early=tuple((edge, self._taken(edge, holds, reach)) for edge, holds in end.early),
        )

    def _taken(self, edge: Edge, holds: tuple[Literal, ...], reach: Mapping[str, Condition]) -> Condition:
        """When an exit is taken: its block runs, and some conditions hold."""
        taken = reach.get(edge[0])
        for literal in holds:
            taken = both(taken, literal)
        return taken

    def _carried(self, phi: Instruction, loop: Loop) -> Carried:
        kind, operator = "other", ""
        value = self.scalars.value(str(phi.result), phi.type)
        if value.kind not in ("any", "state", "opaque"):
            # One of two constants in turn, say, is known, but no range function could start in the middle.
            kind = "counter" if self.scalars.increment(phi, loop) is not None else "other"
        else:
            found = register_reduction(self.uses, phi, loop)
            if found is not None:
                kind, operator = "reduction", found
            elif not feeds_itself(self.uses, phi, loop):
                kind = "delayed"
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
        self, operand: Operand, loop: Loop, kinds: dict[str, str], latches: dict[str, str], counted: Edge | None
    ) -> str:
        definition = self.view.definitions.get(operand.text)
        if definition is None or definition.block not in loop.blocks:
            return "invariant"
        after = counted is not None and counted[0] == loop.latches[0]
        if operand.text in latches:
            return latches[operand.text] if after else "other"
        kind = kinds.get(operand.text, "other")
        # Left from the latch, a phi still holds what was there before the last iteration.
        return "other" if kind == "reduction" and after else kind

    def _accesses(self, loop: Loop, number: int, reach: dict[str, Condition], obstacles: list[Obstacle]) -> list[Site]:
        sites: list[Site] = []
        reductions = self._reductions(loop)
        folded = {id(found.load) for _, found in reductions.values()}
        keys = {
            id(item): f"store:{name}:{place}"
            for name in loop.blocks
            for place, item in enumerate(self.view.flow.blocks[name].instructions)
        }
        for name in self.view.flow.order:
            if self.view.innermost(name) is not loop:
                continue
            block = self.view.flow.blocks[name]
            condition = reach.get(name)
            for instruction in block.instructions:
                if instruction.op in ("load", "store"):
                    if not instruction.is_simple_access:
                        obstacles.append(self._obstacle("memory", "a volatile or atomic access", instruction))
                    elif id(instruction) not in folded:
                        # A reduction happens where its load does, which may be in front of a test.
                        head, reduction = reductions.get(id(instruction), (name, None))
                        sites.append(self._access(instruction, number, reach.get(head), keys, reduction))
                elif instruction.op in ("call", "invoke"):
                    sites.extend(self._call(instruction, number, condition, keys, obstacles))
                elif instruction.op in ("atomicrmw", "cmpxchg", "fence"):
                    obstacles.append(self._obstacle("memory", f"an atomic operation ({instruction.op})", instruction))
                elif instruction.op in ("indirectbr", "callbr", "resume", "landingpad", "va_arg"):
                    obstacles.append(self._obstacle("unknown", f"a {instruction.op}", instruction))
        return sites

    def _reductions(self, loop: Loop) -> dict[int, tuple[str, MemoryReduction]]:
        """Store → (block of the load, the reduction that the store closes)."""
        found: dict[int, tuple[str, MemoryReduction]] = {}
        for name in self.view.flow.order:
            block = self.view.flow.blocks[name]
            for instruction in block.instructions if self.view.innermost(name) is loop else ():
                if instruction.op != "store" or not instruction.is_simple_access:
                    continue
                plain = memory_reduction(self.uses, block, instruction)
                made = (name, plain) if plain is not None else guarded_reduction(self.uses, block, instruction)
                if made is not None and self.view.innermost(made[0]) is loop:
                    found[id(instruction)] = made
        return found

    def _access(
        self,
        instruction: Instruction,
        number: int,
        condition: Condition,
        keys: dict[int, str],
        reduction: MemoryReduction | None,
    ) -> Site:
        pointer = instruction.operands[-1]
        type = instruction.type if instruction.op == "load" else instruction.operands[0].type
        kind = "read" if instruction.op == "load" else "write"
        address = self.scalars.operand(pointer)
        return Site(
            key=str(instruction.result) if instruction.op == "load" else keys[id(instruction)],
            kind="reduce" if reduction else kind,
            operator=reduction.operator if reduction else self._stored(instruction, address),
            type=type,
            size=self._size(type),
            address=address,
            length=None,
            loop=number,
            reach=condition,
            place=self._place(instruction) or NOWHERE,
            between=tuple(keys[id(other)] for other in reduction.between) if reduction else (),
            load=str(reduction.load.result) if reduction else "",
            private=self._birthplace(address),
        )

    def _stored(self, instruction: Instruction, address: Expr) -> str:
        """Operator of a store that may come twice: of a constant, or of what the index of its address decides."""
        value = instruction.operands[0]
        if instruction.op != "store" or value.text in ("undef", "poison"):
            return ""
        if not value.text.startswith("%"):
            return f"= {value.text}"
        every = {node for node in address.walk() if node.kind == "load" and node.data[1] != "ptr"}
        indices = every - {inner for node in every for inner in node.args[0].walk()}  # not what an index is loaded by
        loads: dict[str, None] = {}
        for node in _walk_outside(self.scalars.operand(value), indices):
            if node.kind in ("counter", "opaque", "any", "state"):
                return ""
            if node.kind == "load":
                loads[str(node.data[0])] = None
        return f"= {value.text} from {' '.join(loads)}" if indices else ""

    def _call(
        self,
        call: Instruction,
        number: int,
        condition: Condition,
        keys: dict[int, str],
        obstacles: list[Obstacle],
    ) -> list[Site]:
        name = call.word.removeprefix("@")
        if call.word in self.own:
            obstacles.append(self._obstacle("unknown", f"a call to {name}, which could not be inlined", call))
            return []
        effect = effect_of(call)
        if effect.kind == "unknown":
            what = "inline assembly" if call.word == "asm" else f"a call to {name}, whose effects are not known"
            obstacles.append(self._obstacle("unknown", what, call))
            return []
        if effect.kind in ("io", "clock"):
            obstacles.append(self._obstacle(effect.kind, f"a call to {name}", call))
        elif effect.kind in ("allocate", "free"):
            obstacles.append(self._obstacle("memory", f"a call to {name}", call))
            return []
        if name.startswith("llvm.mem") and call.operands[-1].text == "true":
            obstacles.append(self._obstacle("memory", "a volatile access", call))
        if effect.movable:
            return []
        length: Expr = self.pool.opaque("length of what a call touches")
        if effect.kind in ("fill", "copy"):
            length = self.scalars.operand(call.operands[2])
        sites = []
        reads = range(len(call.operands)) if effect.reads is None else effect.reads
        for positions, kind in ((reads, "read"), (effect.writes, "write")):
            for place in positions:
                operand = call.operands[place] if place < len(call.operands) else None
                if operand is None or operand.type != "ptr" or self._is_constant(operand):
                    continue
                key = keys[id(call)].replace("store:", "call:") + f":{place}{kind[0]}"
                address = self.scalars.operand(operand)
                place_of = self._place(call) or NOWHERE
                birth = self._birthplace(address)
                fill = "fill" if effect.kind == "fill" else ""
                sites.append(
                    Site(key, kind, fill, "bytes", 1, address, length, number, condition, place_of, private=birth)
                )
        return sites

    def _is_constant(self, operand: Operand) -> bool:
        found = self.variables.get(operand.text)
        return operand.text == "null" or (found is not None and found.constant)

    def _size(self, type: str) -> int:
        try:
            return self.view.types.stored(type)
        except ValueError:
            return 0

    def _obstacle(self, kind: str, reason: str, instruction: Instruction) -> Obstacle:
        return Obstacle(kind, reason, self._place(instruction) or NOWHERE)

    def _place(self, instruction: Instruction) -> Place | None:
        return self.lines.place(instruction.meta.get("dbg"))

    def _loop_place(self, loop: Loop) -> Place:
        return self.lines.loop_place(self.view.flow, loop) or NOWHERE
