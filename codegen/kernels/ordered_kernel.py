"""Kernels without atomics: what jobs contribute is stored apart, and added up by a second kernel in a fixed order.

Where each contribution goes is found by running the kernel on this CPU with its addresses in place of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from tracecut.codegen.emulation.run_kernel import Within, run_kernel
from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.codegen.ptx.combinations import BITS, identity
from tracecut.codegen.ptx.emit import PlainKernel
from tracecut.codegen.ptx.emit_blocks import BlockKernel
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.ptx.ordered_combine import LISTS, CombineClass, combine_kernel
from tracecut.codegen.ptx.ordered_reductions import COUNT, NOWHERE, RECORD, RUN, OrderedReductions, code_of
from tracecut.codegen.schedule.reduce_modes import ORDERED
from tracecut.support.arrays import Longs
from tracecut.support.errors import UnsupportedError

from .kernel import DTYPES, Address, KernelArray, Memory, Second, raw_array

MOST = 1 << 31  # contributions: they are numbered by 32 bits
Argument = int | float | Address


Module = TypeVar("Module", PlainKernel, BlockKernel)


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched. `old`: int64 (jobs), number in the program of the job at each place."""

    name: str
    blocks: int
    threads: int
    shared_bytes: int
    old: Longs


@dataclass(frozen=True)
class _Found:
    """Contributions of the program's run: of each, its slot, number, turn in its job, job, array and offset there."""

    slots: Longs
    numbers: Longs
    turns: Longs
    jobs: Longs
    arrays: Longs
    offsets: Longs


def module_and_arguments(
    build: Callable[[OrderedReductions | None], Module],
    argument: Callable[[Parameter], Argument],
    memory: Memory,
    launch: Launch,
    reduce: str,
) -> tuple[Module, tuple[Argument, ...], Second | None]:
    """A kernel's module and arguments, and with ORDERED reductions the kernel behind it; as of `order_reductions`."""
    if reduce == ORDERED:
        return order_reductions(build, argument, memory, launch)
    made = build(None)
    return made, tuple(argument(parameter) for parameter in made.parameters), None


def order_reductions(
    build: Callable[[OrderedReductions], Module],
    argument: Callable[[Parameter], Argument],
    memory: Memory,
    launch: Launch,
) -> tuple[Module, tuple[Argument, ...], Second | None]:
    """A kernel whose reductions have the same bits every time, its arguments, and the kernel to launch behind it.

    A datum gets what the jobs contribute in the program's own order, beginning with its old value: where each
    contribution is a single operation, what comes out has the bits that the program itself leaves.

    Args:
        build: makes the module with the reductions lowered. argument: for parameters that any kernel has.
        memory: the kernel's arrays, which get more.

    Raises UnsupportedError with the reason where a contribution cannot be told from the value that it is added to. Runs
    the kernel once or twice on this CPU. O(jobs + contributions · log).
    """
    jobs = launch.old.size
    record = OrderedReductions(RECORD, jobs)
    made = build(record)
    if not record.found:
        return made, tuple(argument(parameter) for parameter in made.parameters), None
    starts = np.full(jobs + 1, record.fixed * jobs, np.int64)
    if record.dynamic:
        counts = np.zeros(jobs, np.int64)
        _run(build(OrderedReductions(COUNT, jobs)), {"counts": counts}, argument, memory, launch)
        starts[1:] += np.cumsum(counts)
    if starts[-1] >= MOST:
        raise UnsupportedError(f"its jobs make {starts[-1]} contributions, {MOST - 1} can be numbered")
    found = _record(made, record, starts, argument, memory, launch)
    targets = _targets(found, record)
    final = OrderedReductions(RUN, jobs, targets)
    kernel = build(final)
    planned = np.full(int(starts[-1]), NOWHERE, np.int64)
    for number in targets:
        mine = found.numbers == number
        planned[found.slots[mine]] = [code_of(int(offset), number, targets) for offset in found.offsets[mine]]
    more: dict[str, Argument] = {
        "contributions": _array(memory, "contributions", _identities(found, final, starts), fixed=False),
        "planned": _array(memory, "array and place of each contribution", planned),
        "flag": _array(memory, "whether a contribution went elsewhere", np.zeros(1, np.int32), fixed=False),
        "starts": _array(memory, "contributions of each job", starts) if final.dynamic else 0,
    }

    def bound(parameter: Parameter) -> Argument:
        if parameter.kind == "target":
            return Address(parameter.group, 0)
        return more[parameter.kind] if parameter.kind in more else argument(parameter)

    arguments = tuple(bound(parameter) for parameter in kernel.parameters)
    return kernel, arguments, _combine(found, final, more["contributions"], argument, memory, launch)


def _run(
    made: PlainKernel | BlockKernel,
    extra: Mapping[str, Any],
    argument: Callable[[Parameter], Argument],
    memory: Memory,
    launch: Launch,
) -> list[Any]:
    """Run a kernel on copies of its arrays, and of `extra` ones by the kind of their parameters; the copies."""
    arguments = [None if item.kind in extra else argument(item) for item in made.parameters]
    copies = [item.data.copy() for item in memory.arrays]
    given = [
        extra[parameter.kind]
        if value is None
        else Within(copies[value.array], value.offset)
        if isinstance(value, Address)
        else value
        for parameter, value in zip(made.parameters, arguments, strict=True)
    ]
    run_kernel(made.text, launch.name, given, launch.blocks, launch.threads, launch.shared_bytes)
    return copies


def _record(
    made: PlainKernel | BlockKernel,
    record: OrderedReductions,
    starts: Longs,
    argument: Callable[[Parameter], Argument],
    memory: Memory,
    launch: Launch,
) -> _Found:
    total, jobs = int(starts[-1]), launch.old.size
    planned, turns = np.full(total, NOWHERE, np.int64), np.zeros(total, np.int64)
    copies = _run(made, {"planned": planned, "turns": turns, "starts": starts}, argument, memory, launch)
    slots = np.flatnonzero(planned != NOWHERE)
    inner = np.repeat(np.arange(jobs), np.diff(starts))
    job = np.concatenate([np.tile(np.arange(jobs), record.fixed), inner])[slots]
    numbers = turns[slots] % record.width
    arrays, offsets = _places(copies, planned[slots])
    inside = np.array([item.phi == "" for item in record.found])[numbers]
    sizes = np.array([item.size for item in copies] or [0], np.int64)
    if np.any(inside & ((offsets < 0) | (offsets >= sizes[arrays]))):
        raise UnsupportedError("it reduces into memory that was not captured")
    return _Found(slots, numbers, turns[slots] // record.width, launch.old[job], arrays, offsets)


def _places(arrays: Sequence[Bytes], addresses: Longs) -> tuple[Longs, Longs]:
    """(array, offset) of each address. O(addresses · log)."""
    if not arrays:
        return np.zeros(addresses.size, np.int64), np.full(addresses.size, -1, np.int64)
    begins = np.array([item.ctypes.data for item in arrays], np.int64)
    order = np.argsort(begins, kind="stable")
    found = order[np.maximum(np.searchsorted(begins[order], addresses, "right") - 1, 0)]
    return found.astype(np.int64), addresses - begins[found]


def _targets(found: _Found, record: OrderedReductions) -> dict[int, int]:
    """The one array that each reduction in memory goes to; none for those that the program did not come to."""
    targets = {}
    for item in record.found:
        arrays = np.unique(found.arrays[found.numbers == item.number])
        if item.phi or not arrays.size:
            continue
        if arrays.size > 1:
            raise UnsupportedError(f"one of its {item.operator} reductions goes to several arrays")
        targets[item.number] = int(arrays[0])
    return targets


def _identities(found: _Found, ordered: OrderedReductions, starts: Longs) -> npt.NDArray[np.uint8]:
    """What contributes nothing, in every slot that may be added."""
    values = np.zeros(int(starts[-1]), np.uint64)
    for item in ordered.found:
        neutral = identity_value(item.operator, item.type)
        values[found.slots[found.numbers == item.number]] = int.from_bytes(neutral.tobytes(), "little")
    return raw_array(values)


def identity_value(operator: str, type: str) -> npt.NDArray[Any]:
    """The identity element, an array of one number."""
    text, dtype = identity(operator, type), np.dtype(DTYPES[type])
    if dtype.kind == "f":
        bits = np.array([int(text, 16)], np.uint64).view(np.float64) if text.startswith("0x") else [float(text)]
        return np.asarray(bits).astype(dtype)
    return np.array([int(text)], np.int64).astype(dtype)


def _combine(
    found: _Found,
    ordered: OrderedReductions,
    contributions: Argument,
    argument: Callable[[Parameter], Argument],
    memory: Memory,
    launch: Launch,
) -> Second:
    groups: dict[CombineClass, list[int]] = {}
    for item in ordered.found:
        mine = found.numbers == item.number
        if mine.any():
            array = -1 if item.phi else int(found.arrays[mine][0])
            groups.setdefault(CombineClass(array, item.operator, item.type, item.phi), []).append(item.number)
    text, parameters = combine_kernel(f"{launch.name}_combine", list(groups))
    lists: list[dict[str, Argument]] = []
    spans: list[tuple[int, Longs, int]] = []
    most = 1
    for place, (kind, numbers) in enumerate(groups.items()):
        chosen = np.flatnonzero(np.isin(found.numbers, numbers))
        offsets = np.zeros(chosen.size, np.int64) if kind.phi else found.offsets[chosen]
        order = np.lexsort((found.turns[chosen], found.jobs[chosen], offsets))
        places, firsts = np.unique(offsets[order], return_index=True)
        most = max(most, places.size)
        spans.append((kind.array, places, BITS[kind.type] // 8))
        values: tuple[npt.NDArray[Any], ...] = (
            np.append(firsts, chosen.size).astype(np.int64),
            found.slots[chosen][order].astype(np.int32),
            places.astype(np.int64),
        )
        named = {
            name: _array(memory, f"{name} of reduced data {place}", data)
            for name, data in zip(LISTS, values, strict=True)
        }
        lists.append({"count": int(places.size), "target": Address(kind.array, 0), **named})
    _check_apart(spans)
    arguments = []
    for parameter in parameters:
        if parameter.kind == "contributions":
            arguments.append(contributions)
        else:
            arguments.append(
                argument(parameter) if parameter.kind == "reduction" else lists[parameter.group][parameter.kind]
            )
    return Second(
        f"{launch.name}_combine", text, parameters, tuple(arguments), -(-most // launch.threads), launch.threads
    )


def _check_apart(spans: Sequence[tuple[int, Longs, int]]) -> None:
    """No byte may be reduced in two ways: each is added to by one thread."""
    for array in {array for array, *_ in spans if array >= 0}:
        begins = np.concatenate([places for item, places, _ in spans if item == array])
        ends = np.concatenate([places + size for item, places, size in spans if item == array])
        order = np.argsort(begins)
        if np.any(ends[order][:-1] > begins[order][1:]):
            raise UnsupportedError("one of its data is reduced in several ways")


def _array(memory: Memory, name: str, values: npt.NDArray[Any], *, fixed: bool = True) -> Address:
    return Address(memory.place(("ordered", name), lambda: KernelArray(name, raw_array(values), fixed=fixed)), 0)
