"""Which reason is told of a scope that was tried in several variants."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.tuning import worker
from tracecut.support.errors import ArtefactError, UnsupportedError

pytestmark = pytest.mark.quick

WHY: dict[tuple[int, tuple[str, ...]], Exception] = {
    (3, ()): UnsupportedError("the loop contains a call to malloc"),
    (3, ("rare",)): UnsupportedError("the loop carries a value across iterations"),
    (3, ("rare", "rarer")): ArtefactError("what is left cannot be described"),
    (7, ()): UnsupportedError("iterations 0 and 1 both touch x"),
}


def test_it_is_that_of_the_last_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exits are around what stopped those before; one that cannot be described says nothing of the program."""

    def refuse(captured: Any, scope: int, exits: tuple[str, ...], wanted: Any) -> None:
        raise WHY[scope, exits]

    monkeypatch.setattr(worker, "inspect_variant", refuse)
    monkeypatch.setattr(worker.Worker, "_held", lambda self: 0)
    made = worker.Worker.__new__(worker.Worker)
    made.region, made.entries, made.result = 7, {3: 1, 7: 60}, {}
    made.captured: Any = SimpleNamespace(capture=SimpleNamespace(values={3: (), 7: ()}))
    exits = {"3": [[[], 0], [["rare"], 2], [["rare", "rarer"], 3]]}
    made.spec = {"scopes": [3, 7], "exits": exits, "renumber": True, "exact": False, "memory": 1}
    assert made._choose_scope() is None
    assert made.result["scopes_refused"] == {"3": str(WHY[3, ("rare",)]), "7": str(WHY[7, ()])}
    assert made.result["reason"] == str(WHY[7, ()])
