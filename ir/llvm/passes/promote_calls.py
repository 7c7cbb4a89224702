"""Calls through pointers call by name what the pointer may mean: virtual methods, `std::function`, hooks.

```
                                   %is = icmp eq ptr %f, @heat
call void %f(ptr %u)          →    br i1 %is, label %named, label %other      ; more functions: more comparisons
                                   named: call void @heat(ptr %u)
                                   other: call void %f(ptr %u)
```

What is called by name can be inlined, and its effects are known. The call through the pointer stays for whatever else
the pointer means: where it never runs, it is an exit of a scope like any other (`leave_loops.py`: of a loop). No run is
asked for the functions: they are those whose address the module takes, of the same types, and of a virtual call those
at its place in a table.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.control_flow import ControlFlow
from tracecut.ir.llvm.edit import rename_sources
from tracecut.ir.llvm.lexer import GLOBAL, matching, split_commas, split_type
from tracecut.ir.llvm.operands import return_type

MOST_TARGETS = 3  # of one call: each is compared with in turn, and may be inlined
MOST_CALLS = 500  # of a module

OTHER = "tracecut.other."  # in the names of the blocks that call through the pointer
_ABI = re.compile(r"\b(?:sret|byval|inalloca|preallocated|inreg|zeroext|signext|nest|swift\w+)\b")
_TABLE = re.compile(r"\[\d+ x ptr\] (?=\[)")
_ATTACHED = re.compile(r"![-\w.$]+ !\d+ ")  # what debug information says of a function that is declared
Signature = tuple[str, ...]


@dataclass
class _Taken:
    """Functions whose address is taken, by their types. `slots`: places in virtual tables where one stands."""

    functions: dict[Signature, list[str]] = field(default_factory=lambda: defaultdict(list))
    slots: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    elsewhere: set[str] = field(default_factory=set)

    def targets(self, call: Instruction, slot: int | None) -> list[str]:
        """What a call may mean. `slot`: which pointer behind some address is called, None: not known."""
        same = self.functions.get(_signature(call.text, call.word, call.type), [])
        return [name for name in same if name in self.elsewhere or slot in self.slots[name]]


def promote_calls(module: Module) -> bool:
    """Put calls by name before calls through pointers, in place, where a loop is around. Whether there were any.

    The loop is in the same function, or in one that calls it by name. O(instructions).
    """
    functions = module.functions
    taken = _taken(module)
    loops = {
        name: {block for loop in ControlFlow(one).loops for block in loop.blocks} for name, one in functions.items()
    }
    reached: set[str] = set()  # called in a loop
    waiting, promoted = list(functions), 0
    while waiting:
        name = waiting.pop()
        function, called = functions[name], set()
        for start in list(function.blocks):
            if start.name.startswith(OTHER) or (name not in reached and start.name not in loops[name]):
                continue
            called |= {item.word for item in start.instructions if item.op in ("call", "invoke")}
            block: Block | None = start
            while block is not None and promoted < MOST_CALLS:
                block, targets = _promote(function, block, taken, promoted)
                called.update(targets)
                promoted += bool(targets)
        fresh = called & functions.keys() - reached
        reached |= fresh
        waiting += sorted(fresh)
    return promoted > 0


def has_pointer_calls(module: Module) -> bool:
    """Whether anything is called through a pointer."""
    return any(through_pointer(item) for one in module.functions.values() for _, item in one.instructions())


def through_pointer(item: Instruction) -> bool:
    """Whether an instruction calls through a pointer, and comes back."""
    return item.op in ("call", "invoke") and item.word.startswith("%") and "musttail" not in item.text


def _promote(function: Function, block: Block, taken: _Taken, number: int) -> tuple[Block | None, list[str]]:
    """Promote the first call of a block that can be: what is left of the block behind it, and what it may call."""
    for place, call in enumerate(block.instructions):
        if through_pointer(call):
            made = _made(function, call.word)
            if made is not None and "volatile" in made.flags:
                continue  # means something else each time
            targets = taken.targets(call, _slot(function, made))
            if 0 < len(targets) <= MOST_TARGETS:
                return _split(function, block, place, targets, number), targets
    return None, []


def _split(function: Function, block: Block, place: int, targets: list[str], number: int) -> Block:
    """Compare the pointer of the call at `place` with each target. The block behind, with all that comes after."""
    call, after = block.instructions[place], Block(f"tracecut.called.{number}", block.instructions[place + 1 :])
    meta = {kind: node for kind, node in call.meta.items() if kind == "dbg"}
    names = [*(f"tracecut.named.{number}.{k}" for k in range(len(targets))), f"{OTHER}{number}"]
    blocks, results = [], []
    for name, target in zip(names, [*targets, call.word], strict=True):
        text = call.text.replace(f" {call.word}(", f" {target}(", 1)
        if call.result is not None:
            results.append(f"[ %{name}.v, %{name} ]")
            text = f"%{name}.v{text[len(call.result) :]}"
        if call.op == "invoke":
            text = f"{text[: text.rindex(' to label ')]} to label %{after.name} unwind label %{call.labels[1]}"
        lines = [Instruction(text, dict(call.meta if target == call.word else meta))]
        blocks.append(Block(name, lines + ([] if call.op == "invoke" else _jump(after.name, meta))))
    if call.op == "invoke":
        after.instructions = _jump(call.labels[0], meta)
        rename_sources(function, call.labels[1:], block.name, names)
    rename_sources(function, after.terminator.labels, block.name, [after.name])
    if call.result is not None:
        phi = f"{call.result} = phi {call.type} {', '.join(results)}"
        after.instructions.insert(0, Instruction(phi, dict(meta)))
    del block.instructions[place:]
    asked = [block, *(Block(f"tracecut.asked.{number}.{k}") for k in range(1, len(targets)))]
    for k, (at, target) in enumerate(zip(asked, targets, strict=True)):
        further = asked[k + 1].name if k + 1 < len(asked) else names[-1]
        test = f"%tracecut.is.{number}.{k}"
        at.instructions.append(Instruction(f"{test} = icmp eq ptr {call.word}, {target}", dict(meta)))
        at.instructions.append(Instruction(f"br i1 {test}, label %{names[k]}, label %{further}", dict(meta)))
    where = function.blocks.index(block) + 1
    function.blocks[where:where] = [*asked[1:], *blocks, after]
    return after


def _jump(label: str, meta: dict[str, str]) -> list[Instruction]:
    return [Instruction(f"br label %{label}", dict(meta))]


def _made(function: Function, name: str) -> Instruction | None:
    return next((item for _, item in function.instructions() if item.result == name), None)


def _slot(function: Function, load: Instruction | None) -> int | None:
    """Which pointer behind an address a loaded pointer is, None when that is not known."""
    if load is None or load.op != "load":
        return None
    address = _made(function, load.operands[0].text)
    if address is None or address.op != "getelementptr":
        return 0
    size = {"i8": 1, "ptr": 8}.get(address.word)
    distance = address.operands[-1].text
    if size is None or len(address.operands) != 2 or not distance.isdigit():
        return None
    return int(distance) * size // 8


def _taken(module: Module) -> _Taken:
    taken = _Taken()
    headers = module.declarations | {name: one.header for name, one in module.functions.items()}
    found: set[str] = set()
    for item in module.items:
        if isinstance(item, Function):
            for _, instruction in item.instructions():
                names = instruction.globals
                callee = (instruction.word,) if instruction.op in ("call", "invoke") else ()
                taken.elsewhere.update(name for name in names if name not in callee or names.count(name) > 1)
        elif item.startswith("@_ZTV"):
            for name, slot in _table_entries(item):
                taken.slots[name].add(slot)
        elif item.startswith("@"):
            taken.elsewhere.update(GLOBAL.findall(item))
    found = headers.keys() & (taken.elsewhere | taken.slots.keys())
    for name in sorted(found):
        header = headers[name]
        if "..." not in header and not name.startswith("@llvm."):
            before = _ATTACHED.sub("", header[: header.index(f"{name}(")].partition(" ")[2])
            taken.functions[_signature(header, name, return_type(before))].append(name)
    return taken


def _table_entries(line: str) -> list[tuple[str, int]]:
    """Functions of the virtual tables of a class, and how many pointers behind a table's address each stands."""
    entries = []
    for group in _TABLE.finditer(line):
        parts = split_commas(line[group.end() + 1 : matching(line, group.end())])
        types = [place for place, part in enumerate(parts) if part.startswith("ptr @_ZTI")]
        first = types[0] + 1 if types else 2
        entries += [(part[4:], place - first) for place, part in enumerate(parts) if part.startswith("ptr @")]
    return entries


def _signature(text: str, name: str, result: str) -> Signature:
    """The types of a function, as its header or a call of it states them."""
    start = text.index(f"{name}(") + len(name)
    parts = split_commas(text[start + 1 : matching(text, start)])
    return (result, *(" ".join([split_type(part)[0], *_ABI.findall(part)]) for part in parts))
