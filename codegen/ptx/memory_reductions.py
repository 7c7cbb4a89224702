"""Reductions in memory: sequential on a host thread, atomic on the GPU.

A combination f(L) of the old value L with an associative, commutative operator is L ∘ f(identity), so the same
instructions, with the identity in the place of L, compute what one job contributes:

```
%L = load double, ptr %p            %v = fsub double -0.0, %x
%v = fsub double %L, %x        →    atomicrmw fadd ptr %p, double %v
store double %v, ptr %p
```

Where the hardware has no such operation, f itself runs in a compare-and-swap loop.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tracecut.ir.llvm import Block, Instruction, int_bits
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.nest import Site
from tracecut.support.errors import UnsupportedError

from .job_body import Job, substituted

SCOPE = 'syncscope("device") monotonic'
_INTEGER_RMW = {"add": "add", "and": "and", "or": "or", "xor": "xor"} | {
    "smin": "min",
    "smax": "max",
    "umin": "umin",
    "umax": "umax",
}
EXTENSIONS = frozenset({"sext", "zext", "trunc", "fpext", "fptrunc"})
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "bfloat": 16, "float": 32, "double": 64}


def native_operation(operator: str, type: str) -> str:
    """The `atomicrmw` operation that the hardware has; empty when there is none."""
    if operator == "fadd" and type in ("float", "double"):
        return "fadd"
    return _INTEGER_RMW.get(operator, "") if type in ("i32", "i64") else ""


def identity(operator: str, type: str) -> str:
    """The identity element: x ∘ identity = x, also for negative zero and the largest numbers."""
    bits = int_bits(type)
    if bits is not None:
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        number = {"mul": 1, "and": -1, "umin": -1, "smin": high, "smax": low}.get(operator, 0)
        return str(number)
    infinity = {"minnum": "0x7FF0000000000000", "minimumnum": "0x7FF0000000000000"}
    infinity |= {"maxnum": "0xFFF0000000000000", "maximumnum": "0xFFF0000000000000"}
    return {"fadd": "-0.000000e+00", "fmul": "1.000000e+00"}.get(operator) or infinity[operator]


def lower_memory_reductions(job: Job, view: FunctionView, sites: Collection[Site]) -> list[tuple[Site, str]]:
    """Make every `reduce` site of `sites` atomic, in place.

    Returns (site, how) with how the `atomicrmw` operation, or `swap` for a compare-and-swap loop.
    Raises UnsupportedError where neither is possible.
    """
    done: list[tuple[Site, str]] = []
    placed = [(site, *store_number(view, site)) for site in sites if site.operator]
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
    load = next((made for made in block.instructions if made.result == site.load), None)
    chain = job.dependents(site.load)
    inside = [made for made in block.instructions if made.result in chain]
    if load is None or len(inside) != len(chain):
        raise UnsupportedError(f"the reduction at {site.place} is spread over several blocks")
    type = site.type
    _check_memory(site, store)
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


def _check_memory(site: Site, store: Instruction) -> None:
    if site.type not in BITS:
        raise UnsupportedError(
            f"the reduction at {site.place} is on {site.type}, for which there is no atomic operation"
        )
    found = re.search(r", align (\d+)", store.text)
    if found is not None and int(found.group(1)) * 8 < BITS[site.type]:
        raise UnsupportedError(
            f"the reduction at {site.place} is on unaligned memory, for which there is no atomic operation"
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


def add_swap(job: Job, block: Block, body: list[Instruction], new: str, pointer: str, type: str, name: str) -> None:
    """Put the loop between `block`, which has no end yet, and the block NAME.done behind it."""
    bits, size = f"i{BITS[type]}", BITS[type] // 8
    block.instructions += [
        Instruction(f"%{name}.first = load atomic {bits}, ptr {pointer} {SCOPE}, align {size}"),
        Instruction(f"br label %{name}"),
    ]
    lines = [f"%{name}.old = phi {bits} [ %{name}.first, %{block.name} ], [ %{name}.seen, %{name} ]"]
    wanted = new
    back = []
    if type != bits:
        lines.append(f"%{name}.value = bitcast {bits} %{name}.old to {type}")
        back.append(f"%{name}.new = bitcast {type} {new} to {bits}")
        wanted = f"%{name}.new"
    back += [
        f"%{name}.pair = cmpxchg ptr {pointer}, {bits} %{name}.old, {bits} {wanted} {SCOPE} monotonic, align {size}",
        f"%{name}.seen = extractvalue {{ {bits}, i1 }} %{name}.pair, 0",
        f"%{name}.won = extractvalue {{ {bits}, i1 }} %{name}.pair, 1",
        f"br i1 %{name}.won, label %{name}.done, label %{name}",
    ]
    loop = Block(name, [*map(Instruction, lines), *body, *map(Instruction, back)])
    job.blocks.insert(job.blocks.index(block) + 1, loop)


def loosen(job: Job, chain: set[str]) -> None:
    """Drop what instructions promise about a chain's values (nsw, ninf …): of the identity it need not be true."""
    for block in job.blocks:
        block.instructions = [
            Instruction(f"{made.result} = {made.op} {made.body}") if made.result in chain else made
            for made in block.instructions
        ]
