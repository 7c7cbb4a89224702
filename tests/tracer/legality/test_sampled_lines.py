"""Whether the order of the program fetches each line about once, from a few windows of its iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.nest import NOWHERE, Nest, Read, Site
from tracecut.ir.loops.path_conditions import ALWAYS
from tracecut.tracer.legality.evaluation.contents import Packed
from tracecut.tracer.legality.evaluation.memory import HEAP, Memory, Object, Table
from tracecut.tracer.legality.sampled_lines import SampledLines, sample_lines, seconds_in_all
from tracecut.tracer.loops.phi_sources import LEFT_BEHIND

from .test_evaluate import loop

pytestmark = pytest.mark.quick

JOBS = 1 << 18
LIVES: Mapping[str, int] = {"n": JOBS, "%col": 0x10000000, "%x": 0x20000000}
NEARLY = 1.15
MANY: Mapping[str, Any] = {"cache": 1 << 20, "nearly": NEARLY, "limit": 1 << 30}


def drawn(order: str) -> npt.NDArray[np.int64]:
    """What each job reads."""
    jobs, draw = np.arange(JOBS), np.random.default_rng(1)
    match order:
        case "followed":
            return jobs
        case "near":  # neighbours in a mesh whose rows are 300 long
            return np.clip(jobs + draw.choice([-300, -1, 1, 300], JOBS), 0, JOBS - 1)
        case "backwards":
            return jobs[::-1]
        case "by colours":
            return jobs % (JOBS // 4) * 4 + jobs // (JOBS // 4)
        case "far":  # neighbours in one whose rows are longer than a window
            return jobs // 2 + JOBS // 4 * (jobs % 2) + 20_000 * draw.integers(0, 2, JOBS)
        case "halves":
            return np.where(jobs < JOBS // 2, jobs, draw.permutation(JOBS))
    return draw.permutation(JOBS)


def made(pool: Pool, index: Expr, size: int) -> Expr:
    return pool.op("add", "ptr", pool.live("%x", "ptr"), pool.op("mul", "i64", index, pool.const(size)))


def setting(order: str, size: int = 8) -> tuple[Nest, Memory]:
    """`x[col[k]]` in all iterations of a loop; records of `size` bytes."""
    pool, col = Pool(), np.ascontiguousarray(drawn(order))
    place = pool.op("add", "ptr", pool.live("%col", "ptr"), pool.op("mul", "i64", pool.counter(0), pool.const(8)))
    index = pool.make("load", ("%i", "i64"), (place,))
    sites = tuple(
        Site(key, Read(), "i64", 8, address, None, 0, ALWAYS, NOWHERE)
        for key, address in (("%i", place), ("%v", made(pool, index, size)))
    )
    trip = pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.live("n", "i64")))
    nest = Nest("@f", 0, {0: loop(0, None, trip)}, sites, {}, {}, {}, pool)
    objects = [Object(LIVES["%col"], col.nbytes, HEAP), Object(LIVES["%x"], JOBS * size, HEAP)]
    return nest, Memory(objects, {LIVES["%col"]: col.view(np.uint8)})


def look(nest: Nest, memory: Memory, **asked: Any) -> SampledLines | None:
    return sample_lines(nest, memory, LIVES, **{**MANY, **asked})


@pytest.mark.parametrize(
    ("order", "size"),
    [("followed", 8), ("followed", 24), ("followed", 200), ("near", 8), ("near", 24), ("backwards", 8)],
)
def test_lines_behind_each_other_are_fetched_once(order: str, size: int) -> None:
    """Also where records are larger than lines, and lines between them are left out."""
    found = look(*setting(order, size))
    assert found is not None and found.once(NEARLY)


@pytest.mark.parametrize("order", ["random", "by colours", "far", "halves"])
def test_others_are_not(order: str) -> None:
    found = look(*setting(order))
    assert found is not None and not found.once(NEARLY)


def test_what_is_fetched_once_may_lie_anywhere_all_the_same() -> None:
    """A line for each record: any order fetches as many, and only some fetch them one after the other."""
    found = look(*setting("random", 64), cache=1 << 21)
    assert found is not None and not found.once(NEARLY)


def test_windows_are_shorter_where_the_cache_is_small() -> None:
    nest, memory = setting("followed")
    large, small = look(nest, memory), look(nest, memory, cache=70_000)
    assert large is not None and small is not None and small.once(NEARLY)
    assert small.share == large.share / 2 and small.footprint <= 70_000 < large.footprint
    assert look(nest, memory, cache=10_000) is None
    other = look(*setting("random"), cache=10_000)  # no window is short enough to change that
    assert other is not None and other.share == large.share and not other.once(NEARLY)


def test_rows_of_their_own_are_one_array() -> None:
    nest, _ = setting("followed")
    pool, rows = nest.pool, LIVES["%x"] + 48 * np.arange(JOBS)
    pointers = {"followed": rows, "random": np.random.default_rng(2).permutation(rows)}
    row = pool.make("load", ("%p", "ptr"), (nest.sites[0].address,))
    own = replace(nest, sites=(nest.sites[0], replace(nest.sites[1], address=row)))
    bases = np.concatenate([[LIVES["%col"]], rows])
    sizes = np.concatenate([[8 * JOBS], np.full(JOBS, 40)])
    for order, col in pointers.items():
        contents = Packed(bases[:1], np.array([0]), np.array([col.nbytes]), col.view(np.uint8))
        found = look(own, Memory(Table(bases, sizes, np.zeros(JOBS + 1, np.uint8)), contents), cache=1 << 21)
        assert found is not None and found.once(NEARLY) == (order == "followed") and len(found.reached) == 2


def test_rows_may_take_turns_with_others_that_are_read_later() -> None:
    """Rows of 40 bytes: the neighbour 300 iterations ahead in one table, the own row in another."""
    nest, _ = setting("followed")
    pool, rows = nest.pool, LIVES["%x"] + 48 * np.arange(2 * JOBS)
    ahead = np.ascontiguousarray(rows[::2][np.minimum(np.arange(JOBS) + 300, JOBS - 1)])
    row = pool.make("load", ("%p", "ptr"), (nest.sites[0].address,))
    other = pool.op("add", "ptr", made(pool, pool.counter(0), 96), pool.const(48))
    sites = (nest.sites[0], replace(nest.sites[1], address=row), replace(nest.sites[1], key="%w", address=other))
    bases, sizes = np.concatenate([[LIVES["%col"]], rows]), np.concatenate([[8 * JOBS], np.full(2 * JOBS, 40)])
    contents = Packed(bases[:1], np.array([0]), np.array([ahead.nbytes]), ahead.view(np.uint8))
    memory = Memory(Table(bases, sizes, np.zeros(bases.size, np.uint8)), contents)
    found = look(replace(nest, sites=sites), memory, cache=1 << 21)
    assert found is not None and found.once(NEARLY)


def test_addresses_that_are_not_known_say_nothing() -> None:
    nest, memory = setting("followed")
    unknown = made(nest.pool, nest.pool.make("opaque", ("a value", 1)), 8)
    assert look(replace(nest, sites=(*nest.sites, replace(nest.sites[1], address=unknown))), memory) is None


def test_what_a_search_leads_to_does_not_count() -> None:
    """No order is made by it."""
    nest, memory = setting("followed")
    left = made(nest.pool, nest.pool.make("opaque", (LEFT_BEHIND, 1)), 8)
    found = look(replace(nest, sites=(*nest.sites, replace(nest.sites[1], address=left))), memory)
    assert found is not None and found.once(NEARLY)


def test_a_short_loop_is_not_sampled() -> None:
    nest, memory = setting("followed")
    assert sample_lines(nest, memory, {**LIVES, "n": JOBS - 1}, **MANY) is None


def test_seconds_are_of_all_iterations() -> None:
    nest, memory = setting("near")
    look(nest, memory)
    assert 0 <= seconds_in_all(nest, memory, LIVES, limit=1 << 30) < 10
