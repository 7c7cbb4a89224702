"""Run an emitted kernel on this CPU."""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock, Thread
from typing import Any

from tracecut.ir.gpu.sites import Sites
from tracecut.support.argument_checks import one_of, whole_number
from tracecut.support.errors import ArgumentError, KernelError

from .arguments import Arguments, Within, check_arguments, check_geometry, check_shared
from .compile_module import Code
from .consumers import CompiledConsumer, Consumer, WarpAccesses
from .faults import Fault
from .launch import Launch, Outcome, faults_of
from .lowering.host_module import Form, HostModule, make_module
from .lowering.kernel_text import KernelText, read_kernel
from .lowering.memory_sites import Accesses, find_accesses

__all__ = ["MODES", "CompiledConsumer", "Fault", "RunReport", "WarpAccesses", "Within", "kernel_sites", "run_kernel"]

MODES = ("phases", "strict")
PATIENCE = 1 << 31
MANY = 1 << 24  # threads of a launch, from which on vector code saves more time than it takes to make
_KEPT = 32


@dataclass(frozen=True, eq=False)
class RunReport:
    """A run of a kernel.

    Attributes:
        kernel, mode, grid, block: as asked for.
        blocks, threads: that ran. barriers: of blocks, each counted once for a block that passed it.
        events: accesses that went to the consumer.
        sites: the accesses of the kernel, by number.
        faults: what it did wrong, one record for each pair of places, 256 at most; empty unless races were looked for.
        completed: whether it ran to its end. If not, the arrays hold what was written until then.
    """

    kernel: str
    mode: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    blocks: int
    threads: int
    barriers: int
    events: int
    sites: Sites
    faults: tuple[Fault, ...]
    completed: bool


@dataclass(frozen=True, eq=False)
class _Built:
    kernel: KernelText
    accesses: Accesses
    module: HostModule
    code: Code


_built: OrderedDict[str, _Built] = OrderedDict()
_lock = Lock()


def run_kernel(
    kernel_text: str,
    name: str,
    arguments: Sequence[Any],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    shared_bytes: int = 0,
    mode: str = "phases",
    trace: CompiledConsumer | Callable[[Sequence[WarpAccesses]], None] | None = None,
    races: bool = False,
    seed: int = 0,
    sites: Sites | None = None,
    extents: Mapping[int, int] | None = None,
    *,
    blocks: range | None = None,
    workers: int = 1,
    patience: int = PATIENCE,
) -> RunReport:
    """Run a kernel of a textual NVPTX module on this CPU; the arrays are changed in place.

    Args:
        kernel_text: the module that the PTX is made of. name: of the kernel.
        arguments: a C-contiguous array for each pointer, a number for each other parameter.
        grid, block: sizes, one to three. A grid may have 0 blocks.
        shared_bytes: of the part of shared memory whose size the launch states.
        mode: `phases` (all threads of a block run to the next barrier, one after the other in one compiled loop) or
            `strict` (warps take turns, their threads stand anywhere; `seed` says in which order, 0 by number).
        trace: what is given the accesses of each warp: machine code, or a function that is called once a block.
        races: also look for races, accesses outside of arrays or to shared memory that nothing was written to; `strict`
            only.
        sites: the emitter's table; its lines are taken over.
        extents: place of a pointer parameter → bytes of its array that the kernel may touch; all of it otherwise.
        blocks: linear numbers of the blocks that run; all of the grid otherwise. The step is 1.
        workers: threads of the host, `phases` without trace only. With more than one, sums of floating-point numbers
            by atomics come in any order; everything else is the same every time.
        patience: turns of a loop without a barrier that are taken for endless. Counted are all loops in strict runs,
            in phases those that look at memory by atomic or volatile accesses.

    Returns what ran and what it did wrong. The first run of a text in a form takes about 0.2 s for compiling it, up to
    2 s for a launch of `MANY` threads, which gets vector code; the last 32 are kept.

    Raises:
        ArgumentError: an argument is not what the kernel expects, or the text is not a kernel.
        UnsupportedError: the kernel uses something that a CPU has no counterpart of.
        KernelError: the run has no result, and races were not looked for: a barrier that not all threads reach, a
            deadlock, a loop without end. It names both places.
    """
    one_of("mode", mode, MODES)
    seed = whole_number("seed", seed, 0, (1 << 63) - 1)
    patience = whole_number("patience", patience, 1, (1 << 63) - 1)
    workers = whole_number("workers", workers, 1)
    strict = mode == "strict"
    if races and not strict:
        raise ArgumentError("races needs mode='strict'")
    if workers > 1 and (strict or trace is not None):
        raise ArgumentError(f"workers is {workers}, more than 1 needs mode='phases' without trace")
    shape, threads = check_geometry(grid, block)
    flat = threads[1:] == (1, 1)
    chosen = _chosen(blocks, math.prod(shape))
    many = not strict and len(chosen) * math.prod(threads) >= MANY
    form = Form(strict=strict, trace=trace is not None, races=races, flat=flat, parallel=workers > 1, many=many)
    built = _build(kernel_text, name, form, sites)
    shared_bytes = check_shared(shared_bytes, built.module.host.static_bytes)
    given = check_arguments(built.kernel, built.accesses, arguments, extents)
    consumer = None if trace is None else Consumer(trace)
    launch = Launch(built.kernel, built.accesses, built.module, built.code, form)
    parts = [
        launch.prepare(given, shape, threads, shared_bytes, part, seed, patience, consumer)
        for part in _shares(chosen, workers)
    ]
    _run(parts)
    if consumer is not None:
        consumer.finish()
    return _report(built, given, mode, shape, threads, parts, races)


def kernel_sites(kernel_text: str, name: str, sites: Sites | None = None) -> Sites:
    """The table of a kernel's accesses, without running it. Raises as `run_kernel`."""
    return find_accesses(read_kernel(kernel_text, name), sites).sites


def _build(text: str, name: str, form: Form, sites: Sites | None) -> _Built:
    columns = [] if sites is None else [sites.space, sites.kind, sites.bytes, sites.hint]
    table = (() if sites is None else sites.where, [column.tobytes() for column in columns])
    key = hashlib.sha256(repr((text, name, form, table)).encode()).hexdigest()
    with _lock:  # LLVM's optimiser runs for one thread at a time
        found = _built.pop(key, None)
        if found is None:
            kernel = read_kernel(text, name)
            accesses = find_accesses(kernel, sites)
            module = make_module(kernel, accesses, form)
            found = _Built(kernel, accesses, module, Code(module.text, parallel=form.parallel, vectors=form.many))
        _built[key] = found
        if len(_built) > _KEPT:
            _built.popitem(last=False)
    return found


def _chosen(blocks: range | None, count: int) -> range:
    if blocks is None:
        return range(count)
    if (
        not isinstance(blocks, range)
        or blocks.step != 1
        or (len(blocks) and not 0 <= blocks.start < blocks.stop <= count)
    ):
        raise ArgumentError(f"blocks is {blocks}, a range of the {count} blocks with step 1 was expected")
    return blocks


def _shares(blocks: range, workers: int) -> list[range]:
    """Equal runs of blocks; at least one, which may be empty."""
    count = max(1, min(workers, len(blocks)))
    bounds = [len(blocks) * place // count for place in range(count + 1)]
    return [blocks[first:last] for first, last in pairwise(bounds)]


def _run(parts: Sequence[Outcome]) -> None:
    threads = [Thread(target=part.run) for part in parts[1:]]
    for thread in threads:
        thread.start()
    parts[0].run()
    for thread in threads:
        thread.join()


def _report(
    built: _Built, given: Arguments, mode: str, grid: Any, block: Any, parts: Sequence[Outcome], races: bool
) -> RunReport:
    faults = tuple(fault for part in parts for fault in faults_of(built.kernel, built.accesses, built.module, part))
    fatal = next((fault for fault in faults if fault.is_fatal), None)
    if fatal is not None and (not races or fatal.kind in ("consumer", "too many events", "out of memory")):
        raise KernelError(str(fatal))
    ran = sum(part.launch.blocks_run for part in parts)
    return RunReport(
        kernel=built.kernel.name,
        mode=mode,
        grid=grid,
        block=block,
        blocks=ran,
        threads=ran * math.prod(block),
        barriers=sum(part.launch.barriers for part in parts),
        events=sum(part.launch.events for part in parts),
        sites=built.accesses.sites,
        faults=faults,
        completed=fatal is None,
    )
