"""The rate of the paper's priors: checked, and estimated from paths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.exceptions import DataError
from driftglm.priors import Exact, PathStats, Variational
from driftglm.priors import truncated_exponential as texp

BOUNDARIES = pytest.mark.parametrize("boundary", ["pinned", "stationary"])


@pytest.mark.parametrize("rate", [np.nan, np.inf, "fit"])
@pytest.mark.parametrize("prior", [Exact, Variational])
def test_bad_rates_are_refused(prior, rate):
    with pytest.raises(DataError, match=r"rate=.*pass a number"):
        prior(rate=rate)


@BOUNDARIES
def test_estimated_rate_runs_to_the_limit_on_pure_cases(boundary, rng):
    """Walks want as much autocorrelation as there is, noise as little: no maximum in between."""
    noise = rng.normal(size=(200, 10))
    prior = Exact(rate="estimate", boundary=boundary)
    for paths, rate in ((np.cumsum(noise, axis=1), 100.0), (noise, -100.0)):
        assert prior.with_estimated_rate((PathStats.of(paths), 10, 1)).rate == rate
        expected = Exact(rate=rate, boundary=boundary).log_density(paths[:5])
        with_zero = np.vstack([paths, np.zeros((3, 10))])
        assert_allclose(prior.log_density(with_zero)[:5], expected, rtol=1e-12)


@BOUNDARIES
def test_estimated_rate_between_the_limits_balances_prior_and_posterior(boundary, rng):
    """Stationarity: E[alpha | tau] under the prior is the mean of E[alpha | path, tau]."""
    paths = rng.normal(size=(200, 10))
    for t in range(1, 10):
        paths[:, t] = 0.5 * paths[:, t - 1] + np.sqrt(0.75) * paths[:, t]
    prior = Exact(rate="estimate", boundary=boundary)
    fitted = prior.with_estimated_rate((PathStats.of(paths), 10, 1))
    assert -20 < fitted.rate < 60
    # The maximum is located to 1e-6 in theory, 1e-4 or so in floating point; the mean's slope
    # with respect to tau is below C^2/12.
    assert_allclose(texp.mean(fitted.rate), fitted.expectations(paths)[2].mean(), atol=1e-5)


@pytest.mark.parametrize("prior", [Exact(rate="estimate"), Variational(rate="estimate")])
def test_nothing_to_estimate_keeps_the_rate(prior):
    assert prior.tau == 1.0
    assert prior.with_estimated_rate((PathStats.of(np.array([[2.0], [1.0]])), 1, 1)).rate == 1.0
    assert prior.with_estimated_rate((PathStats.of(np.zeros((2, 5))), 5, 1)).rate == 1.0
