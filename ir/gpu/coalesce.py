"""From the accesses of the lanes of a warp to its requests, and from a request to sectors.

**Requests.** The k-th executions of one site by the lanes of a warp are one request, whatever each lane did in between:
a warp whose lanes take different branches, or leave a loop at different times, joins again. Requests are served in the
order of the largest number of accesses that one of their lanes has before them; of equal ones that comes first whose
first lane is lower, and of the same lane's the earlier.

**Sectors.** A request touches each sector of 32 bytes once, and each line of 128 bytes in which they lie. The L1 is
busy with it as long as its banks are (`bank_conflicts.py`), or as it takes to look up its lines, whichever is longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.support.arrays import Ints, Longs

from .bank_conflicts import parts_of, wavefronts, wavefronts_at_most
from .description import WARP
from .interleave import open_stream, play
from .sites import ATOMIC, SHARED, STORE
from .state import (
    ACCESSES,
    AT_ADDRESSES,
    AT_BANKS,
    AT_COUNTS,
    AT_COVERS,
    AT_LANES,
    AT_LINES,
    AT_MASKS,
    AT_PROCESSORS,
    AT_SITES,
    AT_SLOTS,
    AT_STREAMS,
    AT_WINDOW,
    BAD_ADDRESS,
    BAD_SITE,
    BANKS,
    BYTES,
    CONFLICTS,
    CURRENT_WAVE,
    END,
    FILLED,
    KIND,
    L1_TAGS,
    LINES,
    MOST_LINES,
    MOST_WORDS,
    MULTIPROCESSORS,
    REQUEST_LANES,
    REQUESTS,
    SECTORS,
    SITE_COUNTS,
    SITE_WORDS,
    SITES,
    SM_COUNTS,
    SM_L1,
    SM_REQUESTS,
    SM_SHARED,
    SPACE,
    STAMP,
    STREAM_WORDS,
    STREAMS,
    WARPS,
    WAVE,
    WAVEFRONTS,
    WINDOW,
)

Words = npt.NDArray[np.uint16]
Addresses = npt.NDArray[np.uint64]
_SLOTS = 2 * MOST_LINES  # of the hash table that finds lines; at most half of them are taken
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_TOP = np.uint64(62)


@njit(nogil=True)
def consume_warp(state: Longs, block: Any, first: Ints, site: Words, address: Addresses) -> None:
    """Count the accesses of one warp and put what it asks of the caches into the window. O(accesses)."""
    wave = block // state[WAVE]
    if wave != state[CURRENT_WAVE]:
        play(state)
        state[CURRENT_WAVE] = wave
    bits, highest = np.uint64(0), np.uint16(0)
    for event in range(np.uint64(first[0]), np.uint64(first[WARP])):
        bits |= address[event]
        highest = max(highest, site[event])
    if bits >> _TOP or (first[0] < first[WARP] and highest >= state[SITES]):
        state[BAD_ADDRESS] |= np.int64(bits >> _TOP != 0)
        if highest >= state[SITES]:
            state[BAD_SITE] = max(state[BAD_SITE], np.int64(highest) + 1)
        return
    state[WARPS] += 1
    sm = block % state[MULTIPROCESSORS]
    open_stream(state, sm)
    active = 0
    for lane in range(WARP):
        if first[lane] < first[lane + 1]:
            state[AT_LANES + active] = lane
            active += 1
    if active == 0:
        return
    lead = np.int64(first[state[AT_LANES]])
    if not _in_step(state, np.int64(active), first, site):
        _apart(state, sm, first, site, address)
        return
    for step in range(first[state[AT_LANES] + 1] - lead):
        for count in range(active):
            event = first[state[AT_LANES + count]] + step
            state[AT_ADDRESSES + count] = np.int64(address[np.uint64(event)])
        _request(state, sm, np.int64(site[lead + step]), np.int64(active))


@njit(nogil=True)
def _in_step(state: Longs, active: Any, first: Ints, site: Words) -> bool:
    """Whether all lanes that do anything run the same sites."""
    lead = first[state[AT_LANES]]
    size = first[state[AT_LANES] + 1] - lead
    for count in range(1, active):
        lane = state[AT_LANES + count]
        if first[lane + 1] - first[lane] != size:
            return False
        other = np.uint16(0)
        for step in range(size):
            other |= site[np.uint64(first[lane] + step)] ^ site[np.uint64(lead + step)]
        if other:
            return False
    return True


@njit(nogil=True)
def _apart(state: Longs, sm: Any, first: Ints, site: Words, address: Addresses) -> None:
    """Requests of lanes that went different ways: the k-th executions of a site, found by a list for each site."""
    begin = first[0]
    size = first[WARP] - begin
    head = np.full(state[SITES], -1, np.int64)  # of each site, the request of its first execution
    here = np.empty(state[SITES], np.int64)  # of each site, the request that its lane made last
    stamp = np.full(state[SITES], -1, np.int64)
    following = np.empty(size, np.int64)  # of each request, that of the next execution of its site
    own_site = np.empty(size, np.int64)
    place = np.zeros(size, np.int64)
    lanes = np.zeros(size + 1, np.int64)
    request_of = np.empty(size, np.int64)
    requests = 0
    for lane in range(WARP):
        for event in range(first[lane], first[lane + 1]):
            own = np.int64(site[event])
            found = head[own] if stamp[own] != lane else following[here[own]]
            if found < 0:
                found = requests
                requests += 1
                own_site[found] = own
                following[found] = -1
                if stamp[own] != lane:
                    head[own] = found
                else:
                    following[here[own]] = found
            stamp[own] = lane
            here[own] = found
            place[found] = max(place[found], event - first[lane])
            lanes[found + 1] += 1
            request_of[event - begin] = found
    turn = np.zeros(size + 1, np.int64)  # a stable sort of the requests by their place
    for found in range(requests):
        turn[place[found] + 1] += 1
        lanes[found + 1] += lanes[found]
    for position in range(size):
        turn[position + 1] += turn[position]
    order = np.empty(requests, np.int64)
    for found in range(requests):
        order[turn[place[found]]] = found
        turn[place[found]] += 1
    at = lanes[:requests].copy()
    lane_of, address_of = np.empty(size, np.int64), np.empty(size, np.int64)
    for lane in range(WARP):
        for event in range(first[lane], first[lane + 1]):
            to = at[request_of[event - begin]]
            at[request_of[event - begin]] = to + 1
            lane_of[to] = lane
            address_of[to] = np.int64(address[event])
    for found in order:
        count = lanes[found + 1] - lanes[found]
        for entry in range(count):
            state[AT_LANES + entry] = lane_of[lanes[found] + entry]
            state[AT_ADDRESSES + entry] = address_of[lanes[found] + entry]
        _request(state, sm, own_site[found], np.int64(count))


@njit(nogil=True)
def _request(state: Longs, sm: Any, site: Any, count: Any) -> None:
    """Count the accesses of `count` lanes at one site, which are one request, or one for each half of the warp."""
    width = state[REQUEST_LANES]
    begin = np.int64(0)
    while begin < count:
        end = np.int64(count)
        if width < WARP:
            half = state[AT_LANES + begin] // width
            while state[AT_LANES + end - 1] // width != half:
                end -= 1
        _part(state, sm, site, begin, end)
        begin = end


@njit(nogil=True)
def _part(state: Longs, sm: Any, site: Any, begin: Any, end: Any) -> None:
    about = state[AT_SITES] + SITE_WORDS * site
    space, kind, size = state[about + SPACE], state[about + KIND], state[about + BYTES]
    counts, processor = state[AT_COUNTS] + SITE_COUNTS * site, state[AT_PROCESSORS] + SM_COUNTS * sm
    atomic = kind == ATOMIC and space == SHARED
    gaps = np.int64(0)
    for place in range(np.uint64(AT_ADDRESSES + begin + 1), np.uint64(AT_ADDRESSES + end)):
        gaps |= state[place] - state[place - np.uint64(1)] - size
    low, high = state[AT_ADDRESSES + begin], state[AT_ADDRESSES + end - 1] + size
    state[counts + REQUESTS] += 1
    state[counts + ACCESSES] += end - begin
    state[processor + SM_REQUESTS] += 1
    if space == SHARED:
        parts = parts_of(state, AT_LANES, begin, end, size, state[BANKS])
        busy = parts
        if gaps or atomic or low & 3:
            busy = wavefronts(state, AT_ADDRESSES, AT_LANES, begin, end, size, state[BANKS], atomic, AT_BANKS)
        state[counts + WAVEFRONTS] += busy
        state[counts + CONFLICTS] += busy - parts
        state[processor + SM_SHARED] += busy
        return
    if state[FILLED] + MOST_WORDS > state[WINDOW]:
        play(state)
        open_stream(state, sm)
    if gaps:
        lines, sectors = _lines_of(state, begin, end, size, kind == STORE)
    else:
        lines, sectors = _lines_between(state, low, high)
    busy = (lines + state[L1_TAGS] - 1) // state[L1_TAGS]
    if gaps == 0 and low & 3 == 0:
        busy = max(busy, parts_of(state, AT_LANES, begin, end, size, state[BANKS]))
    elif wavefronts_at_most(state, AT_ADDRESSES, AT_LANES, begin, end, size, state[BANKS], AT_BANKS) > busy:
        banks = wavefronts(state, AT_ADDRESSES, AT_LANES, begin, end, size, state[BANKS], atomic, AT_BANKS)
        busy = max(busy, banks)
    state[counts + LINES] += lines
    state[counts + SECTORS] += sectors
    state[counts + WAVEFRONTS] += busy
    state[processor + SM_L1] += busy
    word = state[AT_WINDOW] + state[FILLED]
    state[word] = site | lines << 16
    for line in range(lines):
        full = np.int64(0)
        if kind == STORE:
            for sector in range(4):
                full |= np.int64(state[AT_COVERS + 4 * line + sector] == 0xFFFFFFFF) << sector
        word += 1
        state[word] = state[AT_LINES + line] << 8 | full << 4 | state[AT_MASKS + line]
    state[FILLED] += 1 + lines
    state[state[AT_STREAMS] + STREAM_WORDS * (state[STREAMS] - 1) + END] = state[FILLED]


@njit(nogil=True)
def _lines_between(state: Longs, low: Any, high: Any) -> tuple[int, int]:
    """Lines and sectors of the bytes low … high − 1, all of which are accessed."""
    begin, end = low >> 7, (high - 1) >> 7
    for line in range(begin, end + 1):
        entry = line - begin
        mask = np.int64(0)
        for sector in range(4):
            from_byte, to_byte = max(low, (4 * line + sector) << 5), min(high, (4 * line + sector + 1) << 5)
            cover = np.int64(0)
            if from_byte < to_byte:
                mask |= np.int64(1) << sector
                cover = ((np.int64(1) << (to_byte - from_byte)) - 1) << (from_byte & 31)
            state[AT_COVERS + 4 * entry + sector] = cover
        state[AT_LINES + entry] = line
        state[AT_MASKS + entry] = mask
    return end - begin + 1, ((high - 1) >> 5) - (low >> 5) + 1


@njit(nogil=True)
def _lines_of(state: Longs, begin: Any, end: Any, size: Any, store: Any) -> Any:
    """Lines of a request, in the order of the lanes that touch them first, and their sectors; returns how many."""
    lines = sectors = np.int64(0)
    recent: Any = np.int64(-1)
    entry = np.int64(0)
    stamp = state[STAMP]  # what the hash table had before is below
    state[STAMP] = stamp + MOST_LINES
    for lane in range(begin, end):
        address = state[AT_ADDRESSES + lane]
        for sector in range(address >> 5, ((address + size - 1) >> 5) + 1):
            line = sector >> 2
            if line != recent:
                recent = line
                slot = np.int64((np.uint64(line) * _SPREAD) >> np.uint64(57))
                entry = state[AT_SLOTS + slot] - stamp
                while entry >= 0 and state[AT_LINES + entry] != line:
                    slot = (slot + 1) & (_SLOTS - 1)
                    entry = state[AT_SLOTS + slot] - stamp
                if entry < 0:
                    entry = lines
                    state[AT_SLOTS + slot] = stamp + entry
                    state[AT_LINES + lines] = line
                    state[AT_MASKS + lines] = 0
                    if store:
                        for part in range(4):
                            state[AT_COVERS + 4 * lines + part] = 0
                    lines += 1
            bit = np.int64(1) << (sector & 3)
            mask = state[AT_MASKS + entry]
            sectors += (mask & bit) == 0
            state[AT_MASKS + entry] = mask | bit
            if store:
                low = max(address, sector << 5) & 31
                high = min(address + size - 1, (sector << 5) + 31) & 31
                cover = ((np.int64(1) << (high - low + 1)) - 1) << low
                state[AT_COVERS + 4 * entry + (sector & 3)] |= cover
    return lines, sectors
