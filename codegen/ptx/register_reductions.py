"""Reductions in a register: each thread's contribution goes into one cell of memory.

The 32 threads of a warp first add up what they have, by shuffles, and its first thread adds the sum to the cell:

```
tc.done:  left = phi [ what the job leaves, … ], [ identity, thread without a job ]
          left = left ∘ left of the thread 16, 8, 4, 2, 1 further on
          first of the warp ? tc.lead : tc.exit
tc.lead:  atomic: cell = cell ∘ left
```
"""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.codegen.schedule.plan.range_function import Outlined, Reduction
from tracecut.ir.llvm import Block, Instruction, int_bits
from tracecut.ir.llvm.associative import BY_SIZE, SIGNED
from tracecut.support.errors import UnsupportedError

from .combinations import BITS, Update, combination, combine_atomically, identity
from .job_body import DONE, Job
from .memory_reductions import EXTENSIONS, loosen

EXIT, LEAD = "tc.exit", "tc.lead"
STEPS = (16, 8, 4, 2, 1)
SHUFFLE = "llvm.nvvm.shfl.sync.down.i32"


@dataclass(frozen=True)
class Cell:
    """Where the jobs' contributions to one register reduction meet.

    Attributes:
        reduction: which. type: of the cell; an integer narrower than 32 bits has a cell of 32.
        pointer: name of the cell's address in the kernel.
    """

    reduction: Reduction
    type: str
    pointer: str


def lower_register_reductions(job: Job, outlined: Outlined, *, idle: str = "entry") -> list[Cell]:
    """Hand what a job leaves in each register reduction to a cell, in blocks from DONE on, in place.

    `idle`: the block from which threads without a job come to DONE.

    Raises UnsupportedError for a reduction that no order of additions gives.
    """
    if not outlined.reductions:
        job.blocks.append(Block(DONE, [Instruction(f"br label %{EXIT}")]))
        return []
    for reduction in outlined.reductions:
        start = f"{reduction.phi}.tc.start"
        chain = job.dependents(start)
        check_register(job, reduction, chain)
        loosen(job, chain)
        job.substitute({start: identity(reduction.operator, reduction.type)})
    (latch,) = (block.name for block in job.blocks if DONE in block.terminator.labels)
    done = Block(DONE, [])
    for place, reduction in enumerate(outlined.reductions):
        value, rest = job.ends[reduction.phi], identity(reduction.operator, reduction.type)
        done.instructions.append(
            Instruction(f"%tc.left{place} = phi {reduction.type} [ {value}, %{latch} ], [ {rest}, %{idle} ]")
        )
    cells = []
    sums = []
    for place, reduction in enumerate(outlined.reductions):
        cells.append(Cell(reduction, _cell_type(reduction.type), f"%tc.cell{place}"))
        sums.append(_warp_sum(done, cells[-1], place))
    done.instructions += [
        Instruction("%tc.lane = and i32 %tc.tid, 31"),
        Instruction("%tc.leads = icmp eq i32 %tc.lane, 0"),
        Instruction(f"br i1 %tc.leads, label %{LEAD}, label %{EXIT}"),
    ]
    job.blocks += [done, Block(LEAD, [])]
    for place, (cell, total) in enumerate(zip(cells, sums, strict=True)):
        update = Update(cell.reduction.operator, cell.type, cell.pointer, total, f"tc.cell{place}.swap")
        combine_atomically(job, job.blocks[-1], update)
    job.blocks[-1].instructions.append(Instruction(f"br label %{EXIT}"))
    job.ends = {}
    return cells


def shuffle_name(operator: str, type: str) -> str:
    """The function of the kernel that fetches a value from a thread further on."""
    return f"@tc_down_{operator}_{type}"


def shuffle_functions(cells: list[Cell]) -> list[str]:
    """Definitions of those functions; past the last thread of a block there is the identity."""
    return [_shuffle_function(*key) for key in sorted({(cell.reduction.operator, cell.type) for cell in cells})]


def check_register(job: Job, reduction: Reduction, chain: set[str]) -> None:
    """Raise UnsupportedError for a reduction whose parts cannot be combined on a device."""
    if int_bits(reduction.type) not in (1, 8, 16, 32, 64) and reduction.type not in ("float", "double"):
        raise UnsupportedError(
            f"the reduction in {reduction.phi} is on {reduction.type}, for which there is no atomic operation"
        )
    extended = any(made.result in chain and made.op in EXTENSIONS for _, made in job.instructions())
    if extended and reduction.operator in BY_SIZE:
        raise UnsupportedError(
            f"the {reduction.operator} in {reduction.phi} is computed in another width than it is stored in"
        )


def _cell_type(type: str) -> str:
    return "i32" if (int_bits(type) or 32) < 32 else type


def _warp_sum(block: Block, cell: Cell, place: int) -> str:
    """Name of the warp's sum (in its first thread), computed at the end of `block`."""
    operator, type = cell.reduction.operator, cell.reduction.type
    value = f"%tc.left{place}"
    if cell.type != type:
        wider = "sext" if operator in SIGNED else "zext"
        block.instructions.append(Instruction(f"%tc.wide{place} = {wider} {type} {value} to {cell.type}"))
        value = f"%tc.wide{place}"
    for step in STEPS:
        moved, total = f"%tc.moved{place}.{step}", f"%tc.sum{place}.{step}"
        called = f"{shuffle_name(operator, cell.type)}({cell.type} {value}, i32 {step})"
        block.instructions += [
            Instruction(f"{moved} = call {cell.type} {called}"),
            *map(Instruction, combination(total, operator, cell.type, value, moved)),
        ]
        value = total
    return value


def _shuffle_function(operator: str, type: str) -> str:
    whole = f"i{BITS[type]}"
    lines = ["%bits = " + (f"bitcast {type} %value to {whole}" if type != whole else f"add {type} %value, 0")]
    if whole == "i32":
        lines.append(f"%moved = call i32 @{SHUFFLE}(i32 -1, i32 %bits, i32 %by, i32 31)")
    else:
        lines += [
            "%low = trunc i64 %bits to i32",
            "%shifted = lshr i64 %bits, 32",
            "%high = trunc i64 %shifted to i32",
            f"%low.moved = call i32 @{SHUFFLE}(i32 -1, i32 %low, i32 %by, i32 31)",
            f"%high.moved = call i32 @{SHUFFLE}(i32 -1, i32 %high, i32 %by, i32 31)",
            "%low.wide = zext i32 %low.moved to i64",
            "%high.wide = zext i32 %high.moved to i64",
            "%high.part = shl i64 %high.wide, 32",
            "%moved = or i64 %high.part, %low.wide",
        ]
    back = f"bitcast {whole} %moved to {type}" if type != whole else f"add {type} %moved, 0"
    lines += [
        f"%theirs = {back}",
        "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "%ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()",
        "%from = add i32 %tid, %by",
        "%there = icmp ult i32 %from, %ntid",
        f"%result = select i1 %there, {type} %theirs, {type} {identity(operator, type)}",
        f"ret {type} %result",
    ]
    head = f"define internal {type} {shuffle_name(operator, type)}({type} %value, i32 %by) convergent alwaysinline {{"
    return "\n".join([head, *(f"  {line}" for line in lines), "}"])
