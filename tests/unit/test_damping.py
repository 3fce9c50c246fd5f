"""Steps part of the way, in curvature and linear term."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.solvers.damping import damp_inplace, damped

WAYS = pytest.mark.parametrize("damp", [damp_inplace, damp_inplace.py_func])


@WAYS
@pytest.mark.parametrize("damping", [1e-3, 0.25, 1.0])
def test_a_step_lies_between_old_and_new(rng, damp, damping):
    h, old_h = rng.gamma(1.0, size=(2, 5))
    b, old_b, point = rng.normal(size=(3, 5))
    new_h, new_b = h.copy(), b.copy()
    damp(new_h, new_b, (old_h, old_b, point), 2.0, damping)
    assert_allclose(new_h, (1 - damping) * old_h + damping * h, rtol=1e-12)
    assert_allclose(new_b, (1 - damping) * old_b + damping * b, rtol=1e-12, atol=1e-14)


@WAYS
def test_a_first_step_stays_close_to_its_point(rng, damp):
    """Under a flat prior the mean goes `damping` of the way."""
    h, b, point = rng.gamma(1.0, size=5), rng.normal(size=5), rng.normal(size=5)
    unit, damping, none = 2.0, 0.25, np.zeros(5)
    new_h, new_b = h.copy(), b.copy()
    damp(new_h, new_b, (none, none, point), unit, damping)
    assert_allclose(new_h, h / damping, rtol=1e-12)
    start = unit * point
    assert_allclose(new_b / new_h - start, damping * (b / h - start), rtol=1e-9)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_diagonal_matrix_moves_as_its_diagonal(rng, fresh):
    h, old_h = rng.gamma(1.0, size=(2, 4))
    b, old_b, point = rng.normal(size=(3, 4))
    if fresh:
        old_h, old_b = np.zeros((2, 4))
    full, linear = damped(np.diag(h), b, (np.diag(old_h), old_b, point), 0.3)
    damp_inplace(h, b, (old_h, old_b, point), 1.0, 0.3)
    assert_array_equal(full, np.diag(h))
    assert_allclose(linear, b, rtol=1e-14)
