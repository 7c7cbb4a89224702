"""The table of a kernel's memory instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracecut.ir.gpu.sites import GLOBAL, LOAD, LOOP, READ_ONLY, SHARED, STORE, Sites
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick


def test_rows_of_words() -> None:
    sites = Sites.of([("global", "load", 4, "read-only", "a.c:3"), ("shared", "store", 8), ("global", "atomic", 4)])
    assert sites.space.tolist() == [GLOBAL, SHARED, GLOBAL]
    assert sites.kind.tolist()[:2] == [LOAD, STORE] and sites.hint.tolist() == [READ_ONLY, 0, 0]
    assert sites.words(0) == "load of 4 bytes, global, read-only, at a.c:3"
    assert repr(sites) == "<Sites 3: 2 global, 1 shared>"
    with pytest.raises(ValueError, match="read-only"):
        sites.bytes[0] = 1


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("local", "load", 4), "space of site 0 is 'local'"),
        (("global", "read", 4), "kind of site 0"),
        (("global", "load", 3), r"bytes\[0\] = 3"),
        (("global", "load", 4, "nc"), "hint of site 0"),
        (("shared", "load", 4, "evict-first"), "site 0 is in shared memory"),
        (("shared", "load", 4, "compare-and-swap loop"), "site 0 has a loop"),
        (("global", "atomic", 4, "compare-and-swap loop"), "site 0 has a loop"),
        (("global", "store", 4, "read-only"), "site 0 is read-only and a store"),
    ],
)
def test_odd_rows_are_refused(row: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Sites.of([row])


def test_odd_columns_are_refused() -> None:
    one = np.zeros(1, np.uint8)
    with pytest.raises(ArgumentError, match="different lengths"):
        Sites(one, one, one + 4, one, ())
    with pytest.raises(ArgumentError, match=r"hint\[0\] = 4"):
        Sites(one, one, one + 4, one + LOOP + 1, ("",))
