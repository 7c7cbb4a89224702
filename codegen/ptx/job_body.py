"""One iteration of a range function: the body of a GPU thread, before it has parameters.

From `outline`'s `void loop(k0, k1, in, out)` the loop around the iteration, the slots and the exit are taken away:

```
entry:  slots, starts            →   tc.job:  starts
header: k = phi …                →   header:  (phis are their start values)
latch:  k+1 < k1 ? header : exit →   latch:   br tc.done
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.ir.llvm import Block, Instruction
from tracecut.ir.llvm.lexer import LOCAL

START, DONE = "tc.job", "tc.done"
JOB, THREAD = "%tc.k", "%tc.thread"
_LOOP_ONLY = frozenset({"%tc.k", "%tc.next", "%tc.more", "%tc.any"})
_OLD_NUMBER = frozenset({"%tc.order.at", "%tc.order.k", "%tc.old"})
_KEPT_ALWAYS = frozenset({"store", "atomicrmw", "cmpxchg", "fence"})


@dataclass
class Job:
    """The blocks of one iteration, edited in place. The first is START; the last one jumps to DONE.

    Attributes:
        ends: register reduction (its phi) → the value that the iteration leaves in it.
    """

    blocks: list[Block]
    ends: dict[str, str]

    def instructions(self) -> Iterator[tuple[Block, Instruction]]:
        for block in self.blocks:
            for instruction in block.instructions:
                yield block, instruction

    def block(self, name: str) -> Block:
        return next(block for block in self.blocks if block.name == name)

    def mentioned(self) -> set[str]:
        """Every local name that is used."""
        return {name for _, instruction in self.instructions() for name in instruction.uses} | set(self.ends.values())

    def substitute(self, mapping: Mapping[str, str]) -> None:
        """Use other values (names or literals) in place of the named ones, everywhere."""
        for block in self.blocks:
            block.instructions = [substituted(instruction, mapping) for instruction in block.instructions]
        self.ends = {phi: mapping.get(text, text) for phi, text in self.ends.items()}

    def dependents(self, name: str) -> set[str]:
        """Names of the values that are computed from a value, itself left out."""
        users: dict[str, list[str]] = {}
        for _, instruction in self.instructions():
            if instruction.result is not None:
                for used in instruction.uses:
                    users.setdefault(used, []).append(instruction.result)
        found: set[str] = set()
        stack = [name]
        while stack:
            for user in users.get(stack.pop(), ()):
                if user not in found:
                    found.add(user)
                    stack.append(user)
        return found

    def sweep(self) -> None:
        """Dead-code elimination; the remaining uses determine the parameters."""
        makers = {
            instruction.result: instruction for _, instruction in self.instructions() if instruction.result is not None
        }
        stack = [instruction for _, instruction in self.instructions() if _has_effect(instruction)]
        needed = {id(instruction) for instruction in stack}
        names = [name for instruction in stack for name in instruction.uses] + list(self.ends.values())
        while names:
            made = makers.get(names.pop())
            if made is not None and id(made) not in needed:
                needed.add(id(made))
                names.extend(made.uses)
        for block in self.blocks:
            block.instructions = [instruction for instruction in block.instructions if id(instruction) in needed]

    def split(self, block: Block, place: int, name: str) -> Block:
        """Move the instructions from `place` on into a new block behind `block`, which is left without an end."""
        rest = Block(name, block.instructions[place:])
        block.instructions = block.instructions[:place]
        self.blocks.insert(self.blocks.index(block) + 1, rest)
        for other in self.blocks:  # whoever came from the block now comes from the new one
            other.instructions = [
                Instruction(instruction.text.replace(f", %{block.name} ]", f", %{name} ]"))
                if instruction.op == "phi"
                else instruction
                for instruction in other.instructions
            ]
        return rest


def job_of(outlined: Outlined, *, number_is_old: bool) -> Job:
    """The iteration of a range function. `number_is_old`: the job's number is the old one, there is no other."""
    entry, *body, last = outlined.code.copy().blocks
    slots = {f"%tc.slot{place}" for place in range(len(outlined.slots))} | {slot.value for slot in outlined.slots}
    slots |= outlined.locals.keys()  # the kernel makes its own
    starts = [made for made in entry.instructions[:-1] if made.result not in slots | _LOOP_ONLY]
    mapping = {"%tc.k0": JOB}
    header = body[0].name
    for block in body:
        kept = []
        for made in block.instructions:
            if made.op == "phi" and "entry" in made.labels:
                incoming = dict(zip(made.labels, (operand.text for operand in made.operands), strict=True))
                if made.result != JOB:
                    mapping[str(made.result)] = incoming["entry"]
            elif made.result not in _LOOP_ONLY and not (number_is_old and made.result in _OLD_NUMBER):
                kept.append(made)
        if "%tc.more" in kept[-1].uses:
            kept[-1] = Instruction(f"br label %{DONE}")
        block.instructions = kept
    if number_is_old:
        mapping["%tc.old"] = JOB
    first = Block(START, [*starts, Instruction(f"br label %{header}")])
    ends = {}
    for phi in last.phis:
        incoming = dict(zip(phi.labels, (operand.text for operand in phi.operands), strict=True))
        (value,) = (text for label, text in incoming.items() if label != "entry")
        ends[str(phi.result).removesuffix(".tc.end")] = value
    job = Job([first, *body], ends)
    job.substitute(mapping)
    return job


def substituted(instruction: Instruction, mapping: Mapping[str, str]) -> Instruction:
    """An instruction with other operands."""
    if not any(name in mapping for name in instruction.uses):
        return instruction
    start = instruction.text.index("=") + 1 if instruction.result is not None else 0
    rest = LOCAL.sub(lambda found: mapping.get(found.group(), found.group()), instruction.text[start:])
    return Instruction(instruction.text[:start] + rest)


def _has_effect(instruction: Instruction) -> bool:
    if instruction.is_terminator or instruction.op in _KEPT_ALWAYS:
        return True
    return instruction.op == "call" and instruction.result is None
