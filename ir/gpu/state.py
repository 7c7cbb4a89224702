"""What a running memory model keeps: one array of int64, made once, with a section for each thing.

One array, so that machine code hands it on as one pointer and no call inside of the model counts references. Its size
depends on the GPU, the sites and the window, not on how many accesses come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import carray
from tracecut.ir.machine.cache_simulator import EMPTY
from tracecut.support.arrays import Longs

from .bank_conflicts import BANK_SCRATCH
from .description import LINE, WARP, Gpu
from .sites import Sites

MOST_LINES = 2 * WARP  # of a request: two of each lane that straddles
MOST_WORDS = 1 + MOST_LINES  # of a request in the window
QUEUE = 64  # of questions to the L2
# The head: words of the array; what does not change; where sections begin; counts, and how full window and queue are.
(
    WORDS,
    SITES,
    MULTIPROCESSORS,
    BANKS,
    REQUEST_LANES,
    L1_TAGS,
    L1_SETS,
    L1_BITS,
    L1_WAYS,
    L1_GLOBAL,
    READ_ONLY_SETS,
    READ_ONLY_BITS,
    L2_SETS,
    L2_BITS,
    L2_WAYS,
    WAVE,
    WINDOW,
    MOST_STREAMS,
    AT_SITES,
    AT_COUNTS,
    AT_PROCESSORS,
    AT_STREAMS,
    AT_L1,
    AT_READ_ONLY,
    AT_L2,
    AT_WINDOW,
    HBM_READ,
    HBM_WRITTEN,
    WARPS,
    FILLED,
    STREAMS,
    CURRENT_WAVE,
    ASKED,
    STAMP,
    BAD_SITE,
    BAD_ADDRESS,
    HEAD,
) = range(37)
# Behind the head: banks, lanes and addresses of a request, its lines, the hash table that finds them, the sets that
# they ask, the queue before the L2.
_SIZES = [BANK_SCRATCH, WARP, WARP, MOST_LINES, MOST_LINES, 4 * MOST_LINES, 2 * MOST_LINES, MOST_LINES, 3 * QUEUE]
AT_BANKS, AT_LANES, AT_ADDRESSES, AT_LINES, AT_MASKS, AT_COVERS, AT_SLOTS, AT_SETS, AT_QUEUE, FIXED = map(
    int, HEAD + np.cumsum([0, *_SIZES])
)
# Of each site: what it is, and what is counted of it.
SPACE, KIND, BYTES, HINT, SITE_WORDS = range(5)
REQUESTS, ACCESSES, SECTORS, LINES, WAVEFRONTS, CONFLICTS, L1_FOUND, L2_ASKED, L2_FOUND, SITE_COUNTS = range(10)
# Of each multiprocessor; of each warp in the window: its next word, its end, its multiprocessor.
SM_REQUESTS, SM_L1, SM_SHARED, SM_COUNTS = range(4)
NEXT, END, PROCESSOR, STREAM_WORDS = range(4)
# In the window a request is a word, site + lines · 2¹⁶, then a word for each line: its number · 256 + sectors that a
# store fills · 16 + sectors that are touched.


def state_of(gpu: Gpu, sites: Sites, l1_size: int, resident: int, window: int, warps: int) -> Longs:
    """Empty caches and counts, int64.

    Args:
        l1_size: bytes of L1 beside the shared memory in use. resident: blocks on a multiprocessor.
        window: words of requests that wait for the caches. warps: in all blocks that reside on the GPU.
    """
    head = np.zeros(FIXED, np.int64)
    head[[SITES, MULTIPROCESSORS, BANKS]] = len(sites), gpu.multiprocessors, gpu.banks
    head[[REQUEST_LANES, L1_TAGS]] = gpu.request_lanes, gpu.l1_tags
    head[[L1_WAYS, L1_GLOBAL, L2_WAYS, WAVE]] = gpu.l1_ways, gpu.l1_global, gpu.l2_ways, resident * gpu.multiprocessors
    head[[WINDOW, MOST_STREAMS, CURRENT_WAVE, STAMP]] = window, max(warps, 1), -1, MOST_LINES
    tags = []
    for sets, bits, size, ways in (
        (L1_SETS, L1_BITS, l1_size, gpu.l1_ways),
        (READ_ONLY_SETS, READ_ONLY_BITS, gpu.read_only_size, gpu.l1_ways),
        (L2_SETS, L2_BITS, gpu.l2_size, gpu.l2_ways),
    ):
        head[sets] = size // LINE // ways
        head[bits] = max(1, int(head[sets]).bit_length() - 1)
        tags.append(int(head[sets]) * ways * (1 if sets == L2_SETS else gpu.multiprocessors))
    sections = (AT_SITES, AT_COUNTS, AT_PROCESSORS, AT_STREAMS, AT_L1, AT_READ_ONLY, AT_L2, AT_WINDOW)
    sizes = [SITE_WORDS * len(sites), SITE_COUNTS * len(sites), SM_COUNTS * gpu.multiprocessors]
    sizes += [STREAM_WORDS * int(head[MOST_STREAMS]), *tags, window]
    words = FIXED
    for section, size in zip(sections, sizes, strict=True):
        words = -(-words // 8) * 8  # sets begin with cache lines of the host
        head[section] = words
        words += size
    room = np.empty(words + 8, np.int64)
    skip = -room.ctypes.data % 64 // 8
    state = room[skip : skip + words]
    head[WORDS] = words
    state[:FIXED] = head
    state[head[AT_COUNTS] : head[AT_L1]] = 0
    state[head[AT_L1] : head[AT_WINDOW]] = EMPTY
    table = np.array([sites.space, sites.kind, sites.bytes, sites.hint], np.int64).T
    state[head[AT_SITES] : head[AT_SITES] + table.size] = table.ravel()
    return state


def counts_of(state: Longs) -> Longs:
    """int64 (sites, SITE_COUNTS), a view."""
    begin = state[AT_COUNTS]
    return state[begin : begin + SITE_COUNTS * state[SITES]].reshape(-1, SITE_COUNTS)


def processors_of(state: Longs) -> Longs:
    """int64 (multiprocessors, SM_COUNTS), a view."""
    begin = state[AT_PROCESSORS]
    return state[begin : begin + SM_COUNTS * state[MULTIPROCESSORS]].reshape(-1, SM_COUNTS)


def _address(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


_pointer: Any = intrinsic(_address)


@njit(nogil=True)
def state_at(address: Any) -> Longs:
    """The state that lies at an address."""
    words = carray(_pointer(address), 1, np.int64)[0]
    return carray(_pointer(address), words, np.int64)
