"""Records that hold the numbers of others, on an emulated card in the program's place: it prints what it prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tracecut.codegen.offload.card_scope import CardScope
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run
from tracecut.tracer.runtime.fingerprint_key import Secret

from ...waiting import HUNG
from .. import random_records
from ..harness import Inspected, Program, trace
from ..test_own_indices import FIELDS, STAY
from ..test_random_time_loops import understood
from .on_card import Asked, card_scopes, run_on_card

Catalogue = Callable[[str], dict[str, Inspected | str]]
VARIANTS = ("swap", "original", "swap-indirect")


def all_of(items: dict[str, Inspected | str], variant: str) -> list[CardScope]:
    """Kernels of all loops of the program, each in a scope of its own."""
    asked = []
    for item in items.values():
        assert not isinstance(item, str), item
        asked.append(Asked(item, variant, item.random(1)))
    return card_scopes(asked)


def for_other_indices(made: CardScope) -> CardScope:
    """It with a guard that takes the program's indices for others."""
    return replace(made, file=replace(made.file, key=Secret.draw()))


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_loops_run_there(inspected: Catalogue, variant: str) -> None:
    items = inspected("nodes")
    scopes = all_of(items, variant)
    program = program_of(items)
    ran = run_on_card(program, scopes)
    assert (ran.code, ran.stdout) == (0, program.native_output), ran.stderr
    assert set(ran.used.values()) == {1} and ran.report["device"]["launches"] == 39
    changed = [any(move.renumber for move in made.file.schedule.moves) for made in scopes]
    assert changed == [variant == "swap" and mark in FIELDS for mark in items]
    assert {mark for mark, new in zip(items, changed, strict=True) if not new} >= set(STAY)


def test_with_other_numbers_records_keep_theirs(inspected: Catalogue) -> None:
    items = inspected("nodes")
    scopes = [for_other_indices(made) for made in all_of(items, "swap")]
    ran = run_on_card(program_of(items), scopes)
    assert (ran.code, ran.stdout) == (0, program_of(items).native_output), ran.stderr
    used = dict(zip(items, ran.used.values(), strict=True))
    # What these write lies in records of their own, in fields that they read of no others. How much of a record the
    # other loops read is a number that lies in data.
    assert {mark for mark, count in used.items() if count} == {"both_ends", "only_read", "one_after_another"}


# Each record leads to itself in the first run, and anywhere in others; what one loop writes, others read by an index.
FIELDS_APART = r"""
#include <stdio.h>
#include <stdlib.h>
enum { N = 300 };
struct node { long x, next; int near[3], up; long seen; };
int main(int argc, char **argv)
{
    unsigned s = argc > 1 ? atoi(argv[1]) : 0;
    struct node *p = calloc(N, sizeof *p), *q = calloc(N, sizeof *q), *r = calloc(N, sizeof *r);
    for (int v = 0; v < N; v++)
        for (int k = 0; k < 4; k++) {
            int other = s ? (int)((s = s * 1664525u + 1013904223u) >> 8) % N : v;
            *(k < 3 ? &p[v].near[k] : &p[v].up) = other;
            q[v] = r[v] = p[v];
            p[v].x = q[v].x = r[v].x = v * 7 % 31;
        }
    for (int t = 0; t < 4; t++) {
        for (int v = 0; v < N; v++) // @apart
            p[v].next += p[p[v].near[0]].x * 3 + p[p[v].near[1]].x - p[p[v].near[2]].x;
        for (int v = 0; v < N; v++)
            p[v].x = (p[v].x + p[v].next) % 1000;
    }
    for (int t = 0; t < 4; t++)
        for (int v = 0; v < N; v++) // @meets
            q[v].x = q[q[v].up].x * 3 + q[v].near[0];
    for (int t = 0; t < 4; t++)
        for (int v = 0; v < N; v++) { // @crosses
            long other = *(long *)((char *)&r[r[v].up] + 4); /* half of one field, half of the next one */
            r[v].next = r[v].x + (other & 15);
        }
    unsigned long sum = 0;
    for (int v = 0; v < N; v++)
        sum = sum * 31 + (unsigned long)(p[v].x + 3 * p[v].next + 5 * q[v].x + 7 * r[v].next);
    printf("%lu\n", sum);
    return 0;
}
"""


def test_other_numbers_lead_to_fields_that_nobody_writes(tmp_path: Path) -> None:
    program = trace(FIELDS_APART, tmp_path, ["0"])
    items: dict[str, Inspected | str] = {mark: program.inspect(mark, look_up=False) for mark in program.lines}
    scopes = all_of(items, "original")
    for seed in ("0", "5", "9"):
        native = run([program.compiled.native, seed], folder=tmp_path, name="native", limits=Limits(HUNG))
        ran = run_on_card(program, scopes, argv=[seed])
        assert (ran.code, ran.stdout) == (0, native.stdout.read_bytes()), ran.stderr
        used = {mark for mark, count in zip(items, ran.used.values(), strict=True) if count}
        assert used == (set(items) if seed == "0" else {"apart"}), ran.stderr


@pytest.mark.parametrize("variant", ["smem", "readonly"])
def test_blocks_keep_no_records_whose_numbers_lie_in_themselves(inspected: Catalogue, variant: str) -> None:
    item = inspected("nodes")["near"]
    assert not isinstance(item, str)
    with pytest.raises(UnsupportedError, match="an index is not read in the order of the jobs"):
        card_scopes([Asked(item, variant, item.random(1))])


def program_of(items: dict[str, Inspected | str]) -> Program:
    return next(item.program for item in items.values() if not isinstance(item, str))


def check(seed: int, folder: Path, found: Counter[str]) -> None:
    """Run each scope of a random program that is understood, in one variant, for its indices and for others."""
    folder.mkdir()
    program = trace(random_records.program(seed), folder)
    for item in understood(program):
        try:
            (made,) = card_scopes([Asked(item, VARIANTS[seed % 3], item.random(seed))])
        except UnsupportedError:
            found["refused"] += 1
            continue
        for scope in (made, for_other_indices(made)):
            ran = run_on_card(program, [scope])
            assert (ran.code, ran.stdout) == (0, program.native_output), (seed, item.mark, ran.stderr)
            used = any(ran.used.values())
            found["runs"] += 1
            found["on card"] += used
            found["new numbers"] += used and any(move.renumber for move in scope.file.schedule.moves)


def test_random_programs(tmp_path: Path, few_jobs_a_thread: None) -> None:
    found = Counter[str]()
    for seed in (3, 6):
        check(seed, tmp_path / str(seed), found)
    assert found["on card"] >= 4 and found["new numbers"] >= 1, found


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 400, 20))
def test_three_hundred_random_programs(first: int, tmp_path: Path, few_jobs_a_thread: None) -> None:
    found = Counter[str]()
    for seed in range(first, first + 20):
        check(seed, tmp_path / str(seed), found)
    assert found["on card"] >= 60 and found["new numbers"] >= 5, found
