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
from numba import njit
from tracecut.ir.machine.cache_simulator import WAYS
from tracecut.ir.machine.routes import MESH, Routes
from tracecut.support.arrays import Longs

from .caches import CHANGED, NEAR, NEAR_SET, OWNER, UNDER_WAY, Caches, ask, change, far_number, renewed, slice_of
from .flights import (
    AT,
    CARRIES,
    COLUMNS,
    FREE,
    IS_LINE,
    LINES,
    LINK,
    MASK,
    ORDER,
    REQUEST,
    ROW,
    THERE,
    WANTED,
    WORDS,
    in_turn,
    set_out,
    step_on_mesh,
    step_on_route,
)
from .plan import (
    ACCESS,
    ACCESSED,
    CORE,
    COST,
    ENABLER,
    END_FED,
    FIRST_FED,
    FIRST_GROUP,
    GROUP_CORE,
    GROUP_NODE,
    KIND,
    LONGEST,
    MISS,
    NEEDS,
    NEXT,
    WRITE,
    Plan,
)
from .ready_heap import pop, push
from .requests import (
    ACCESS_NODE,
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
    WHERE,
    WRITES,
    advance,
    looks,
    under_way,
)
from .wheel import IDLE, TURNS, WHEEL, empty_wheel, leave_out, put, soonest, take, turns


class Run(NamedTuple):
    """What the event loop found.

    Attributes:
        time: cycles until the last node has finished.
        begin: int64 (nodes), cycle in which each began.
        link_load: int64 (links), messages.
        line_load: int64 (links), lines.
        messages: values sent over the network.
        asked: words and lines that went over the network for accesses.
        done: nodes that ran; all, or the plan has a circle. −1 − i: it ended at node i, which takes more than LONGEST.
    """

    time: int
    begin: Longs
    link_load: Longs
    line_load: Longs
    messages: int
    asked: int
    done: int


@njit(cache=True, nogil=True)
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

    `occupied`: cycles that a word and a line take a link. `caches` change, and so do the plan's nodes: in the end COST
    is what each took, and ENABLER a node whose value came last to it, −1 without operands.
    """
    nodes, groups, fed = plan.nodes, plan.groups, plan.fed
    total, n_groups, cores = nodes.shape[0] - 1, groups.shape[0], nodes_of.size
    begin = np.full(total, NONE, np.int64)
    # Ready nodes of each core: a binary heap in its part of one array, that has room for all nodes of the core.
    room, accesses = np.zeros(cores + 1, np.int64), 0
    node: Any = 0
    for node in range(total):
        room[nodes[node, CORE] + 1] += 1
        accesses += nodes[node, KIND] & ACCESS != 0
    for x in range(cores):
        room[x + 1] += room[x]
    heap, ready = np.empty(total, np.int32), np.zeros(cores, np.int32)
    busy = np.zeros(cores, np.int32)  # miss registers
    active, marked = np.empty(cores, np.int32), np.full(cores, NONE, np.int64)
    n_active = 0
    on_link = np.zeros((links, 4), np.int64)
    on_link[:, WANTED] = NONE
    path = np.empty(longest, np.int64)
    messages, running, flying, done, asked = 0, 0, 0, 0, 0
    most = min(accesses, cores * registers)
    requests, request_of = np.empty((most, FIELDS), np.int32), np.full(cores, NONE, np.int32)
    free_request, used_requests = NONE, 0
    # Members of tuples are looked up once: each look takes and leaves a reference, which is slower than a hop.
    near, far, cached, found = caches.near, caches.far, caches.lines, caches.found
    groups_of, numbers, geometry, slices = caches.groups, caches.number, caches.geometry, caches.slices
    near_size, n_banks = np.int64(near.size // cores), max(1, caches.banks.shape[0])
    delays, banks = caches.waits, caches.banks
    at_once, mesh = caches.waits[0], routes.shape[2] if routes.shape[0] == MESH else 0
    word_takes, line_takes = occupied
    ways = geometry[0, WAYS] if most else 0
    # Room for all messages, of which memory is only taken for those that are on the way at the same time.
    rows, free_row, used_rows = np.empty((n_groups + most, COLUMNS), np.int32), np.int64(NONE), 0
    moving, arrived = np.empty(n_groups + most, np.int64), np.empty(n_groups, np.int32)
    due_now, taken = np.empty(most, np.int64), np.empty(max(total, n_groups + most), np.int32)
    # Nodes by the cycle of their end, messages by that of their next step, requests by that of their next stage.
    ends, end_pieces = empty_wheel(total)
    steps, step_pieces = empty_wheel(n_groups + most)
    stages, stage_pieces = empty_wheel(most)
    now: Any = 0
    last = idle = 0
    for node in range(total):
        if nodes[node, NEEDS] == 0:
            push(heap, room[nodes[node, CORE]], ready, nodes[node, CORE], node)
    for x in range(cores):
        if ready[x]:
            active[n_active] = x
            n_active += 1
            marked[x] = 0
    while running or flying or n_active:
        n_moving, n_arrived, n_due = 0, 0, 0
        for turn in range(take(steps, step_pieces, now, taken)):
            row = np.uint32(taken[turn])
            if rows[row, TURNS]:
                rows[row, TURNS] -= 1
                put(steps, step_pieces, now, row)
                continue
            carries = rows[row, CARRIES]
            if rows[row, AT] != THERE:
                moving[n_moving] = (0 if carries >= 0 else REQUEST) | np.int64(rows[row, ORDER]) << ROW | np.int64(row)
                n_moving += 1
            else:
                rows[row, TURNS], free_row = free_row, np.int64(row)
                if carries >= 0:
                    arrived[n_arrived] = carries
                    n_arrived += 1
                    flying -= 1
                else:
                    i = -1 - carries
                    requests[i, STAGE] += 1
                    due_now[n_due] = np.int64(requests[i, ACCESS_NODE]) << ROW | i
                    n_due += 1
        # 0. Requests for lines.
        for turn in range(take(stages, stage_pieces, now, taken) if accesses else 0):
            i = taken[turn]
            if requests[i, TURNS]:
                requests[i, TURNS] -= 1
                put(stages, stage_pieces, now, i)
            else:
                due_now[n_due] = np.int64(requests[i, ACCESS_NODE]) << ROW | i
                n_due += 1
        happened = n_active + n_due + n_moving + n_arrived > 0
        if n_due > 1:
            due_now[:n_due].sort()
        for turn in range(n_due):
            i = np.int32(due_now[turn] & MASK)
            first = requests[i, ACCESS_NODE]
            x, line = nodes[first, CORE], requests[i, LINE]
            answer: Any = (np.int64(NEAR), np.int64(NONE), np.int64(0))
            if looks(requests, i):
                answer = ask(caches, routes, nodes_of, hop, x, line, requests[i, WRITES])
            bank = far_number(geometry, numbers, line) % n_banks
            came_to, until = advance(requests, i, now, nodes_of[x], answer, delays, banks, bank, nodes_of)
            if came_to == WAITS:
                requests[i, TURNS] = turns(until - now)
                put(stages, stage_pieces, until, i)
            elif came_to == TRAVELS:
                if free_row == NONE:
                    row, used_rows = np.uint32(used_rows), used_rows + 1
                else:
                    row = np.uint32(free_row)
                    free_row = np.int64(rows[row, TURNS])
                rows[row, CARRIES] = -1 - i
                is_line = requests[i, STAGE] == ANSWERED and requests[i, WHERE] != NEAR
                set_out(rows, row, mesh, requests[i, FROM], requests[i, TO], first, is_line)
                moving[n_moving] = REQUEST | np.int64(first) << ROW | np.int64(row)
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
                requests[i, TURNS], free_request = free_request, int(i)
                busy[x] -= 1
                if marked[x] != now:
                    marked[x] = now
                    active[n_active] = x
                    n_active += 1
                waiting: Any = first
                while waiting != NONE:
                    after, left = nodes[waiting, NEXT], nodes[waiting, COST] + max(at_once - (now - begin[waiting]), 0)
                    cost = left + now - begin[waiting]
                    if cost > LONGEST:
                        return Run(cost, begin, begin, begin, messages, asked, -1 - waiting)
                    nodes[waiting, COST], nodes[waiting, TURNS] = cost, left // WHEEL
                    put(ends, end_pieces, now + left, waiting)
                    waiting = after
        # 1. Ends of nodes, arrivals of messages.
        for turn in range(take(ends, end_pieces, now, taken)):
            node = np.uint32(taken[turn])
            if nodes[node, TURNS]:
                nodes[node, TURNS] -= 1
                put(ends, end_pieces, now, node)
                continue
            happened = True
            running -= 1
            done += 1
            last = now
            x = nodes[node, CORE]
            if nodes[node, KIND] & MISS:
                busy[x] -= 1
                if marked[x] != now:
                    marked[x] = now
                    active[n_active] = x
                    n_active += 1
            for group in range(nodes[node, FIRST_GROUP], nodes[node + np.uint32(1), FIRST_GROUP]):
                to = groups[group, GROUP_CORE]
                if to == x or nodes_of[to] == nodes_of[x]:
                    arrived[n_arrived] = group
                    n_arrived += 1
                    continue
                if free_row == NONE:
                    row, used_rows = np.uint32(used_rows), used_rows + 1
                else:
                    row = np.uint32(free_row)
                    free_row = np.int64(rows[row, TURNS])
                rows[row, CARRIES] = group
                set_out(rows, row, mesh, nodes_of[x], nodes_of[to], group, False)
                moving[n_moving] = np.int64(group) << ROW | np.int64(row)
                n_moving += 1
                messages += 1
                flying += 1
        for turn in range(n_arrived):
            came = np.uint32(arrived[turn])
            to = groups[came, GROUP_CORE]
            for i in range(groups[came, FIRST_FED], groups[came, END_FED]):
                target = np.uint32(fed[i])
                nodes[target, NEEDS] -= 1
                if nodes[target, NEEDS] == 0:
                    nodes[target, ENABLER] = groups[came, GROUP_NODE]
                    push(heap, room[to], ready, to, target)
                    if marked[to] != now:
                        marked[to] = now
                        active[n_active] = to
                        n_active += 1
        # 2. Messages take their next link.
        if n_moving and mesh:
            step_on_mesh(moving, n_moving, rows, mesh)
        elif n_moving:
            step_on_route(moving, n_moving, rows, routes, path)
        if n_moving > 1:
            in_turn(moving, n_moving, on_link, rows, now)
        for turn in range(n_moving):
            row = np.uint32(moving[turn] & MASK)
            link, is_line = np.uint32(rows[row, LINK]), rows[row, IS_LINE]
            takes = line_takes if is_line else word_takes
            start = max(now, on_link[link, FREE])
            on_link[link, FREE] = start + takes
            on_link[link, LINES if is_line else WORDS] += 1
            due = start + hop + (takes - 1 if rows[row, AT] == THERE else 0)
            rows[row, TURNS] = turns(due - now)
            put(steps, step_pieces, due, row)
        # 3. Cores begin what is ready.
        kept = 0
        for turn in range(n_active):
            x = active[turn]
            begun = 0
            while ready[x] and begun < width:
                node = np.uint32(heap[room[x]])
                kind, cost = nodes[node, KIND], np.int64(nodes[node, COST])
                waits = False
                if kind & MISS:
                    if busy[x] == registers:
                        break
                    busy[x] += 1
                elif kind & ACCESS:
                    line, write = nodes[node, ACCESSED], kind & WRITE != 0
                    i = under_way(requests, request_of[x], line)
                    if i != NONE:
                        if write and not requests[i, WRITES]:
                            break
                        head = requests[i, ACCESS_NODE]
                        nodes[node, NEXT], nodes[head, NEXT] = nodes[head, NEXT], node
                        found[UNDER_WAY] += 1
                        waits = True
                    elif (not write or cached[line, OWNER] == x) and renewed(
                        near, x * near_size + cached[line, NEAR_SET], ways, line + 1
                    ):
                        cost += at_once
                        if cost > LONGEST:
                            return Run(cost, begin, begin, begin, messages, asked, -1 - int(np.int64(node)))
                        nodes[node, COST] = cost
                        found[NEAR] += 1
                        if write and not cached[line, CHANGED]:
                            change(geometry, groups_of, far, slices, numbers, cached, x, line)
                    elif busy[x] == registers:
                        break
                    else:
                        i = free_request
                        if i == NONE:
                            i, used_requests = used_requests, used_requests + 1
                        else:
                            free_request = requests[i, TURNS]
                        requests[i, ACCESS_NODE], requests[i, LINE], requests[i, WRITES] = node, line, write
                        requests[i, STAGE], requests[i, WHERE], requests[i, FROM] = ASKS, NEAR, nodes_of[x]
                        requests[i, TO] = slices[slice_of(groups_of, x, far_number(geometry, numbers, line))]
                        requests[i, BESIDE], request_of[x] = request_of[x], i
                        requests[i, TURNS] = turns(at_once)
                        put(stages, stage_pieces, now + at_once, i)
                        nodes[node, NEXT] = NONE
                        busy[x] += 1
                        waits = True
                pop(heap, room[x], ready, x)
                begin[node] = now
                running += 1
                begun += 1
                if not waits:
                    nodes[node, TURNS] = turns(cost)
                    put(ends, end_pieces, now + cost, node)
            if ready[x] and begun == width:
                active[kept] = x
                marked[x] = now + 1
                kept += 1
        n_active = kept
        idle = 0 if happened else idle + 1
        now += 1
        if idle > IDLE:  # on to the next that is due
            until = soonest(ends, end_pieces, nodes, now, np.int64(1) << 62)
            until = soonest(steps, step_pieces, rows, now, until)
            until = soonest(stages, stage_pieces, requests, now, until)
            leave_out(ends, end_pieces, nodes, now, until)
            leave_out(steps, step_pieces, rows, now, until)
            leave_out(stages, stage_pieces, requests, now, until)
            now, idle = until, 0
    words, lines_sent = on_link[:, WORDS].copy(), on_link[:, LINES].copy()
    return Run(last, begin, words, lines_sent, messages, asked, done)
