"""What an evaluation knows: not what is not trusted, not what cannot be read, and again what it has forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir.loops.expressions import Expr
from tracecut.tracer.legality.evaluation import evaluate
from tracecut.tracer.legality.evaluation.evaluate import Evaluation

from .test_evaluate import int32, setting

pytestmark = pytest.mark.quick


def test_what_is_not_trusted_is_not_known() -> None:
    here = setting()
    expr = int32(here.pool, "%col", 0x8000, here.pool.counter(0))
    evaluation = Evaluation(here.nest, here.memory, here.lives, distrusted=frozenset({"%col"}))
    assert not np.any(evaluation.at(expr, 0).known)
    assert evaluation.read == {}


def test_an_inner_loop_over_what_is_not_trusted_has_no_domain() -> None:
    here = setting()
    evaluation = Evaluation(here.nest, here.memory, here.lives, distrusted=frozenset({"%end"}))
    assert evaluation.domain(0) is not None
    assert evaluation.domain(1) is None


def test_one_iteration_of_a_scope_has_no_number() -> None:
    here = setting()
    evaluation = Evaluation(here.nest, here.memory, here.lives, single=True)
    domain = evaluation.domain(0)
    assert domain is not None and domain.size == 1
    assert not np.any(evaluation.at(here.pool.counter(0), 0).known)
    assert evaluation.domain(1) is None  # which row it is, is not known


def test_memory_that_can_not_be_read_is_noted() -> None:
    """The program may read it: a value that is not known must not pass for one that is never loaded."""
    here = setting()
    evaluation = here.evaluation()
    found = evaluation.at(int32(here.pool, "%dark", 0x9000, here.pool.counter(0)), 0)
    assert not np.any(found.known)
    assert evaluation.hidden == {"%dark"}
    beyond = here.evaluation()
    beyond.at(int32(here.pool, "%far", 0x8000, here.pool.op("mul", "i64", here.pool.counter(0), here.pool.const(7))), 0)
    assert beyond.hidden == set()  # outside of every object: reading there would be an error of the program


def test_grounds_are_what_a_verdict_stands_on() -> None:
    here = setting()
    evaluation = here.evaluation()
    assert evaluation.domain(1) is not None
    names = {str(node.data[0]) for node in evaluation.grounds()}
    assert names == {"n", "%start", "%end", "base1000"}


@pytest.mark.parametrize("doubted", ["", "%value"])
def test_what_is_forgotten_is_made_again(monkeypatch: pytest.MonkeyPatch, doubted: str) -> None:
    """The same, also where a value is not believed, which is asked when it is loaded for the first time alone."""
    monkeypatch.setattr(evaluate, "LONG", 2)
    here, asked = setting(), list[str]()

    def doubts(name: str, expr: Expr) -> str:
        asked.append(name)
        return "changed" if name == doubted else ""

    evaluation = Evaluation(here.nest, here.memory, here.lives, doubts=doubts)
    value = int32(here.pool, "%value", 0x8000, here.pool.counter(0))
    tried = [(value, 0), (here.pool.op("add", "i64", here.pool.counter(1), value), 1), (here.pool.counter(1), 1)]
    found = [evaluation.at(*item) for item in tried]
    jobs = evaluation.jobs(1, 0)
    before, domains = list(asked), dict(evaluation._domains)
    evaluation.forget()
    assert not any(values.data.size > 1 for _, values in evaluation._values.values())
    for values, item in zip(found, tried, strict=True):
        again = evaluation.at(*item)
        assert np.array_equal(values.known, again.known) and np.array_equal(values.data, again.data)
        assert np.any(again.known) == (not doubted or item[0].kind == "counter")
    assert np.array_equal(jobs, evaluation.jobs(1, 0))
    assert asked == before and evaluation._domains == domains
