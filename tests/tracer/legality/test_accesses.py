"""Accesses and verdicts on random loops, compared with a machine that runs them and notes every byte it touches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.nest import NOWHERE, Nest, Read, Reduce, Site, Write
from tracecut.ir.loops.path_conditions import ALWAYS, Condition, both
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import HEAP, Memory, Object
from tracecut.tracer.legality.judge import judge

from ..reference import interpret
from .test_evaluate import loop

JOBS = 6
BASES = {"%one": 0x1000, "%two": 0x2000, "%col": 0x3000, "%map": 0x4000}
SIZE = 160
INNER = 2


@dataclass
class Case:
    """A loop (with one inside), and memory to run it on."""

    pool: Pool
    nest: Nest
    memory: Memory
    lives: dict[str, int | float]


def index_load(pool: Pool, base: str, index: Expr) -> Expr:
    """A 32-bit number from an index array. Every load of one place is one value: it happens first in the iteration."""
    place = pool.op("add", "ptr", pool.live(base, "ptr"), pool.op("mul", "i64", index, pool.const(4)))
    return pool.make("load", (f"%l{place.serial}", "i32"), (place,))


@st.composite
def indices(draw: st.DrawFn, pool: Pool, inner: bool, depth: int = 2) -> Expr:
    counter = pool.counter(draw(st.integers(0, int(inner))))
    kind = draw(st.sampled_from(["counter", "counter", "load", "load", "two", "const", "sum", "back", "choice"]))
    if kind == "const":
        return pool.const(draw(st.integers(0, 9)))
    if kind == "back":
        return pool.op("sub", "i64", pool.const(JOBS), counter)
    if depth and kind == "load":
        load = index_load(pool, draw(st.sampled_from(["%col", "%map"])), draw(indices(pool, inner, 0)))
        return pool.make("cast", ("sext", "i32", "i64"), (load,))
    if depth and kind == "two":
        first = pool.make("cast", ("sext", "i32", "i64"), (index_load(pool, "%map", draw(indices(pool, inner, 0))),))
        return pool.make("cast", ("zext", "i32", "i64"), (index_load(pool, "%col", first),))
    if depth and kind == "sum":
        return pool.op("add", "i64", draw(indices(pool, inner, depth - 1)), pool.const(draw(st.integers(0, 9))))
    if depth and kind == "choice":
        arms = [draw(indices(pool, inner, 0)) for _ in range(2)]
        if draw(st.booleans()):
            return pool.any_of(arms)
        return pool.make("choice", (), (draw(conditions(pool)), *arms))
    return counter


@st.composite
def conditions(draw: st.DrawFn, pool: Pool) -> Expr:
    value = draw(st.sampled_from([pool.counter(0), index_load(pool, "%col", pool.counter(0))]))
    if value.kind == "load":
        value = pool.make("cast", ("sext", "i32", "i64"), (value,))
    word = draw(st.sampled_from(["slt", "eq", "uge"]))
    return pool.make("cmp", (f"icmp {word}", "i64"), (value, pool.const(draw(st.integers(0, 5)))))


def loads_of(sites: list[Site]) -> list[Expr]:
    """Every load that an address or a condition is made of."""
    roots = [site.address for site in sites]
    roots += [expr for site in sites for term in site.reach or () for expr, _ in term]
    return list({str(node.data[0]): node for root in roots for node in root.walk() if node.kind == "load"}.values())


def reading(node: Expr) -> Site:
    """The site of a load."""
    inner = any(part.kind == "counter" and part.data[0] == 1 for part in node.walk())
    return Site(str(node.data[0]), Read(), "i32", 4, node.args[0], None, int(inner), ALWAYS, NOWHERE)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    pool = Pool()
    sites: list[Site] = []
    for place in range(draw(st.integers(1, 3))):
        inner = draw(st.booleans())
        effect = draw(st.sampled_from([Read(), Write(), Write(), Reduce("add"), Reduce("add"), Reduce("mul")]))
        size = draw(st.sampled_from([8, 8, 8, 4, 2]))
        stride = draw(st.sampled_from([size, size, 8, 4, 16]))
        base = pool.live(draw(st.sampled_from(["%one", "%one", "%one", "%two", "%col"])), "ptr")
        if draw(st.integers(0, 5)) == 0:
            arms = (base, pool.live("%two", "ptr"))
            some = draw(st.booleans()) and arms[0] is not arms[1]
            base = pool.any_of(arms) if some else pool.make("choice", (), (draw(conditions(pool)), *arms))
        offset = pool.op("mul", "i64", draw(indices(pool, inner)), pool.const(stride))
        address = pool.op(
            "add", "ptr", pool.op("add", "ptr", base, offset), pool.const(draw(st.sampled_from([0, 0, 0, 4, 8, 2])))
        )
        reach: Condition = ALWAYS
        if draw(st.integers(0, 3)) == 0:
            reach = both(ALWAYS, (draw(conditions(pool)), draw(st.booleans())))
        if draw(st.integers(0, 9)) == 0:
            reach = None
        sites.append(Site(f"s{place}", effect, f"i{8 * size}", size, address, None, int(inner), reach, NOWHERE))
    reads = [reading(node) for node in loads_of(sites)]
    zero, one = pool.const(0), pool.const(1)
    trips = [pool.make("trip", (64, "slt", False, 0), (zero, one, pool.const(n))) for n in (JOBS, INNER)]
    nest = Nest("@f", 0, {0: loop(0, None, trips[0]), 1: loop(1, 0, trips[1])}, (*reads, *sites), {}, {}, {}, pool)
    contents = {}
    for name, base_address in BASES.items():
        data = np.zeros(SIZE, np.uint8)
        if name in ("%col", "%map"):
            data[:] = np.array(draw(st.lists(st.integers(0, 7), min_size=40, max_size=40)), np.int32).view(np.uint8)
        contents[base_address] = data
    memory = Memory([Object(base_address, SIZE, HEAP) for base_address in BASES.values()], contents)
    return Case(pool, nest, memory, dict(BASES))


Touch = tuple[int, str, int, int]  # iteration, site, first byte, bytes


def executed(case: Case, arms: int) -> list[Touch]:
    """Run the loop: loads of an iteration come first, then its stores, on memory that changes."""
    memory = Memory(case.memory.objects, {base: data.copy() for base, data in case.memory.contents.items()})
    found: list[Touch] = []
    for job in range(JOBS):
        pending: list[tuple[Site, int]] = []
        for inner in range(INNER):
            for site in case.nest.sites:
                if not site.loop and inner:
                    continue
                arm = (arms >> (job + 3 * inner)) + len(site.key) % 2
                counters = {0: job, 1: inner}
                if not runs(case, site, counters, memory, arm):
                    continue
                address = interpret(site.address, counters, case.lives, memory, arm)
                assume(isinstance(address, int))
                assert isinstance(address, int)
                item = memory.find(address)
                assume(item is not None and address + site.size <= item.end)  # else it is no program
                pending.append((site, address))
        for site, address in pending:
            found.append((job, site.key, address, site.size))
            item = memory.find(address)
            assert item is not None
            if site.writes and item.base in (0x3000, 0x4000):
                for byte in range(address - item.base, address - item.base + site.size):
                    memory.contents[item.base][byte] = (job * 5 + 3) % 7 if byte % 4 == 0 else 0
    return found


def runs(case: Case, site: Site, counters: dict[int, int], memory: Memory, arm: int) -> bool:
    if site.reach is None:
        return bool(arm & 2)
    return any(
        all(bool(interpret(expr, counters, case.lives, memory, arm)) == wanted for expr, wanted in term)
        for term in site.reach
    )


def conflicting(case: Case, touches: list[Touch]) -> bool:
    """Whether two iterations touch one byte in a way that makes their order matter."""
    sites = {site.key: site for site in case.nest.sites}
    seen: dict[int, set[tuple[int, str]]] = {}
    for job, key, address, size in touches:
        for byte in range(address, address + size):
            seen.setdefault(byte, set()).add((job, key))
    for byte, found in seen.items():
        for job, key in found:
            for other, second in found:
                if job < other and clash(sites[key], sites[second], byte, touches):
                    return True
    return False


def clash(first: Site, second: Site, byte: int, touches: list[Touch]) -> bool:
    if first.kind == second.kind == "read":
        return False
    if "write" in (first.kind, second.kind) or first.kind != second.kind:
        return True
    if (first.operator, first.type) != (second.operator, second.type):
        return True
    # The same update of the same type: only of the same whole elements.
    near = [(address, size) for _, key, address, size in touches if key in (first.key, second.key)]
    return len({address for address, size in near if address <= byte < address + size}) > 1


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(0, 1 << 12))
def test_what_may_be_moved_has_no_conflict(case: Case, arms: int) -> None:
    touches = executed(case, arms)
    accesses = Accesses(case.nest, case.memory, dict(BASES), single=False)
    verdict = judge(accesses, 0)
    event(verdict.kind)
    where = [(site.key, site.kind, str(site.address)) for site in case.nest.sites]
    if verdict.movable:
        assert not conflicting(case, touches), (verdict, where)
    if verdict.kind == "parallel":
        sites = [replace(site, effect=Write()) if site.writes else site for site in case.nest.sites]
        plain = replace(case, nest=replace(case.nest, sites=tuple(sites)))
        assert not conflicting(plain, touches), where


@settings(max_examples=150, deadline=None)
@given(cases(), st.integers(0, 1 << 12))
def test_accesses_cover_what_is_touched(case: Case, arms: int) -> None:
    touches = executed(case, arms)
    accesses = Accesses(case.nest, case.memory, dict(BASES), single=False)
    sites = {site.key: site for site in case.nest.sites}
    overwritten = {
        node.data[0]
        for site in case.nest.sites
        for node in site.address.walk()
        if node.kind == "load" and node.data[0] in accesses.distrusted
    }
    for job, key, address, size in touches:
        found = [access for access in accesses.by_site[key] if access.runs]
        assert found, f"{key} runs in iteration {job}"
        if any(access.object is None for access in found):
            continue  # nothing is claimed
        where = key, str(sites[key].address), hex(address), job
        assert any(covers(access, address, size) for access in found), where
        if overwritten:
            continue
        exact = [accesses.addresses(access) for access in found]
        jobs = accesses.evaluation.jobs(sites[key].loop, 0)
        if None not in exact:
            hits = [data[runs & (jobs == job)] for data, runs in filter(None, exact)]
            assert any(address in hit for hit in hits), where


def covers(access: Access, address: int, size: int) -> bool:
    assert access.object is not None
    base = access.object.base
    return base + access.low <= address and address + size <= base + access.high


def test_movable_loops_are_found_at_all() -> None:
    """The comparison would say nothing if every verdict were a refusal."""
    pool = Pool()
    kinds = []
    for effect in (Write(), Reduce("add")):
        for through in (False, True):
            index: Expr = pool.counter(0)
            if through:
                index = pool.make("cast", ("sext", "i32", "i64"), (index_load(pool, "%col", index),))
            address = pool.op("add", "ptr", pool.live("%one", "ptr"), pool.op("mul", "i64", index, pool.const(8)))
            site = Site("s", effect, "i64", 8, address, None, 0, ALWAYS, NOWHERE)
            trip = pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.const(JOBS)))
            nest = Nest("@f", 0, {0: loop(0, None, trip)}, (site,), {}, {}, {}, pool)
            data = {base: np.zeros(SIZE, np.uint8) for base in BASES.values()}
            memory = Memory([Object(base, SIZE, HEAP) for base in BASES.values()], data)
            kinds.append(judge(Accesses(nest, memory, dict(BASES), single=False), 0).kind)
    assert kinds == ["parallel", "ordered", "parallel", "reduction"]


def test_a_mask_that_takes_bits_away_is_not_looked_through() -> None:
    """`few[k & 7]`: without the mask most addresses would lie in the object behind."""
    pool = Pool()
    trip = pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.const(60)))
    objects = [Object(0x1000, 64, HEAP), Object(0x1040, 2048, HEAP)]
    memory = Memory(objects, {item.base: np.zeros(item.size, np.uint8) for item in objects})
    for index in (pool.counter(0), pool.op("add", "i64", pool.counter(0), pool.const(8))):
        masked = pool.op("mask", "i64", index, pool.const(7))
        address = pool.op("add", "ptr", pool.live("%few", "ptr"), pool.op("mul", "i64", masked, pool.const(8)))
        site = Site("s", Read(), "i64", 8, address, None, 0, ALWAYS, NOWHERE)
        nest = Nest("@f", 0, {0: loop(0, None, trip)}, (site,), {}, {}, {}, pool)
        (access,) = Accesses(nest, memory, {"%few": 0x1000}, single=False).all()
        assert (access.object, access.low, access.high) == (objects[0], 0, 64)
