"""The host of a program whose loops run on a card: as `runtime/host.py`, with launches in place of layouts."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
from tracecut.codegen.devices.device import Device
from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.codegen.runtime.host import Host
from tracecut.codegen.runtime.region_codes import region_codes
from tracecut.codegen.runtime.run_summary import told
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.runtime.scope_state import ScopeState
from tracecut.codegen.schedule.guards.make_guard import address_of
from tracecut.codegen.schedule.schedule import ANY_SIZE, Schedule
from tracecut.support.errors import TracecutError, UnsupportedError
from tracecut.support.process.load_and_run import thread_count
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.iteration_domains import steps_around
from tracecut.tracer.legality.evaluation.memory import Memory, Object
from tracecut.tracer.runtime.binding import Plan
from tracecut.tracer.runtime.buffers import Block
from tracecut.tracer.runtime.fingerprint_key import Secret

from .device_loop import DeviceScope
from .host_layout import HostLayout
from .mirror import Counts, Mirror, neighbours
from .offloaded_scope import LaunchError, OffloadedScope

OFFLOAD = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64), ctypes.c_int32
)
BLOCK = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
)
UNUSUAL = "the program rounds otherwise than a card does"
PATIENCE = 8  # entries in a row
VAIN = f"its kernels were not for {PATIENCE} entries in a row: it is not looked at any more"
WATCHED = 32  # launches
LOST = "what it had computed there is lost; run the program without --device"


@dataclass(frozen=True, eq=False)
class Loaded:
    """The kernels of a scope, and each of them on the card (by loop id); `anyhow`: those for any indices."""

    scope: DeviceScope
    kernels: Mapping[int, Any]
    anyhow: Loaded | None = None


class DeviceHost(Host):
    """Connects a loaded program with its kernels.

    Args:
        library, files, names, cpus, say: as of `Host`; threads make copies.
        device: the card. scopes: number of each layout scope → its kernels. end: ends the program after an error.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        files: Sequence[ScopeFile],
        names: Sequence[str],
        cpus: Sequence[int],
        *,
        say: Callable[[str], None],
        device: Device,
        scopes: Mapping[int, Loaded],
        end: Callable[[str], NoReturn],
    ) -> None:
        super().__init__(library, files, names, cpus, say=say)
        self.device, self.loaded, self.end = device, scopes, end
        self.counts, self.process = Counts(), os.getpid()
        self._call, self._block_call = OFFLOAD(self._offload), BLOCK(self._block)
        self.tables.set("tc_on_block", ctypes.cast(self._block_call, ctypes.c_void_p).value or 0)
        self._plans: dict[int, tuple[Plan, list[Block]]] = {}
        self._loop_of = {number: loop for file in files for loop, number in file.numbers.items()}
        self._running: dict[int, OffloadedScope] = {}
        self._chosen: dict[int, tuple[Loaded, Schedule]] = {}
        self._plain: dict[int, Schedule] = {}
        self._declined: dict[int, int] = {}  # entries in a row for which the kernels are not

    def _activate(
        self,
        state: ScopeState,
        found: list[Object],
        memory: Memory,
        numbers: Mapping[str, int | float],
        raw: Sequence[int],
    ) -> None:
        file, (loaded, schedule) = state.file, self._chosen[state.file.number]
        loops = [loop.loop for loop in loaded.scope.loops]
        codes = region_codes(self.library, file, memory, numbers, [SimpleNamespace(region=loop) for loop in loops])
        counted = [loop.loop for loop in loaded.scope.loops if not loop.counts]  # the others know it of each step
        jobs = iterations(file, schedule, counted, memory, numbers)
        bases = [item.base for item in found]
        data = [
            bytes_at(address_of(memory, item, 0) if item in memory.rows else item.base, item.size) for item in found
        ]
        before = self._running.get(file.number)
        if before is not None and before.mirror.layout.schedule is not schedule:
            before = None
        layout = HostLayout(self.native, schedule, self.threads) if before is None else before.mirror.layout
        read = [int(item.ctypes.data) for item in data]
        layout.rebind(read, codes)
        places = {number: (base, item.size) for number, (base, item) in enumerate(zip(bases, data, strict=True))}
        several = [item.objects for loop in loaded.scope.loops for item in loop.given if len(item.objects) > 1]
        mirror = Mirror(self.device, layout, data, self.counts, neighbours(places, several))
        if before is not None:
            mirror.take_over(before.mirror)
        running = OffloadedScope(loaded.scope, loaded.kernels, mirror, bases, codes, jobs, before)
        self._running[file.number] = running
        state.executor = running  # type: ignore[assignment]  # what is asked of it is whether it is active
        for loop in loops:
            plan, kept = Plan(), []
            checks = sorted(codes[loop].expected.items())
            slots = codes[loop].outlined.slots
            columns = {
                "check_slot": Block.holding([slot for slot, _ in checks], "i4"),
                "check_bytes": Block.holding([SIZES.get(slots[slot].type, 8) for slot, _ in checks], "i4"),
                "check_value": Block.holding([number & (2**64 - 1) for _, number in checks], "u8"),
            }
            for name, block in columns.items():
                setattr(plan, name, block.address)
                kept.append(block)
            plan.checks = len(checks)
            plan.offload = ctypes.cast(self._call, ctypes.c_void_p).value
            number = file.numbers[loop]
            self._plans[number] = plan, kept
            self.tables.plans[number] = ctypes.addressof(plan)
        state.pause.in_force(self.tables, raw, bases)
        state.used += 1
        state.refused = ""

    def _check(
        self, state: ScopeState, schedule: Schedule, secret: Secret, memory: Memory, numbers: Mapping[str, int | float]
    ) -> tuple[list[Object] | None, str]:
        """As of `Host`; where only indices are others, the kernels for any indices are taken."""
        number = state.file.number
        loaded = self.loaded[number]
        if self._declined.get(number, 0) >= PATIENCE:
            return None, VAIN
        found, why = super()._check(state, schedule, secret, memory, numbers)
        self._chosen[number] = loaded, schedule
        if found is None and loaded.anyhow is not None:
            plain = self._plain.setdefault(number, without_order(schedule))
            found, other = super()._check(state, plain, secret, memory, numbers)
            if found is not None:
                self._chosen[number] = loaded.anyhow, plain
                self.say(f"scope {number}: {why}; its kernels run in the program's own order")
            why = why if found is None else other
        self._declined[number] = 0 if found is not None else self._declined.get(number, 0) + 1
        return found, why

    def _off(self, state: ScopeState) -> None:
        """Give the program what only the card has; its own loops run."""
        state.pause.end(self.tables)
        for number in state.file.numbers.values():
            self.tables.plans[number] = None
            self.tables.probes[number] = 0
        running = self._running.get(state.file.number)
        if running is not None and running.active:
            try:
                running.home()
            except TracecutError as error:
                self.end(f"{error.message}: {LOST}")

    def _offload(self, number: int, given: Any, taken: Any, standard: int) -> int:
        """A loop is about to run. Returns whether it did, on the card."""
        file = self.owner[number]
        state = self.scopes[file.number]
        running = self._running[file.number]
        loop = self._loop_of[number]
        why = UNUSUAL
        threads = thread_count() if self.counts.launches < WATCHED else 0
        try:
            if standard:
                running.run(loop, given, taken)
                return 1
            if os.getpid() != self.process:
                return 0
        except Exception as error:
            why = told(error)
            if isinstance(error, LaunchError) and running.lost(loop):
                self.end(f"{why}: {LOST}")
        finally:  # a driver starts threads when it first needs them: they are not the program's
            self.own_threads += thread_count() - threads if threads else 0
        state.refused = why
        self.say(f"scope {file.number}: {why}; the program's own loops run")
        self._off(state)
        return 0

    def _block(self, number: int, target: int | None, source: int | None, byte: int, size: int) -> int:
        """A block of bytes is about to be filled or copied. Returns whether it was, on the card."""
        running = self._running.get(number)
        if running is None or not running.active or not target:
            return 0
        try:
            return int(running.block(target, source or 0, byte, size))
        except Exception as error:
            state = self.scopes[number]
            state.refused = told(error)
            self.say(f"scope {number}: {state.refused}; the program's own loops run")
            self._off(state)
            return 0

    def summary(self) -> dict[str, Any]:
        """As of `Host`, and what was copied and launched."""
        return {**super().summary(), "device": asdict(self.counts)}


SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "float": 4}


def without_order(schedule: Schedule) -> Schedule:
    """The program's own order, for whatever indices: what a schedule assumes beside their values."""
    objects = tuple(replace(ref, size=ANY_SIZE) for ref in schedule.guard.objects)
    guard = replace(schedule.guard, loads=(), objects=objects)
    return Schedule(schedule.scope, (), (), (), guard, "original")


def iterations(
    file: ScopeFile, schedule: Schedule, loops: Sequence[int], memory: Memory, numbers: Mapping[str, int | float]
) -> dict[int, int]:
    """Loop → its iterations in this entry of the scope. Raises UnsupportedError where that is not known."""
    found = {region.region: int(region.jobs.size) for region in schedule.regions if region.region in loops}
    single = bool(file.options["single"])
    steps = steps_around(file.nest, int(file.options["region"])) if single else frozenset[int]()
    evaluation = Evaluation(file.nest, memory, numbers, single=single, steps=steps)
    for loop in loops:
        if loop not in found:
            domain = evaluation.whole(loop)
            if domain is None:
                raise UnsupportedError(f"it is not known how often the loop at {file.nest.loops[loop].place} runs")
            found[loop] = domain.size
    return found


def bytes_at(address: int, size: int) -> Bytes:
    """Memory of this process."""
    if not size:
        return np.zeros(0, np.uint8)
    raw: Any = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(raw, np.uint8)
