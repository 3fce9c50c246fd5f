"""Forecasts without a step, all steps at once, are what leaving them out one by one gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.priors.left_out import moved_without_steps_inplace
from driftglm.priors.mixture import Components, with_empty_steps
from driftglm.priors.offset import last_step_inplace

N_STEPS = 9
COMPONENTS = {
    "all kinds": ([0.0, 0.7, 0.0, 0.3, 0.3], [0.0, 0.0, 0.5, 0.5, 0.02], [0, 0, 0.9, 0.9, 0.3]),
    "constant": ([0.0, 2.0], [0.0, 0.0], [0.0, 0.0]),
    "not correlated": ([0.1], [1.5], [0.0]),
}


def weights(rng, count):
    """Probabilities of components, one of which is not there."""
    phi = rng.dirichlet(np.ones(count))
    phi[-1] *= count == 1
    return phi / phi.sum()


@pytest.mark.parametrize("name", COMPONENTS)
@pytest.mark.parametrize("boundary", ["stationary", "pinned"])
def test_all_steps_at_once_agree_with_one_by_one(rng, name, boundary):
    static, dynamic, rho = (np.array(each, dtype=float) for each in COMPONENTS[name])
    tables = Components(static, dynamic, rho, boundary, N_STEPS + 1).tables()
    h, b = rng.gamma(1.0, 3.0, N_STEPS), rng.normal(0.0, 3.0, N_STEPS)
    h[4] = b[4] = 0.0  # a step without rows
    phi, found = weights(rng, static.size), np.empty(N_STEPS)
    moved_without_steps_inplace(*with_empty_steps(h, b, 1), phi, tables, found)

    def forecast(keep):
        out = np.empty((1, 2))
        last_step_inplace((h * keep)[None], (b * keep)[None], np.empty(0), phi[None], tables, out)
        return out[0, 0]

    whole = forecast(np.ones(N_STEPS))
    expected = [forecast(np.arange(N_STEPS) != t) - whole for t in range(N_STEPS)]
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert found[4] == 0.0


def test_a_single_number_without_a_step_is_the_shrunken_mean_of_the_others():
    """By hand: of a constant with variance v the mean is sum b / (1 / v + sum h)."""
    tables = Components(np.array([2.0]), np.zeros(1), np.zeros(1), "stationary", 4).tables()
    h, b, found = np.array([1.0, 4.0, 2.0]), np.array([3.0, -1.0, 0.5]), np.empty(3)
    moved_without_steps_inplace(*with_empty_steps(h, b, 1), np.ones(1), tables, found)
    expected = [
        (b.sum() - b[t]) / (0.5 + h.sum() - h[t]) - b.sum() / (0.5 + h.sum()) for t in range(3)
    ]
    assert_allclose(found, expected, rtol=1e-12)
