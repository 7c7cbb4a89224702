"""Runs one task graph in SimGrid; started by `simgrid.py` under the Python that has SimGrid's module.

Reads a case as JSON from standard input and writes `{"time": …, "messages": …, "version": …}` to standard output.
What the numbers of our machine are to SimGrid is said in `simgrid.py`; nothing of tracecut is used here.
"""

import heapq
import json
import sys

from simgrid import Actor, Comm, Engine, Link, LinkInRoute, NetZone, Semaphore, simgrid_version, this_actor

CONFIG = (  # the fluid model alone: no slow start, no windows, no traffic against a flow, no empirical factors
    "network/model:CM02",
    "network/weight-S:0",
    "network/crosstraffic:0",
    "network/TCP-gamma:0",
    "network/latency-factor:1",
    "network/bandwidth-factor:1",
)
ALWAYS = 1e12  # bytes in a cycle of what is to delay only


def platform(case):
    """A host for each core, the links of the mesh, explicit routes along x first."""
    zone = NetZone.create_full_zone("mesh")
    width, height = case["mesh"]
    hosts = [zone.create_host(f"core {x}", case["width"]) for x in range(width * height)]
    links = {}
    for here in range(width * height):
        x, y = here % width, here // width
        for there in ([here + 1] if x + 1 < width else []) + ([here + width] if y + 1 < height else []):
            for pair in ((here, there), (there, here)):
                links[pair] = LinkInRoute(zone.create_link(f"{pair[0]} to {pair[1]}", case["bandwidth"]))
    delays = {}
    for hops in range(1, width + height - 1):
        delay = zone.create_link(f"{hops} hops", ALWAYS)
        delay.set_latency(hops * case["hop_latency"] - 1)
        delay.set_sharing_policy(Link.SharingPolicy.FATPIPE, None)
        delays[hops] = LinkInRoute(delay)
    for here in range(width * height):
        for there in range(width * height):
            if here != there:
                taken = [links[pair] for pair in route(here, there, width)]
                ends = hosts[here].netpoint, hosts[there].netpoint
                zone.add_route(*ends, None, None, [delays[len(taken)], *taken], False)
    zone.seal()
    return hosts


def route(here, there, width):
    pairs = []
    while here != there:
        step = there % width - here % width
        following = here + (1 if step > 0 else -1) if step else here + (width if there > here else -width)
        pairs.append((here, following))
        here = following
    return pairs


class Run:
    """A case while it runs: what each task waits for, what each core can begin."""

    def __init__(self, case, hosts):
        self.core, self.cycles, self.pipelined = case["core"], case["cycles"], case["pipelined"]
        self.bytes, self.step = case["bytes"], 1 / case["width"]
        self.hosts = hosts
        self.needs = [0] * len(self.core)
        self.users = [{} for _ in self.core]  # of each task: core → tasks there
        for source, target in case["edges"]:
            self.needs[target] += 1
            self.users[source].setdefault(self.core[target], []).append(target)
        self.left = [self.core.count(x) for x in range(len(hosts))]
        self.ready = [[] for _ in hosts]
        self.awake = [Semaphore(0) for _ in hosts]
        self.messages, self.last = 0, 0.0
        for task, count in enumerate(self.needs):
            if not count:
                heapq.heappush(self.ready[self.core[task]], task)

    def work(self, x):
        """The actor of a core: the earliest task of the program among those that are ready, again and again."""
        while self.left[x]:
            this_actor.yield_()  # what arrives at this moment counts as having arrived
            if not self.ready[x]:
                self.awake[x].acquire()
                continue
            self.left[x] -= 1
            task = heapq.heappop(self.ready[x])
            if self.pipelined:  # beginning it takes one place in a cycle of the core
                this_actor.execute(1)
                Actor.create("end", self.hosts[x], self.end_later, task)
            else:
                this_actor.execute(self.cycles[task] / self.step)
                self.end(task)

    def end_later(self, task):
        this_actor.sleep_for(self.cycles[task] - self.step)
        self.end(task)

    def end(self, task):
        self.last = max(self.last, Engine.clock)
        here = self.core[task]
        for there, targets in self.users[task].items():
            if there == here:
                self.deliver(there, targets)
            else:
                self.messages += 1
                Actor.create("message", self.hosts[here], self.carry, here, there, targets)

    def carry(self, here, there, targets):
        Comm.sendto(self.hosts[here], self.hosts[there], self.bytes)
        self.deliver(there, targets)

    def deliver(self, there, targets):
        for target in targets:
            self.needs[target] -= 1
            if not self.needs[target]:
                heapq.heappush(self.ready[there], target)
                self.awake[there].release()


def main():
    case = json.load(sys.stdin)
    engine = Engine(["simgrid", *(f"--cfg={word}" for word in CONFIG), "--log=root.thresh:critical"])
    run = Run(case, platform(case))
    for x, host in enumerate(run.hosts):
        Actor.create(f"core {x}", host, run.work, x)
    engine.run()
    if any(run.left) or any(run.needs):
        sys.exit(f"{sum(run.left)} tasks never ran")
    json.dump({"time": run.last, "messages": run.messages, "version": simgrid_version}, sys.stdout)


if __name__ == "__main__":
    main()
