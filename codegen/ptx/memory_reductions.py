"""Reductions in memory: sequential on a host thread, atomic on the GPU.

A combination f(L) of the old value L with an associative, commutative operator is L ∘ f(identity), so the same
instructions, with the identity in the place of L, compute what one job contributes:

```
%L = load double, ptr %p            %v = fsub double -0.0, %x
%v = fsub double %L, %x        →    atomicrmw fadd ptr %p, double %v
store double %v, ptr %p
```

Where the hardware has no such operation, f itself runs in a compare-and-swap loop. In `if (v < *p) *p = v` the store is
that loop; the comparison before it stays, since *p can only have become less when v is not less than it. So runs the f
of updates that are no reductions, but the same in all iterations (`Repeat`).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tracecut.ir.llvm import Block, Instruction
from tracecut.ir.llvm.associative import COMPARED
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.nest import Repeat, Site
from tracecut.support.errors import UnsupportedError

from .combinations import BITS, SCOPE, Update, add_swap, combine_atomically, identity, native_operation
from .job_body import Job, substituted

EXTENSIONS = frozenset({"sext", "zext", "trunc", "fpext", "fptrunc"})


def lower_memory_reductions(job: Job, view: FunctionView, sites: Collection[Site]) -> list[tuple[Site, str]]:
    """Make every update of `sites` atomic, in place.

    Returns (site, how) with how the `atomicrmw` operation, or `swap` for a compare-and-swap loop.
    Raises UnsupportedError where neither is possible.
    """
    done: list[tuple[Site, str]] = []
    placed = [(site, *store_number(view, site)) for site in sites if site.operator or isinstance(site.effect, Repeat)]
    # From the last store to the first: splitting a block leaves what is in front of the split where it was.
    for site, block, number in sorted(placed, key=lambda item: (item[1], -item[2])):
        done.append((site, _lower_memory(job, site, job.block(block), number, len(done))))
    return sorted(done, key=lambda item: [found[0] for found in placed].index(item[0]))


def store_number(view: FunctionView, site: Site) -> tuple[str, int]:
    """(block, how many stores stand in front) of a site's store: that much is the same in the emitted function."""
    _, block, place = site.key.split(":")
    before = view.flow.blocks[block].instructions[: int(place)]
    return block, sum(other.op == "store" for other in before)


def _lower_memory(job: Job, site: Site, block: Block, number: int, serial: int) -> str:
    store = [made for made in block.instructions if made.op == "store"][number]
    read = site.effect.load if isinstance(site.effect, Repeat) else site.load
    load = next((made for made in block.instructions if made.result == read), None)
    chain = job.dependents(read)
    inside = [made for made in block.instructions if made.result in chain]
    type = site.type
    _check_memory(site, store)
    if load is None and (test := conditional_extreme(job, site, store)) is not None:
        _load_atomically(job, *test, site)
        value, pointer = store.operands
        at = block.instructions.index(store)
        block.instructions.remove(store)
        update = Update(site.operator, type, pointer.text, value.text, f"tc.swap{serial}")
        combine_atomically(job, block, update, at)
        return native_operation(site.operator, type) or "swap"
    if load is None or len(inside) != len(chain):
        raise UnsupportedError(f"the update at {site.place} is spread over several blocks")
    operation = native_operation(site.operator, type)
    if operation and all(made.type == type and made.op not in EXTENSIONS for made in inside):
        loosen(job, chain)
        block.instructions.remove(load)
        position = block.instructions.index(store)
        value, pointer = store.operands
        block.instructions[position] = Instruction(
            f"atomicrmw {operation} ptr {pointer.text}, {type} {value.text} {SCOPE}, align {BITS[type] // 8}"
        )
        job.substitute({site.load: identity(site.operator, type)})
        return operation
    _swap_loop(job, block, store, load, inside, f"tc.swap{serial}")
    return "swap"


def conditional_extreme(job: Job, site: Site, store: Instruction) -> tuple[Block, Instruction] | None:
    """(block, load) of the old value with which another is only compared before it is stored; None if it is not so."""
    value, dependents = store.operands[0].text, job.dependents(site.load)
    if site.operator not in COMPARED or value in {site.load, *dependents}:
        return None
    chain = [made for _, made in job.instructions() if made.result in dependents]
    if any(made.op not in ("icmp", "fcmp") or value not in [item.text for item in made.operands] for made in chain):
        return None
    return next((found for found in job.instructions() if found[1].result == site.load), None)


def _load_atomically(job: Job, block: Block, load: Instruction, site: Site) -> None:
    """Other threads may store there meanwhile."""
    type, pointer = site.type, load.operands[0].text
    bits = f"i{BITS[type]}"
    result = str(load.result) if type == bits else f"{load.result}.bits"
    lines = [f"{result} = load atomic {bits}, ptr {pointer} {SCOPE}, align {BITS[type] // 8}"]
    if type != bits:
        lines.append(f"{load.result} = bitcast {bits} {result} to {type}")
    at = block.instructions.index(load)
    block.instructions[at : at + 1] = map(Instruction, lines)


def _check_memory(site: Site, store: Instruction) -> None:
    if site.type not in BITS:
        raise UnsupportedError(f"the update at {site.place} is on {site.type}, for which there is no atomic operation")
    found = re.search(r", align (\d+)", store.text)
    if found is not None and int(found.group(1)) * 8 < BITS[site.type]:
        raise UnsupportedError(
            f"the update at {site.place} is on unaligned memory, for which there is no atomic operation"
        )


def _swap_loop(
    job: Job, block: Block, store: Instruction, load: Instruction, chain: list[Instruction], name: str
) -> None:
    """Replace load, chain and store by: repeat { new = f(old) } until nobody changed the memory in between."""
    value, pointer = store.operands
    rest = job.split(block, block.instructions.index(store), f"{name}.done")
    rest.instructions.remove(store)
    block.instructions = [made for made in block.instructions if made is not load and made not in chain]
    type = load.type
    old, new = f"%{name}.value", value.text
    renamed = {str(load.result): old} if type != f"i{BITS[type]}" else {str(load.result): f"%{name}.old"}
    body = [substituted(made, renamed) for made in chain]
    if new in renamed:
        new = renamed[new]
    add_swap(job, block, body, new, pointer.text, type, name)


def loosen(job: Job, chain: set[str]) -> None:
    """Drop what instructions promise about a chain's values (nsw, ninf …): of the identity it need not be true."""
    for block in job.blocks:
        block.instructions = [
            Instruction(f"{made.result} = {made.op} {made.body}") if made.result in chain else made
            for made in block.instructions
        ]
