"""Stack arrays that are private to the iterations of a loop: no iteration reads what another one wrote.

Either the array is declared in the body (its lifetime markers lie there), or each iteration overwrites all of it
before reading from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tracecut.ir.llvm import Instruction, Operand
from tracecut.ir.llvm.control_flow import Loop
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.expressions import Expr, Pool

from .linear_forms import linear_form
from .scalar_evolution import ScalarView
from .trip_counts import count, ending
from .updates.reductions import Uses

Touch = tuple[str, Instruction]  # block, instruction
Span = tuple[int, int]  # bytes [first, behind the last)
MAX_PIECES = 1024  # of an array that one store fills with gaps in between, as columns of a table


def birthplace(uses: Uses, name: str) -> Loop | None:
    """The innermost loop to whose iterations the stack array `name` is private, None when there is none."""
    touching = _touching(uses, name)
    found = (_declared_in(uses, name, touching), _filled_in(uses, name, touching))
    return max((loop for loop in found if loop is not None), key=lambda loop: loop.depth, default=None)


def _touching(uses: Uses, name: str) -> list[Touch]:
    """Instructions that may access a stack array or let its address escape. Address arithmetic is left out."""
    found: list[Touch] = []
    for pointer in _pointers(uses, name):
        found += [touch for touch in uses.of(pointer) if touch[1].op not in ("getelementptr", "phi", "select")]
    return found


def _pointers(uses: Uses, name: str) -> list[str]:
    """Pointers that may lie in a stack array."""
    found = [name]
    for pointer in found:
        for _, user in uses.of(pointer):
            if user.op in ("getelementptr", "phi", "select") and str(user.result) not in found:
                found.append(str(user.result))
    return found


def _declared_in(uses: Uses, name: str, touching: list[Touch]) -> Loop | None:
    for block, user in uses.of(name):
        if user.op == "call" and user.word.startswith("@llvm.lifetime.start"):
            loop = uses.view.innermost(block)
            inside = loop is not None and all(where in loop.blocks for where, _ in touching)
            if inside and all(
                user is other or _before(uses.view, (block, user), (where, other)) for where, other in touching
            ):
                return loop
    return None


def _before(view: FunctionView, first: Touch, second: Touch) -> bool:
    """Whether `first` always comes before `second` in the same iteration of a loop around both."""
    if first[0] != second[0]:
        return view.flow.dominates(first[0], second[0])
    body = view.flow.blocks[first[0]].instructions
    return body.index(first[1]) < body.index(second[1])


def _filled_in(uses: Uses, name: str, touching: list[Touch]) -> Loop | None:
    view = uses.view
    made = view.definitions[name].instruction
    pointers = set(_pointers(uses, name))
    touching = [touch for touch in touching if not touch[1].word.startswith("@llvm.lifetime.")]
    if made.operands or not all(_is_plain(user, pointers) for _, user in touching):
        return None
    reads = [touch for touch in touching if touch[1].op != "store" and not touch[1].word.startswith("@llvm.memset.")]
    size = view.types.size(made.word)
    loop = view.innermost(reads[0][0]) if reads else None
    while loop is not None:
        if all(block in loop.blocks for block, _ in reads):
            scalars = ScalarView(view, loop, Pool())
            spans = [_spans(scalars, loop, name, touch, reads) for touch in touching if touch[0] in loop.blocks]
            if _covers([span for each in spans for span in each], size):
                return loop
        loop = loop.parent
    return None


def _is_plain(user: Instruction, pointers: set[str]) -> bool:
    """Whether an instruction reads or writes through a pointer without letting it escape."""
    if user.op == "load":
        return user.is_simple_access
    if user.op == "store":
        return user.is_simple_access and user.operands[0].text not in pointers
    return user.op == "call" and user.word.startswith(("@llvm.memset.", "@llvm.memcpy.", "@llvm.memmove."))


def _spans(scalars: ScalarView, loop: Loop, name: str, touch: Touch, reads: list[Touch]) -> list[Span]:
    """Bytes of the array that a write fills in each iteration of `loop`, whole and ahead of every read."""
    view = scalars.view
    block, user = touch
    if view.innermost(block) is loop:
        ahead = all(_before(view, touch, read) for read in reads)
        return _written(scalars, name, user, {}) if ahead else []
    passes = _passes(scalars, loop, block)
    if not passes:
        return []
    inner, *_, outermost = (*passes, *passes)
    if any(where in outermost.blocks for where, _ in reads):
        return []
    if not all(view.flow.dominates(outermost.header, where) for where, _ in reads):
        return []
    ranges = {scalars.pool.counter(view.loop_ids[each]): number for each, number in passes.items()}
    for pointer in _in_turn(view, user, inner, passes[inner]):
        if view.origin(pointer.text) == name:
            return _written(scalars, name, user, ranges, pointer)
    return _written(scalars, name, user, ranges)


def _passes(scalars: ScalarView, loop: Loop, block: str) -> dict[Loop, int]:
    """The loops from the innermost one around a block to those right inside of `loop`, with their constant numbers of
    passes. Empty where one of them has no such number, or a pass of it may leave the block out.
    """
    view = scalars.view
    found: dict[Loop, int] = {}
    inner, ran = view.innermost(block), block
    while inner is not None and inner is not loop:
        if len(inner.exits) != 1 or len(inner.latches) != 1:
            return {}
        end = ending(scalars, inner)
        if not view.flow.dominates(ran, inner.latches[0]) or end.trip is None or end.why:
            return {}
        if any(part.kind != "const" for part in end.trip.args):
            return {}
        passes, known = count(end.trip.data, *(part.data[0] for part in end.trip.args))
        if not known or passes < 1:
            return {}
        found[inner] = int(passes)
        ran, inner = inner.header, inner.parent
    return found if inner is loop else {}


def _in_turn(view: FunctionView, user: Instruction, loop: Loop, passes: int) -> list[Operand]:
    """Pointers that are made outside of a loop, to each of which a store in it goes in some of its passes.

    The first pass begins with one of them, all others with another: an array of two that is two variables.
    """
    made = view.definitions.get(user.operands[1].text) if user.op == "store" else None
    if made is None or made.instruction.op != "phi" or made.block != loop.header:
        return []
    found = []
    for operand, label in zip(made.instruction.operands, made.instruction.labels, strict=True):
        source = view.definitions.get(operand.text)
        if source is not None and source.block not in loop.blocks and (label not in loop.blocks or passes > 1):
            found.append(operand)
    return found


def _written(
    scalars: ScalarView, name: str, user: Instruction, ranges: Mapping[Expr, int], to: Operand | None = None
) -> list[Span]:
    """Bytes that a store or memset writes while counters run. `ranges`: counter → passes. `to`: where."""
    if user.op == "store":
        pointer, width = to or user.operands[1], scalars.view.types.stored(user.operands[0].type)
    elif user.word.startswith("@llvm.memset.") and user.operands[2].text.isdigit():
        pointer, width = user.operands[0], int(user.operands[2].text)
    else:
        return []
    form = linear_form(scalars.operand(pointer), {name: 0})
    if not form.atoms() <= set(ranges) or not form.holds({each: (0, ranges[each] - 1) for each in form.atoms()}):
        return []
    first, behind, begins = form.const, form.const + width, [0]
    for counter, step in sorted(form.terms.items(), key=lambda term: abs(term[1])):
        passes = ranges[counter]
        if len(begins) == 1 and abs(step) <= behind - first:  # each piece begins where the one before it ends
            first, behind = first + min(step * (passes - 1), 0), behind + max(step * (passes - 1), 0)
        elif len(begins) * passes > MAX_PIECES:
            return []
        else:
            begins = [begin + step * number for begin in begins for number in range(passes)]
    return [(first + begin, behind + begin) for begin in begins]


def _covers(spans: list[Span], size: int) -> bool:
    """Whether spans together hold every byte [0, size)."""
    end = 0
    for first, behind in sorted(spans):
        if first > end:
            return False
        end = max(end, behind)
    return end >= size > 0
