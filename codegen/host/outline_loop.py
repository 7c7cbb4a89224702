"""A loop of the program as a function over a range of its iterations: `void loop(k0, k1, in, out)`.

The body is the user's own, instruction by instruction. What changes is where indices and bases come from, so that
the same code runs on permuted job arrays and renumbered data:

- every group of accesses has a base pointer of its own, passed by the executor (the original array, or a copy
  in the new layout);
- a local array of the body is made in the function, so that every thread has its own;
- an index exists twice where it is also data: the *new* number forms addresses, the *old* one is what the program
  computes with. `order[k]` gives the old number of iteration k; unremapped copies give the old loaded values.

The parts of the second version that are not needed are dead code, which LLVM removes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tracecut.codegen.schedule.plan.base_pointer_groups import instruction_of
from tracecut.codegen.schedule.plan.private_data import follows_counter, private_arrays
from tracecut.codegen.schedule.plan.range_function import OLD, Group, Outlined, Reduction, Slot
from tracecut.ir.llvm import Block, Function, Instruction
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.lexer import constant_address, split_type
from tracecut.ir.llvm.substitute import alignment, for_any_number, is_literal, kept, replaced
from tracecut.ir.loops.nest import Nest, ValueKind
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.loops.index_roles import exit_tests, piece_pairs, roles
from tracecut.tracer.loops.live_ins import live_ins
from tracecut.tracer.loops.phi_sources import entry_and_latch
from tracecut.tracer.loops.updates.reductions import Uses

from .index_tests import tests_in
from .induction_values import Counters, Walker

UNNUMBERED = frozenset({"ptr", "half", "bfloat", "float", "double", "x86_fp80", "fp128"})
"""Types of what takes part in an address (a condition, an index computed of it) and is the same in every numbering."""


def outline(view: FunctionView, nest: Nest, loop: Loop, name: str, groups: list[Group]) -> Outlined:
    """Emit the range function of a loop with one latch and a preheader, of which only the exit that counts is taken."""
    return _Outliner(view, nest, loop, name, groups).run()


class _Outliner:
    def __init__(self, view: FunctionView, nest: Nest, loop: Loop, name: str, groups: list[Group]) -> None:
        self.view = view
        self.nest = nest
        self.loop = loop
        self.name = name
        self.groups = groups
        self.info = nest.loops[view.loop_ids[loop]]
        self.uses = Uses(view)
        self.latch = loop.latches[0]
        self.counters = {carried.name for carried in self.info.carried if carried.kind is ValueKind.COUNTER}
        self.group_of = {key: group for group in groups for key in group.sites}
        self.slots: list[Slot] = []
        self.bases: dict[tuple[int, str], str] = {}
        self.constants: dict[str, str] = {}  # addresses at a constant distance of a base, by how they are made
        self.clones: dict[str, list[Instruction]] = {}  # clones to emit after the definition of a name
        self.made: set[str] = set()
        self.steps = Counters(view, loop)
        self.walkers: list[Walker] = []
        self.locals = private_arrays(view, nest, view.loop_ids[loop])
        self.keys: dict[int, str] = {}
        for site in nest.sites_in(self.info.id):
            self.keys[id(instruction_of(view, site.key))] = site.key
            if site.load:
                self.keys[id(view.definitions[site.load].instruction)] = site.key
        self._closure()

    def run(self) -> Outlined:
        for value, type in live_ins(self.view, self.loop):
            if value not in self.locals:
                self.slots.append(Slot("live", value, type))
        self.slots.append(Slot("order", "%tc.order", "ptr"))
        body = self._body()  # asks for bases on the way
        reductions = self._reductions()
        entry = [f"{name} = {made}" for name, made in self.locals.items()]
        for place, slot in enumerate(self.slots):
            entry.append(f"%tc.slot{place} = getelementptr i8, ptr %tc.in, i64 {8 * place}")
            entry += _read_slot(slot, f"%tc.slot{place}")
        entry.extend(f"{name} = {made}" for made, name in self.constants.items())
        entry.extend(self.steps.starts(self.counters))
        entry.append("%tc.any = icmp slt i64 %tc.k0, %tc.k1")
        entry.append(f"br i1 %tc.any, label %{self.loop.header}, label %tc.exit")
        groups = " ".join(dict.fromkeys(self.view.function.attribute_groups))
        header = (
            f"define void @{self.name}(i64 %tc.k0, i64 %tc.k1, ptr noalias %tc.in, ptr noalias %tc.out) {groups} {{"
        )
        blocks = [Block.of("entry", entry), *body, Block.of("tc.exit", self._exit(reductions))]
        return Outlined(
            self.name,
            Function(f"@{self.name}", header, blocks),
            tuple(self.slots),
            tuple(self.groups),
            tuple(reductions),
            self.locals,
        )

    def _closure(self) -> None:
        """Values whose new number differs from the old one, and the uses that take the new one."""
        self.closure: set[str] = set()
        self.bounds: set[int] = set()
        origins = set(self.counters)
        for site in self.nest.sites_in(self.info.id):
            origins |= {str(node.data[0]) for node in site.address.walk() if node.kind == "load"}
        for number in self.nest.inside(self.info.id):
            trip = self.nest.loops[number].trip
            if trip is not None and number != self.info.id:
                origins |= {str(node.data[0]) for node in trip.walk() if node.kind == "load"}
        self.index_loads = {
            name
            for name in origins - self.counters
            if self.view.definitions[name].block in self.loop.blocks
            and self.view.definitions[name].instruction.type not in UNNUMBERED
        }
        pairs = piece_pairs(self.nest.loops[number].trip for number in self.nest.inside(self.info.id))
        pairs |= {frozenset(pair) for pair in self.nest.lengths}
        plain = self._plain_loads()
        numbers = self.index_loads | (plain & {name for pair in self.nest.lengths for name in pair})
        inner = [self.nest.loops[number] for number in self.nest.inside(self.info.id) - {self.info.id}]
        counting = [info.exit for info in inner if info.trip is not None]
        exits = exit_tests(self.uses, (*counting, *self.loop.exits))  # its own are replaced by the end of the range
        for name in sorted(numbers | self.counters):
            found = roles(self.uses, name, self.loop.blocks, exits, pairs)
            self.closure |= found.forming
            self.bounds |= {id(instruction) for instruction in (*found.bounds, *found.signs)}
        for name in plain - numbers:
            self.closure |= roles(self.uses, name, self.loop.blocks, exits, pairs).forming
        self.bounds -= self._old_bounds()
        self.bounds |= {id(made) for group in self.groups for made in tests_in(self.uses, self.loop, group)}

    def _plain_loads(self) -> set[str]:
        """Loads of whole numbers that share a base pointer with indices: what they read may be one of these.

        A copy with new numbers in it is then read here too, and the program has to compute with the old ones.
        """
        types = ("i8", "i16", "i32", "i64")
        plain = {site.key for site in self.nest.sites_in(self.info.id) if not site.writes and site.type in types}
        mixed = [set(group.sites) for group in self.groups if self.index_loads & set(group.sites)]
        return plain & set().union(*mixed)

    def _old_bounds(self) -> set[int]:
        """Exit tests of inner loops that run as far as the number of the iteration says: the old number."""
        found = set()
        for number in self.nest.inside(self.info.id) - {self.info.id}:
            if follows_counter(self.nest, number, self.info.id):
                for inside, _ in self.view.loops[number].exits:
                    test = self.view.flow.blocks[inside].terminator.operands
                    made = self.view.definitions.get(test[0].text) if test else None
                    found.add(id(made.instruction) if made is not None else 0)
        return found

    def _old(self, text: str) -> str:
        """The name that carries the old number of a value."""
        if text not in self.closure or not text.startswith("%"):
            return text
        definition = self.view.definitions[text]
        made = definition.instruction
        name = f"{text}.tc.old"
        if name in self.made:
            return name
        self.made.add(name)
        if text in self.counters and definition.block == self.loop.header:
            return name  # emitted with the header
        if made.op == "load":
            group = self._group_of_load(text)
            pointer = self._pointer(made.operands[0].text, group, group.view, "data-base")
            clone = Instruction(f"{name} = load {made.type}, ptr {pointer}{alignment(made)}", kept(made.meta))
        else:
            clone = self._copy(made, name, self._old)
        self.clones.setdefault(text, []).append(clone)
        return name

    def _group_of_load(self, name: str) -> Group:
        group = self.group_of.get(name)
        if group is None:
            raise UnsupportedError(f"the index {name} has no base pointer")
        return group

    def _pointer(self, text: str, group: Group, view: str, kind: str = "base") -> str:
        """The address `text` computed from the base of `group`, with NEW or OLD numbers."""
        if text == group.root:
            return text if text in self.locals else self._base(group, kind)
        if not group.root:
            return self._old(text) if view == OLD else text
        address = constant_address(text)
        if address is not None:
            return self._constant(address, group, view, kind)
        if not text.startswith("%"):
            raise UnsupportedError(f"the address {text} does not come from {group.root}")
        definition = self.view.definitions[text]
        if definition.block not in self.loop.blocks:
            raise UnsupportedError(f"the address {text} does not come from {group.root}")
        name = f"{text}.tc.{kind[0]}{group.id}{'o' if view == OLD else ''}"
        if name in self.made:
            return name
        self.made.add(name)

        def rename(value: str) -> str:
            if self._is_pointer(value):
                return self._pointer(value, group, view, kind)
            return self._old(value) if view == OLD else value

        made = definition.instruction
        if made.op == "phi" and definition.block == self.loop.header:
            # A pointer induction variable: base + step · number, computed anew in each iteration.
            start = self._pointer(self.steps.initial(made), group, view, kind)
            self.walkers.append(Walker(made, name, start, view == OLD))
        else:
            self.clones.setdefault(text, []).append(self._copy(made, name, rename))
        return name

    def _constant(self, address: tuple[str, list[str]], group: Group, view: str, kind: str) -> str:
        """A constant distance behind the base of a group, which is a global in the program."""
        flags, (type, start, *indices) = address
        base = self._pointer(split_type(start)[1], group, view, kind)
        flags = re.sub(r"inrange\([^)]*\)\s+", "", flags)  # of constants alone
        made = f"getelementptr {flags}{type}, ptr {base}, {', '.join(indices)}"
        return self.constants.setdefault(made, f"%tc.{kind}{group.id}.c{len(self.constants)}")

    def _is_pointer(self, text: str) -> bool:
        if text.startswith(("@", "getelementptr")):
            return True
        return text.startswith("%") and self.view.type_of(text) == "ptr"

    def _base(self, group: Group, kind: str) -> str:
        key = (group.id, kind)
        if key not in self.bases:
            self.bases[key] = f"%tc.{kind}{group.id}"
            self.slots.append(Slot(kind, group.root, "ptr", group.id))
        return self.bases[key]

    def _copy(self, made: Instruction, name: str, rename: Callable[[str], str]) -> Instruction:
        """`made` under another name with its operands renamed (labels stay)."""
        mapping = {}
        operands = made.operands[1:] if made.op == "select" else made.operands
        for operand in operands:
            if not is_literal(operand.text):
                mapping[operand.text] = rename(operand.text)
        if made.op == "select" and made.operands[0].text in self.closure:
            mapping.setdefault(made.operands[0].text, self._old(made.operands[0].text))
        text = replaced(made, mapping)
        return Instruction(f"{name} = {text.split('=', 1)[1].strip()}", kept(made.meta))

    def _body(self) -> list[Block]:
        blocks: list[Block] = []
        # First pass: find every clone that is needed (fills self.clones and self.slots).
        rewritten: dict[int, Instruction] = {}
        for name in self.view.flow.order:
            if name in self.loop.blocks:
                for instruction in self.view.flow.blocks[name].instructions:
                    if not self._is_marker_of_slot(instruction):
                        rewritten[id(instruction)] = self._rewrite(instruction, name)
        order_needed = [phi for phi in sorted(self.counters) if f"{phi}.tc.old" in self.made]
        for name in self.view.flow.order:
            if name not in self.loop.blocks:
                continue
            block = self.view.flow.blocks[name]
            phis: list[Instruction] = []
            rest: list[Instruction] = []
            if name == self.loop.header:
                phis.append(Instruction(f"%tc.k = phi i64 [ %tc.k0, %entry ], [ %tc.next, %{self.latch} ]"))
                rest += map(Instruction, self.steps.old_numbers(order_needed, self.walkers))
            for instruction in block.instructions:
                if instruction.is_terminator:
                    rest += self._end(name, rewritten[id(instruction)])
                    continue
                made = [rewritten[id(instruction)]] if id(instruction) in rewritten else []
                for item in made + self.clones.get(instruction.result or "", []):
                    (phis if item.op == "phi" else rest).append(item)
            blocks.append(Block(name, phis + rest))
        return blocks

    def _is_marker_of_slot(self, instruction: Instruction) -> bool:
        """Whether it is a lifetime marker of a stack array that is passed in: markers are valid on an `alloca` only."""
        marker = instruction.op == "call" and instruction.word.startswith("@llvm.lifetime.")
        return marker and instruction.operands[-1].text not in self.locals

    def _rewrite(self, instruction: Instruction, block: str) -> Instruction:
        mapping: dict[str, str] = {}
        text = instruction.text
        if instruction.op == "phi":
            if block == self.loop.header:
                return Instruction(self._header_phi(instruction))
            if instruction.result not in self.closure:
                mapping = {o.text: self._old(o.text) for o in instruction.operands if o.text in self.closure}
            text = replaced(instruction, mapping)
        elif instruction.op in ("load", "store"):
            text = self._rewrite_access(instruction)
        elif instruction.result in self.closure:
            if instruction.op == "select" and instruction.operands[0].text in self.closure:
                text = replaced(instruction, {instruction.operands[0].text: self._old(instruction.operands[0].text)})
            text = for_any_number(text)
        elif id(instruction) in self.bounds:
            text = instruction.text
        else:
            mapping = {used: self._old(used) for used in instruction.uses if used in self.closure}
            mapping |= self._call_pointers(instruction)
            text = replaced(instruction, mapping)
        meta = kept(instruction.meta)
        if instruction.result in self.closure:
            meta.pop("range", None)  # of the old numbers
        return Instruction(text, meta)

    def _rewrite_access(self, instruction: Instruction) -> str:
        key = self._key(instruction)
        group = self.group_of.get(key)
        pointer = instruction.operands[-1].text
        text = instruction.text
        if instruction.op == "store":
            value = instruction.operands[0].text
            if value in self.closure:
                text = re.sub(
                    r"(store\s+\S+\s+)" + re.escape(value) + r"(?=,)", rf"\g<1>{self._old(value)}", text, count=1
                )
        chosen = self._old(pointer) if group is None else self._pointer(pointer, group, group.view)
        head, _, tail = text.rpartition(f"ptr {pointer}")
        return f"{head}ptr {chosen}{tail}"

    def _call_pointers(self, instruction: Instruction) -> dict[str, str]:
        found = {}
        for key, group in self.group_of.items():
            if key.startswith("call:") and instruction_of(self.view, key) is instruction:
                operand = instruction.operands[int(key.rsplit(":", 1)[1][:-1])]
                found[operand.text] = self._pointer(operand.text, group, group.view)
        return found

    def _key(self, instruction: Instruction) -> str:
        """Site key of an access; of the load of a reduction, the key of its store."""
        return self.keys.get(id(instruction), "")

    def _header_phi(self, phi: Instruction) -> str:
        start, latch = f"{phi.result}.tc.start", entry_and_latch(phi, self.loop)[1]
        value = latch if phi.result in self.closure else self._old(latch)
        return f"{phi.result} = phi {phi.type} [ {start}, %entry ], [ {value}, %{self.latch} ]"

    def _end(self, name: str, own: Instruction) -> list[Instruction]:
        """The terminator of a block: the loop's own test gives way to the range's, and nothing leaves it early."""
        if name == self.latch:
            return [
                Instruction("%tc.next = add nsw i64 %tc.k, 1"),
                Instruction("%tc.more = icmp slt i64 %tc.next, %tc.k1"),
                Instruction(f"br i1 %tc.more, label %{self.loop.header}, label %tc.exit"),
            ]
        if name in {inside for inside, _ in self.loop.exits}:
            target = next(label for label in self.view.flow.blocks[name].terminator.labels if label in self.loop.blocks)
            return [Instruction(f"br label %{target}")]
        return [own]

    def _reductions(self) -> list[Reduction]:
        found: list[Reduction] = []
        for carried in self.info.carried:
            if carried.kind is ValueKind.REDUCTION:
                slot = len(self.slots)
                self.slots.append(Slot("start", carried.name, carried.type))
                found.append(Reduction(carried.name, carried.type, carried.operator, slot, len(found)))
        return found

    def _exit(self, reductions: list[Reduction]) -> list[str]:
        lines = []
        for item in reductions:
            latch = entry_and_latch(self.view.definitions[item.phi].instruction, self.loop)[1]
            arms = f"[ {item.phi}.tc.start, %entry ], [ {self._old(latch)}, %{self.latch} ]"
            lines.append(f"{item.phi}.tc.end = phi {item.type} {arms}")
        for item in reductions:
            lines.append(f"%tc.out{item.out} = getelementptr i8, ptr %tc.out, i64 {8 * item.out}")
            lines.append(f"store {item.type} {item.phi}.tc.end, ptr %tc.out{item.out}, align 8")
        return [*lines, "ret void"]


def _read_slot(slot: Slot, at: str) -> list[str]:
    """Load the value of a slot. Where a flag starts, threads may find the identity: every bit of a byte."""
    if slot.kind != "start" or slot.type != "i1":
        return [f"{slot.value} = load {slot.type}, ptr {at}, align 8"]
    return [f"{slot.value}.byte = load i8, ptr {at}, align 8", f"{slot.value} = trunc i8 {slot.value}.byte to i1"]
