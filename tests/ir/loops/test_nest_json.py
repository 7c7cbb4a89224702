"""Descriptions of loops as plain values: they come back the same, and damage is named."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.nest import Effect, Fill, Nest, NestLoop, Put, Read, Reduce, Repeat, Site, Write
from tracecut.ir.loops.nest_json import from_json, to_json
from tracecut.ir.loops.path_conditions import Condition
from tracecut.support.errors import ArtefactError
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import canonical

pytestmark = pytest.mark.quick

SOURCE = """
#include <string.h>
double held[64];
void all(int n, const int *start, const int *column, double *x, double *y, double *z, int *tally,
         double *const *scale)
{
    double last = 0, most = 0;
    for (int t = 0; t < n; t++) {
        double local[8];
        memset(local, 0, sizeof local);
        for (int i = 0; i < 60; i++) {
            double s = 0;
            for (int j = start[i]; j < start[i + 1]; j++) {
                s += x[column[j]] * held[i] * **scale;
                local[column[j] & 7] += s;
            }
            if (s > 3 || column[i] == 2) {
                y[column[i]] -= s;
                tally[column[i] & 15] |= i;
            }
            most = s > most ? s : most;
        }
        memcpy(z + 8 * t, local, sizeof local);
        double *swap = x; x = y; y = swap;
        last = local[3];
    }
    z[0] = last + most;
}
"""


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("nest")
    (folder / "all.c").write_text(SOURCE)
    return Analysis(canonical([to_ir(folder / "all.c", Flags(), folder, canonical=True)]))


def described_reach(reach: Condition) -> Any:
    return None if reach is None else sorted(sorted((str(expr), wanted) for expr, wanted in term) for term in reach)


def described_loop(loop: NestLoop) -> Any:
    plain = [loop.id, loop.parent, loop.header, loop.depth, loop.place, str(loop.trip), loop.why, loop.instructions]
    plain += [described_reach(loop.reach), loop.obstacles, loop.counter_data]
    carried = [(c.name, c.type, c.kind, c.operator, c.place) for c in loop.carried]
    return plain, carried, [(r.phi, r.value, r.type, r.kind) for r in loop.results]


def described_site(site: Site) -> Any:
    plain = [
        site.key,
        type(site.effect),
        site.effect,
        site.type,
        site.size,
        str(site.address),
        str(site.length),
        site.loop,
    ]
    return [*plain, described_reach(site.reach), site.place, site.private]


def described(nest: Nest) -> Any:
    """Everything in a nest as plain values, expressions as text."""
    return (
        nest.function,
        nest.root,
        dict(nest.index_data),
        dict(nest.stack),
        sorted(nest.signed),
        nest.lengths,
        [(str(pointer), size) for pointer, size in nest.lent],
        {name: str(expr) for name, expr in nest.values.items()},
        [described_loop(loop) for loop in nest.loops.values()],
        [described_site(site) for site in nest.sites],
    )


def test_every_loop_comes_back(analysis: Analysis) -> None:
    kinds, lent = set(), set()
    for number in range(analysis.n_loops):
        nest = analysis.nest(number)
        found = from_json(json.loads(json.dumps(to_json(nest))))
        assert described(found) == described(nest)
        assert found.lives() == nest.lives() and found.deciding() == nest.deciding()
        kinds |= {site.kind for site in nest.sites}
        lent |= {size for _, size in nest.lent}
    assert kinds == {"read", "write", "reduce"} and lent == {8}
    assert to_json(from_json(to_json(analysis.nest(0)))) == to_json(analysis.nest(0))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Path of every value in nested lists and objects."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from places(inner, (*path, place))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_is_named_or_harmless(analysis: Analysis, data: st.DataObject) -> None:
    """One value is replaced or left out: an ArtefactError, or a description that can be written again."""
    whole = to_json(analysis.nest(data.draw(st.integers(0, analysis.n_loops - 1))))
    damaged: Any = json.loads(json.dumps(whole))
    paths = list(places(damaged))[1:]
    path = paths[data.draw(st.integers(0, len(paths) - 1))]
    home = damaged
    for key in path[:-1]:
        home = home[key]
    junk = [None, -1, 10**30, 0.5, "", "x", [], [[]], {}, True, float("nan"), [None, 3]]
    if data.draw(st.booleans()):
        del home[path[-1]]
    else:
        home[path[-1]] = data.draw(st.sampled_from(junk))
    try:
        found = from_json(damaged)
    except ArtefactError as error:
        assert "damaged" in str(error)
    else:
        to_json(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["loops"].clear(), "a loop is missing"),
        (lambda d: d["loops"][0].update(parent=0), "has no place in the nest"),
        (lambda d: d["loops"].reverse(), "has no place in the nest|a loop is missing"),
        (lambda d: d["sites"][0].__setitem__(7, 99), "a loop is missing"),
        (lambda d: d["sites"][0].__setitem__(1, "peek"), "'peek' is not a valid AccessKind"),
        (lambda d: d["sites"][0].__setitem__(4, -8), "the access .* has a negative size"),
        (lambda d: d["sites"][0].__setitem__(5, len(d["nodes"])), "there is no expression"),
        (lambda d: d["sites"][0].__setitem__(5, -1), "there is no expression"),
        (lambda d: d["loops"][0].update(trip=0), "has no trip count"),
        (lambda d: d.pop("nodes"), "nodes"),
    ],
    ids=range(10),
)
def test_what_does_not_fit_together(analysis: Analysis, change: Any, message: str) -> None:
    data = copy.deepcopy(to_json(analysis.nest(0)))
    assert len(data["loops"]) > 1
    change(data)
    with pytest.raises(ArtefactError, match=message):
        from_json(data)


@pytest.mark.parametrize(
    "effect",
    [
        Read(),
        Write(),
        Fill(),
        Put("7"),
        Put("%x", ()),
        Put("%x", ("%y", "%z")),
        Reduce("fadd", "%old", ("store:b:1",)),
        Repeat("(xor i8 _, 1)", "%old", 7, ("store:b:1",)),
    ],
    ids=str,
)
def test_what_an_access_does_comes_back(analysis: Analysis, effect: Effect) -> None:
    nest = analysis.nest(0)
    changed = replace(nest, sites=(replace(nest.sites[0], effect=effect), *nest.sites[1:]))
    found = from_json(to_json(changed)).sites[0].effect
    assert (type(found), found) == (type(effect), effect)
