"""Mean and variance of eta for new rows, against the dense formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm.fitting.coefficients import Step
from driftglm.fitting.outcome import Forecaster
from driftglm.fitting.prediction import eta_means, eta_moments


class Given:
    """A fit whose steps are given."""

    n_timesteps = 2

    def __init__(self, rng, *, posterior):
        self.posterior = posterior
        self.steps = [
            Step(
                rng.normal(size=3),
                float(rng.normal()),
                rng.random(3),
                0.3,
                rng.normal(size=3),
                rng.normal(size=(3, 2)),
            )
            for _ in range(2)
        ]

    def at(self, code):
        return self.steps[code]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_moments_are_those_of_rows_measured_from_the_center(rng, kind):
    fit, X, codes = (
        Given(rng, posterior=True),
        rng.normal(size=(6, 3)),
        np.array([1, 0, 0, 1, 1, 0]),
    )
    forecaster = Forecaster("one", (fit,), np.ones(2))
    mean, variance = eta_moments(forecaster, kind(X), codes, hold=False)
    assert_allclose(mean, eta_means(forecaster, kind(X), codes, hold=False))
    for n, code in enumerate(codes):
        step = fit.at(code)
        away = X[n] - step.center
        assert_allclose(mean[n, 0], X[n] @ step.coef + step.intercept)
        covariance = np.diag(step.coef_variance) + step.joint @ step.joint.T
        assert_allclose(variance[n, 0], away @ covariance @ away + step.intercept_variance)


def test_a_mode_is_certain_and_one_step_may_serve_all_rows(rng):
    fit, X = Given(rng, posterior=False), rng.normal(size=(4, 3))
    forecaster = Forecaster("one", (fit,), np.ones(2))
    mean, variance = eta_moments(forecaster, X, 1, hold=False)
    assert not variance.any()
    assert_allclose(mean, eta_means(forecaster, X, np.ones(4, int), hold=False))
