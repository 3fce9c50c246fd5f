"""The noise of a problem: its prior, floor, start and update."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from driftglm.objective import Noise


@pytest.mark.parametrize("squares", [0.0, 3.0, 900.0])
@pytest.mark.parametrize("n_rows", [1.0, 40.0])
def test_the_noise_update_maximises_what_it_enters(squares, n_rows):
    noise = Noise(given=None, reference=2.0)

    def minus(log_s2):
        s2 = np.exp(log_s2)
        return 0.5 * n_rows * log_s2 + squares / (2 * s2) - noise.log_prior(np.full(3, s2))

    low, high = np.log(noise.floor), np.log(1e4)
    best = minimize_scalar(minus, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    shares = np.array([0.2, 0.0, 0.8])
    found = noise.update(shares * squares, shares[::-1] * n_rows)
    assert_allclose(found, np.exp(best.x), rtol=1e-5)


def test_the_noise_prior_is_a_scaled_inverse_chi_squared():
    noise = Noise(given=None, reference=2.0, degrees=3.0)
    ratio = noise.log_prior(np.full(2, 0.5)) - noise.log_prior(np.full(2, 1.5))
    expected = -(3 / 2 + 1) * np.log(0.5 / 1.5) - 3 * 2.0 / 2 * (1 / 0.5 - 1 / 1.5)
    assert_allclose(ratio, expected, rtol=1e-14)


def test_the_noise_has_a_floor_and_starts_at_the_variance_of_y():
    noise = Noise(given=None, reference=2.0)
    assert noise.start == 2.0
    assert noise.floor == 2e-3
    assert_array_equal(noise.update(np.zeros(2), np.full(2, 1e9)), 2e-3)


def test_a_given_noise_stays_and_has_no_prior():
    noise = Noise(given=0.5, reference=2.0)
    assert noise.start == 0.5
    assert_array_equal(noise.update(np.array([123.0, 4.0]), np.ones(2)), 0.5)
    assert noise.log_prior(np.full(2, 0.5)) == 0.0
