"""Rows behind pointers as rows of one array: the program as if each table of row pointers held numbers.

`p = rows[i]` becomes `p = arena + unit · rows[i]`. The arena is a global variable that the program does not have: at
run time a copy of all rows, one after the other, while a copy of the table has numbers in the places of the pointers
(`row_arenas.py`). What is analysed and emitted in this form is a sparse matrix like any other; the program's own loops
keep their pointers.

It is done for the pointers that a loop loads from places that vary, if all that is done with them is known here:
addresses are formed with them, and they are compared with, and subtracted from, pointers of the same table alone, or
compared with null, which is number 0. Loops that do nothing but that (the lengths of rows: `rows[i + 1] - rows[i]`)
read the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from tracecut.ir.llvm import Instruction, Module
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.substitute import alignment
from tracecut.ir.loops.expressions import Expr, pointer_roots
from tracecut.ir.loops.nest import Nest

from .linear_forms import linear_form
from .row_numbers import ROW
from .updates.reductions import Uses

ARENA = "@tc.rows"


@dataclass(frozen=True)
class RowTable:
    """Pointers to rows of one kind.

    Attributes:
        function: that reads them. arena: the global variable that stands for all rows.
        unit: bytes that its numbers count.
        loads: names of the loads of these numbers.
        pairs: numbers that are compared or subtracted: both are of one row, in each iteration.
        written: whether rows are written too, somewhere in the function. records: whether a row is better taken for
            one record, which may be moved, than for a piece of an array: it is picked by an index that is loaded, or
            reached at constant distances alone; or a scope writes it (`row_tables`).
        null_checked: whether pointers are compared with null.
    """

    function: str
    arena: str
    unit: int
    loads: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    written: bool = False
    records: bool = False
    null_checked: bool = False


def flatten_rows(
    module: Module,
    views: Iterable[tuple[FunctionView, list[Nest]]],
    units: Mapping[str, int] | None = None,
    together: Collection[frozenset[str]] = (),
    unused: Collection[str] = (),
) -> tuple[Module, tuple[RowTable, ...]]:
    """The module in this form, and its tables; none where nothing of it is such a pointer.

    `views`: functions to look at, and their outermost loops. `units`: arena → bytes that its numbers count, multiples
    of those that its text asks for (`row_records.py`). `together`: loads of numbers that are of one table, for their
    pointers lead to common rows (`row_arenas.common_rows`). unused: loads that never run, whose tables stay as they
    are. O(instructions).
    """
    found: list[RowTable] = []
    rows: list[tuple[FunctionView, list[RowTable]]] = []
    for view, nests in views:
        tables = _Rows(view, nests).tables(len(found), together, unused)
        rows.append((view, [replace(table, unit=(units or {}).get(table.arena, table.unit)) for table in tables]))
        found += rows[-1][1]
    flat = module.copy() if found else module
    for view, tables in rows:
        _rewrite(flat, view, tables)
    for table in found:
        flat.append(f"{table.arena} = global i8 0, align 16")
    return flat, tuple(found)


def _rewrite(module: Module, view: FunctionView, tables: list[RowTable]) -> None:
    """Put numbers in the places of pointers in one function."""
    of = {name.removesuffix(ROW): table for table in tables for name in table.loads}
    for block in module.functions[view.function.name].blocks if of else ():
        made: list[Instruction] = []
        for instruction in block.instructions:
            meta = {kind: node for kind, node in instruction.meta.items() if kind == "dbg"}
            lines = _loaded(instruction, of) or _distance(view, instruction, of)
            made += [Instruction(line, meta) for line in lines] if lines else [instruction]
        block.instructions[:] = made


def unflattened(module: Module, view: FunctionView, tables: Iterable[RowTable]) -> dict[str, str]:
    """Keys of stores in the flattened program → their keys in `module`, the program as it is, where these differ."""
    mine = [table for table in tables if table.function == view.function.name]
    if not mine:
        return {}
    flat, keys = module.copy(), {}
    places = {
        id(item): f"store:{block.name}:{place}"
        for block in flat.functions[view.function.name].blocks
        for place, item in enumerate(block.instructions)
    }
    _rewrite(flat, view, mine)
    for block in flat.functions[view.function.name].blocks:
        for place, item in enumerate(block.instructions):
            if item.op == "store":
                keys[f"store:{block.name}:{place}"] = places[id(item)]
    return keys


def _loaded(instruction: Instruction, of: Mapping[str, RowTable]) -> list[str]:
    """A row pointer as its number, and the address that it stands for."""
    name = instruction.result
    table = of.get(name or "")
    if table is None:
        return []
    address = f"ptr {instruction.operands[0].text}{alignment(instruction)}"
    number = f"getelementptr [{table.unit} x i8], ptr {table.arena}, i64 {name}{ROW}"
    return [f"{name}{ROW} = load i64, {address}", f"{name} = {number}"]


def _distance(view: FunctionView, instruction: Instruction, of: Mapping[str, RowTable]) -> list[str]:
    """What compares or subtracts two row pointers, on their numbers."""
    if instruction.op not in ("icmp", "sub"):
        return []
    pointers = [operand.text for operand in instruction.operands]
    if _asks_for_null(instruction) and pointers[0] in of:
        return [f"{instruction.result} = icmp {instruction.word} i64 {pointers[0]}{ROW}, 0"]
    if instruction.op == "sub":
        found = [view.address_in(name) for name in pointers]
        pointers = ["" if operand is None else operand.text for operand in found]
    table = of.get(pointers[0])
    if table is None or of.get(pointers[1]) is not table:
        return []
    first, second = (f"{name}{ROW}" for name in pointers)
    if instruction.op == "icmp":
        signed = {"ult": "slt", "ule": "sle", "ugt": "sgt", "uge": "sge"}
        return [f"{instruction.result} = icmp {signed.get(instruction.word, instruction.word)} i64 {first}, {second}"]
    way = f"{instruction.result}{ROW}"
    return [f"{way} = sub i64 {first}, {second}", f"{instruction.result} = mul i64 {way}, {table.unit}"]


def _asks_for_null(instruction: Instruction) -> bool:
    """Whether it compares a pointer with null, which the canonical form has on the right."""
    return instruction.op == "icmp" and instruction.word in ("eq", "ne") and instruction.operands[1].text == "null"


class _Rows:
    """The row pointers of one function, joined to tables."""

    def __init__(self, view: FunctionView, nests: list[Nest]) -> None:
        self.view = view
        self.uses = Uses(view)
        self.nests = nests
        self.parent: dict[str, str] = {}  # of a row pointer: another one of its table, or itself
        self.used_otherwise: set[str] = set()  # for something else than addresses and distances
        self.refused: set[str] = set()  # of the tables of these
        self.written: set[str] = set()
        self.null_checked: set[str] = set()
        self.pairs: list[tuple[str, str]] = []

    def tables(
        self, first: int, together: Collection[frozenset[str]] = (), unused: Collection[str] = ()
    ) -> list[RowTable]:
        nodes = self._varying()
        addresses = self._joined(nodes, together)
        while seldom := {name for name in self.used_otherwise if name in nodes and self._is_seldom(name)}:
            nodes = {name: node for name, node in nodes.items() if name not in seldom}
            addresses = self._joined(nodes, together)
        units = self._units(nodes)
        members: dict[str, list[str]] = {}
        for name in addresses:
            members.setdefault(self._find(name), []).append(name)
        found: list[RowTable] = []
        for root, names in members.items():
            if any(name + ROW in unused for name in names):
                continue
            unit = math.gcd(*(units.get(name, 0) for name in names))
            if nodes.keys() & set(names) and not self.refused & set(names):  # not of those that are only measured
                pairs = tuple((a + ROW, b + ROW) for a, b in self.pairs if self._find(a) == root and a != b)
                loads = tuple(name + ROW for name in names)
                arena = f"{ARENA}{first + len(found)}"
                gathered = any(_is_picked(nodes[name]) for name in names if name in nodes)
                made = RowTable(
                    self.view.function.name,
                    arena,
                    unit or 1,
                    loads,
                    tuple(dict.fromkeys(pairs)),
                    written=bool(self.written & set(names)),
                    records=gathered or not unit,
                    null_checked=bool(self.null_checked & set(names)),
                )
                found.append(made)
        return found

    def _joined(self, nodes: Mapping[str, Expr], together: Collection[frozenset[str]]) -> dict[str, Expr]:
        """The addresses that pointers are loaded from, by their names; those of one table are joined."""
        addresses = {name: node.args[0] for name, node in nodes.items()}
        addresses |= self._measured(addresses) if nodes else {}
        self.parent = {name: name for name in addresses}
        for seen in (self.used_otherwise, self.written, self.null_checked):
            seen.clear()
        self.pairs.clear()
        self._join_fields(addresses)
        for common in together:
            joined = [name for name in addresses if name + ROW in common]
            for name in joined[1:]:
                self._join(joined[0], name)
        self._look_at_uses(self._derived())
        return addresses

    def _is_seldom(self, name: str) -> bool:
        """Whether a pointer is loaded where not every iteration of a loop around loops comes to.

        That may be an exit of a scope, which may do with rows what it likes; where it is none, the pointer counts for
        one that is not understood.
        """
        flow, block = self.view.flow, self.view.definitions[name].block
        inner = flow.innermost(block)
        around = [loop for loop in (inner, *(inner.ancestors() if inner is not None else ())) if loop is not None]
        return any(loop.children and not any(flow.dominates(block, end) for end in loop.latches) for loop in around)

    def _varying(self) -> dict[str, Expr]:
        """Pointers that a loop loads from places that vary, by name, of those that addresses are formed with."""
        found: dict[str, Expr] = {}
        for nest in self.nests:
            handed = {site.address for site in nest.sites if site.key.startswith("call:")}  # to who knows what
            for root in [*(site.address for site in nest.sites), *_trips(nest)]:
                for node in root.walk():
                    varies = node.kind == "load" and node.data[1] == "ptr" and node.has("counter", "opaque", "any")
                    whole = node is root and root in handed
                    if varies and not whole and not node.has("state") and _is_of_table(node.args[0]):
                        found[str(node.data[0])] = node
        simple = (name for name in found if self._is_plain_load(name))
        return {name: found[name] for name in simple}

    def _measured(self, known: Mapping[str, Expr]) -> dict[str, Expr]:
        """Further pointers that loops load from places that vary, only to see how far they are apart."""
        found = {
            site.key: site.address
            for nest in self.nests
            for site in nest.sites
            if site.type == "ptr" and site.key not in known and site.address.has("counter")
            if not site.address.has("opaque", "any", "state") and self._is_plain_load(site.key)
        }
        while gone := [name for name in found if not self._only_distances(name, known.keys() | found.keys())]:
            for name in gone:
                del found[name]
        return found

    def _only_distances(self, name: str, rows: Collection[str]) -> bool:
        """Whether a pointer is only compared with, and subtracted from, other ones to rows."""
        ahead = [name]
        while ahead:
            value = ahead.pop()
            for _, user in self.uses.of(value):
                if user.op in ("ptrtoint", "freeze"):
                    ahead.append(str(user.result))
                elif user.op not in ("icmp", "sub") or not all(
                    self._row_of(operand.text) in rows for operand in user.operands
                ):
                    return False
        return True

    def _row_of(self, name: str) -> str:
        """The loaded pointer that a number was made of."""
        found = self.view.definitions.get(name)
        while found is not None and found.instruction.op in ("ptrtoint", "freeze"):
            name = found.instruction.operands[0].text
            found = self.view.definitions.get(name)
        return name

    def _is_plain_load(self, name: str) -> bool:
        made = self.view.definitions.get(name)
        return made is not None and made.instruction.op == "load" and made.instruction.is_simple_access

    def _find(self, name: str) -> str:
        while self.parent[name] != name:
            name = self.parent[name]
        return name

    def _join(self, first: str, second: str) -> None:
        self.parent[self._find(second)] = self._find(first)

    def _join_fields(self, addresses: Mapping[str, Expr]) -> None:
        """Pointers that are loaded from the same field of the records of one table lead to the same rows.

        So do those from the same field of such rows. O(pointers²) at worst.
        """
        tables = 0
        while tables != (count := len({self._find(name) for name in addresses})):
            tables = count
            self._join_same_fields(addresses)

    def _join_same_fields(self, addresses: Mapping[str, Expr]) -> None:
        seen: dict[tuple[frozenset[tuple[object, int]], int], str] = {}
        for name, address in addresses.items():
            form = linear_form(address, {})
            rows = {atom: self._find(str(atom.data[0])) for atom in form.terms if self._is_row(atom)}
            steps = [factor for atom, factor in form.terms.items() if atom.has("counter") and atom not in rows]
            fixed = [(atom, factor) for atom, factor in form.terms.items() if not atom.has("counter") or atom in rows]
            base = frozenset((rows.get(atom, atom), factor) for atom, factor in fixed)
            record = math.gcd(*steps)
            other = seen.setdefault((base, form.const % record if record else form.const), name)
            self._join(other, name)

    def _is_row(self, atom: Expr) -> bool:
        return atom.kind == "load" and atom.data[0] in self.parent

    def _derived(self) -> dict[str, str]:
        """Value → the row pointer that it was made of."""
        found: dict[str, str] = {}
        stack = [(name, name) for name in self.parent]
        while stack:
            value, origin = stack.pop()
            if value in found:
                self._join(found[value], origin)
                continue
            found[value] = origin
            for _, user in self.uses.of(value):
                moved = user.op == "getelementptr" and user.operands[0].text == value
                if moved or user.op in ("phi", "freeze", "ptrtoint") or (user.op == "select" and user.type == "ptr"):
                    stack.append((str(user.result), origin))
        return found

    def _look_at_uses(self, derived: dict[str, str]) -> None:
        """Refuse the tables whose pointers are used for something else than addresses and distances."""
        for value, origin in derived.items():
            made = self.view.definitions[value].instruction
            if made.op in ("phi", "select"):
                parts = made.operands[1 if made.op == "select" else 0 :]
                if any(part.text not in derived for part in parts):
                    self.used_otherwise.add(origin)
            for _, user in self.uses.of(value):
                if not self._is_known(value, user, derived):
                    self.used_otherwise.add(origin)
                elif user.op == "store":
                    self.written.add(origin)
        tables = {self._find(name) for name in self.used_otherwise}
        self.refused = {name for name in self.parent if self._find(name) in tables}  # it holds for the whole table

    def _is_known(self, value: str, user: Instruction, derived: dict[str, str]) -> bool:
        if user.result in derived:
            return not (user.op == "getelementptr" and user.operands[0].text != value)
        if user.op in ("load", "store"):
            return user.operands[-1].text == value and not (user.op == "store" and user.operands[0].text == value)
        if _asks_for_null(user) and value in self.parent:
            self.null_checked.add(value)
            return True
        if user.op in ("icmp", "sub"):
            both = [derived.get(operand.text) for operand in user.operands]
            if len(both) == 2 and both[0] is not None and both[1] is not None:
                self._join(both[0], both[1])
                self.pairs.append((both[0], both[1]))
                return True
        return False

    def _units(self, nodes: dict[str, Expr]) -> dict[str, int]:
        """Row pointer → greatest number of bytes that all steps from it are multiples of."""
        of = {node: name for name, node in nodes.items()}
        found: dict[str, int] = {}
        for nest in self.nests:
            steps = [part for trip in nest.loops.values() if trip.trip is not None for part in trip.trip.args[1:2]]
            for address in (site.address for site in nest.sites):
                form = linear_form(address, {})
                rows = [atom for atom in form.terms if atom in of]
                for row in rows:
                    factors = [factor for atom, factor in form.terms.items() if atom is not row]
                    found[of[row]] = math.gcd(found.get(of[row], 0), *factors)
            for info, step in zip((i for i in nest.loops.values() if i.trip is not None), steps, strict=True):
                assert info.trip is not None
                rows = [node for part in info.trip.args for node in linear_form(part, {}).terms if node in of]
                if step.kind == "const" and info.trip.data[0] == 64:
                    for row in rows:
                        found[of[row]] = math.gcd(found.get(of[row], 0), int(step.data[0]))
        return found


def _trips(nest: Nest) -> list[Expr]:
    return [info.trip for info in nest.loops.values() if info.trip is not None]


def _is_of_table(address: Expr) -> bool:
    """Whether it is known which table a pointer is loaded from, if not from where in it: what a search finds, say."""
    if not address.has("opaque", "any"):
        return True
    roots = pointer_roots(address)
    return len(roots) == 1 and roots[0].kind in ("live", "load") and not roots[0].has("opaque", "any")


def _is_picked(pointer: Expr) -> bool:
    """Whether an index that is loaded says where a pointer is loaded from."""
    return any(node.kind == "load" and node.data[1] != "ptr" and node.has("counter") for node in pointer.args[0].walk())
