"""Puts one loop over all elements in front of a loop over pieces of them, which is kept aside.

The kept one runs where the pieces do not follow each other, which a loop in front of both finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracecut.ir.llvm import Block, Instruction
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import edit_phis, renamed, sources, with_sources

from ..leave_loops import COPIED
from .counted_loops import Counted

ASIDE = f"{COPIED}.pieces"  # how the names of blocks begin that are kept, or made, beside the joined loop


def at_place_of(header: Block) -> Callable[[str], Instruction]:
    """Makes instructions that are at the place of a loop in the source."""
    place = header.instructions[0].meta or header.terminator.meta
    where = {"dbg": place["dbg"]} if "dbg" in place else {}
    return lambda text: Instruction(text, dict(where))


def join_to(
    flow: ControlFlow,
    outer: Loop,
    piece: Counted,
    looks: list[Instruction],
    own: list[Instruction],
    ends: tuple[str, str],
    prefix: str,
    doubts: Sequence[Instruction] = (),
) -> None:
    """Put a loop over all elements in front of one over pieces, which is kept aside.

    Args:
        piece: how the inner loop counts. looks: a loop that leaves to `prefix.seen`, with `prefix.any` set where the
            pieces do not follow each other. own: what stands in front of the loop over all elements, up to
            `prefix.some`, whether there are any. ends: its first element, and what is behind its last one.
        doubts: what comes behind the loop that looks, up to `prefix.doubt`: whether to run the loops as they were.
    """
    inner, function, blocks = outer.children[0], flow.function, flow.blocks
    latch, behind = outer.exits[0]
    assert outer.preheader is not None and inner.preheader is not None
    line = at_place_of(blocks[outer.header])

    # The loops as they were, for pieces that do not follow each other.
    names = {f"%{name}": f"%{prefix}.{name}" for name in outer.blocks}
    results = [str(item.result) for name in outer.blocks for item in blocks[name].instructions if item.result]
    names |= {name: f"%{prefix}.{name[1:]}" for name in results}
    names[f"%{outer.preheader}"], names[f"%{behind}"] = f"%{prefix}.aside", f"%{prefix}.left"
    kept = [Block(f"{prefix}.aside", [line(f"br label {names['%' + outer.header]}")])]
    for name in (name for name in flow.order if name in outer):
        kept.append(Block(names["%" + name][1:], [renamed(item, names) for item in blocks[name].instructions]))
    kept.append(Block(f"{prefix}.left", [line(f"br label %{behind}")]))

    look = f"{prefix}.look"
    added = [Block(look, looks)]
    seen = line(f"%{prefix}.never = phi i1 [ %{prefix}.any, %{look} ]")
    go = line(f"br i1 %{prefix}.{'doubt' if doubts else 'never'}, label %{prefix}.aside, label %{prefix}.all")
    added.append(Block(f"{prefix}.seen", [seen, *doubts, go]))
    own.append(line(f"br i1 %{prefix}.some, label %{prefix}.begin, label %{prefix}.done"))
    added.append(Block(f"{prefix}.all", own))
    added.append(Block(f"{prefix}.begin", [line(f"br label %{inner.header}")]))
    added.append(Block(f"{prefix}.end", [line(f"br label %{prefix}.done")]))
    added.append(Block(f"{prefix}.done", [line(f"br label %{behind}")]))
    inner_phi = piece.phi
    values = [
        (ends[0], f"{prefix}.begin") if label not in inner else (value, label) for value, label in sources(inner_phi)
    ]
    header = blocks[inner.header]
    header.instructions[header.instructions.index(inner_phi)] = Instruction(
        with_sources(inner_phi, values), dict(inner_phi.meta)
    )
    own_latch = blocks[inner.latches[0]]
    test = own_latch.terminator.operands[0].text
    for name in inner.blocks:
        body = blocks[name].instructions
        body[:] = [_asked(item, piece.end, ends[1]) if item.result == test else item for item in body]
    away = {f"%{inner.exits[0][1]}": f"%{prefix}.end"}
    own_latch.instructions[-1] = renamed(own_latch.terminator, away)

    edit_phis(
        blocks[behind],
        lambda phi: with_sources(
            phi,
            [
                (value, name)
                for value, label in sources(phi)
                for name in ((f"{prefix}.left", f"{prefix}.done") if label == latch else (label,))
            ],
        ),
    )
    start = blocks[outer.preheader]
    start.instructions[-1] = renamed(start.terminator, {f"%{outer.header}": f"%{look}"})
    place_of = max(function.blocks.index(blocks[name]) for name in outer.blocks) + 1
    function.blocks[place_of:place_of] = [*added, *kept]


def _asked(test: Instruction, end: str, last: str) -> Instruction:
    """What a loop asks, of the end of the last piece. Whether both sides have the same sign is not known any more."""
    item = renamed(test, {end: last})
    return Instruction(item.text.replace("icmp samesign ", "icmp ", 1), dict(item.meta))


def made_again(
    blocks: Mapping[str, Block], between: Sequence[str], values: Sequence[str], names: dict[str, str], prefix: str
) -> list[Instruction]:
    """What computes some values between the pieces, once more under other names, which are put into `names`.

    `names`: what else is to be taken for the counter.
    """
    lines = [item for name in between for item in blocks[name].instructions]
    wanted, stack = set(), list(values)
    made = {str(item.result): item for item in lines if item.result is not None and item.result not in names}
    while stack:
        value = stack.pop()
        if value in made and value not in wanted:
            wanted.add(value)
            stack += [one.text for one in made[value].operands]
    found = []
    for item in lines:
        if item.result in wanted:
            names[str(item.result)] = f"%{prefix}.{str(item.result)[1:]}"
            found.append(renamed(item, names))
    return found
