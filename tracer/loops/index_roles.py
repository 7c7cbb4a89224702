"""What a loaded index or a counter is used for: to form addresses, to bound an inner loop, or as data.

Only values that are used for addresses alone can be replaced by their new numbers; where the same value is also
data, the use has to be split: the address sees the new number, the data use the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Instruction
from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.nest import Edge, Site

from .bit_masks import masks
from .linear_forms import Forms, linear_form
from .updates.reductions import Uses

# Integer arithmetic that an address may be formed with and still be linear in the index.
FORMING = frozenset(
    {"sext", "zext", "trunc", "add", "sub", "mul", "shl", "or", "freeze", "getelementptr", "select", "phi"}
)

SIGNS = {("sgt", "-1"), ("slt", "0"), ("eq", "-1"), ("ne", "-1")}


def forms(instruction: Instruction, fixed: Callable[[str], bool]) -> bool:
    """Whether an address may be formed with what an instruction computes, and still be linear in its operands.

    Of divisions, those without a remainder: how far apart two pointers are. Of masks, those that do not change, as
    `fixed` says of an operand: they may leave a number as it is.
    """
    if masks(instruction, fixed):
        return True
    if instruction.op in ("sdiv", "ashr"):
        return "exact" in instruction.flags
    return instruction.op in FORMING or instruction.op == "ptrtoint"


@dataclass(frozen=True)
class Roles:
    """How a value is used.

    Attributes:
        forming: names of the values between it and the addresses, itself included.
        addresses: accesses whose address it forms.
        bounds: comparisons that only count the iterations of a loop, with numbers that are linear in it.
        signs: comparisons that only ask whether it is negative: of a start of rows, no number of which ever is.
        data: every other use.
    """

    forming: frozenset[str]
    addresses: tuple[Instruction, ...]
    bounds: tuple[Instruction, ...]
    signs: tuple[Instruction, ...]
    data: tuple[Instruction, ...]


Pairs = frozenset[frozenset[str]]


def piece_pairs(trips: Iterable[Expr | None]) -> Pairs:
    """Loaded starts and ends of inner loops over pieces of an array: {start, end} by name.

    Loops that count from 0 on, or from the start, run as often as the end is away from the start: `rows[i].size()`,
    `subspan(start[i], start[i + 1] - start[i])`.
    """
    found = set()
    for trip in trips:
        if trip is None:
            continue
        start, _, bound = trip.args
        first, last = start.numbers(), bound.numbers()
        if not first and len(last) == 2 and any(_subtracts(node, last) for node in bound.walk()):
            first = [last.pop()]
        elif len(first) == 1 and len(last) == 2 and first[0] in last and _are_apart(start, bound, *last):
            last.remove(first[0])
        if len(first) == len(last) == 1 and first[0] is not last[0]:
            found.add(frozenset({str(first[0].data[0]), str(last[0].data[0])}))
    return frozenset(found)


def row_lengths(uses: Uses, sites: Iterable[Site], forms: Forms) -> tuple[tuple[str, str], ...]:
    """Loads (start, end) of two whole numbers in a row, `row[u]` and `row[u + 1]`, that are subtracted or compared.

    Whatever picks them is the same, and a step of it leads to the next number. O(loads, and their uses).
    """
    found: dict[tuple[str, frozenset[tuple[Expr, int]]], dict[int, list[str]]] = {}
    for site in sites:
        if site.writes or site.type not in ("i8", "i16", "i32", "i64"):
            continue
        form = forms.of(site.address)
        if site.size in (factor for atom, factor in form.terms.items() if atom.kind in ("load", "counter")):
            found.setdefault((site.type, frozenset(form.terms.items())), {}).setdefault(form.const, []).append(site.key)
    return tuple(
        (start, end)
        for (type, _), places in found.items()
        for place, starts in sorted(places.items())
        for start in starts
        for end in places.get(place + int(type[1:]) // 8, ())
        if _meet(uses, start, end)
    )


def _meet(uses: Uses, start: str, end: str) -> bool:
    """Whether two values are subtracted or compared, maybe after an extension."""
    stack = [start]
    while stack:
        for _, user in uses.of(stack.pop()):
            if user.op in ("sext", "zext", "freeze"):
                stack.append(str(user.result))
            elif user.op in ("sub", "icmp") and {_source(uses, part.text) for part in user.operands} == {start, end}:
                return True
    return False


def _subtracts(node: Expr, loads: Sequence[Expr]) -> bool:
    """Whether one of two numbers is subtracted from the other one."""
    return node.kind == "op" and node.data[0] == "sub" and set(node.args) == set(loads)


def _are_apart(start: Expr, bound: Expr, one: Expr, other: Expr) -> bool:
    """Whether a bound lies as far behind a start as one of two numbers behind the other, or a multiple of it."""
    first, last = linear_form(start, {}), linear_form(bound, {})
    ways = {atom: last.terms.get(atom, 0) - first.terms.get(atom, 0) for atom in {**first.terms, **last.terms}}
    moved = {atom: way for atom, way in ways.items() if way}
    return moved.keys() == {one, other} and sum(moved.values()) == 0


def exit_tests(uses: Uses, edges: Iterable[Edge]) -> frozenset[str]:
    """Comparisons that feed nothing but the branches of some exits, (inside, outside) each, of loops."""
    found: set[str] = set()
    for inside, _ in edges:
        end = uses.view.flow.blocks[inside].terminator
        if end.op == "br" and end.operands:
            test = end.operands[0].text
            if all(user is end for _, user in uses.of(test)):
                found.add(test)
    return frozenset(found)


def roles(
    uses: Uses, name: str, within: frozenset[str], exits: frozenset[str] = frozenset(), pairs: Pairs = frozenset()
) -> Roles:
    """Classify the uses of the value `name` inside the blocks `within`.

    `exits`: names of the tests that count the iterations of loops (`exit_tests`): what they load is known to the plan,
    which gives it new numbers only where the count stays. Every other test that leaves a loop is on data.
    Comparing a start with its end only asks whether the piece is empty, and their difference is how long it is, which
    no reordering changes: `pairs` names such values, and what compares or subtracts them counts as a bound. So does how
    far a loop has come from the value itself (`p - row[i]`), whatever number it is; and whether what was searched from
    a start on was found (`k >= 0`, where it is -1 else).
    """
    definitions = uses.view.definitions

    def fixed(text: str) -> bool:
        return text not in definitions or definitions[text].block not in within

    forming: set[str] = set()
    addresses: dict[int, Instruction] = {}
    bounds: dict[int, Instruction] = {}
    data: dict[int, Instruction] = {}
    signs: dict[int, Instruction] = {}
    starts = any(name in pair for pair in pairs)
    stack = [(name, False)]
    seen: set[tuple[str, bool]] = set()
    while stack:
        current, bent = stack.pop()
        if (current, bent) in seen:
            continue
        seen.add((current, bent))
        forming.add(current)
        for block, user in uses.of(current):
            if block not in within:
                if user.op != "phi":
                    data[id(user)] = user
                continue
            if user.op in ("load", "store") and user.operands[-1].text == current:
                stored = user.op == "store" and user.operands[0].text == current
                (data if stored else addresses)[id(user)] = user
            elif not bent and _is_larger_end(uses, user, pairs):
                stack.append((str(user.result), bent))
            elif not bent and user.op == "sub" and _is_distance(uses, user, name, pairs):
                bounds[id(user)] = user
            elif user.op == "phi" and str(user.result) not in forming and _carries(uses, block, user, current):
                data[id(user)] = user  # a sum, say: it holds what it was, whatever it is made of
            elif forms(user, fixed) and not (user.op == "select" and user.operands[0].text == current):
                stack.append((str(user.result), bent or _bends(user, fixed)))
            elif not bent and (user.result in exits or _asks_if_empty(uses, user, pairs)):
                bounds[id(user)] = user
            elif starts and _asks_for_sign(uses, user, name):
                signs[id(user)] = user
            elif user.op == "call" and user.word.startswith("@llvm.mem") and current in _pointers(user):
                addresses[id(user)] = user
            else:
                data[id(user)] = user
    bounds = {key: user for key, user in bounds.items() if key not in data}  # some way to it is not linear
    found = (tuple(part.values()) for part in (addresses, bounds, signs, data))
    return Roles(frozenset(forming), *found)


def _is_larger_end(uses: Uses, user: Instruction, pairs: Pairs) -> bool:
    """Whether it is the end of a piece, or its start where there is none in it: LLVM's bound of a loop over it."""
    if user.op != "call" or not user.word.startswith("@llvm.smax."):
        return False
    return frozenset(_source(uses, operand.text) for operand in user.operands[:2]) in pairs


def _is_distance(uses: Uses, user: Instruction, name: str, pairs: Pairs) -> bool:
    """Whether a difference is that of a start and its end, or of two numbers, or pointers, that start at `name`."""
    if frozenset(_source(uses, operand.text) for operand in user.operands) in pairs:
        return True
    first, second = (_starts_at(uses, operand.text, name) for operand in user.operands)
    return first == second and len(first) == 1 and "" not in first


def _starts_at(uses: Uses, text: str, name: str) -> set[str]:
    """What a number or a pointer has come from in constant steps: `name`, what points where it says, or "" for else."""
    found: set[str] = set()
    seen: set[str] = set()
    stack = [text]
    while stack:
        current = stack.pop()
        made = uses.view.definitions.get(current)
        if current in seen:
            continue
        seen.add(current)
        if current == name or made is None:
            found.add(current if current == name else "")
            continue
        ahead, *steps = [operand.text for operand in made.instruction.operands] or [""]
        op, constant = made.instruction.op, not any(step.startswith("%") for step in steps)
        if op == "phi":
            stack += [ahead, *steps]
        elif op in ("ptrtoint", "freeze", "sext", "zext") or (op in ("getelementptr", "add") and constant):
            stack.append(ahead)
        else:
            picked = op == "getelementptr" and ahead.startswith("@") and steps == [name]
            found.add(current if picked else "")
    return found


def _asks_if_empty(uses: Uses, user: Instruction, pairs: Pairs) -> bool:
    if user.op != "icmp" or user.word not in ("slt", "sgt", "ult", "ugt", "eq", "ne"):
        return False
    one, other = (_source(uses, operand.text) for operand in user.operands)
    tested = (one, other), (_behind_next(uses, one), other), (one, _behind_next(uses, other))
    return any(frozenset(pair) in pairs for pair in tested)


def _asks_for_sign(uses: Uses, user: Instruction, name: str) -> bool:
    """Whether it asks if a number is negative, or -1, that is constant or was counted from `name` on."""
    if user.op != "icmp" or (user.word, user.operands[1].text) not in SIGNS:
        return False
    seen: set[str] = set()
    stack = [user.operands[0].text]
    while stack:
        current = stack.pop()
        if current in seen or current == name or not current.startswith("%"):
            continue
        seen.add(current)
        made = uses.view.definitions.get(current)
        op, operands = ("", []) if made is None else (made.instruction.op, made.instruction.operands)
        if op in ("phi", "select", "sext", "zext", "trunc", "freeze"):
            stack += [operand.text for operand in operands[1 if op == "select" else 0 :]]
        elif op == "add" and operands[1].text.isdigit():
            stack.append(operands[0].text)
        else:
            return False
    return True


def _behind_next(uses: Uses, name: str) -> str:
    """The value of which this is the next number: a loop over all of a piece but its first record begins there."""
    found = uses.view.definitions.get(name)
    if found is None or found.instruction.op != "add" or "nsw" not in found.instruction.flags:
        return name
    first, step = (operand.text for operand in found.instruction.operands)
    return _source(uses, first) if step == "1" else name


def _source(uses: Uses, name: str) -> str:
    """The value behind sign and zero extensions."""
    while (found := uses.view.definitions.get(name)) is not None and found.instruction.op in ("sext", "zext", "freeze"):
        name = found.instruction.operands[0].text
    return name


def _carries(uses: Uses, block: str, phi: Instruction, name: str) -> bool:
    """Whether a phi takes a value to the next iteration of a loop."""
    loop = uses.view.flow.headed.get(block)
    arms = zip(phi.operands, phi.labels, strict=True)
    return loop is not None and any(operand.text == name and label in loop.blocks for operand, label in arms)


def _bends(user: Instruction, fixed: Callable[[str], bool]) -> bool:
    """Whether what an instruction makes of a number need not be linear in it: its bits, a power of two, a square."""
    operands = [fixed(operand.text) for operand in user.operands]
    if user.op == "or":
        return "disjoint" not in user.flags
    if user.op == "shl":
        return not operands[1]
    if user.op == "mul":
        return not any(operands)
    return masks(user, fixed)


def _pointers(call: Instruction) -> list[str]:
    return [operand.text for operand in call.operands if operand.type == "ptr"]
