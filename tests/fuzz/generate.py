"""Random kernels: how often each kind of statement is drawn, and how they are put together."""

from __future__ import annotations

import random
from collections.abc import Sequence

from . import bits, carried, complex_numbers, cut_rows, inner, loaded_bounds, rounds, searches, told_pieces, updates
from .draft import Draft
from .emit import program
from .freed_steps import made_anew
from .loops import LOOPS
from .model import Kernel, Suite
from .steps import STEPS
from .sweeps import calls
from .twists import Statement, alias, chosen_pointer, conditional, early_exit

STATEMENTS: dict[Statement, float] = {
    updates.reduce_sum: 15,
    updates.reduce_other: 14,
    updates.edge: 9,
    updates.gather: 12,
    updates.scatter: 8,
    updates.gather_scatter: 5,
    updates.in_place: 5,
    updates.stream_out: 3,
    updates.histogram: 3,
    updates.one_place: 5,
    updates.index_stored: 4,
    updates.index_compared: 3,
    updates.index_rewritten: 2,
    updates.swap: 2,
    updates.same_value: 1,
    updates.mixed_operators: 4,
    updates.circular_sum: 3,
    updates.observed_sum: 3,
    updates.first_visit: 2,
    updates.damped: 3,
    updates.reversed_difference: 3,
    updates.own_test: 2,
    updates.relax: 2,
    updates.through_bytes: 2,
    chosen_pointer: 4,
    carried.register_sum: 6,
    carried.register_other: 10,
    carried.register_damped: 2,
    carried.last_value: 3,
    carried.previous_value: 2,
    carried.prefix_sum: 2,
    carried.compaction: 2,
    carried.argmin: 1,
    carried.chase: 2,
    carried.recurrence: 5,
    carried.running_sum: 2,
    carried.mirror: 2,
    inner.csr_gather: 5,
    inner.csr_scatter: 4,
    inner.gauss_seidel: 2,
    inner.fixed_gather: 4,
    inner.fixed_scatter: 4,
    inner.short_list: 2,
    inner.triangle: 2,
    inner.block: 4,
    inner.copy_block: 2,
    inner.local_array: 3,
    inner.scratch: 2,
    bits.masked: 4,
    bits.masked_target: 2,
    bits.shifted: 3,
    bits.bits_bound: 3,
    bits.index_stop: 2,
    bits.start_bound: 2,
}

# Drawn beside those: a kernel without one of them is what it always was.
SEARCHES: dict[Statement, float] = {
    searches.searched_gather: 26,
    searches.searched_place: 14,
    searches.searched_target: 14,
    searches.moving_target: 14,
    searches.moving_search: 7,
    searches.continued_search: 4,
    searches.descent: 25,
    searches.elimination: 20,
}
SHARE = 0.07  # of kernels with a search

# Drawn beside those, too, and all else as without them.
SHAPES: dict[Statement, float] = {
    told_pieces.gather: 20,
    told_pieces.scatter: 10,
    told_pieces.update: 8,
    told_pieces.rewritten: 8,
    complex_numbers.product: 6,
    complex_numbers.spread: 8,
    complex_numbers.edge: 5,
    complex_numbers.neighbours: 5,
    complex_numbers.change: 8,
    complex_numbers.total: 3,
    loaded_bounds.loaded: 14,
    loaded_bounds.loaded_inside: 6,
    cut_rows.written: 12,
    cut_rows.used: 10,
    cut_rows.picked: 10,
    cut_rows.assembled: 12,
    cut_rows.compared: 8,
    cut_rows.lengths: 24,
    cut_rows.ends: 16,
    cut_rows.sought: 24,
}
# Drawn beside those, too.
ROUNDS: dict[Statement, float] = {
    rounds.sums: 22,
    rounds.states: 20,
    rounds.sets: 16,
    rounds.rows: 18,
    rounds.roots: 8,
    rounds.moves: 16,
}
ROUNDED = 0.7  # times the share of kernels with a shape: the share of those with rounds
SHAPED = 0.06  # of kernels with such a shape, and of those with one of STEPS
ANEW = 0.4  # times that: the share of kernels around which each step makes an array anew


def generate(seed: int, kernels: int = 100, *, shaped: float = SHAPED) -> Suite:
    """A program of `kernels` kernels. Kernel k depends on the seed, on k and on `shaped` only.

    `shaped`: share of kernels with one of SHAPES, and of those with one of STEPS around.
    """
    return suite_of([_kernel(seed, number, shaped) for number in range(kernels)], seed)


def shapes_suite(seed: int, kernels: int = 100) -> Suite:
    """Kernels that each have one of SHAPES, and one of STEPS around if they are called again and again."""
    return generate(seed, kernels, shaped=1)


def suite_of(kernels: Sequence[Kernel], seed: int = 0) -> Suite:
    """The program that runs these kernels: some of a generated one, or such as were written by hand."""
    source, lines = program(kernels)
    return Suite(seed, tuple(kernels), source, lines)


def _kernel(seed: int, number: int, shaped: float) -> Kernel:
    d = Draft(seed, number)
    d.shape(d.pick(LOOPS)(d))
    for _ in range(d.pick({1: 57, 2: 33, 3: 10})):
        statement = d.pick(STATEMENTS)
        if d.chance(0.25):
            conditional(d, statement, d.pick(STATEMENTS) if d.chance(0.15) else None)
        else:
            statement(d)
            d.close()
    if random.Random(f"searches/{seed}/{number}").random() < SHARE:
        d.pick(SEARCHES)(d)
        d.close()
    shapes = random.Random(f"shapes/{seed}/{number}")
    if shapes.random() < shaped:
        usual, d.draw = d.draw, shapes
        d.pick(SHAPES)(d)
        d.close()
        d.draw = usual
    more = random.Random(f"rounds/{seed}/{number}")
    if more.random() < shaped * ROUNDED:
        usual, d.draw = d.draw, more
        d.pick(ROUNDS)(d)
        d.close()
        d.draw = usual
    if d.chance(0.04):
        early_exit(d)
    if d.tangled and d.chance(0.6):
        alias(d)
    calls(d)
    if shapes.random() < shaped and d.sweeps > 1:
        d.draw = shapes
        d.pick(STEPS)(d)
    anew = random.Random(f"anew/{seed}/{number}")
    if anew.random() < shaped * ANEW and d.sweeps > 1:
        d.draw = anew
        made_anew(d)
    return d.finish()
