"""The memory model once more, slowly: dictionaries, one access at a time, nothing shared with the fast one."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict

Lane = list[tuple[int, int]]  # (site, address), in program order
Item = tuple[int, int, set[int], set[int]]  # site, line, its sectors that are touched, those that a store fills


def requests_of(lanes: list[Lane], half: bool) -> list[tuple[int, list[tuple[int, int]]]]:
    """(site, [(lane, address), …]) of each request, in the order in which they are served."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    before: dict[tuple[int, int], int] = defaultdict(int)
    for lane, events in enumerate(lanes):
        times: Counter[int] = Counter()
        for position, (site, address) in enumerate(events):
            key = (site, times[site])
            times[site] += 1
            found.setdefault(key, []).append((lane, address))
            before[key] = max(before[key], position)
    ordered = sorted(found, key=lambda key: before[key])  # stable: equal ones as they were first made
    made = []
    for key in ordered:
        for part in (0, 1) if half else (None,):
            pairs = [pair for pair in found[key] if part is None or pair[0] // 16 == part]
            made += [(key[0], pairs)] if pairs else []
    return made


def bank_wavefronts(pairs: list[tuple[int, int]], size: int, banks: int, atomic: bool) -> tuple[int, int]:
    """Wavefronts, and parts of the warp."""
    width = banks * 4 // max(size, 4)
    parts: dict[int, list[int]] = defaultdict(list)
    for lane, address in pairs:
        parts[lane // width] += range(address // 4, (address + size - 1) // 4 + 1)
    total = 0
    for words in parts.values():
        load = Counter(word % banks for word in (words if atomic else set(words)))
        total += max(load.values())
    return total, len(parts)


class Cache:
    """Sets of lines with sectors; least recently used; the first of a set goes first."""

    def __init__(self, size: int, ways: int) -> None:
        self.count, self.ways = size // 128 // ways, ways
        self.sets: dict[int, OrderedDict[int, tuple[set[int], set[int]]]] = defaultdict(OrderedDict)

    def touch(self, line: int, sectors: set[int], changed: set[int], last: bool) -> tuple[set[int], int]:
        """Sectors that were there, and changed sectors of the line that gave way."""
        bits = max(1, self.count.bit_length() - 1)
        own = self.sets[((line ^ line >> bits ^ line >> 2 * bits) & 0xFFFFFFFF) % self.count]
        lost = 0
        if line not in own:
            if len(own) == self.ways:
                lost = len(own.popitem(last=False)[1][1])
            own[line] = set(), set()
            if last:
                own.move_to_end(line, last=False)
        elif not last:
            own.move_to_end(line)
        there = set(own[line][0])
        own[line][0].update(sectors)
        own[line][1].update(changed)
        return there & sectors, lost

    def changed(self) -> int:
        return sum(len(dirty) for own in self.sets.values() for _, dirty in own.values())


class SlowModel:
    """Counts of the columns of a report, by site."""

    def __init__(self, gpu: object, sites: object, l1: int, resident: int, window: int, warps: int) -> None:
        self.gpu, self.sites, self.window = gpu, sites, window
        self.warps, self.wave, self.resident = warps, -1, resident
        processors = range(gpu.multiprocessors)
        self.l1 = [Cache(l1, gpu.l1_ways) for _ in processors] if l1 else None
        self.texture = [Cache(gpu.read_only_size, gpu.l1_ways) for _ in processors] if gpu.read_only_size else None
        self.l2 = Cache(gpu.l2_size, gpu.l2_ways) if gpu.l2_size else None
        self.streams: list[tuple[int, list[list[Item]]]] = []
        self.counts: list[Counter[str]] = [Counter() for _ in range(len(sites))]
        self.l1_cycles, self.shared_cycles, self.read, self.written = Counter(), Counter(), 0, 0

    def consume(self, block: int, lanes: list[Lane]) -> None:
        wave = block // (self.resident * self.gpu.multiprocessors)
        if wave != self.wave:
            self.play()
            self.wave = wave
        processor = block % self.gpu.multiprocessors
        if len(self.streams) == self.warps:
            self.play()
        self.streams.append((processor, []))
        for site, pairs in requests_of(lanes, self.gpu.request_lanes == 16):
            size, kind = int(self.sites.bytes[site]), int(self.sites.kind[site])
            counts = self.counts[site]
            shared = self.sites.space[site] == 1
            busy, parts = bank_wavefronts(pairs, size, self.gpu.banks, shared and kind == 2)
            counts.update(requests=1, accesses=len(pairs))
            if shared:
                counts.update(wavefronts=busy, conflicts=busy - parts)
                self.shared_cycles[processor] += busy
                continue
            if sum(len(request) + 1 for _, stream in self.streams for request in stream) + 65 > self.window:
                self.play()
                self.streams.append((processor, []))
            touched: dict[int, Counter[int]] = {}
            for _, address in pairs:
                for byte in range(address, address + size):
                    touched.setdefault(byte // 128, Counter())[byte] += 1
            items = []
            for line, bytes_of in touched.items():
                load = Counter(byte // 32 % 4 for byte in bytes_of)
                items.append((site, line, set(load), {each for each in load if load[each] == 32}))
            busy = max(busy, -(-len(items) // self.gpu.l1_tags))
            counts.update(sectors=sum(len(item[2]) for item in items), lines=len(items), wavefronts=busy)
            self.l1_cycles[processor] += busy
            self.streams[-1][1].append(items)

    def play(self) -> None:
        left = sorted(self.streams, key=lambda stream: stream[0])
        while any(requests for _, requests in left):
            for processor, requests in left:
                for item in requests.pop(0) if requests else []:
                    self.serve(processor, *item)
        self.streams = []

    def serve(self, processor: int, site: int, line: int, touched: set[int], full: set[int]) -> None:
        kind, hint = int(self.sites.kind[site]), int(self.sites.hint[site])
        counts, last = self.counts[site], hint == 2 and kind != 2
        wanted = set(touched)
        if kind == 0:
            l1 = self.l1 if self.gpu.l1_global or hint == 1 else None
            if own := self.texture if hint == 1 and self.texture else l1:
                found, _ = own[processor].touch(line, wanted, set(), last)
                counts["l1_found"] += len(found)
                wanted -= found
        if not wanted:
            return
        counts["l2_asked"] += len(wanted)
        changed = wanted if kind else set()
        needed = wanted - full if kind == 1 else wanted
        if self.l2 is None:
            self.read, self.written = self.read + len(needed), self.written + len(changed)
            return
        found, lost = self.l2.touch(line, wanted, changed, last)
        counts["l2_found"] += len(found)
        self.read, self.written = self.read + len(needed - found), self.written + lost
