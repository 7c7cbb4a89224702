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
from tracecut.ir.machine.routes import MESH, Routes, route
from tracecut.support.arrays import Ints, Longs

from .caches import NEAR, UNDER_WAY, Caches, found_near
from .plan import ACCESS, MISS, WRITE, Plan
from .requests import ANSWERED, DONE, NONE, TRAVELS, WHEEL, advance, end, make, no_requests, under_way, wait


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
        done: nodes that ran; all, or the plan has a circle.
    """

    time: int
    begin: Longs
    enabler: Ints
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
    groups_at, next_group = np.full(WHEEL, NONE, np.int32), np.full(groups, NONE, np.int32)
    due, hops = np.empty(groups, np.int64), np.zeros(groups, np.int16)
    free, load, line_load = np.zeros(links, np.int64), np.zeros(links, np.int64), np.zeros(links, np.int64)
    path = np.empty(longest, np.int64)
    moving = np.empty(1024, np.int32)
    n_moving, messages, running, flying, done = 0, 0, 0, 0, 0
    accesses = 0
    for node in range(total):
        accesses += misses[node] & ACCESS != 0
    requests = no_requests(min(accesses, cores * registers), cores)
    due_now, travelling = np.empty(requests.due.size, np.int64), np.empty(requests.due.size, np.int64)
    n_due, n_travelling, asked = 0, 0, 0
    now: Any = 0
    last, idle = 0, 0
    for node in range(total):
        if needs[node] == 0:
            _push(heap, room[core[node]], ready, core[node], node)
    for x in range(cores):
        if ready[x]:
            active[n_active] = x
            n_active += 1
            marked[x] = 0
    while running or flying or n_active:
        spot = now & (WHEEL - 1)
        happened = n_active > 0
        # 0. Requests for lines.
        i = requests.at[spot] if accesses else NONE
        n_due, n_travelling = 0, 0
        if i != NONE:
            requests.at[spot] = NONE
        while i != NONE:
            later = requests.after[i]
            key = np.int64(requests.node[i]) << 32 | i
            if requests.due[i] != now:
                wait(requests, i, requests.due[i])
            elif requests.step[i] > 0:
                travelling[n_travelling] = key
                n_travelling += 1
            else:
                due_now[n_due] = key
                n_due += 1
            i = later
        if n_due > 1:
            due_now[:n_due].sort()
        for turn in range(n_due):
            i = np.int32(due_now[turn] & 0x7FFFFFFF)
            node = requests.node[i]
            x = core[node]
            came_to = advance(requests, i, now, x, caches, routes, nodes_of, hop)
            if came_to == TRAVELS:
                travelling[n_travelling] = due_now[turn]
                n_travelling += 1
                asked += 1
            elif came_to == DONE:
                end(requests, i, x)
                busy[x] -= 1
                if marked[x] != now:
                    marked[x] = now
                    active[n_active] = x
                    n_active += 1
                while node != NONE:
                    following = next_node[node]
                    cost[node] += max(now - begin[node], caches.waits[0])
                    place = (begin[node] + cost[node]) & (WHEEL - 1)
                    next_node[node], nodes_at[place] = nodes_at[place], node
                    node = following
        happened = happened or n_due + n_travelling > 0
        # 1. Ends of nodes, arrivals of messages.
        node = nodes_at[spot]
        nodes_at[spot] = NONE
        n_moving = 0
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
                    if n_moving == moving.size:
                        moving = _longer(moving)
                    moving[n_moving] = group
                    n_moving += 1
                    messages += 1
                    flying += 1
                    continue
                for i in range(first_fed[group], first_fed[group + 1]):
                    target = fed[i]
                    needs[target] -= 1
                    if needs[target] == 0:
                        enabler[target] = node
                        _push(heap, room[to], ready, to, target)
                        if marked[to] != now:
                            marked[to] = now
                            active[n_active] = to
                            n_active += 1
            node = following
        group = groups_at[spot]
        groups_at[spot] = NONE
        while group != NONE:
            after = next_group[group]
            if due[group] != now:
                next_group[group], groups_at[spot] = groups_at[spot], group
                group = after
                continue
            happened = True
            if hops[group] >= 0:
                if n_moving == moving.size:
                    moving = _longer(moving)
                moving[n_moving] = group
                n_moving += 1
                group = after
                continue
            flying -= 1
            to = group_core[group]
            for i in range(first_fed[group], first_fed[group + 1]):
                target = fed[i]
                needs[target] -= 1
                if needs[target] == 0:
                    enabler[target] = group_node[group]
                    _push(heap, room[to], ready, to, target)
                    if marked[to] != now:
                        marked[to] = now
                        active[n_active] = to
                        n_active += 1
            group = after
        # 2. Messages take their next link.
        if n_moving > 1:
            moving[:n_moving].sort()
        for i in range(n_moving):
            group = moving[i]
            a, b = nodes_of[core[group_node[group]]], nodes_of[group_core[group]]
            step = np.int64(hops[group])
            link, length = _link(routes, a, b, step, path)
            start = max(now, free[link])
            free[link] = start + occupied[0]
            load[link] += 1
            at_end = step + 1 == length
            hops[group] = NONE if at_end else step + 1
            due[group] = start + hop + (occupied[0] - 1 if at_end else 0)
            place = due[group] & (WHEEL - 1)
            next_group[group], groups_at[place] = groups_at[place], group
        if n_travelling > 1:
            travelling[:n_travelling].sort()
        for turn in range(n_travelling):
            i = np.int32(travelling[turn] & 0x7FFFFFFF)
            step = np.int64(requests.step[i])
            link, length = _link(routes, requests.a[i], requests.b[i], step, path)
            is_line = requests.stage[i] == ANSWERED and requests.where[i] != NEAR
            takes = occupied[1] if is_line else occupied[0]
            start = max(now, free[link])
            free[link] = start + takes
            if is_line:
                line_load[link] += 1
            else:
                load[link] += 1
            at_end = step + 1 == length
            requests.step[i] = 0 if at_end else step + 1
            requests.stage[i] += at_end
            wait(requests, i, start + hop + (takes - 1 if at_end else 0))
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
                    i = under_way(requests, x, line)
                    if i != NONE:
                        if write and not requests.write[i]:
                            break
                        first = requests.node[i]
                        next_node[node], next_node[first] = next_node[first], node
                        caches.found[UNDER_WAY] += 1
                        waits = True
                    elif found_near(caches, x, line, write):
                        cost[node] += caches.waits[0]
                    elif busy[x] == registers:
                        break
                    else:
                        make(requests, caches, nodes_of, x, node, line, write, now)
                        next_node[node] = NONE
                        busy[x] += 1
                        waits = True
                _pop(heap, room[x], ready, x)
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
                group = groups_at[place]
                while group != NONE:
                    soonest = min(soonest, due[group])
                    group = next_group[group]
                i = requests.at[place] if accesses else NONE
                while i != NONE:
                    soonest = min(soonest, requests.due[i])
                    i = requests.after[i]
            now, idle = soonest, 0
    return Run(last, begin, enabler, load, line_load, messages, asked, done)


@njit(cache=True, nogil=True, inline="always")
def _link(routes: Routes, a: Any, b: Any, step: Any, path: Longs) -> tuple[int, int]:
    """The link of a step of a route, and the number of steps."""
    if routes.shape[0] == MESH:
        return _on_mesh(routes.shape[2], a, b, step)
    length = route(routes, a, b, path)
    return path[step], length


@njit(cache=True, nogil=True, inline="always")
def _on_mesh(width: int, a: int, b: int, step: Any) -> tuple[int, int]:
    """The link of a step of an XY route, as `network.route` numbers it, and the number of steps."""
    x, y, to_x, to_y = a % width, a // width, b % width, b // width
    across, along = to_x - x, to_y - y
    length = abs(across) + abs(along)
    if step < abs(across):
        return 4 * (y * width + (x + step if across > 0 else x - step)) + (0 if across > 0 else 1), length
    step -= abs(across)
    return 4 * ((y + step if along > 0 else y - step) * width + to_x) + (2 if along > 0 else 3), length


@njit(cache=True, nogil=True)
def _longer(array: Ints) -> Ints:
    longer = np.empty(2 * array.size, np.int32)
    longer[: array.size] = array
    return longer


@njit(cache=True, nogil=True)
def _push(heap: Ints, base: int, ready: Ints, core: int, node: int) -> None:
    place: Any = np.int64(ready[core])
    ready[core] += 1
    while place > 0:
        above = (place - 1) >> 1
        if heap[base + above] <= node:
            break
        heap[base + place] = heap[base + above]
        place = np.int64(above)
    heap[base + place] = node


@njit(cache=True, nogil=True)
def _pop(heap: Ints, base: int, ready: Ints, core: int) -> None:
    ready[core] -= 1
    size = np.int64(ready[core])
    if size == 0:
        return
    node = heap[base + size]
    place = np.int64(0)
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and heap[base + below + 1] < heap[base + below]:
            below += 1
        if heap[base + below] >= node:
            break
        heap[base + place] = heap[base + below]
        place = below
    heap[base + place] = node
