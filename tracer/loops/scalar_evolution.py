"""From SSA values to symbolic expressions (`expressions.py`), relative to one loop of a function.

Values defined outside of the loop are `live`; affine recurrences become init + step · counter; loads, selects and
merges stay, so that later stages know what an address is made of. What is not understood is `opaque`, with a reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from tracecut.ir.llvm import Instruction, Operand, int_bits
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.lexer import constant_address, split_type
from tracecut.ir.llvm.literals import float_of
from tracecut.ir.llvm.operands import BINARY
from tracecut.ir.llvm.passes.allocated.hold_carried import NOTHING
from tracecut.ir.llvm.stream_output import of_stream
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.nest import Exit

from .bit_masks import low_bits, masks
from .exits import Skipped
from .left_behind import LeftBehind
from .phi_sources import LEFT_BEHIND, LEFT_OUT, decided_by, incoming, permuted, runs_twice, walked_base
from .pointer_rotation import rotation, turns_in
from .row_numbers import read_at

MAX_DEPTH = 150
CARRIED = "carried from one iteration to the next"
_MIN_MAX = re.compile(r"@llvm\.(smin|smax|umin|umax|abs)\.i\d+$")
FLOAT_TYPES = ("double", "float")
_INEXACT = frozenset({"fast", "reassoc", "contract", "arcp", "afn"})  # the machine may round in another way


class ScalarView:
    """Expressions of the values inside `root`, one loop of the function."""

    def __init__(self, view: FunctionView, root: Loop, pool: Pool, exits: Iterable[Exit] = ()) -> None:
        self.skipped = Skipped(view, root, exits)
        self.view = view
        self.root = root
        self.pool = pool
        self.left = LeftBehind(view, root, pool, self.skipped.blocks)
        self._known: dict[tuple[str, str], Expr] = {}
        self._active: set[str] = set()
        self._depth = 0

    def operand(self, operand: Operand) -> Expr:
        return self.value(operand.text, operand.type)

    def value(self, text: str, type: str) -> Expr:
        """Expression of an operand: a local, a global, a literal or a constant expression."""
        if text.startswith("%"):
            key = (text, type)
            if key not in self._known:
                if self._depth > MAX_DEPTH:
                    return self.pool.opaque("expression too deep")
                self._depth += 1
                try:
                    made = self._local(text, type)
                finally:
                    self._depth -= 1
                if text in self._active:  # inside of a recurrence that is still being resolved
                    return made
                self._known[key] = made
            return self._known[key]
        return self._constant(text, type)

    def is_invariant(self, text: str) -> bool:
        """Whether a value is made outside of the loop."""
        if not text.startswith("%"):
            return True
        found = self.view.definitions.get(text)
        return found is None or found.block not in self.root.blocks

    def varies_in(self, expr: Expr, loop: Loop, *, written: bool = True) -> bool:
        """Whether `expr` may change from one iteration of `loop` to the next. `written`: also if only by its stores."""
        for node in expr.walk():
            if node.kind == "counter" and self.view.loops[node.data[0]].blocks <= loop.blocks:
                return True
            if written and node.kind == "load" and self.view.definitions[node.data[0]].block in loop.blocks:
                return True
            if node.kind in ("opaque", "any") or turns_in(node, loop.blocks):
                return True
        return False

    def increment(self, phi: Instruction, loop: Loop) -> Expr | None:
        """The constant step of a header phi of `loop`, None when it has none."""
        assert phi.result is not None
        sides = incoming(phi, loop)
        return None if sides is None else self._chain(sides[1].text, phi, loop, {})

    def _chain(self, text: str, phi: Instruction, loop: Loop, known: dict[str, Expr | None]) -> Expr | None:
        """What is added on the way from `phi` to the value `text`, None when something else happens."""
        if text not in known:
            known[text] = self._added(text, phi, loop, known)
        return known[text]

    def _added(self, text: str, phi: Instruction, loop: Loop, known: dict[str, Expr | None]) -> Expr | None:
        pool = self.pool
        if text == phi.result:
            return pool.const(0)
        found = self.view.definitions.get(text)
        if found is None or found.block not in loop.blocks:
            return None
        made = found.instruction
        if made.op in ("freeze",) or (made.op == "phi" and len(made.operands) == 1):
            return self._chain(made.operands[0].text, phi, loop, known)
        if made.op == "phi" and found.block not in self.view.flow.headed:
            ways = {self._chain(operand.text, phi, loop, known) for operand in self.skipped.arms(made)}
            return ways.pop() if len(ways) == 1 else None  # the same on every way through the body
        if made.op == "getelementptr":
            before = self._chain(made.operands[0].text, phi, loop, known)
            offset = self.offset(made)
            if before is None or self.varies_in(offset, loop):
                return None
            return pool.op("add", "i64", before, offset)
        if made.op in ("add", "sub"):
            a, b = made.operands
            for chain, other, flip in ((a, b, False), (b, a, True)):
                if made.op == "sub" and flip:
                    continue
                before = self._chain(chain.text, phi, loop, known)
                if before is None:
                    continue
                step = self.operand(other)
                if self.varies_in(step, loop):
                    return None
                return pool.op(made.op, phi.type, before, step)
        return None

    def _local(self, text: str, type: str) -> Expr:
        if self.is_invariant(text):
            # An address is another number in each run, where its pointer has one place in its array.
            pointer = self.view.address_in(text)
            return self.pool.live(text, type) if pointer is None else self.operand(pointer)
        found = self.view.definitions[text]
        if found.block in self.skipped.blocks:
            return self.pool.opaque(LEFT_OUT)
        made = found.instruction
        op = made.op
        if op == "phi":
            return self._phi(made, found.block)
        if op == "getelementptr":
            if made.type != "ptr":
                return self.pool.opaque("vector of addresses")
            return self.pool.op("add", "ptr", self.operand(made.operands[0]), self.offset(made))
        if made.type in FLOAT_TYPES and made.flags & _INEXACT:
            return self.pool.opaque("fast floating-point arithmetic")
        if op in ("sdiv", "ashr") and "exact" in made.flags and self._is_scalar(made.type):
            divisor = self.operand(made.operands[1])
            if divisor.kind == "const" and (op == "sdiv" or 0 <= divisor.data[0] < 63):
                divisor = divisor if op == "sdiv" else self.pool.const(1 << divisor.data[0])
                return self.pool.op("exact", made.type, self.operand(made.operands[0]), divisor)
        width = low_bits(made)
        if width and self._is_scalar(made.type):
            low = self.pool.make("cast", ("trunc", made.type, f"i{width}"), (self.operand(made.operands[0]),))
            return self.pool.make("cast", ("zext", f"i{width}", made.type), (low,))
        if masks(made, self.is_invariant) and self._is_scalar(made.type):
            number, mask = made.operands if self.is_invariant(made.operands[1].text) else made.operands[::-1]
            return self.pool.op("mask", made.type, self.operand(number), self.operand(mask))
        if op in BINARY and self._is_scalar(made.type):
            opcode = "add" if op == "or" and "disjoint" in made.flags else op
            return self.pool.op(opcode, made.type, self.operand(made.operands[0]), self.operand(made.operands[1]))
        if op in ("sext", "zext", "trunc", "sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc"):
            source = made.operands[0]
            if self._is_scalar(source.type) and self._is_scalar(made.type):
                return self.pool.make("cast", (op, source.type, made.type), (self.operand(source),))
        if op == "ptrtoint" and made.type == "i64":
            return self.operand(made.operands[0])
        if op in ("icmp", "fcmp") and (self._is_scalar(made.operands[0].type) or made.operands[0].type == "ptr"):
            a, b = (self.operand(operand) for operand in made.operands)
            return self.pool.make("cmp", (f"{op} {made.word}", made.operands[0].type), (a, b))
        if op == "select" and (self._is_scalar(made.type) or made.type == "ptr"):
            return self.pool.make("choice", (), tuple(self.operand(operand) for operand in made.operands))
        if op == "freeze":
            return self.operand(made.operands[0])
        if op == "load":
            return self._load(text, made)
        if op == "call":
            return self._call(made)
        return self.pool.opaque(op)

    def _load(self, text: str, made: Instruction) -> Expr:
        if not made.is_simple_access:
            return self.pool.opaque("volatile or atomic load")
        if not self._is_scalar(made.type) and made.type != "ptr":
            return self.pool.opaque(f"load of {made.type}")
        if of_stream(self.view, made.operands[0].text):
            return self.pool.opaque("found in an output stream")
        return self.pool.make("load", (text, made.type), (read_at(self.pool, text, self.operand(made.operands[0])),))

    def _call(self, made: Instruction) -> Expr:
        found = _MIN_MAX.match(made.word)
        if found:
            return self.pool.op(found.group(1), made.type, *(self.operand(operand) for operand in made.operands[:2]))
        if re.match(r"@llvm\.fabs\.(f64|f32)$", made.word):
            argument = self.operand(made.operands[0])
            return self.pool.op("fabs", made.type, argument, argument)
        return self.pool.opaque(f"result of {made.word}")

    def _phi(self, made: Instruction, block: str) -> Expr:
        assert made.result is not None
        if made.result in self._active:
            return self.pool.opaque(CARRIED)
        loop = self.view.flow.headed.get(block)
        if loop is not None and loop.blocks <= self.root.blocks:
            return self._recurrence(made, loop)
        if not (self._is_scalar(made.type) or made.type == "ptr"):
            return self.pool.opaque(f"phi of {made.type}")
        if len({operand.text for operand in made.operands}) == 1:
            return self._after_loops(made, block)
        self._active.add(made.result)  # only a cycle that is no loop comes back to it
        try:
            return self._merge(made, block)
        finally:
            self._active.discard(made.result)

    def _recurrence(self, made: Instruction, loop: Loop) -> Expr:
        assert made.result is not None
        self._active.add(made.result)
        try:
            step = self.increment(made, loop) if made.type == "ptr" or int_bits(made.type) else None
            if step is None:
                twice = self._of_two(made, loop)
                if twice is not None:
                    return twice
                turns = self._turns(made, loop)
                if turns:
                    return self.pool.make("state", (f"{loop.header}:{len(turns)}",), tuple(turns))
                leaves = permuted(self.view, made, self.is_invariant, self.skipped.arms)
                return self.pool.any_of(map(self.operand, leaves)) if leaves else self._somewhere(made, CARRIED)
            sides = incoming(made, loop)
            assert sides is not None
            init = self.operand(sides[0])
        finally:
            self._active.discard(made.result)
        counter = self.pool.counter(self.view.loop_ids[loop])
        # A step is a constant number of the phi's own width; of a pointer, bytes.
        type = "i64" if made.type == "ptr" else made.type
        if type != "i64":  # a narrow phi wraps long before the number of the iteration does
            counter = self.pool.make("cast", ("trunc", "i64", type), (counter,))
        return self.pool.op("add", made.type, init, self.pool.op("mul", type, step, counter))

    def _of_two(self, made: Instruction, loop: Loop) -> Expr | None:
        """Value of a phi of constants in a loop that runs twice.

        Two iterations are not counted: a phi of i1 says "go on" the first time and "end" the second, and the counter
        is a phi of its two values.
        """
        sides = incoming(made, loop)
        if sides is None or not runs_twice(self.view, loop):
            return None
        first, second = (self._constant(operand.text, made.type) for operand in sides)
        counter = self.pool.counter(self.view.loop_ids[loop])
        if first.kind != "const" or second.kind != "const":
            return None
        if made.type == "i1":
            if first is second:
                return first
            word = "eq" if first.data[0] else "ne"
            return self.pool.make("cmp", (f"icmp {word}", "i64"), (counter, self.pool.const(0)))
        if int_bits(made.type) is None:
            return None
        if made.type != "i64":
            counter = self.pool.make("cast", ("trunc", "i64", made.type), (counter,))
        step = self.pool.const(second.data[0] - first.data[0])
        return self.pool.op("add", made.type, first, self.pool.op("mul", made.type, step, counter))

    def _turns(self, made: Instruction, loop: Loop) -> list[Expr]:
        """Values of a header phi of the root, by iteration, when the phis rotate loop-invariant values."""
        if loop is not self.root or made.type != "ptr":
            return []
        first: dict[str, Operand] = {}
        after: dict[str, str] = {}
        for phi in self.view.flow.blocks[loop.header].phis:
            sides = incoming(phi, loop)
            if sides is not None and phi.type == "ptr" and self.is_invariant(sides[0].text):
                first[str(phi.result)], after[str(phi.result)] = sides[0], self.skipped.taken(sides[1].text)
        turns = rotation(list(first), after, str(made.result))
        somewhere = set(turns) <= set(first) and not any(first[name].text in NOTHING for name in turns)
        return [self.operand(first[name]) for name in turns] if len(turns) > 1 and somewhere else []

    def _after_loops(self, made: Instruction, block: str) -> Expr:
        value = self.left.at_the_end(self.operand(made.operands[0]), made.labels, block)
        return self._somewhere(made, LEFT_BEHIND) if self._is_left_behind(value, made.labels, block) else value

    def _is_left_behind(self, value: Expr, labels: Iterable[str], block: str) -> bool:
        """Whether a value may be another one in each iteration of a loop that was left on the way to a phi."""
        inner = [loop for label in labels if (loop := self.view.flow.innermost(label)) is not None]
        around = [loop for each in inner for loop in (each, *each.ancestors())]
        left = [loop for loop in around if block not in loop.blocks and loop.blocks <= self.root.blocks]
        return any(self.varies_in(value, loop) for loop in left)

    def _somewhere(self, phi: Instruction, why: str) -> Expr:
        """A value that is not understood. Of a pointer it is known, if so, from which one it comes by sums."""
        base = walked_base(self.view, phi, self.is_invariant) if phi.type == "ptr" else None
        unknown = self.pool.opaque(why)
        return unknown if base is None else self.pool.op("add", "ptr", self.operand(base), unknown)

    def _merge(self, made: Instruction, block: str) -> Expr:
        ways = self.skipped.ways(made)
        if not ways:
            return self.pool.opaque(LEFT_OUT)
        labels = [label for _, label in ways]
        values = [self.operand(operand) for operand, _ in ways]
        ends = [self.left.at_the_end(value, (label,), block) for value, label in zip(values, labels, strict=True)]
        known = not any(self._is_left_behind(end, (label,), block) for end, label in zip(ends, labels, strict=True))
        values = ends if known else values
        if all(value is values[0] for value in values):
            return values[0]
        found = decided_by(self.view.flow, made, block) if len(ways) == len(made.operands) else None
        condition = None if found is None else self.operand(found[0])
        if found is None or condition is None or self._is_left_behind(condition, made.labels, block):
            by_exits = self.left.chosen(labels, values, block) if known else None
            return self.pool.any_of(values) if by_exits is None else by_exits
        return self.pool.make("choice", (), (condition, values[found[1]], values[1 - found[1]]))

    def offset(self, made: Instruction) -> Expr:
        """Bytes that a getelementptr adds to its base."""
        try:
            return self._bytes(made)
        except ValueError:
            return self.pool.opaque(f"distance in {made.word}, a type without a fixed size")

    def _bytes(self, made: Instruction) -> Expr:
        pool, types = self.pool, self.view.types
        current = made.word
        total = pool.const(0)
        for place, index in enumerate(made.operands[1:]):
            if place == 0:
                size = types.size(current)
            else:
                element = types.element(current)
                if element is None:
                    offset, current = types.field(current, int(index.text))
                    total = pool.op("add", "i64", total, pool.const(offset))
                    continue
                size, current = types.size(element), element
            bits = int_bits(index.type) or 64
            value = self.operand(index)
            if bits < 64 and value.kind != "const":
                value = pool.make("cast", ("sext", index.type, "i64"), (value,))
            if value.kind == "const":
                term = pool.const(value.data[0] * size)
            else:
                term = pool.op("mul", "i64", value, pool.const(size))
            if term.kind == "const" and total.kind == "const":
                total = pool.const(total.data[0] + term.data[0])
            else:
                total = pool.op("add", "i64", total, term)
        return total

    def _constant(self, text: str, type: str) -> Expr:
        pool = self.pool
        if text.startswith("@"):
            return pool.live(text, "ptr")
        if text in ("true", "false"):
            return pool.const(-int(text == "true"))  # as every i1: the one bit is the sign
        if text in ("null", "zeroinitializer"):
            return pool.const(0)
        if re.fullmatch(r"-?\d+", text) and int_bits(type):
            return pool.const(int(text))
        if type in FLOAT_TYPES:
            number = float_of(text)
            if number is not None and math.isfinite(number):
                return pool.make("const", (number,))
        distance = re.fullmatch(r"ptrtoint \(ptr (@\S+|@\"[^\"]+\") to i64\)", text)
        if distance:
            return pool.live(distance.group(1), "ptr")
        address = constant_address(text)
        if address is not None:
            return self._constant_address(address[1])
        return pool.opaque(f"constant {text.split(' ')[0]}")

    def _constant_address(self, parts: list[str]) -> Expr:
        operands = tuple(Operand(*split_type(part)) for part in parts[1:])
        shell = Instruction(f"%c = getelementptr {parts[0]}, {', '.join(parts[1:])}")
        return self.pool.op("add", "ptr", self.operand(operands[0]), self.offset(shell))

    @staticmethod
    def _is_scalar(type: str) -> bool:
        bits = int_bits(type)
        return (bits is not None and bits <= 64) or type in FLOAT_TYPES
