"""The statements of each block of a function.

A value that is used once becomes a part of the expression that uses it, as long as what it reads cannot change in
between; the others become variables. In SSA form both mean the same: what an expression is made of has the same value
wherever the expression's result may be used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracecut.ir.llvm import Block, Function, Instruction, Operand, TypeTable, int_bits
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.debug_info import Lines
from tracecut.support.errors import UnsupportedError

from .addresses import BYTES, distance, moved, pointer_expr, step
from .arithmetic import binary, compared, compared_floats, converted, literal_truth, says_twice
from .call_statements import CallStatements
from .expressions import CHOICE, OTHER, PRODUCT, SUM, UNARY, Expr, Pointer, cast, extended, literal, wrapped
from .memory import Memory
from .names import Names
from .statements import Assign, Comment, Plain, Statement
from .types import C_TYPES, float_literal, is_signed, key_of
from .values import Uses, is_small

Value = Expr | Pointer
Apart = tuple[Sequence[tuple[Expr, int]], int]
SHORT, LONGEST = 24, 90  # characters of an expression that is a part of another one
_BITCASTS = {
    ("i64", "double"): ("__longlong_as_double", "i64", "f64"),
    ("double", "i64"): ("__double_as_longlong", "f64", "i64"),
    ("i32", "float"): ("__int_as_float", "i32", "f32"),
    ("float", "i32"): ("__float_as_int", "f32", "i32"),
}
_CONVERSIONS = frozenset("trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp".split())


class FunctionText:
    """Writes the blocks of a function, each of which has to come behind those that dominate it.

    Args:
        elements: root of an address → what it points to; bytes for others. parameters: name → value.

    `variables` has what was declared, name → words of its type; `accesses` what was read and written, by root.
    """

    def __init__(
        self,
        function: Function,
        flow: ControlFlow,
        types: TypeTable,
        names: Names,
        lines: Lines,
        elements: dict[str, str],
    ) -> None:
        self.function, self.flow, self.types, self.names, self.lines = function, flow, types, names, lines
        self.elements = elements
        self.uses = Uses(function, flow)
        self.values: dict[str, Value] = {}
        self.variables: dict[str, str] = {}
        self.accesses: dict[str, list[tuple[str, Pointer]]] = {}
        self.helpers: set[str] = set()
        self.globals: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.locals: list[str] = []
        self.written: set[str] = set()  # roots
        self.shared: set[str] = set()  # values that are the begin of shared memory
        self.places: dict[str, Pointer] = {}  # addresses as numbers
        self.distances: dict[str, Apart] = {}
        self.memory, self.calls = Memory(self), CallStatements(self)
        self.products: dict[str, tuple[str, int]] = {}
        self.pairs: dict[str, tuple[Expr, Expr]] = {}
        self.out: list[Statement] = []
        self._reading: dict[str, Expr] = {}  # values with loads, which have to be read before memory changes
        self._line = ""

    def block(self, block: Block) -> list[Statement]:
        """The statements of a block without its last instruction and without its phis."""
        self.out = []
        for made in block.instructions[:-1]:
            if made.result in self.uses.dead:
                continue
            if made.op == "phi":
                self.phi(made)
            else:
                self._say_line(made)
                self.one(made, block.name)
        return self.out

    def finish(self, used: set[str]) -> None:
        """Read what was not read yet, apart from the values named: nothing comes between them and their use."""
        for name in [name for name in self._reading if name not in used]:
            self._settle(name)

    def one(self, made: Instruction, block: str) -> None:
        """Write one instruction."""
        op = made.op
        if op in ("load", "store", "atomicrmw", "cmpxchg", "fence", "alloca"):
            getattr(self.memory, op)(made, block)
        elif op == "call":
            self.calls.one(made, block)
        elif op == "getelementptr":
            self._address(made, block)
        elif op in ("addrspacecast", "freeze", "bitcast", "ptrtoint", "inttoptr"):
            self._taken_over(made, block)
        elif op == "extractvalue":
            self._part(made, block)
        else:
            self.define(made, self._computed(made), block)

    # Values

    def operand(self, operand: Operand) -> Value:
        """The value of an operand. Raises UnsupportedError for constants that CUDA C cannot say."""
        text, type = operand.text, operand.type
        if text.startswith("%"):
            self._reading.pop(text, None)
            return self.values[text]
        if text in self.globals:
            return Pointer(self.globals[text], BYTES)
        if type.startswith("ptr"):
            if text in ("null", "undef", "poison"):
                return Pointer("nullptr", BYTES)
            raise UnsupportedError(f"the address {text} cannot be written in CUDA C")
        bits = int_bits(type)
        unknown = text in ("undef", "poison", "zeroinitializer")
        if bits == 1 and (unknown or text in ("true", "false", "0", "1", "-1")):
            return literal_truth(text in ("true", "1", "-1"))
        if bits is not None and (unknown or re.fullmatch(r"-?\d+", text)):
            key_of(type)
            return literal(0 if unknown else int(text), f"i{bits}", bits)
        key = key_of(type)
        if bits is not None:
            raise UnsupportedError(f"the constant {text} cannot be written in CUDA C")
        said = float_literal("0.0" if unknown else text, key)
        return Expr(said, key, UNARY if said.startswith("-") else 16)

    def expr(self, operand: Operand) -> Expr:
        """The value of an operand as an expression; addresses are those of bytes."""
        value = self.operand(operand)
        if isinstance(value, Expr):
            return value
        found = pointer_expr(value)
        return Expr(f"({C_TYPES['u64']}){wrapped(found, UNARY)}", "u64", UNARY, bits=64)

    def pointer(self, operand: Operand) -> Pointer:
        value = self.operand(operand)
        if not isinstance(value, Pointer):
            raise UnsupportedError(f"the address {operand.text} cannot be written in CUDA C")
        return value

    def atom(self, operand: Operand) -> Expr:
        """The value of an operand, as something that may be said twice."""
        value = self.expr(operand)
        if value.is_atom:
            return value
        return self._variable(operand.text if operand.is_local else "%value", value)

    def define(self, made: Instruction, value: Value, block: str) -> None:
        """Give the result of an instruction its value: in a variable, unless its one user can say it itself."""
        name = str(made.result)
        if isinstance(value, Expr):
            if is_small(name) and int_bits(made.type) == 64:
                value = Expr(value.text, value.type, value.level, value.literal, 64, value.loads, True)
            alone = name in self.distances or (
                self.uses.count[name] <= 1 and self._near(name, block, value.loads) and len(value.text) <= LONGEST
            )
            if not alone and not value.is_atom and self.uses.count[name]:
                value = self._variable(name, value)
            elif value.loads:
                self._reading[name] = value
        self.values[name] = value

    def unread(self) -> None:
        """Read what has not been read, because memory is about to change."""
        self.finish(set())

    def say(self, text: str) -> None:
        self.out.append(Plain(text))

    def phi(self, made: Instruction) -> Expr:
        """The variable of a phi."""
        name = str(made.result)
        if name not in self.values:
            bits = int_bits(made.type) or 0
            key = key_of(made.type, signed=self.uses.is_signed(name))
            word = self.names.of(name)
            self.variables[word] = C_TYPES[key]
            self.values[name] = Expr(word, key, bits=bits, small=is_small(name))
        found = self.values[name]
        assert isinstance(found, Expr)
        return found

    def variable(self, name: str, value: Expr) -> Expr:
        """A variable of that name with the value."""
        return self._variable(name, value)

    def _variable(self, name: str, value: Expr) -> Expr:
        key = value.type
        if key[0] in "iu" and value.bits:
            signed = self.uses.is_signed(name) if key[1:] == str(value.bits) else is_signed(key)
            key = f"{'i' if signed else 'u'}{key[1:]}"
        word = self.names.of(name)
        self.variables[word] = C_TYPES[key]
        self.out.append(Assign(word, value.text))
        return Expr(word, key, bits=value.bits, small=value.small)

    def _settle(self, name: str) -> None:
        value = self._reading.pop(name)
        self.values[name] = self._variable(name, value)

    def _near(self, name: str, block: str, loads: bool) -> bool:
        """Whether the one user stands where the value would not be computed more often."""
        where = self.uses.where.get(name, {block})
        return where == {block} or (
            not loads
            and name not in self.uses.in_phi
            and all(self.flow.innermost(other) is self.flow.innermost(block) for other in where)
        )

    # Instructions

    def _computed(self, made: Instruction) -> Expr:
        op = made.op
        if op == "icmp":
            return self._icmp(made)
        if op == "fcmp":
            a, b = ((self.atom if says_twice(made.word) else self.expr)(item) for item in made.operands)
            return compared_floats(made.word, a, b)
        if op == "fneg":
            a = self.expr(made.operands[0])
            return Expr(f"-{wrapped(a, OTHER + 6)}", a.type, UNARY, loads=a.loads)
        if op == "select":
            return self._select(made)
        if op in _CONVERSIONS:
            (source,) = made.operands
            return converted(made, self.expr(source), source.type)
        if op == "mul" and made.operands[1].text.lstrip("-").isdigit():
            self.products[str(made.result)] = (made.operands[0].text, int(made.operands[1].text))
        if op in ("sub", "ashr"):
            self._distance(made)
        if len(made.operands) != 2 or op in ("insertvalue", "extractelement", "insertelement", "va_arg"):
            raise UnsupportedError(f"the instruction {op} cannot be written in CUDA C")
        a, b = (self.expr(item) for item in made.operands)
        return binary(made, a, b)

    def _icmp(self, made: Instruction) -> Expr:
        bits = int_bits(made.operands[0].type)
        a, b = (self.expr(item) for item in made.operands)
        if bits is None and not made.operands[0].type.startswith("ptr"):
            raise UnsupportedError(f"a comparison of {made.operands[0].type} cannot be written in CUDA C")
        return compared(made, a, b, bits or 64)

    def _select(self, made: Instruction) -> Expr:
        if made.type.startswith("ptr"):
            raise UnsupportedError("a choice between addresses cannot be written in CUDA C")
        condition, a, b = (self.expr(item) for item in made.operands)
        loads = condition.loads or a.loads or b.loads
        if bits := int_bits(made.type):
            key = f"{'i' if self.uses.is_signed(str(made.result)) else 'u'}{bits}"
            a, b = (item if bits == 1 else cast(item, key) for item in (a, b))
            key = "b1" if bits == 1 else key
        else:
            key = key_of(made.type)
        text = f"{wrapped(condition, CHOICE + 1)} ? {wrapped(a, CHOICE + 1)} : {wrapped(b, CHOICE + 1)}"
        found = Expr(text, key, CHOICE, bits=int_bits(made.type) or 0, loads=loads)
        return cast(Expr(found.text, "i32", CHOICE, loads=loads), key) if bits in (8, 16) else found

    def _distance(self, made: Instruction) -> None:
        """Note differences of addresses, which lead to local numbers: half the distance for half the width."""
        name, first = str(made.result), made.operands[0].text
        if made.op == "sub":
            a, b = (self.places.get(item.text) for item in made.operands)
            apart = distance(a, b) if a is not None and b is not None else None
            if apart is not None:
                self.distances[name] = apart
        elif "exact" in made.flags and first in self.distances and made.operands[1].text.isdigit():
            terms, number = self.distances[first]
            size = 1 << int(made.operands[1].text)
            if number % size == 0 and all(scale % size == 0 for _, scale in terms):
                self.distances[name] = tuple((item, scale // size) for item, scale in terms), number // size

    def _address(self, made: Instruction, block: str) -> None:
        base, name = made.operands[0], str(made.result)
        if made.type != "ptr" or any(item.type.startswith("<") for item in made.operands):
            raise UnsupportedError("vectors of addresses cannot be written in CUDA C")
        found = step(made, self.types)
        if base.text in self.globals or base.text in self.shared:
            self.values[name] = self._view(name, self.pointer(base), found.bytes, found.indices)
            return
        exact = bool(made.flags & {"inbounds", "nusw", "nuw"}) or not (found.bytes or found.indices)
        pointer = self.pointer(base)
        for text, type, scale in found.indices:
            if text in self.distances and type == "i64":
                terms, number = self.distances[text]
                more = [(item, times * scale) for item, times in terms]
                pointer = moved(pointer, more, number * scale, exact=exact)
            else:
                whole = exact and text not in self.products
                pointer = moved(pointer, [self._term(text, type, scale)], 0, exact=whole)
        self.values[name] = moved(pointer, [], found.bytes, exact=exact)

    def _view(self, name: str, pointer: Pointer, bytes: int, indices: Sequence[tuple[str, str, int]]) -> Pointer:
        """A place of the block's shared memory as an array of its own."""
        if indices:
            raise UnsupportedError("an index into all of the shared memory cannot be written in CUDA C")
        word = self.names.of(name)
        element = self.elements.get(word, BYTES)
        place = moved(pointer, [], bytes, exact=True)
        self.locals.append(f"{C_TYPES[element]} *const {word} = ({C_TYPES[element]} *){_atomic(pointer_expr(place))}")
        return Pointer(word, element)

    def _term(self, text: str, type: str, scale: int) -> tuple[Expr, int]:
        """An index, as something that may be said twice: of a product by a constant, what is multiplied."""
        value = self.values[text]
        if text in self.products and type == "i64" and isinstance(value, Expr) and not value.is_atom:
            self._reading.pop(text, None)
            inner, factor = self.products[text]
            value, scale, text = self.values[inner], scale * factor, inner
        if not isinstance(value, Expr):
            raise UnsupportedError("an address as an index cannot be written in CUDA C")
        self._reading.pop(text, None)
        if type != "i64":
            value = extended(value, int_bits(type) or 0, signed=True)
        if not value.is_atom:
            simple = not value.loads and value.level in (PRODUCT, SUM, UNARY) and self.uses.count[text] == 1
            if not simple or len(value.text) > SHORT:
                value = self.values[text] = self._variable(text, value)
        return value, scale

    def _taken_over(self, made: Instruction, block: str) -> None:
        """Instructions that only say something in another way."""
        (source,), name = made.operands, str(made.result)
        if made.op in ("addrspacecast", "freeze"):
            if source.text in self.globals:
                self.shared.add(name)
            if source.text in self.distances:
                self.distances[name] = self.distances[source.text]
            if source.type.startswith("ptr"):
                self.values[name] = self.pointer(source)
            else:
                self.define(made, self.expr(source), block)
        elif made.op == "ptrtoint":
            found = self.pointer(source)
            self.places[name] = found
            self.define(made, cast(self.expr(source), key_of(made.type)), block)
        elif made.op == "inttoptr":
            raise UnsupportedError("an address that is made of a number cannot be written in CUDA C")
        elif made.type == source.type:
            self.define(made, self.expr(source), block)
        else:
            value = self.expr(source)
            words = _BITCASTS.get((source.type, made.type))
            if words is None:
                raise UnsupportedError(f"{source.type} as {made.type} cannot be written in CUDA C")
            function, taken, key = words
            found_bits = int_bits(made.type) or 0
            text = f"{function}({cast(value, taken).text})"
            self.define(made, Expr(text, key, bits=found_bits, loads=value.loads), block)

    def _part(self, made: Instruction, block: str) -> None:
        pair, place = made.operands[0].text, made.body.rsplit(",", 1)[1].strip()
        if pair not in self.pairs or place not in ("0", "1"):
            raise UnsupportedError("a part of a structure cannot be written in CUDA C")
        self.define(made, self.pairs[pair][int(place)], block)

    def _say_line(self, made: Instruction) -> None:
        """A comment with the source line, where it is another one than before."""
        place = self.lines.place(made.meta.get("dbg"))
        if place is not None and place.line and str(place.own) != self._line:
            self._line = str(place.own)
            self.unread()
            self.out.append(Comment(" ".join(self._line.split())))


def _atomic(expr: Expr) -> str:
    return wrapped(expr, UNARY)
