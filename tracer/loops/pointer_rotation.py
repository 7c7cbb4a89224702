"""Pointers that are permuted from one iteration of a scope to the next: two buffers that swap, three that rotate.

The pointers of such a set (a *web*) rotate together: the value of one determines all others. A *state* gives the
rotation of each web; it does not change within one execution of a region, so accesses of different states never
conflict there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tracecut.ir.loops.expressions import Expr, Pool, rewritten

State = Mapping[str, int]
Choice = tuple[dict[Expr, Expr], dict[str, int]]
MAX_CHOICES = 16


class HasState(Protocol):
    """Something that exists in some states only."""

    @property
    def state(self) -> State: ...


Item = TypeVar("Item", bound=HasState)


def choices(address: Expr) -> list[Choice]:
    """Every way to resolve the selects, merges and webs of an address: (node → its value, web → its state).

    One way that resolves nothing when there are more than `MAX_CHOICES`.
    """
    options: list[list[Choice]] = []
    webs: dict[str, list[Expr]] = {}
    for node in address.walk():
        if node.kind == "state":
            webs.setdefault(str(node.data[0]), []).append(node)
        elif node.kind in ("choice", "any"):
            arms = node.args[1:] if node.kind == "choice" else node.args
            options.append([({node: arm}, {}) for arm in arms])
    for web, nodes in webs.items():
        options.append([({n: n.args[t] for n in nodes}, {web: t}) for t in range(len(nodes[0].args))])
    total = 1
    for ways in options:
        total *= len(ways)
    if total > MAX_CHOICES:
        return [({}, {})]
    found = []
    for combination in itertools.product(*options):
        chosen: dict[Expr, Expr] = {}
        state: dict[str, int] = {}
        for values, stands in combination:
            chosen |= values
            state |= stands
        found.append((chosen, state))
    return found


def in_each_state(expr: Expr, pool: Pool) -> list[Expr]:
    """What an expression is in each state of its webs: itself where nothing in it changes places, or too much does."""
    webs: dict[str, list[Expr]] = {}
    for node in expr.walk() if expr.has("state") else ():
        if node.kind == "state":
            webs.setdefault(str(node.data[0]), []).append(node)
    turns = [range(len(nodes[0].args)) for nodes in webs.values()]
    if not webs or math.prod(map(len, turns)) > MAX_CHOICES:
        return [expr]
    found = []
    for state in itertools.product(*turns):
        arms = {node: node.args[turn] for nodes, turn in zip(webs.values(), state, strict=True) for node in nodes}
        found.append(substituted(expr, arms, pool))
    return found


def substituted(expr: Expr, chosen: Mapping[Expr, Expr], pool: Pool) -> Expr:
    """`expr` with every resolved choice replaced by what was chosen."""
    if not chosen:
        return expr
    return rewritten(expr, pool, lambda node, made: made[id(chosen[node])] if node in chosen else None)


def in_all_states(expr: Expr, pool: Pool, number: Callable[[Expr], int | None]) -> int | None:
    """The number that an expression is in all states, None where there is no such: the length of equal buffers."""
    each = in_each_state(expr, pool)
    found = {number(one) for one in each if one is not expr}
    return found.pop() if len(found) == 1 else None


def turns_in(node: Expr, blocks: Collection[str]) -> bool:
    """Whether a node is a pointer that changes places where a loop of these blocks goes on."""
    return node.kind == "state" and str(node.data[0]).rpartition(":")[0] in blocks


def split(items: Iterable[Item]) -> list[list[Item]]:
    """The items of each state that there is: one list of all of them where nothing changes places."""
    every = list(items)
    webs: dict[str, set[int]] = {}
    for item in every:
        for web, number in item.state.items():
            webs.setdefault(web, set()).add(number)
    states = [dict(zip(webs, numbers, strict=True)) for numbers in itertools.product(*map(sorted, webs.values()))]
    return [[item for item in every if agree(item.state, state)] for state in states]


def agree(first: State, second: State) -> bool:
    """Whether two states can occur at the same time."""
    return all(second.get(web, number) == number for web, number in first.items())


def rotation(names: Sequence[str], after: Mapping[str, str], start: str) -> list[str]:
    """Whose first value a pointer has after 0, 1, 2, … iterations, when each takes over that of `after[it]`.

    Empty when the pointers do not come back to where they were.
    """
    found = [start]
    while (following := after.get(found[-1])) != start:
        if following is None or following in found or len(found) > len(names):
            return []
        found.append(following)
    return found
