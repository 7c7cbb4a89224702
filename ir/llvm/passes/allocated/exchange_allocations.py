"""Memory that an iteration of a loop allocates, and a later one frees, is exchanged for what that iteration allocates.

```
                                            %first = call ptr @malloc(i64 %size)
loop:                                       loop:
  %x = phi ptr [ %x0, … ], [ %y, … ]          %x = phi ptr [ %x0, … ], [ %y, … ]
                                              %spare = phi ptr [ %first, … ], [ %x, … ]
                                              if (usable size of %spare < %size) {    rarely, or never
  %y = call ptr @malloc(i64 %size)      →       free(%spare); %new = malloc(%size);
                                              }
                                              %y = phi ptr [ %spare, … ], [ %new, … ]
  …                                           …
  call void @free(ptr %x)
                                            exits: free(%spare)
```

So it is with `x = step(x)`, and with a vector that each step makes and swaps with another. What allocates may give back
what was freed before, so nothing is asked of what the program does with either, nor of the ways it goes: memory that is
freed is kept until it is asked for, or the loop is left; where some is kept already, that is freed. Sizes are asked of
the C library. `%first` is a guess, of the size that the first iteration asks for where that can be computed, else of
that of what it frees; null where neither is known. Where `new` throws for want of memory, no handler of the same
function is asked; what C is told by null it is still told so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow, Loop
from tracecut.ir.llvm.edit import (
    at_start,
    before_end,
    drop_unreached,
    edit_phis,
    rename_sources,
    sources,
    with_sources,
)
from tracecut.ir.llvm.lexer import LOCAL

from ..known_sizes import known_sizes
from .allocation_uses import (
    CXX,
    FREE,
    USABLE,
    allocates,
    calls_any,
    declare,
    out_of_memory,
    replaces_allocators,
    returns_twice,
    throwing_functions,
)
from .changed_ways import part_way
from .kept_value import KeptValue
from .steady_sizes import steady_sizes

_GUESSED = "add sub mul shl lshr ashr and or xor zext sext trunc ptrtoint getelementptr".split()
_DEPTH = 12  # values that a size is computed of


def exchange_allocations(module: Module) -> Module:
    """Exchange such memory, in place. O(allocations · instructions of a function)."""
    own = module.functions
    if replaces_allocators(module) or returns_twice(module):
        return module
    throwing = throwing_functions(module)
    count = 0
    for function in own.values():
        passing = throwing if function.name in throwing else set[str]()
        calls = {str(item.result): item for _, item in function.instructions() if allocates(item)}
        for call in calls.values():
            found = _pair(ControlFlow(function), call, calls.keys(), passing)
            if found is not None:
                _exchange(found, count)
                count += 1
    if count:
        declare(module)
    return module


@dataclass(frozen=True)
class _Pair:
    """An allocation in a loop, and the call that frees, in the same loop, what an earlier iteration allocated there.

    Attributes:
        home: the block that allocates. freeing: the block that frees. freed: the address.
        names: what is the address of what is allocated, of something else that is allocated, or null.
    """

    flow: ControlFlow
    loop: Loop
    home: Block
    call: Instruction
    freeing: Block
    free: Instruction
    names: set[str]

    @property
    def freed(self) -> str:
        return self.free.operands[0].text


def _pair(flow: ControlFlow, call: Instruction, allocated: Collection[str], throwing: set[str]) -> _Pair | None:
    """`throwing`: functions whose exceptions would pass by what frees the memory behind the loop."""
    home = next((block for block in flow.function.blocks if call in block.instructions), None)
    loop = flow.innermost(home.name) if home is not None else None
    if home is None or loop is None or loop.preheader is None or not loop.children or len(loop.latches) != 1:
        return None
    if calls_any(flow, loop, throwing) or not flow.is_reducible:
        return None
    names, later = _handed_on(flow, loop, str(call.result), allocated)
    own = (flow.blocks[name] for name in flow.order if flow.innermost(name) is loop)
    for block in own:
        for item in block.instructions:
            if item.op == "call" and item.word in FREE and item.operands[0].text in later:
                return _Pair(flow, loop, home, call, block, item, names)
    return None


def _handed_on(flow: ControlFlow, loop: Loop, name: str, allocated: Collection[str]) -> tuple[set[str], set[str]]:
    """What an address is called, where it is that, another allocated one, or null; and in later iterations.

    What an iteration may hand on as it was handed is none: a list that grows now and then.
    """
    names, later = {name}, set[str]()
    phis = [(block, phi) for block in loop.blocks for phi in flow.blocks[block].phis if phi.type == "ptr"]
    before = -1
    while before != len(names) + len(later):
        before = len(names) + len(later)
        for block, phi in phis:
            if block == loop.header:
                if any(label in loop and value in (*names, *later) for value, label in sources(phi)):
                    later.add(str(phi.result))
            elif _is_new(phi, names, allocated):
                names.add(str(phi.result))
    return names, later


def _is_new(phi: Instruction, names: set[str], allocated: Collection[str]) -> bool:
    found = {value for value, _ in sources(phi)}
    return not names.isdisjoint(found) and all(
        value in names or value in allocated or value == "null" for value in found
    )


def _exchange(pair: _Pair, number: int) -> None:
    flow, loop, call = pair.flow, pair.loop, pair.call
    function, meta = flow.function, {kind: node for kind, node in call.meta.items() if kind == "dbg"}

    def lines(*texts: str) -> list[Instruction]:
        return [Instruction(text, dict(meta)) for text in texts]

    freeing = _before_the_test(pair)
    first = _guess(pair, number)
    spare = KeptValue(flow, loop, f"%tracecut.spare.{number}", first[0])
    spare.sets(pair.home.name, pair.home.instructions.index(call), "null")
    spare.sets(freeing.name, freeing.instructions.index(pair.free), pair.freed)
    kept = spare.before(pair.home.name, pair.home.instructions.index(call))
    unused = spare.before(freeing.name, freeing.instructions.index(pair.free))
    left = {
        outside: [(spare.behind(name) if name in loop else "null", name) for name in flow.predecessors[outside]]
        for outside in dict.fromkeys(outside for _, outside in loop.exits)
    }
    spare.place()
    kept, unused = spare.named(kept), spare.named(unused)
    assert loop.preheader is not None
    before_end(flow.blocks[loop.preheader], [Instruction(item.text, dict(meta)) for item in first[1]])
    for place, (outside, come) in enumerate(left.items()):
        values = [(spare.named(value), label) for value, label in come]
        if any(value != "null" for value, _ in values):
            rest = f"%tracecut.unused.{number}.{place}"
            at_start(flow.blocks[outside], lines(f"call void @free(ptr {rest})"))
            texts = ", ".join(f"[ {value}, %{label} ]" for value, label in values)
            flow.blocks[outside].instructions[:0] = lines(f"{rest} = phi ptr {texts}")
    _keep(function, freeing, pair.free, unused, number)
    home = next(block for block in function.blocks if call in block.instructions)
    _take(function, home, call, kept, number)
    drop_unreached(function)
    _hand_on(pair, number)


def _hand_on(pair: _Pair, number: int) -> None:
    """What is handed on with memory is as long as before, and there: where it is not, a layout ends."""
    function, header = pair.flow.function, pair.loop.header
    steady = False
    for phi in function.by_name()[header].phis:
        if any(value in pair.names for value, _ in sources(phi)):
            steady |= steady_sizes(function, header, str(phi.result), number)
    ways = [
        (label, block.name)
        for block in function.blocks
        for phi in block.phis
        if phi.result in pair.names
        for value, label in sources(phi)
        if value == "null"
    ]
    for place, (label, to) in enumerate(dict.fromkeys(ways)):
        part_way(function, label, to, f"{number}.none.{place}")
    if steady:
        known_sizes(function)


def _before_the_test(pair: _Pair) -> Block:
    """The block that frees, which is the one in front where that only asks whether there is something to be freed."""
    flow, block = pair.flow, pair.freeing
    if len(flow.predecessors[block.name]) != 1 or pair.call in block.instructions:
        return block
    test = flow.blocks[flow.predecessors[block.name][0]]
    asked = test.terminator.operands[0].text if test.terminator.op == "br" and test.terminator.operands else None
    made = next((item for item in test.instructions if item.result == asked), None)
    if made is None or made.op != "icmp" or {operand.text for operand in made.operands} != {pair.freed, "null"}:
        return block
    if (
        test.terminator.labels[0 if made.word == "ne" else 1] != block.name
        or flow.innermost(test.name) is not pair.loop
    ):
        return block
    block.instructions.remove(pair.free)
    before_end(test, [pair.free])
    return test


def _guess(pair: _Pair, number: int) -> tuple[str, list[Instruction]]:
    """What is there in the first iteration, and what allocates it in front of the loop."""
    lines = _as_asked(pair, pair.call, number)
    return _as_large(pair, number) if lines is None else (f"%tracecut.first.{number}", lines)


def _as_asked(pair: _Pair, call: Instruction, number: int) -> list[Instruction] | None:
    """What allocates in front of the loop as much as a call in the loop, in its first iteration, or elsewhere."""
    flow, loop = pair.flow, pair.loop
    made = {str(item.result): (block.name, item) for block, item in flow.function.instructions()}
    names: dict[str, str] = {}
    found: list[Instruction] = []

    def visit(text: str, depth: int) -> bool:
        block, item = made.get(text, ("", None))
        if item is None or text in names or flow.dominates(block, str(loop.preheader)):
            return True
        if item.op == "phi" and block == loop.header:
            names[text] = next(value for value, label in sources(item) if label == loop.preheader)
            return True
        known = item.op in _GUESSED or (item.op == "call" and item.word.startswith(("@llvm.umax.", "@llvm.smax.")))
        if not known or depth > _DEPTH or not all(visit(operand.text, depth + 1) for operand in item.operands):
            return False
        names[text] = f"%tracecut.guess.{number}.{len(found)}"
        found.append(item)
        return True

    if not all(visit(operand.text, 0) for operand in call.operands):
        return None
    lines = [Instruction(LOCAL.sub(lambda found: names.get(found.group(), found.group()), item.text)) for item in found]
    asked = [names.get(operand.text, operand.text) for operand in call.operands]
    product = f"%tracecut.guess.{number}.all"
    lines += [Instruction(f"{product} = mul i64 {', '.join(asked)}")] if len(asked) == 2 else []
    size = f"%tracecut.guess.{number}.size"
    lines.append(Instruction(f"{size} = freeze i64 {product if len(asked) == 2 else asked[0]}"))
    return [*lines, Instruction(f"%tracecut.first.{number} = call ptr @malloc(i64 {size})")]


def _as_large(pair: _Pair, number: int) -> tuple[str, list[Instruction]]:
    """Memory as large as what the first iteration frees, where that is known to be allocated, or null.

    As large to the byte where that can be: what is known of one block is then true of the other.
    """
    made = {str(item.result): item for _, item in pair.flow.function.instructions() if item.result is not None}
    start = next(value for value, label in sources(made[pair.freed]) if label == pair.loop.preheader)
    seen, stack, calls = {start}, [start], list[Instruction]()
    while stack:
        item = made.get(text := stack.pop())
        if item is not None and allocates(item):
            calls.append(item)
        elif text != "null" and (item is None or item.op != "phi"):
            return "null", []
        else:
            fresh = {value for value, _ in sources(item)} - seen if item is not None else set()
            seen |= fresh
            stack += fresh
    lines = _as_asked(pair, calls[0], number) if len(calls) == 1 else None
    if lines is None:
        if _may_be_freed(pair, seen):
            return "null", []
        size = f"%tracecut.guess.{number}.size"
        texts = [f"{size} = call i64 {USABLE}(ptr {start})", f"%tracecut.first.{number} = call ptr @malloc(i64 {size})"]
        lines = [Instruction(text) for text in texts]
    return f"%tracecut.first.{number}", lines


def _may_be_freed(pair: _Pair, names: set[str]) -> bool:
    """Whether any of some memory is freed on a way to the loop, which is then left before it frees it again."""
    flow, names = pair.flow, {*names}
    phis = [item for block in flow.function.blocks if block.name not in pair.loop for item in block.phis]
    before = -1
    while before != len(names):
        before = len(names)
        names |= {str(phi.result) for phi in phis if any(value in names for value, _ in sources(phi))}
    seen, stack = {pair.loop.header}, [pair.loop.header]
    while stack:
        for block in flow.predecessors[stack.pop()]:
            if block not in seen and block not in pair.loop:
                seen.add(block)
                stack.append(block)
    calls = (item for block in seen - pair.loop.blocks for item in flow.blocks[block].instructions)
    return any(item.op == "call" and item.word in FREE and item.operands[0].text in names for item in calls)


def _keep(function: Function, freeing: Block, free: Instruction, unused: str, number: int) -> None:
    """In the place of what frees: what is kept by then is freed, and nothing else."""
    place = freeing.instructions.index(free)
    if unused == "null":
        del freeing.instructions[place]
        return
    meta = {kind: node for kind, node in free.meta.items() if kind == "dbg"}
    drop, freed, none = (
        f"tracecut.spare.{number}.drop",
        f"tracecut.spare.{number}.freed",
        f"%tracecut.spare.{number}.none",
    )
    after = freeing.instructions[place + 1 :]
    freeing.instructions[place:] = [
        Instruction(f"{none} = icmp eq ptr {unused}, null", meta),
        Instruction(f"br i1 {none}, label %{freed}, label %{drop}", meta),
    ]
    dropped = [Instruction(f"call void @free(ptr {unused})", meta), Instruction(f"br label %{freed}", meta)]
    rename_sources(function, after[-1].labels, freeing.name, [freed])
    where = function.blocks.index(freeing) + 1
    function.blocks[where:where] = [Block(drop, dropped), Block(freed, after)]


def _take(function: Function, home: Block, call: Instruction, kept: str, number: int) -> None:
    """In the place of an allocation: what is kept, or more memory if that is too small."""
    grow, there, full = (f"tracecut.spare.{number}.{word}" for word in ("grow", "there", "full"))
    want, has, less, new, got, room, cleared, size, over = (
        f"%tracecut.spare.{number}.{word}" for word in "want has less new got room cleared size over".split()
    )
    meta = {kind: node for kind, node in call.meta.items() if kind == "dbg"}

    def lines(*texts: str) -> list[Instruction]:
        return [Instruction(text, dict(meta)) for text in texts]

    place = home.instructions.index(call)
    after = home.instructions[place + 1 :]
    if call.op == "invoke":
        after = lines(f"br label %{call.labels[0]}")
        blocks = function.by_name()
        for label in call.labels[1:]:
            edit_phis(blocks[label], lambda phi: with_sources(phi, [s for s in sources(phi) if s[1] != home.name]))
    asked = [operand.text for operand in call.operands]
    sized, too_much = [f"{size} = add i64 {asked[0]}, 0"], []
    if len(asked) == 2:  # calloc, of what may be no number
        sized = [
            f"{size} = mul i64 {asked[0]}, {asked[1]}",
            f"{over}.both = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 {asked[0]}, i64 {asked[1]})",
            f"{over} = extractvalue {{ i64, i1 }} {over}.both, 1",
        ]
        too_much = [f"{less} = or i1 {less}.room, {over}"]
    home.instructions[place:] = lines(
        *sized,
        f"{want} = call i64 @llvm.umax.i64(i64 {size}, i64 1)",
        f"{has} = call i64 {USABLE}(ptr {kept})",
        f"{less}{'.room' if too_much else ''} = icmp ult i64 {has}, {want}",
        *too_much,
        f"br i1 {less}, label %{grow}, label %{there}",
    )
    grown = lines(
        f"call void @free(ptr {kept})",
        *([f"{new}.size = select i1 {over}, i64 -1, i64 {want}"] if too_much else []),
        f"{new} = call noalias ptr @malloc(i64 {f'{new}.size' if too_much else want})",
        f"{got} = icmp ne ptr {new}, null",
    )
    taken = lines(f"{call.result} = phi ptr [ {kept}, %{home.name} ], [ {new}, %{grow} ]")
    rest = []
    if call.word in CXX:  # where C has null, and the program looks at it or not
        grown += lines(f"br i1 {got}, label %{there}, label %{full}")
        rest = [Block(full, lines(*out_of_memory(call)))]
    else:
        grown += lines(f"{room} = select i1 {got}, i64 {size}, i64 0", f"br label %{there}")
    if call.word == "@calloc":
        taken += lines(
            f"{cleared} = phi i64 [ {size}, %{home.name} ], [ {room}, %{grow} ]",
            f"call void @llvm.memset.p0.i64(ptr {call.result}, i8 0, i64 {cleared}, i1 false)",
        )
    rename_sources(function, after[-1].labels, home.name, [there])
    where = function.blocks.index(home) + 1
    function.blocks[where:where] = [Block(grow, grown), Block(there, [*taken, *after]), *rest]
