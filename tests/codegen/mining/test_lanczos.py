"""Lanczos steps against all eigenvectors, and against the power method where one value has several."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.mining.lanczos import top_vector

pytestmark = pytest.mark.quick


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.integers(0, 99), st.floats(1e-7, 0.5))
def test_the_eigenvector(n: int, seed: int, gap: float) -> None:
    draw = np.random.default_rng(seed)
    turned = np.linalg.qr(draw.normal(size=(n, n)))[0]
    values = draw.random(n) * (1 - gap)
    values[0] = 1.0
    if n > 1:
        values[1] = 1 - gap
    matrix = (turned * values) @ turned.T
    start = draw.normal(size=n) + turned[:, 0]
    found, residual, products = top_vector(lambda v: matrix @ v, start, 1e-14, 500)
    assert abs(np.linalg.norm(found) - 1) < 1e-12 and residual <= 1e-14 and products <= 20 * 500
    assert abs(abs(found @ turned[:, 0]) - 1) < 1e-9
    assert np.linalg.norm(found - np.sign(found @ turned[:, 0]) * turned[:, 0]) < 1e-12 / gap + 1e-10


@pytest.mark.parametrize("n", [6, 80])
def test_several_vectors(n: int) -> None:
    """The start's own part in the space of the largest value is where powers of the matrix take it."""
    draw = np.random.default_rng(n)
    values = np.concatenate([[1.0, 1.0, 1.0, 0.99998], draw.random(n - 4) * 0.9])
    start = draw.random(n)
    found, _, _ = top_vector(lambda v: values * v, start, 1e-15, 100)
    expected = np.where(np.arange(n) < 3, start, 0.0)
    assert np.allclose(found, expected / np.linalg.norm(expected), atol=1e-9)


def test_a_bound_on_restarts() -> None:
    values = 1 - np.arange(4000) ** 2 * 1e-8
    found, residual, products = top_vector(lambda v: values * v, np.ones(4000), 1e-15, 2)
    assert residual > 1e-15 and products == 20 + 14 and found.size == 4000
