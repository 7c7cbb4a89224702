"""The kernel as `step`: one thread runs from the point that it is told to the next one.

```
step(machine, frame, shared, t, point, registers …, parameters …):
    switch point: 0 → entry, k → take back what was kept at point k, go on behind it
    at point k:  keep what is needed behind it; state of t = k; return
    at a return: state of t = ended; return
```

What is kept lies in the frame as one array a value, so that neighbouring threads use neighbouring memory. Values go
through stack slots on their way, which LLVM turns into registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.ir.llvm import Block, Instruction
from tracecut.ir.llvm.substitute import replaced
from tracecut.support.errors import UnsupportedError

from .cut import Cut, count_rounds, cut, round_of
from .host_function import HostFunction
from .kernel_text import KernelText
from .points import ENDED, EXHAUSTED, offer_lines, result_lines

THREADS = 1024
REGISTERS = {
    "%emu.ntid.x": "i32",
    "%emu.ntid.y": "i32",
    "%emu.ntid.z": "i32",
    "%emu.ctaid.x": "i32",
    "%emu.ctaid.y": "i32",
    "%emu.ctaid.z": "i32",
    "%emu.nctaid.x": "i32",
    "%emu.nctaid.y": "i32",
    "%emu.nctaid.z": "i32",
}
_FIXED = {
    "%emu.m": "ptr",
    "%emu.frame": "ptr",
    "%emu.shared": "ptr",
    "%emu.states": "ptr",
    "%emu.t": "i64",
    "%emu.point": "i32",
}
# Computed from the thread's number whenever it goes on.
_OF_THREAD = {"%emu.t32": "i32", "%emu.tid.x": "i32", "%emu.tid.y": "i32", "%emu.tid.z": "i32", "%emu.nwarpid": "i32"}
_STAGGER = 128  # bytes between the arrays of a frame, so that they do not meet in one set of the cache


@dataclass(frozen=True, eq=False)
class Step:
    """The printed function.

    Attributes:
        text: its definition. parameters: types of the kernel's own parameters, the last ones of `step`.
        cut: its points, by number. ends: instructions that end a thread, by number.
        frame_bytes: of the frame of a block.
    """

    text: str
    parameters: tuple[str, ...]
    cut: Cut
    ends: tuple[Instruction, ...]
    frame_bytes: int


class _Frame:
    """Places in a frame."""

    def __init__(self) -> None:
        self.bytes = 0

    def place(self, size: int) -> int:
        """Offset of an array of one item a thread."""
        found = self.bytes
        self.bytes = (found + THREADS * size + 63) // 64 * 64 + _STAGGER
        return found


def make_step(kernel: KernelText, host: HostFunction, *, strict: bool, flat: bool, races: bool) -> Step:
    """Print the step function of a kernel. O(text + points × values).

    Args:
        flat: blocks have one dimension. races: private memory has to be where checks know it, in the frame.
    """
    blocks, heads = count_rounds(host.blocks, strict=strict)
    frame = _Frame()
    waits = any("@llvm.nvvm." in made.text or "@emu.yield" in made.text for b in blocks for made in b.instructions)
    private = _private_lines(kernel, blocks, frame) if waits or races else []
    constants = [Instruction(line) for line in (*host.entry, *private)]
    own = {parameter.name: _plain_type(parameter.type) for parameter in kernel.parameters}
    arguments = {**_FIXED, **REGISTERS, **_OF_THREAD, **own}
    arguments |= {made.result: made.type for made in constants if made.result}
    parts = cut(blocks, arguments, kernel.types)
    parts.rounds = heads
    promises = not (parts.stops and _keeps_addresses(parts, parts.blocks))
    printer = _Printer(kernel, parts, frame)
    body = printer.body()
    lines = [
        f"define internal void @emu.step({_header(kernel, own, promises=promises)}) alwaysinline nounwind {{",
        "emu.entry:",
        *_thread_lines(flat),
        "%emu.state.at = getelementptr i32, ptr %emu.states, i64 %emu.t",
        *(made.text for made in constants),
        *(made.text for made in parts.hoisted),
        *printer.slots,
    ]
    if heads:
        lines += [
            "%emu.patience = alloca i64",
            "%emu.given.patience = call i64 @emu_patience(ptr %emu.m)",
            "store i64 %emu.given.patience, ptr %emu.patience",
        ]
    first = host.blocks[0].name
    cases = " ".join(f"i32 {stop.number}, label %emu.resume{stop.number}" for stop in parts.stops)
    lines += [f"switch i32 %emu.point, label %{first} [ {cases} ]", *body, "emu.out:", "ret void", "}"]
    if frame.bytes > THREADS * (1 << 20):
        raise UnsupportedError(f"a thread of {kernel.name} keeps {frame.bytes // THREADS} bytes, at most 1 MiB is kept")
    return Step("\n".join(lines), tuple(own.values()), parts, tuple(printer.ends), frame.bytes)


def _plain_type(type: str) -> str:
    return "ptr" if type.startswith("ptr") else type


def _keeps_addresses(parts: Cut, blocks: list[Block]) -> bool:
    """Whether an address may come back from the frame, of which LLVM would not know what it was computed from."""
    return any("ptr" in type for type in parts.types.values()) or any(
        made.op in ("ptrtoint", "ptrtoaddr") for block in blocks for made in block.instructions
    )


def _header(kernel: KernelText, own: dict[str, str], *, promises: bool) -> str:
    apart = ("%emu.frame", "%emu.shared") if promises else ()
    fixed = [f"{type} {'noalias ' * (name in apart)}{name}" for name, type in _FIXED.items()]
    registers = [f"{type} {name}" for name, type in REGISTERS.items()]
    given = []
    for parameter, (name, type) in zip(kernel.parameters, own.items(), strict=True):
        words = parameter.text.split()
        promise = "noalias " if promises and "noalias" in words else ""
        given.append(f"{type} {promise if type == 'ptr' else ''}{name}")
    return ", ".join([*fixed, *registers, *given])


def _thread_lines(flat: bool) -> list[str]:
    lines = ["%emu.t32 = trunc i64 %emu.t to i32"]
    if flat:
        lines += ["%emu.tid.x = add i32 %emu.t32, 0", "%emu.tid.y = add i32 0, 0", "%emu.tid.z = add i32 0, 0"]
    else:
        lines += [
            f"%emu.tid.{axis} = call i32 @emu_tid(ptr %emu.m, i64 %emu.t, i32 {place})"
            for place, axis in enumerate("xyz")
        ]
    return [
        *lines,
        "%emu.plane = mul i32 %emu.ntid.x, %emu.ntid.y",
        "%emu.all = mul i32 %emu.plane, %emu.ntid.z",
        "%emu.more = add i32 %emu.all, 31",
        "%emu.nwarpid = lshr i32 %emu.more, 5",
    ]


def _private_lines(kernel: KernelText, blocks: list[Block], frame: _Frame) -> list[str]:
    """Arrays that each thread has for itself, moved from the stack into the frame; in place."""
    lines = []
    for block in blocks:
        kept = []
        for made in block.instructions:
            if made.op != "alloca":
                kept.append(made)
                continue
            counts = [operand.text for operand in made.operands]
            if any(not text.isdigit() for text in counts):
                raise UnsupportedError(f"a private array of {kernel.name} has a computed size: {made.text}")
            size = kernel.types.size(made.word) * (int(counts[0]) if counts else 1)
            size = (size + 15) // 16 * 16
            offset = frame.place(size)
            lines += [
                f"{made.result}.emu.o = mul i64 %emu.t, {size}",
                f"{made.result}.emu.p = add i64 {made.result}.emu.o, {offset}",
                f"{made.result} = getelementptr i8, ptr %emu.frame, i64 {made.result}.emu.p",
            ]
        block.instructions = kept
    return lines


class _Printer:
    def __init__(self, kernel: KernelText, parts: Cut, frame: _Frame) -> None:
        self.kernel, self.parts, self.frame = kernel, parts, frame
        self.ends: list[Instruction] = []
        self.count = 0
        self.places = {
            name: (frame.place(kernel.types.size(type)), kernel.types.size(type)) for name, type in parts.types.items()
        }
        self.slot = {name: f"%emu.slot{place}" for place, name in enumerate(parts.types)}
        self.slots = [f"{self.slot[name]} = alloca {type}" for name, type in parts.types.items()]

    def body(self) -> list[str]:
        at_stop = {stop.block: stop for stop in self.parts.stops}
        resumed = {stop.after: stop for stop in self.parts.stops}
        loads_at_end = self._loads_of_phis()
        lines: list[str] = []
        for block in self.parts.blocks:
            if block.name in resumed:
                lines += self._resume(resumed[block.name].number)
            lines.append(f"{block.name}:")
            if block.name in resumed:
                stop = resumed[block.name]
                lines += result_lines(stop.made, stop.number)
                lines += self._store(stop.made)
            lines += self._counted(block)
            lines += self._instructions(block, loads_at_end.get(block.name, []), stops=block.name in at_stop)
            if block.name in at_stop:
                lines += self._suspend(at_stop[block.name].number)
        return lines

    def _counted(self, block: Block) -> list[str]:
        number = round_of(block.name)
        if number is None:
            return []
        return [
            f"%{block.name}.left = load i64, ptr %emu.patience",
            f"%{block.name}.now = sub i64 %{block.name}.left, 1",
            f"store i64 %{block.name}.now, ptr %emu.patience",
            f"%{block.name}.over = icmp eq i64 %{block.name}.now, 0",
            f"br i1 %{block.name}.over, label %{block.name}.end, label %{block.name}.on",
            f"{block.name}.end:",
            f"store i32 {number << 3 | EXHAUSTED}, ptr %emu.state.at",
            "br label %emu.out",
            f"{block.name}.on:",
        ]

    def _loads_of_phis(self) -> dict[str, list[tuple[str, str, str]]]:
        """Of each block: (kept value, name, type) that phis behind it take from its slot."""
        found: dict[str, list[tuple[str, str, str]]] = {}
        for block in self.parts.blocks:
            for place, made in enumerate(block.instructions):
                if made.op != "phi" or not any(operand.text in self.slot for operand in made.operands):
                    continue
                pairs = []
                for operand, label in zip(made.operands, made.labels, strict=True):
                    text = operand.text
                    if text in self.slot:
                        text = f"%emu.phi{self.count}"
                        self.count += 1
                        found.setdefault(label, []).append((operand.text, text, made.type))
                    pairs.append(f"[ {text}, %{label} ]")
                block.instructions[place] = Instruction(f"{made.result} = phi {made.type} {', '.join(pairs)}")
        return found

    def _instructions(self, block: Block, at_end: list[tuple[str, str, str]], *, stops: bool) -> list[str]:
        lines: list[str] = []
        late: list[str] = []  # stores of phis, which come behind all phis
        for made in block.instructions:
            if made.op == "phi":
                lines.append(self._phi_text(made))
                late += self._store(made)
                continue
            lines += late
            late = []
            if made.is_terminator:
                lines += [f"{text} = load {type}, ptr {self.slot[name]}" for name, text, type in at_end]
            lines += self._plain(made)
        lines += late
        if stops and at_end:
            raise AssertionError("a block in front of a point has no phis behind it")
        return lines

    def _phi_text(self, made: Instruction) -> str:
        """Blocks that count turns end in another block than they begin with."""
        pairs = ", ".join(
            f"[ {operand.text}, %{label}{'.on' * (round_of(label) is not None)} ]"
            for operand, label in zip(made.operands, made.labels, strict=True)
        )
        return f"{made.result} = phi {made.type} {pairs}"

    def _plain(self, made: Instruction) -> list[str]:
        if made.op == "ret":
            self.ends.append(made)
            return [f"store i32 {(len(self.ends) - 1) << 3 | ENDED}, ptr %emu.state.at", "br label %emu.out"]
        lines, mapping = self._loads(made)
        return [*lines, replaced(made, mapping), *self._store(made)]

    def _loads(self, made: Instruction) -> tuple[list[str], dict[str, str]]:
        lines, mapping = [], {}
        for name in dict.fromkeys(made.uses):
            if name in self.slot:
                mapping[name] = f"%emu.use{self.count}"
                self.count += 1
                lines.append(f"{mapping[name]} = load {self.parts.types[name]}, ptr {self.slot[name]}")
        return lines, mapping

    def _store(self, made: Instruction) -> list[str]:
        if made.result is None or made.result not in self.slot:
            return []
        return [f"store {self.parts.types[made.result]} {made.result}, ptr {self.slot[made.result]}"]

    def _at(self, name: str, stop: int, what: str) -> tuple[str, str]:
        """(line, pointer) of a value's place in the frame."""
        offset, size = self.places[name]
        pointer = f"%emu.{what}{stop}.{self.slot[name][5:]}"
        return (
            f"{pointer}.a = getelementptr i8, ptr %emu.frame, i64 {offset}\n"
            f"{pointer} = getelementptr [{size} x i8], ptr {pointer}.a, i64 %emu.t",
            pointer,
        )

    def _suspend(self, number: int) -> list[str]:
        stop = self.parts.stops[number - 1]
        offered = Instruction(stop.made.text)
        loads, mapping = self._loads(offered)
        lines = loads
        for line in offer_lines(stop.point, number):
            lines.append(replaced(Instruction(line), mapping))
        for name in self.parts.kept[number]:
            type = self.parts.types[name]
            line, pointer = self._at(name, number, "keep")
            lines += [
                line,
                f"{pointer}.v = load {type}, ptr {self.slot[name]}",
                f"store {type} {pointer}.v, ptr {pointer}",
            ]
        return [*lines, f"store i32 {number << 3 | stop.point.waits}, ptr %emu.state.at", "br label %emu.out"]

    def _resume(self, number: int) -> list[str]:
        stop = self.parts.stops[number - 1]
        lines = [f"emu.resume{number}:"]
        for name in self.parts.kept[number]:
            type = self.parts.types[name]
            line, pointer = self._at(name, number, "back")
            lines += [
                line,
                f"{pointer}.v = load {type}, ptr {pointer}",
                f"store {type} {pointer}.v, ptr {self.slot[name]}",
            ]
        return [*lines, f"br label %{stop.after}"]
