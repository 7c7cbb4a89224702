"""Applies a schedule: moves data into the new layout, runs regions on it, moves everything back.

Works on addresses of this process: those of a running program, or of a capture that was loaded for measuring.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracecut.codegen.schedule.guards.recipes import signed
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.schedule import Blocks, Copy, Lookup, Move, RegionSchedule, Renumbering, Schedule, Starts
from tracecut.support.errors import ScheduleError
from tracecut.tracer.runtime.binding import MAX_REDUCTIONS, MAX_SLOTS, OPERATORS, TYPES, Native, Plan
from tracecut.tracer.runtime.buffers import Block
from tracecut.tracer.runtime.fingerprint_key import Secret
from tracecut.tracer.runtime.lookup_table import NOWHERE, LookupTable


@dataclass(frozen=True)
class RegionCode:
    """The emitted code of a region: address of its range function, and what it expects.

    `fixed`: group → base pointer, for groups whose root is loaded inside of the region.
    `expected`: slot → number that the program has to hand over while the layout is in force.
    """

    address: int
    outlined: Outlined
    fixed: Mapping[int, int] = field(default_factory=dict)
    expected: Mapping[int, int] = field(default_factory=dict)
    roots: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Waves:
    """Blocks as machine code reads them: their bounds, their sequence by wavefronts, and where each of these ends."""

    bounds: Block
    sequence: Block
    ends: Block
    widest: int

    @classmethod
    def of(cls, blocks: Blocks) -> _Waves:
        waves = Block.of(blocks.waves, "i4").numbers()
        sequence = sorted(range(blocks.count), key=waves.__getitem__)
        ends = list(itertools.accumulate((waves.count(wave) for wave in range(max(waves) + 1)), initial=0))
        return cls(
            Block.of(blocks.bounds, "i8"), Block.holding(sequence, "i4"), Block.holding(ends, "i4"), blocks.widest()
        )


@dataclass
class _Buffer:
    """A copy that is kept between entries: its bytes, the same with old index values, and what it was made from."""

    data: Block
    old: Block | None
    source: tuple[int, int]


class Executor:
    """One schedule on the objects of this process.

    Args:
        native: the run-time support of the library that the code is in.
        schedule: what to apply.
        bases: address of each object of the schedule's guard, or of what is read in its place.
        codes: region → its code.
        homes: where the program's own pointers lead, for objects that are read in another place (`Rows`).
        threads: how many the regions and copies may take, of those that the support has.
        lookups: the table of the schedule's lookups; None where the program's other loops do not run.

    Where the schedule keeps the program's own order (`unmoved`), nothing is permuted, and its own arrays are read.
    """

    def __init__(
        self,
        native: Native,
        schedule: Schedule,
        bases: Sequence[int],
        codes: Mapping[int, RegionCode],
        *,
        homes: Sequence[int] | None = None,
        threads: int = 1,
        lookups: LookupTable | None = None,
    ) -> None:
        self.native = native
        self.schedule = schedule
        self.bases = list(bases)
        self.homes = list(bases if homes is None else homes)
        self.codes = dict(codes)
        self.threads = threads
        self.lookups = lookups
        self.active = False
        self._buffers: dict[tuple[int, int], _Buffer] = {}
        self._orders = [Block.of(space.order, "i4") for space in schedule.spaces]
        self._ranks = [native.inverse(order) for order in self._orders]
        self._jobs = {region.region: Block.of(region.jobs, "i4") for region in schedule.regions}
        self.unmoved = all(native.is_unchanged(order) for order in (*self._orders, *self._jobs.values()))
        self._lengths = {region.region: Block.of(region.lengths, "i4") for region in schedule.regions}
        self._waves = {region.region: _Waves.of(region.blocks) for region in schedule.regions}
        self._kept: list[Block] = []
        self._room = Block.room(0, 1)
        self._locals: list[Block] = []  # order of each move, counted from its first record
        self._secret = Secret.draw()
        self._ranges: dict[tuple[int, Starts], tuple[int, int, int]] = {}  # by region; the guard holds them fast
        self.plans: dict[int, Plan] = {}

    def rebind(self, bases: Sequence[int], codes: Mapping[int, RegionCode], homes: Sequence[int] | None = None) -> None:
        """Apply the same schedule to objects at new addresses (a new entry of the scope)."""
        if list(bases) != self.bases:
            self._buffers.clear()
        self.bases = list(bases)
        self.homes = list(bases if homes is None else homes)
        self.codes = dict(codes)

    def enter(self) -> None:
        """Permute what is permuted in place, make or refresh the copies, and prepare the plans."""
        self._kept = []
        self.plans = {region.region: self._prepare(region) for region in self.schedule.regions}
        size = max((move.count * move.stride for move in self.schedule.moves if not self.unmoved), default=0)
        if self._room.bytes < size:
            # kept: leaving must not fail for lack of memory, and new pages would have to be cleared
            self._room = Block.room(size, 1)
        if not self._locals:
            self._locals = [self.order_of(move) for move in self.schedule.moves]
        if self.lookups is not None:
            self.lookups.prepare([self._moved(lookup) for lookup in self.schedule.lookups])
        self._permute(back=False)  # from here on nothing allocates memory, also on leaving, so nothing can fail
        if self.lookups is not None:
            self.lookups.put()
        self.active = True
        self._move_pages()

    def _moved(self, lookup: Lookup) -> tuple[int, int, int, int]:
        """Where the records of an array are, as `LookupTable` has it."""
        if lookup.move < 0:
            return NOWHERE
        move = self.schedule.moves[lookup.move]
        first = move.first - move.shift - self.schedule.spaces[move.space].low  # datum of its first record
        base = self.bases[move.object] + move.origin + move.stride * move.first
        if base % lookup.align:
            raise ScheduleError(f"an array whose records are looked up begins at no multiple of {lookup.align} bytes")
        new = self._ranks[move.space].address + 4 * first
        return base, move.stride * move.count, new, base - move.stride * first

    def _move_pages(self) -> None:
        """What was permuted in place lies where the program first touched it: let it lie near its threads.

        It stays there on leaving: nobody knows who uses it then. Copies are first touched by the threads that use them.
        """
        for move in self.schedule.moves:
            address = self.bases[move.object] + move.origin + move.stride * move.first
            self.native.move_pages(address, move.count * move.stride, threads=self.threads)

    def leave(self) -> None:
        """Restore every array to the original order."""
        if self.lookups is not None:
            self.lookups.clear()
        self._permute(back=True)
        self.active = False

    def _permute(self, *, back: bool) -> None:
        if self.unmoved:
            return
        room, threads = self._room.address, self.threads
        for move, order in zip(self.schedule.moves, self._locals, strict=True):
            address = self.bases[move.object] + move.origin + move.stride * move.first
            self.native.permute(address, room, order, move.stride, threads=threads, scatter=back)
            self.renumber(move, address, back=back)

    def renumber(self, move: Move, address: int, *, back: bool) -> None:
        """Give the indices in records that are moved their new numbers, or (`back`) the program's."""
        numbers = self._orders if back else self._ranks
        self._renumber(move.renumber, address, move.count, move.stride, numbers)

    def _renumber(
        self, fields: Sequence[Renumbering], address: int, count: int, stride: int, numbers: Sequence[Block]
    ) -> None:
        """Give index fields of records other numbers: `numbers` says which, space by space."""
        for item in fields:
            low = self.schedule.spaces[item.space].low + item.shift
            high = low + self._orders[item.space].count
            for offset in item.offsets:
                places = (address + offset, count, stride, item.width)
                self.native.renumber(*places, numbers[item.space], low, high, threads=self.threads)

    def order_of(self, move: Move) -> Block:
        """New order of the records of an array that is permuted, counted from its first."""
        return self._local_order(move.space, move.first, move.count, move.shift)

    def copy_of(self, region: RegionSchedule, number: int) -> tuple[Block, Block | None]:
        """A copy as a region's code reads it, with new numbers and with old ones; None where nothing asks for these."""
        buffer = self._copy(region, number)
        return buffer.data, buffer.old

    def _local_order(self, space: int, first: int, count: int, shift: int) -> Block:
        """Order of the records [first, first + count), counted from `first`."""
        start = first - shift - self.schedule.spaces[space].low
        piece = self._orders[space].part(start, count)
        return self.native.shifted(piece, start) if start else piece

    def _prepare(self, region: RegionSchedule) -> Plan:
        code = self.codes[region.region]
        if self.unmoved:
            buffers = [_Buffer(Block(self._delta(copy), 0, copy.stride), None, (0, 0)) for copy in region.copies]
        else:
            buffers = [self._copy(region, number) for number in range(len(region.copies))]
        deltas = [self.homes[copy.object] + _first_byte(copy) for copy in region.copies]
        return self._plan(region, code, buffers, deltas)

    def _delta(self, copy: Copy) -> int:
        """Address of the records that are copied."""
        return self.bases[copy.object] + _first_byte(copy)

    def _copy(self, region: RegionSchedule, number: int) -> _Buffer:
        copy = region.copies[number]
        source = self._source_print(region, copy)
        key = (region.region, number)
        kept = self._buffers.get(key)
        if kept is not None and kept.source == source:
            return kept
        data = self._filled(region, copy)
        old = None
        if copy.mode == "bounds" and self._needs_old(region, number):
            raise ScheduleError(f"region {region.region} uses bounds of rows as numbers, of which it has new ones")
        if copy.renumber and copy.mode != "bounds":
            if self._needs_old(region, number):
                old = Block.room(data.count, data.width)
                self.native.copy(old.address, data.address, data.bytes, threads=self.threads)
            self._renumber(copy.renumber, data.address, data.bytes // copy.stride, copy.stride, self._ranks)
        elif copy.mode == "offsets" and self._needs_old(region, number):
            old = self._filled(region, copy) if copy.pieces else self._old_offsets(region, copy)
        jobs = self._jobs[region.region]
        for piece in copy.pieces:
            place, lengths = data.address + piece.offset, self._lengths_of(region, copy)
            self.native.put_pieces(place, copy.stride, piece.width, jobs, lengths, ends=piece.ends)
        buffer = _Buffer(data, old, source)
        self._buffers[key] = buffer
        return buffer

    def _needs_old(self, region: RegionSchedule, number: int) -> bool:
        outlined = self.codes[region.region].outlined
        groups = {group for group, copy in region.bases.items() if copy == number}
        return any(slot.kind == "data-base" and slot.group in groups for slot in outlined.slots)

    def _source_print(self, region: RegionSchedule, copy: Copy) -> tuple[int, int]:
        if copy.mode == "segment":
            first, last, _ = self._piece_range(region, copy)
            address = self._delta(copy) + copy.stride * first
            return self.native.fingerprint(address, (last - first) * copy.stride, 1, 1, self._secret)
        return self.native.fingerprint(self._delta(copy), copy.count * copy.stride, 1, 1, self._secret)

    def _filled(self, region: RegionSchedule, copy: Copy) -> Block:
        """Fill a copy. All threads write equal shares, so that on several nodes its pages are near the threads that use
        them."""
        address, jobs = self._delta(copy), self._jobs[region.region]
        if copy.mode == "offsets" and not copy.pieces:
            counted, lengths = (copy.count, copy.stride), self._lengths_of(region, copy)
            return self.native.piece_offsets(jobs, lengths, *counted, ends=copy.ends, threads=self.threads)
        if copy.mode == "segment":
            data = Block.room(self._piece_range(region, copy)[2], copy.stride)
            starts, lengths = self._starts(region, copy), self._lengths_of(region, copy)
            self.native.move_pieces(data.address, address, jobs, starts, lengths, copy.stride, threads=self.threads)
            return data
        data = Block.room(copy.count, copy.stride)
        if copy.mode == "bounds":
            rows = self._local_order(copy.space, copy.first, copy.count - 1, copy.shift)
            self.native.row_bounds(data.address, address, rows, copy.stride)
            return data
        if copy.mode == "plain":
            self.native.copy(data.address, address, data.bytes, threads=self.threads)
            return data
        if copy.mode in ("direct", "offsets"):
            index = self.native.reversed(jobs) if copy.reverse else jobs
        else:
            index = self._local_order(copy.space, copy.first, copy.count, copy.shift)
        self.native.move(data.address, address, index, copy.stride, threads=self.threads)
        return data

    def _lengths_of(self, region: RegionSchedule, copy: Copy) -> Block:
        """Those of the pieces of a copy."""
        count, found = self._jobs[region.region].count, self._lengths[region.region]
        if not 0 <= copy.cut * count <= found.count - count:
            raise ScheduleError(f"region {region.region} copies pieces of unknown length")
        return found.part(copy.cut * count, count)

    def _starts(self, region: RegionSchedule, copy: Copy) -> Block:
        assert copy.starts is not None
        number, origin, stride, first, width = copy.starts
        address = self.bases[number] + origin + stride * first
        return self.native.widened(address, self._jobs[region.region].count, stride, width)

    def _piece_range(self, region: RegionSchedule, copy: Copy) -> tuple[int, int, int]:
        """First record of any piece, the one behind the last, and how many there are."""
        assert copy.starts is not None
        key = region.region, copy.starts
        if key not in self._ranges:  # all pieces of one start have the same lengths
            lengths = self._lengths_of(region, copy)
            self._ranges[key] = self.native.piece_range(self._starts(region, copy), lengths)
        return self._ranges[key]

    def _old_offsets(self, region: RegionSchedule, copy: Copy) -> Block:
        """Old starts (or ends) in the new job order, for code that uses them as data."""
        jobs, lengths = self._jobs[region.region], self._lengths_of(region, copy)
        counted, starts = (copy.count, copy.stride), self._starts(region, copy)
        return self.native.piece_places(jobs, starts, lengths, *counted, ends=copy.ends, threads=self.threads)

    def _plan(self, region: RegionSchedule, code: RegionCode, buffers: list[_Buffer], deltas: list[int]) -> Plan:
        outlined = code.outlined
        if len(outlined.slots) > MAX_SLOTS or len(outlined.reductions) > MAX_REDUCTIONS:
            raise ScheduleError(f"region {region.region} needs {len(outlined.slots)} slots, {MAX_SLOTS} at most")
        lives = {slot.name: place for place, slot in enumerate(outlined.slots) if slot.kind == "live"}
        patches: list[tuple[int, int, int]] = []
        for place, slot in enumerate(outlined.slots):
            if slot.kind == "order":
                patches.append((place, -1, self._jobs[region.region].address))
            if slot.kind not in ("base", "data-base"):
                continue
            number = region.bases.get(slot.group)
            moved_by = 0
            if number is not None:
                buffer = buffers[number]
                chosen = buffer.old if slot.kind == "data-base" and buffer.old is not None else buffer.data
                moved_by = chosen.address - deltas[number]
            if slot.group in code.fixed:
                patches.append((place, -1, code.fixed[slot.group] + moved_by))
            elif slot.name in lives:
                patches.append((place, lives[slot.name], moved_by))
            else:  # the program stores its own pointer there
                patches.append((place, place, moved_by))
        return self._structure(region, code, patches)

    def _structure(self, region: RegionSchedule, code: RegionCode, patches: list[tuple[int, int, int]]) -> Plan:
        outlined = code.outlined
        plan = Plan()
        plan.run = code.address
        plan.jobs = self._jobs[region.region].count
        plan.slots = len(outlined.slots)
        checks = sorted(code.expected.items())
        plan.checks, plan.patches = len(checks), len(patches)
        plan.reductions, plan.privates = len(outlined.reductions), len(region.privates)
        waves = self._waves[region.region]
        plan.threads = min(self.threads, waves.widest)
        plan.blocks, plan.waves = waves.sequence.count, waves.ends.count - 1
        plan.bounds, plan.sequence, plan.wave_bounds = waves.bounds.address, waves.sequence.address, waves.ends.address
        results = Block.room(max(1, plan.reductions * plan.blocks), 8)
        self._kept.append(results)
        plan.results = results.address
        plan.check_slot = self._keep([slot for slot, _ in checks], "i4")
        plan.check_bytes = self._keep([_bytes_of(outlined.slots[slot].type) for slot, _ in checks], "i4")
        plan.check_value = self._keep([number & (2**64 - 1) for _, number in checks], "u8")
        plan.patch_slot = self._keep([slot for slot, _, _ in patches], "i4")
        plan.patch_from = self._keep([source for _, source, _ in patches], "i4")
        plan.patch_add = self._keep([signed(add, 64) for _, _, add in patches], "i8")
        plan.reduce_slot = self._keep([item.slot for item in outlined.reductions], "i4")
        plan.reduce_op = self._keep([OPERATORS[item.operator] for item in outlined.reductions], "i4")
        plan.reduce_type = self._keep([TYPES[item.type] for item in outlined.reductions], "i4")
        self._privates(region, code, plan)
        return plan

    def _privates(self, region: RegionSchedule, code: RegionCode, plan: Plan) -> None:
        slots, origins, types, lows, highs, rooms = [], [], [], [], [], []
        for item in region.privates:
            slots.append(
                next(p for p, s in enumerate(code.outlined.slots) if s.kind == "base" and s.group == item.group)
            )
            origins.append(self.bases[item.object] - code.roots[item.group])
            types.append(TYPES[item.type])
            for block in range(region.blocks.count):
                low, high = item.low[block], item.high[block]
                lows.append(low)
                highs.append(high)
                room = Block.room(max(0, high - low) if block else 0, 1)
                self._kept.append(room)
                rooms.append(room.address)
        plan.private_slot = self._keep(slots, "i4")
        plan.private_origin = self._keep(origins, "i8")
        plan.private_type = self._keep(types, "i4")
        plan.private_low = self._keep(lows, "i8")
        plan.private_high = self._keep(highs, "i8")
        plan.private_memory = self._keep(rooms, "u8")

    def _keep(self, values: Sequence[int], code: str) -> int:
        """Address of an array that lives as long as the layout is in force."""
        block = Block.holding(values, code)
        self._kept.append(block)
        return block.address


def _first_byte(copy: Copy) -> int:
    return copy.origin + copy.stride * copy.first


def _bytes_of(type: str) -> int:
    return 8 if type == "ptr" else {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}[type]
