"""Runs a kernel's PTX: blocks one after the other, the threads of each by one of two schedules.

`together`: of all threads the ones that are furthest behind in the text run its next instruction at once. `apart`: each
thread runs alone until it waits for others or ends, as a run of the IR in phases has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .atomics import apply_atomic
from .floats import compared, converted, floating, tested
from .integers import UNSIGNED, integer, width
from .memory import LOCAL, SHARED, Memory
from .memory import UNSIGNED as BY_SIZE
from .parse import Instruction, Program, PtxError, parse
from .warps import barrier, exchange, is_barrier, is_collective

ENDED = 1 << 30
_SPACES = ("global", "shared", "local", "param", "const")
_ORDERS = ("volatile", "relaxed", "acquire", "release", "weak", "gpu", "cta", "sys", "nc", "ca", "cg", "cs", "lu", "cv")
_ORDERS += (
    "wb",
    "wt",
    "L1::evict_first",
    "L1::evict_last",
    "L1::no_allocate",
    "L1::evict_normal",
    "L1::evict_unchanged",
)
_FORGOTTEN = ("membar", "fence", "prefetch")
MOST = 10_000_000


@dataclass(frozen=True)
class Place:
    """An argument that points into array `array`, `offset` bytes behind its begin."""

    array: int
    offset: int = 0


def interpret(
    ptx: str,
    arrays: Sequence[Any],
    arguments: Sequence[int | float | Place],
    blocks: int | range,
    threads: int,
    shared_bytes: int = 0,
    *,
    apart: bool = False,
    grid: int | None = None,
) -> None:
    """Run the kernel of a module on arrays, which are changed in place. Raises PtxError with the line.

    Args:
        arguments: one for each parameter; a number of the type that the parameter has there.
        blocks: of the grid, or those of them that run, of `grid`. apart: which schedule.
    """
    program = parse(ptx)
    if len(arguments) != len(program.parameters):
        raise PtxError(f"{len(arguments)} arguments for {len(program.parameters)} parameters")
    chosen = range(blocks) if isinstance(blocks, int) else blocks
    memory = Memory(arrays, program, threads, shared_bytes)
    given: dict[str, int] = {}
    for (name, size), value in zip(program.parameters, arguments, strict=True):
        if isinstance(value, Place):
            value = memory.address(value.array) + value.offset
        elif isinstance(value, float):
            value = int(np.array(value, {4: "f4", 8: "f8"}[size]).view(BY_SIZE[size]))
        given[name] = int(value) & (1 << 8 * size) - 1
    machine = Machine(program, memory, given, threads, grid or chosen.stop)
    with np.errstate(over="ignore"):
        for block in chosen:
            machine.run(block, apart)


class Machine:
    """One block at a time."""

    def __init__(self, program: Program, memory: Memory, given: dict[str, int], threads: int, grid: int) -> None:
        self.program, self.memory, self.given, self.threads, self.grid = program, memory, given, threads, grid
        self.registers = {
            name: np.zeros(threads, bool if bits == 1 else UNSIGNED[bits]) for name, bits in program.registers.items()
        }
        self.pc = np.zeros(threads, np.int64)
        self.parked = np.zeros(threads, bool)
        self.lanes = np.arange(threads)
        self.block = 0

    def run(self, block: int, apart: bool) -> None:
        """Run all threads of a block to their end."""
        self.block = block
        self.memory.new_block()
        self.pc[:] = 0
        self.parked[:] = False
        steps = 0
        while steps < MOST:
            free = np.flatnonzero((self.pc != ENDED) & ~self.parked)
            if free.size and apart:
                lane = free[:1]
                while steps < MOST and self.pc[lane[0]] != ENDED and not self.parked[lane[0]]:
                    self._step(lane)
                    steps += 1
            elif free.size:
                places = self.pc[free]
                self._step(free[places == places.min()])
                steps += 1
            elif self.parked.any():
                steps += 1
                self._release()
            else:
                return
        raise PtxError(f"block {block} does not end")

    def _step(self, lanes: Any) -> None:
        place = int(self.pc[lanes[0]])
        if place >= len(self.program.code):
            raise PtxError("a thread runs past the end of the kernel")
        made = self.program.code[place]
        try:
            self.lanes = lanes
            if made.guard:
                held = self.read(made.guard, 1)
                self.pc[lanes[~held]] += 1
                self.lanes = lanes[held]
                if not self.lanes.size:
                    return
            self._execute(made)
        except PtxError as error:
            if str(error).startswith("line "):
                raise
            raise PtxError(f"line {made.line}: {error} ({made.text})") from error

    def _execute(self, made: Instruction) -> None:
        name = made.op[0]
        if name == "bra":
            if made.operands[0] not in self.program.labels:
                raise made.unknown("the label of")
            self.pc[self.lanes] = self.program.labels[made.operands[0]]
            return
        if name in ("ret", "exit"):
            self.pc[self.lanes] = ENDED
            return
        if is_collective(made):
            self.parked[self.lanes] = True  # the guard holds for these; others are not held up
            return
        self.pc[self.lanes] += 1
        if name in _FORGOTTEN:
            return
        if name in ("ld", "st"):
            self._access(made)
        elif name in ("atom", "red"):
            apply_atomic(self, made)
        elif name == "mov":
            self._move(made)
        elif name == "cvta":
            self._convert_address(made)
        else:
            self.write(made.operands[0], self._value(made))

    def _value(self, made: Instruction) -> Any:
        name = made.op[0]
        if name == "setp":
            return compared(made, self.read)
        if name == "selp":
            bits = width(made)
            return np.where(self.read(made.operands[3], 1), *(self.read(o, bits) for o in made.operands[1:3]))
        if name == "cvt":
            return converted(made, self.read)
        if name == "testp":
            return tested(made, self.read)
        result = floating(made, self.read)
        if result is NotImplemented and made.type not in ("f32", "f64"):
            result = integer(made, self.read)
        if result is NotImplemented:
            raise made.unknown()
        return result

    # Operands

    def read(self, operand: str, bits: int) -> Any:
        """Bits of an operand in the running threads; the low ones of a wider register."""
        negated, operand = operand.startswith("!"), operand.lstrip("!")
        held = self.registers.get(operand)
        if held is not None:
            value = held[self.lanes]
            if bits == 1 or value.dtype == bool:
                if bits != 1 or value.dtype != bool:
                    raise PtxError(f"{operand} is no operand of {bits} bits")
                return ~value if negated else value
            if value.itemsize * 8 < bits:
                raise PtxError(f"{operand} has fewer than {bits} bits")
            return value if value.itemsize * 8 == bits else value.astype(UNSIGNED[bits])
        constant = self._constant(operand, bits)
        if bits == 1:
            return np.full(self.lanes.size, bool(constant) != negated)
        if isinstance(constant, int):
            return np.full(self.lanes.size, constant & (1 << bits) - 1, UNSIGNED[bits])
        return constant.astype(UNSIGNED[bits])

    def write(self, operand: str, value: Any, *, signed: bool = False) -> None:
        """Set a register in the running threads; a wider one is filled up with zeros, or the sign."""
        if operand == "_":
            return
        held = self.registers.get(operand)
        if held is None or (held.dtype == bool) != (value.dtype == bool) or held.itemsize < value.itemsize:
            raise PtxError(f"{operand} is no register for {value.dtype}")
        if signed and held.itemsize > value.itemsize:
            value = value.view(f"i{value.itemsize}").astype(f"i{held.itemsize}").view(held.dtype)
        held[self.lanes] = value

    def _constant(self, operand: str, bits: int) -> Any:
        if operand[:2] in ("0d", "0f"):
            if len(operand) != 2 + (bits // 4) or bits != (64 if operand[1] == "d" else 32):
                raise PtxError(f"{operand} is no operand of {bits} bits")
            return int(operand[2:], 16)
        if operand[:1] == "%":
            return self._special(operand)
        if operand in self.memory.names:
            return self.memory.names[operand]
        try:
            return int(operand.rstrip("U"), 0)
        except ValueError as error:
            raise PtxError(f"the interpreter does not know the operand {operand!r}") from error

    def _special(self, operand: str) -> Any:
        lanes = self.lanes.astype(np.uint32)
        fixed = {"ntid": self.threads, "ctaid": self.block, "nctaid": self.grid, "nwarpid": -(-self.threads // 32)}
        name, _, axis = operand[1:].partition(".")
        if axis in ("y", "z") and name in ("tid", "ctaid", "ntid", "nctaid"):
            return int(name.startswith("n"))
        if name in fixed and axis == ("" if name == "nwarpid" else "x"):
            return fixed[name]
        if operand == "%tid.x":
            return lanes
        if operand in ("%laneid", "%warpid"):
            return lanes % 32 if operand == "%laneid" else lanes // 32
        raise PtxError(f"the interpreter does not know the register {operand!r}")

    # Memory

    def address(self, operand: str) -> Any:
        """Addresses of `[register+offset]` or `[variable+offset]`."""
        base, _, offset = operand.strip("[]").partition("+")
        if base in self.registers:
            value = self.registers[base][self.lanes].astype(np.uint64)
        elif base in self.memory.names:
            value = np.full(self.lanes.size, self.memory.names[base], np.uint64)
        else:
            raise PtxError(f"the interpreter does not know the address {operand!r}")
        return value + np.uint64(int(offset or 0) & (1 << 64) - 1)

    def space_of(self, made: Instruction, allowed: Sequence[str]) -> str:
        """Address space of a memory instruction; empty for the generic one."""
        found = [part for part in made.op[1:-1] if part in _SPACES]
        if len(found) > 1 or set(made.op[1:-1]) - {*found, *allowed}:
            raise made.unknown()
        return found[0] if found else ""

    def _access(self, made: Instruction) -> None:
        space = self.space_of(made, (*_ORDERS, "v2", "v4"))
        count = 2 if "v2" in made.op else 4 if "v4" in made.op else 1
        size = width(made) // 8
        loads = made.op[0] == "ld"
        vector, at = made.operands if loads else made.operands[::-1]
        parts = [part.strip() for part in vector.strip("{}").split(",")]
        if len(parts) != count:
            raise made.unknown()
        if space == "param":
            self.write(parts[0], self._parameter(made, at, size), signed=made.type[0] == "s")
            return
        space = "" if space == "const" else space
        address = self.address(at)
        if (address % np.uint64(size * count)).any():
            raise PtxError(f"an address is no multiple of {size * count}")
        values = [] if loads else [self.read(part, 8 * self._held(part, size)) for part in parts]
        for place, part in enumerate(parts):
            where = address + np.uint64(size * place)
            if loads:
                self.write(part, self.memory.load(space, where, size, self.lanes), signed=made.type[0] == "s")
            else:
                self.memory.store(space, where, values[place], size, self.lanes)

    def _held(self, part: str, size: int) -> int:
        held = self.registers.get(part)
        return size if held is None else max(size, held.itemsize)

    def _parameter(self, made: Instruction, at: str, size: int) -> Any:
        known = dict(self.program.parameters)
        name = at.strip("[]")
        if made.op[0] != "ld" or name not in known or known[name] < size or "v2" in made.op or "v4" in made.op:
            raise made.unknown()
        return np.full(self.lanes.size, self.given[name] & (1 << 8 * size) - 1, BY_SIZE[size])

    def _move(self, made: Instruction) -> None:
        """mov: also of a register to its halves, and back."""
        target, source = made.operands
        if len(made.op) != 2:
            raise made.unknown()
        bits = width(made)
        if target[0] == "{":
            parts = [part.strip() for part in target.strip("{}").split(",")]
            value, step = self.read(source, bits), bits // len(parts)
            for place, part in enumerate(parts):
                self.write(part, (value >> value.dtype.type(step * place)).astype(UNSIGNED[step]))
        elif source[0] == "{":
            parts = [part.strip() for part in source.strip("{}").split(",")]
            step = bits // len(parts)
            halves = [self.read(part, step).astype(UNSIGNED[bits]) for part in parts]
            self.write(target, sum(half << UNSIGNED[bits](step * n) for n, half in enumerate(halves)))
        else:
            self.write(target, self.read(source, bits))

    def _convert_address(self, made: Instruction) -> None:
        """cvta: between a space and the generic one, in which arrays have the same addresses."""
        to = made.op[1] == "to"
        space = made.op[2 if to else 1]
        if len(made.op) != (4 if to else 3) or space not in ("global", "shared", "local", "const"):
            raise made.unknown()
        window = np.uint64({"shared": SHARED, "local": LOCAL}.get(space, 0))
        value = self.read(made.operands[1], 64)
        self.write(made.operands[0], value - window if to else value + window)

    # Threads that wait

    def _release(self) -> None:
        """All threads wait or have ended: let those go on that nobody is missing for."""
        waiting = np.flatnonzero(self.parked)
        for warp in np.unique(waiting // 32):
            mine = waiting[waiting // 32 == warp]
            made = self.program.code[int(self.pc[mine[0]])]
            if not is_barrier(made) and (self.pc[mine] == self.pc[mine[0]]).all():
                self._collect(made, mine, exchange)
                return
        if (self.pc[waiting] == self.pc[waiting[0]]).all():
            made = self.program.code[int(self.pc[waiting[0]])]
            if is_barrier(made):
                self._collect(made, waiting, barrier)
                return
        made = self.program.code[int(self.pc[waiting[0]])]
        raise PtxError(f"line {made.line}: not all threads come to {made.text!r}")

    def _collect(self, made: Instruction, lanes: Any, work: Any) -> None:
        self.lanes = lanes
        work(self, made)
        self.pc[lanes] += 1
        self.parked[lanes] = False
