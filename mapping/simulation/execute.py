"""The event loop of the simulator. Times are whole cycles.

In each cycle, in this order:

0. Requests for lines that are due, in the order of the accesses that made them in the program, come as far as they can
   (`caches` says how far). With a line its accesses finish, or go on for what they cost besides.
1. Nodes that finish free their miss register and deliver their values on their own core; messages that arrive deliver
   theirs. A node whose last operand was delivered is ready.
2. Messages that were made in this cycle, or have come to a router on their way, take their next link, in the order of
   their groups, then requests and lines in the order of their accesses: at once, or as soon as those that took it
   before have passed. The head is at the next router `hop` cycles after that, the whole message behind its last link
   `occupied` − 1 cycles later.
3. Each core begins up to `width` ready nodes, the earliest of the program first. A node that misses needs a free miss
   register; where there is none, the core begins nothing more in this cycle, nor where the node writes a line that is
   on its way to be read.

A node finishes `cost` cycles after it began: execution is pipelined, so only beginnings take a core's time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tracecut.ir.machine.cache_simulator import WAYS
from tracecut.ir.machine.routes import MESH, Routes
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import kept

from .caches import CHANGED, NEAR, NEAR_SET, OWNER, UNDER_WAY, Caches, change, far_number, renewed, slice_of
from .flights import (
    AT,
    CARRIES,
    COLUMNS,
    FREE,
    IS_LINE,
    LINES,
    LINK,
    MASK,
    NEXT,
    ORDER,
    REQUEST,
    ROW,
    THERE,
    WANTED,
    WORDS,
    in_turn,
    set_out,
)
from .plan import ACCESS, LONGEST, MISS, WRITE, Plan
from .ready_heap import pop, push
from .requests import (
    ACCESS_NODE,
    AFTER,
    ANSWERED,
    ASKS,
    BESIDE,
    FIELDS,
    FROM,
    LINE,
    NONE,
    STAGE,
    TO,
    TRAVELS,
    WAITS,
    WHEEL,
    WHERE,
    WRITES,
    advance,
    under_way,
)


class Run(NamedTuple):
    """What the event loop found.

    Attributes:
        time: cycles until the last node has finished.
        begin: int64 (nodes), cycle in which each began.
        enabler: int32 (nodes), a node whose value came last to each, −1 without operands.
        link_load: int64 (links), messages.
        line_load: int64 (links), lines.
        messages: values sent over the network.
        asked: words and lines that went over the network for accesses.
        done: nodes that ran; all, or the plan has a circle. −1 − i: it ended at node i, which takes more than LONGEST.
    """

    time: int
    begin: Longs
    enabler: Ints
    link_load: Longs
    line_load: Longs
    messages: int
    asked: int
    done: int


@kept
def execute(
    plan: Plan,
    routes: Routes,
    links: int,
    longest: int,
    nodes_of: Longs,
    width: int,
    registers: int,
    hop: int,
    occupied: tuple[int, int],
    caches: Caches,
) -> Run:
    """Run a plan. `nodes_of`: int64 (cores), network node of each core. O(nodes + deliveries + hops + cycles).

    `occupied`: cycles that a word and a line take a link. `caches` change, and so do `needs` and, for accesses of
    lines, `cost` of the plan.
    """
    core, cost, misses, needs = plan.core, plan.cost, plan.misses, plan.needs
    first_group, group_core, group_node = plan.first_group, plan.group_core, plan.group_node
    first_fed, fed, lines = plan.first_fed, plan.fed, plan.line
    total, groups, cores = core.size, group_core.size, nodes_of.size
    begin, enabler = np.full(total, NONE, np.int64), np.full(total, NONE, np.int32)
    # Ready nodes of each core: a binary heap in its part of one array, that has room for all nodes of the core.
    room = np.zeros(cores + 1, np.int64)
    for node in range(total):
        room[core[node] + 1] += 1
    for x in range(cores):
        room[x + 1] += room[x]
    heap, ready = np.empty(total, np.int32), np.zeros(cores, np.int32)
    busy = np.zeros(cores, np.int32)  # miss registers
    active, marked = np.empty(cores, np.int32), np.full(cores, NONE, np.int64)
    n_active = 0
    # Wheels of lists: nodes by the cycle of their end, messages by that of their next step.
    nodes_at, next_node = np.full(WHEEL, NONE, np.int32), np.full(total, NONE, np.int32)
    on_link = np.zeros((links, 4), np.int64)
    on_link[:, WANTED] = NONE
    path = np.empty(longest, np.int64)
    messages, running, flying, done, asked, accesses = 0, 0, 0, 0, 0, 0
    for node in range(total):
        accesses += misses[node] & ACCESS != 0
    most = min(accesses, cores * registers)
    requests, request_due = np.empty((most, FIELDS), np.int32), np.empty(most, np.int64)
    requests_at, request_of = np.full(WHEEL, NONE, np.int32), np.full(cores, NONE, np.int32)
    free_request: Any = NONE
    used_requests = 0
    # Members of tuples are looked up once: each look takes and leaves a reference, which is slower than a hop.
    near, cached, found = caches.near, caches.lines, caches.found
    groups_of, numbers, geometry, slices = caches.groups, caches.number, caches.geometry, caches.slices
    near_size, n_banks = np.int64(near.size // cores), max(1, caches.banks.shape[0])
    delays, banks = caches.waits, caches.banks
    at_once, mesh = caches.waits[0], routes.shape[2] if routes.shape[0] == MESH else 0
    word_takes, line_takes = occupied
    ways = geometry[0, WAYS] if most else 0
    # Room for all messages, of which memory is only taken for those that are on the way at the same time.
    rows_at, rows = np.full(WHEEL, NONE, np.int32), np.empty((groups + most, COLUMNS), np.int32)
    due, free_row, used_rows = np.empty(groups + most, np.int64), NONE, 0
    moving, arrived, due_now = np.empty(groups + most, np.int64), np.empty(groups, np.int32), np.empty(most, np.int64)
    now: Any = 0
    last, idle = 0, 0
    for node in range(total):
        if needs[node] == 0:
            push(heap, room[core[node]], ready, core[node], node)
    for x in range(cores):
        if ready[x]:
            active[n_active] = x
            n_active += 1
            marked[x] = 0
    while running or flying or n_active:
        spot = now & (WHEEL - 1)
        n_moving, n_arrived, n_due = 0, 0, 0
        row = rows_at[spot]
        rows_at[spot] = NONE
        while row != NONE:
            following = rows[row, NEXT]
            carries = rows[row, CARRIES]
            if due[row] != now:
                rows[row, NEXT], rows_at[spot] = rows_at[spot], row
            elif rows[row, AT] != THERE:
                moving[n_moving] = (0 if carries >= 0 else REQUEST) | np.int64(rows[row, ORDER]) << ROW | row
                n_moving += 1
            else:
                rows[row, NEXT], free_row = free_row, row
                if carries >= 0:
                    arrived[n_arrived] = carries
                    n_arrived += 1
                else:
                    i = -1 - carries
                    requests[i, STAGE] += 1
                    due_now[n_due] = np.int64(requests[i, ACCESS_NODE]) << ROW | i
                    n_due += 1
            row = following
        # 0. Requests for lines.
        i = requests_at[spot] if accesses else NONE
        if i != NONE:
            requests_at[spot] = NONE
        while i != NONE:
            later = requests[i, AFTER]
            if request_due[i] != now:
                requests[i, AFTER], requests_at[spot] = requests_at[spot], i
            else:
                due_now[n_due] = np.int64(requests[i, ACCESS_NODE]) << ROW | i
                n_due += 1
            i = later
        happened = n_active + n_due + n_moving + n_arrived > 0
        if n_due > 1:
            due_now[:n_due].sort()
        for turn in range(n_due):
            i = np.int32(due_now[turn] & MASK)
            node = requests[i, ACCESS_NODE]
            x = core[node]
            bank = far_number(geometry, numbers, requests[i, LINE]) % n_banks
            came_to, until = advance(requests, i, now, x, caches, delays, banks, bank, routes, nodes_of, hop)
            if came_to == WAITS:
                request_due[i], place = until, until & (WHEEL - 1)
                requests[i, AFTER], requests_at[place] = requests_at[place], i
            elif came_to == TRAVELS:
                if free_row == NONE:
                    row, used_rows = used_rows, used_rows + 1
                else:
                    row, free_row = free_row, rows[free_row, NEXT]
                rows[row, CARRIES] = -1 - i
                is_line = requests[i, STAGE] == ANSWERED and requests[i, WHERE] != NEAR
                set_out(rows, row, mesh, requests[i, FROM], requests[i, TO], node, is_line)
                moving[n_moving] = REQUEST | np.int64(node) << ROW | row
                n_moving += 1
                asked += 1
            else:
                before: Any = request_of[x]
                if before == i:
                    request_of[x] = requests[i, BESIDE]
                else:
                    while requests[before, BESIDE] != i:
                        before = requests[before, BESIDE]
                    requests[before, BESIDE] = requests[i, BESIDE]
                requests[i, AFTER], free_request = free_request, i
                busy[x] -= 1
                if marked[x] != now:
                    marked[x] = now
                    active[n_active] = x
                    n_active += 1
                while node != NONE:
                    after = next_node[node]
                    taken = cost[node] + max(now - begin[node], at_once)
                    if taken > LONGEST:
                        return Run(taken, begin, enabler, begin, begin, messages, asked, -1 - node)
                    cost[node] = taken
                    place = (begin[node] + cost[node]) & (WHEEL - 1)
                    next_node[node], nodes_at[place] = nodes_at[place], node
                    node = after
        # 1. Ends of nodes, arrivals of messages.
        node = nodes_at[spot]
        nodes_at[spot] = NONE
        while node != NONE:
            following = next_node[node]
            if begin[node] + cost[node] != now:
                next_node[node], nodes_at[spot] = nodes_at[spot], node
                node = following
                continue
            happened = True
            running -= 1
            done += 1
            last = now
            x = core[node]
            if misses[node] & MISS:
                busy[x] -= 1
                if marked[x] != now:
                    marked[x] = now
                    active[n_active] = x
                    n_active += 1
            for group in range(first_group[node], first_group[node + 1]):
                to = group_core[group]
                if to != x and nodes_of[to] != nodes_of[x]:
                    if free_row == NONE:
                        row, used_rows = used_rows, used_rows + 1
                    else:
                        row, free_row = free_row, rows[free_row, NEXT]
                    rows[row, CARRIES] = group
                    set_out(rows, row, mesh, nodes_of[x], nodes_of[to], group, False)
                    moving[n_moving] = np.int64(group) << ROW | row
                    n_moving += 1
                    messages += 1
                    flying += 1
                    continue
                for i in range(first_fed[group], first_fed[group + 1]):
                    target = fed[i]
                    needs[target] -= 1
                    if needs[target] == 0:
                        enabler[target] = node
                        push(heap, room[to], ready, to, target)
                        if marked[to] != now:
                            marked[to] = now
                            active[n_active] = to
                            n_active += 1
            node = following
        for turn in range(n_arrived):
            group = arrived[turn]
            flying -= 1
            to = group_core[group]
            for i in range(first_fed[group], first_fed[group + 1]):
                target = fed[i]
                needs[target] -= 1
                if needs[target] == 0:
                    enabler[target] = group_node[group]
                    push(heap, room[to], ready, to, target)
                    if marked[to] != now:
                        marked[to] = now
                        active[n_active] = to
                        n_active += 1
        # 2. Messages take their next link.
        if n_moving:
            in_turn(moving, n_moving, on_link, rows, now, mesh, routes, path)
        for turn in range(n_moving):
            row = np.int32(moving[turn] & MASK)
            link, is_line = rows[row, LINK], rows[row, IS_LINE]
            takes = line_takes if is_line else word_takes
            start = max(now, on_link[link, FREE])
            on_link[link, FREE] = start + takes
            on_link[link, LINES if is_line else WORDS] += 1
            due[row] = start + hop + (takes - 1 if rows[row, AT] == THERE else 0)
            place = due[row] & (WHEEL - 1)
            rows[row, NEXT], rows_at[place] = rows_at[place], row
        # 3. Cores begin what is ready.
        kept = 0
        for i in range(n_active):
            x = active[i]
            begun = 0
            while ready[x] and begun < width:
                node = heap[room[x]]
                waits = False
                if misses[node] & MISS:
                    if busy[x] == registers:
                        break
                    busy[x] += 1
                elif misses[node] & ACCESS:
                    line, write = lines[node], misses[node] & WRITE != 0
                    i = under_way(requests, request_of[x], line)
                    if i != NONE:
                        if write and not requests[i, WRITES]:
                            break
                        first = requests[i, ACCESS_NODE]
                        next_node[node], next_node[first] = next_node[first], node
                        found[UNDER_WAY] += 1
                        waits = True
                    elif (not write or cached[line, OWNER] == x) and renewed(
                        near, x * near_size + cached[line, NEAR_SET], ways, line + 1
                    ):
                        if cost[node] + at_once > LONGEST:
                            return Run(cost[node] + at_once, begin, enabler, begin, begin, messages, asked, -1 - node)
                        cost[node] += at_once
                        found[NEAR] += 1
                        if write and not cached[line, CHANGED]:
                            change(caches, x, line)
                    elif busy[x] == registers:
                        break
                    else:
                        i = free_request
                        if i == NONE:
                            i, used_requests = used_requests, used_requests + 1
                        else:
                            free_request = requests[i, AFTER]
                        requests[i, ACCESS_NODE], requests[i, LINE], requests[i, WRITES] = node, line, write
                        requests[i, STAGE], requests[i, WHERE], requests[i, FROM] = ASKS, NEAR, nodes_of[x]
                        requests[i, TO] = slices[slice_of(groups_of, x, far_number(geometry, numbers, line))]
                        requests[i, BESIDE], request_of[x] = request_of[x], i
                        request_due[i], place = now + at_once, (now + at_once) & (WHEEL - 1)
                        requests[i, AFTER], requests_at[place] = requests_at[place], i
                        next_node[node] = NONE
                        busy[x] += 1
                        waits = True
                pop(heap, room[x], ready, x)
                begin[node] = now
                running += 1
                begun += 1
                if waits:
                    continue
                place = (now + cost[node]) & (WHEEL - 1)
                next_node[node], nodes_at[place] = nodes_at[place], node
            if ready[x] and begun == width:
                active[kept] = x
                marked[x] = now + 1
                kept += 1
        n_active = kept
        idle = 0 if happened else idle + 1
        now += 1
        if idle > WHEEL:  # nothing for a whole turn: go to the next that is due
            soonest = np.int64(1) << 62
            for place in range(WHEEL):
                node = nodes_at[place]
                while node != NONE:
                    soonest = min(soonest, begin[node] + cost[node])
                    node = next_node[node]
                row = rows_at[place]
                while row != NONE:
                    soonest = min(soonest, due[row])
                    row = rows[row, NEXT]
                i = requests_at[place] if accesses else NONE
                while i != NONE:
                    soonest = min(soonest, request_due[i])
                    i = requests[i, AFTER]
            now, idle = soonest, 0
    words, lines_sent = on_link[:, WORDS].copy(), on_link[:, LINES].copy()
    return Run(last, begin, enabler, words, lines_sent, messages, asked, done)
