"""`optimize --method`: each method by its name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tracecut.partition import METHODS

from .test_main import GATHER, LINE

BLIND = [name for name, method in METHODS.items() if "coords" not in method.uses]


# One of each kind; the others are behind the marker.
SOON = {"degree-z", "spac", "expansion", "multilevel", "parcubed-det", "wb-libra", "powergraph", "metis", "kaminpar"}


@pytest.mark.parametrize(
    "method",
    [
        name if name in SOON else pytest.param(name, marks=pytest.mark.long)
        for name in BLIND
        if name not in ("rcm", "original")
    ],
)
def test_every_method(method: str, shell: Any) -> None:
    """Each is tried on the one hot loop, under its name, and gives the program's results."""
    done = shell(
        "optimize", shell.source(GATHER).name, "-o", "out", "--json", "--method", method, "--loop-budget", "0.1"
    )
    assert (done.code, done.err) == (0, "")
    region = next(region for region in json.loads(done.out)["regions"] if region["line"] == LINE)
    assert [candidate["method"] for candidate in region["candidates"]] == ["original", method]
    original, tried = (candidate["note"] for candidate in region["candidates"])
    assert original == ""
    # One cluster needs no library: where the loop's data fit a cache, absent ones are not missed.
    assert tried == "" or ("is not installed" in tried and not METHODS[method].installed)
    assert region["class"] in ("parallel", "reduction") and region["identity_equal"] is not False
    assert shell("run", "out").code == 0


@pytest.mark.parametrize("method", [name for name in METHODS if name not in BLIND])
def test_a_method_that_needs_coordinates_is_refused(method: str, shell: Any) -> None:
    done = shell("optimize", shell.source(GATHER).name, "-o", "out", "--method", method)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"tracecut: --method {method}: this method needs coordinates of the data")
