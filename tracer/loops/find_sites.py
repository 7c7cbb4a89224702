"""The memory accesses of a loop: which instructions and calls touch memory, what they do to it, and where."""

from __future__ import annotations

from collections.abc import Mapping

from tracecut.ir.llvm import Block, Instruction, Operand
from tracecut.ir.llvm.call_effects import FILES, effect_of, read_through
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.debug_info import Lines
from tracecut.ir.llvm.demangle import function_name
from tracecut.ir.llvm.module import GlobalVariable
from tracecut.ir.llvm.passes.allocated.allocation_uses import ALLOCATE, Use, uses_of
from tracecut.ir.llvm.stream_output import OUTPUT
from tracecut.ir.llvm.substitute import aligned_to
from tracecut.ir.loops.expressions import Expr, pointer_roots
from tracecut.ir.loops.nest import NOWHERE, Effect, Fill, Obstacle, ObstacleKind, Put, Read, Reduce, Repeat, Site, Write
from tracecut.ir.loops.path_conditions import Condition

from .array_lifetimes import birthplace
from .grown_here import grown_here
from .linear_forms import Forms
from .phi_sources import pointer_sources
from .row_numbers import read_at
from .scalar_evolution import ScalarView
from .updates.reductions import MemoryReduction, Uses
from .updates.repeated_updates import computes, repeated_update


def _walk_outside(expr: Expr, inside: set[Expr]) -> list[Expr]:
    """Nodes of an expression, without those of `inside` and what only they use."""
    found: dict[Expr, None] = {}
    stack = [expr]
    while stack:
        node = stack.pop()
        if node not in found and node not in inside:
            found[node] = None
            stack.extend(node.args)
    return list(found)


class SiteFinder:
    """Finds the accesses of the loops of a nest.

    Args:
        scalars: values relative to the root of the nest.
        variables, own: globals and functions of the module.
        plain_streams: whether output to standard streams does nothing but to write.
    """

    def __init__(
        self,
        scalars: ScalarView,
        uses: Uses,
        lines: Lines,
        variables: Mapping[str, GlobalVariable],
        own: set[str],
        plain_streams: bool = False,
    ) -> None:
        self.scalars = scalars
        self.view = scalars.view
        self.uses = uses
        self.lines = lines
        self.variables = variables
        self.own = own
        self.forms = Forms({})
        self.births: dict[str, int | None] = {}
        self.temporaries: dict[str, Use | None] = {}
        self.plain_streams = plain_streams

    def obstacle(self, kind: ObstacleKind, reason: str, instruction: Instruction) -> Obstacle:
        """An obstacle at an instruction."""
        return Obstacle(kind, reason, self.lines.place(instruction.meta.get("dbg")) or NOWHERE)

    def find(self, loop: Loop, number: int, reach: Mapping[str, Condition], obstacles: list[Obstacle]) -> list[Site]:
        """Accesses whose innermost loop is `loop`; instructions that prevent reordering are added to `obstacles`."""
        sites: list[Site] = []
        reductions = self.uses.reductions(loop)
        folded = {id(found.load) for _, found in reductions.values()}
        keys = self.uses.keys
        for name in self.view.own_blocks(loop):
            if name in self.scalars.skipped.blocks:
                continue
            block = self.view.flow.blocks[name]
            condition = reach.get(name)
            for instruction in block.instructions:
                op = instruction.op
                if op == "load" and self._is_file(instruction):
                    continue
                if op in ("load", "store") and self._in_stream(instruction.operands[-1]):
                    if op == "store":
                        what = "a change of an output stream"
                        obstacles.append(self.obstacle(ObstacleKind.IO, what, instruction))
                elif op in ("load", "store"):
                    if not instruction.is_simple_access:
                        obstacles.append(self.obstacle(ObstacleKind.MEMORY, "a volatile or atomic access", instruction))
                    elif id(instruction) not in folded:
                        # A reduction happens where its load does, which may be in front of a test.
                        head, reduction = reductions.get(id(instruction), (name, None))
                        sites.append(self._access(instruction, number, reach.get(head), keys, block, reduction))
                elif op in ("call", "invoke"):
                    sites.extend(self._call(instruction, number, condition, keys, obstacles))
                elif op in ("atomicrmw", "cmpxchg", "fence"):
                    obstacles.append(self.obstacle(ObstacleKind.MEMORY, f"an atomic operation ({op})", instruction))
                elif op in ("indirectbr", "callbr", "resume", "landingpad", "va_arg"):
                    obstacles.append(self.obstacle(ObstacleKind.UNKNOWN, f"a {op}", instruction))
        return sites

    def _access(
        self,
        instruction: Instruction,
        number: int,
        condition: Condition,
        keys: Mapping[int, str],
        block: Block,
        reduction: MemoryReduction | None,
    ) -> Site:
        pointer = instruction.operands[-1]
        type = instruction.type if instruction.op == "load" else instruction.operands[0].type
        key = str(instruction.result) if instruction.op == "load" else keys[id(instruction)]
        address = read_at(self.scalars.pool, key, self.scalars.operand(pointer))
        grown = grown_here(self.view, self.uses.of, self.scalars.root, pointer, self.scalars.skipped.blocks)
        if grown:  # wherever it lies, and whenever it runs
            address, condition = self.scalars.pool.opaque("memory that the loop allocates"), None
        return Site(
            key=key,
            effect=self._effect(instruction, address, keys, block, reduction),
            type=type,
            size=self._size(type),
            address=address,
            length=None,
            loop=number,
            reach=condition,
            place=self.lines.nearest(block, instruction) or NOWHERE,
            private=self._birthplace(address),
            apart=grown or self._is_apart(pointer),
            align=aligned_to(instruction),
        )

    def _effect(
        self,
        instruction: Instruction,
        address: Expr,
        keys: Mapping[int, str],
        block: Block,
        reduction: MemoryReduction | None,
    ) -> Effect:
        if reduction is not None:
            between = tuple(keys[id(other)] for other in reduction.between)
            return Reduce(reduction.operator, str(reduction.load.result), between)
        if instruction.op == "load":
            return Read()
        return self._repeat(instruction, keys, block) or self._put(instruction.operands[0], address) or Write()

    def _repeat(self, store: Instruction, keys: Mapping[int, str], block: Block) -> Repeat | None:
        found = repeated_update(self.uses, block, store, self.scalars.root)
        if found is None:
            return None
        between = tuple(keys[id(other)] for other in found.between)
        return Repeat(found.function, str(found.load.result), self.view.loop_ids[found.loop], between)

    def _put(self, value: Operand, address: Expr) -> Put | None:
        """Effect of a store whose value is a constant or depends on the index of its address only, else None."""
        if value.text in ("undef", "poison"):
            return None
        if not value.text.startswith("%"):
            return Put(value.text)
        every = {node for node in address.walk() if node.kind == "load" and node.data[1] != "ptr"}
        indices = every - {inner for node in every for inner in node.args[0].walk()}  # not what an index is loaded by
        if not indices:
            return None
        made_of = self._made_of(value)
        walked = {node for part in made_of for node in part.walk()}
        again = {node for node in walked if any(self._reads_the_same(node, index) for index in indices)} - indices
        loads: dict[str, None] = dict.fromkeys(sorted(str(node.data[0]) for node in again))
        for node in (node for part in made_of for node in _walk_outside(part, indices | again)):
            if node.kind in ("counter", "opaque", "any", "state"):
                return None
            if node.kind == "load":
                loads[str(node.data[0])] = None
        return Put(value.text, tuple(loads))

    def _reads_the_same(self, node: Expr, other: Expr) -> bool:
        """Whether two loads read the same number of the same place, if nothing writes there in between."""
        if node.kind != "load" or node.data[1] != other.data[1]:
            return False
        mine, theirs = self.forms.of(node.args[0]), self.forms.of(other.args[0])
        return (mine.const, mine.terms) == (theirs.const, theirs.terms)

    def _made_of(self, value: Operand) -> list[Expr]:
        """Expressions of what a value is computed of, by calls too that depend on nothing but their arguments."""
        found: list[Expr] = []
        stack, seen = [value], {value.text}
        while stack:
            current = stack.pop()
            made = self.view.definitions.get(current.text)
            if made is not None and computes(made.instruction):
                stack += [part for part in made.instruction.operands if part.text not in seen]
                seen |= {part.text for part in made.instruction.operands}
            else:
                found.append(self.scalars.operand(current))
        return found

    def _call(
        self,
        call: Instruction,
        number: int,
        condition: Condition,
        keys: Mapping[int, str],
        obstacles: list[Obstacle],
    ) -> list[Site]:
        name = call.word.removeprefix("@")
        if call.word in self.own:
            obstacles.append(
                self.obstacle(
                    ObstacleKind.UNKNOWN, f"a call to {function_name(name)}, which could not be inlined", call
                )
            )
            return []
        effect = effect_of(call)
        if effect.kind == "unknown" or (name in OUTPUT and not self._in_stream(call.operands[0])):
            what = (
                "inline assembly"
                if call.word == "asm"
                else f"a call to {function_name(name)}, whose effects are not known"
            )
            obstacles.append(self.obstacle(ObstacleKind.UNKNOWN, what, call))
            return []
        if effect.kind in ("io", "clock"):
            obstacles.append(self.obstacle(ObstacleKind(effect.kind), f"a call to {function_name(name)}", call))
        elif effect.kind in ("allocate", "free"):
            kind = ObstacleKind.TEMPORARY if self._is_temporary(call) else ObstacleKind.MEMORY
            obstacles.append(self.obstacle(kind, f"a call to {name}", call))
            return []
        if name.startswith("llvm.mem") and call.operands[-1].text == "true":
            obstacles.append(self.obstacle(ObstacleKind.MEMORY, "a volatile access", call))
        if effect.movable:
            return []
        length: Expr | None = self.scalars.pool.opaque("length of what a call touches")
        if effect.kind in ("fill", "copy"):
            length = self.scalars.operand(call.operands[2])
        elif effect.kind == "store":
            length = None
        type, size = (effect.type, self._size(effect.type)) if effect.type else ("bytes", 1)
        sites = []
        reads = read_through(call, effect)
        written = Fill() if effect.kind == "fill" else Write()
        for positions, does in ((reads, Read()), (effect.writes, written)):
            for place in positions:
                operand = call.operands[place] if place < len(call.operands) else None
                if operand is None or operand.type != "ptr" or self._is_constant(operand):
                    continue
                key = keys[id(call)].replace("store:", "call:") + f":{place}{does.kind[0]}"
                address = self.scalars.operand(operand)
                place_of = self.lines.place(call.meta.get("dbg")) or NOWHERE
                birth = self._birthplace(address)
                apart = self._is_apart(operand)
                sites.append(Site(key, does, type, size, address, length, number, condition, place_of, birth, apart))
        return sites

    def _in_stream(self, pointer: Operand) -> bool:
        return self.plain_streams and self.uses.of_stream(pointer.text)

    def _is_file(self, load: Instruction) -> bool:
        """Whether a variable of the C library for a standard stream is loaded, to be handed to functions."""
        name = load.operands[-1].text
        found = self.variables.get(name)
        handed_on = all(item.op in ("call", "invoke") for _, item in self.uses.of(load.result))
        return name in FILES and found is not None and not found.defined and handed_on

    def _is_constant(self, operand: Operand) -> bool:
        found = self.variables.get(operand.text)
        return operand.text == "null" or (found is not None and found.constant)

    def _birthplace(self, address: Expr) -> int | None:
        """The loop in whose body the stack array that an address lies in, whatever else decides, is born and dies.

        Of several arrays (parts of one, which the compiler has told apart) it is the loop of all of them.
        """
        births = {self._birth(root) for root in pointer_roots(address)}
        return births.pop() if len(births) == 1 else None

    def _birth(self, root: Expr) -> int | None:
        name = self.view.origin(str(root.data[0])) if root.kind == "live" else ""
        if name not in self.view.definitions or self.view.definitions[name].instruction.op != "alloca":
            return None
        if name not in self.births:
            loop = birthplace(self.uses, name)
            self.births[name] = None if loop is None else self.view.loop_ids[loop]
        return self.births[name]

    def _is_apart(self, pointer: Operand) -> bool:
        """Whether a pointer lies in memory that the root itself makes and nothing else reaches, on every way to it."""
        invariant = self.scalars.is_invariant
        for source in pointer_sources(self.view, [pointer], invariant):
            made = self.view.definitions.get(source.text)
            if made is None or invariant(source.text):
                return False
            if made.instruction.op != "alloca" and not self._is_temporary(made.instruction):
                return False
        return True

    def _is_temporary(self, call: Instruction) -> bool:
        """Whether a call allocates, or frees, memory of the root that nothing reaches but by what the call returned."""
        if call.op != "call" or call.word not in (*ALLOCATE, "@free"):
            return False
        if call.word != "@free":
            return self._use(call) is not None
        for source in pointer_sources(self.view, call.operands[:1], self.scalars.is_invariant):
            made = self.view.definitions.get(source.text)
            use = None if made is None else self._use(made.instruction)
            if source.text != "null" and (use is None or call not in use.frees.values()):
                return False
        return True

    def _use(self, call: Instruction) -> Use | None:
        """What the root does with what it allocates; None where somebody may keep the address, or for anything else."""
        name = str(call.result)
        if name not in self.temporaries:
            loop = self.view.innermost(self.view.definitions[name].block)
            own = call.op == "call" and call.word in ALLOCATE and not self.scalars.is_invariant(name)
            self.temporaries[name] = uses_of(self.uses.of, loop, name) if own and loop is not None else None
        return self.temporaries[name]

    def _size(self, type: str) -> int:
        try:
            return self.view.types.stored(type)
        except ValueError:
            return 0
