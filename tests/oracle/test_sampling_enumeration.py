"""Draws against the exact posterior, a sum over every combination of components.

Three correlated features, six components, five steps, known noise: given the components, y is
normal; the prior of the components with their weights integrated out is Dirichlet-multinomial.
"""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from driftglm import DriftRegressor, Sampling
from driftglm.fitting.sampled import SampledFit
from driftglm.priors import Learned
from driftglm.priors.weights import prior_counts, start_weights

N_STEPS, N_ROWS, NOISE = 5, 6, 0.7
PRIOR = Learned(shares=(0.5, 1.0), correlations=(0.8,), n_scales=3, n_directions=0)


def world(seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(N_STEPS), N_ROWS)
    X = rng.normal(size=(codes.size, 3))
    X[:, 1] = 0.85 * X[:, 0] + np.sqrt(1 - 0.85**2) * X[:, 1]
    walk = 0.5 * np.cumsum(rng.normal(size=N_STEPS))
    y = X[:, 0] * walk[codes] + 0.4 * X[:, 2] + np.sqrt(NOISE) * rng.normal(size=codes.size)
    return X, y, codes


def covariance(static, dynamic, rho, unit):
    steps = np.arange(N_STEPS)
    return (static + dynamic * rho ** np.abs(steps[:, None] - steps)) / unit**2


def exact(fit, X, y, codes, added):
    """Posterior means (3, T) and component probabilities (3, K), by enumeration."""
    components, unit = fit.components, fit.unit
    n = components.count
    law = components.static, components.dynamic, components.rho
    each = [[covariance(*[a[k] for a in law], unit[i]) for k in range(n)] for i in range(3)]
    wide = [[one[np.ix_(codes, codes)] for one in row] for row in each]
    total, means, phi = [], [], []
    for ks in itertools.product(range(n), repeat=3):
        counts = np.bincount(ks, minlength=n) + added
        marginal = NOISE * np.eye(y.size)
        for i, k in enumerate(ks):
            marginal += np.outer(X[:, i], X[:, i]) * wide[i][k]
        root = np.linalg.cholesky(marginal)
        z = np.linalg.solve(root, y)
        total.append(gammaln(counts).sum() - np.log(np.diag(root)).sum() - 0.5 * z @ z)
        solved = np.linalg.solve(marginal, y)
        means.append([each[i][k][:, codes] @ (X[:, i] * solved) for i, k in enumerate(ks)])
        phi.append(np.eye(n)[list(ks)])
    weights = np.exp(np.array(total) - max(total))
    weights /= weights.sum()
    return np.tensordot(weights, means, 1), np.tensordot(weights, phi, 1)


@pytest.mark.parametrize("seed", [0, 1])
def test_means_and_component_probabilities_are_those_of_the_enumeration(seed):
    X, y, codes = world(seed)
    model = DriftRegressor(
        prior=PRIOR,
        noise=NOISE,
        fit_intercept=False,
        seasonality=None,
        extrapolate="forecast",
        inference=Sampling(draws=6000, warmup=200, chains=2),
    ).fit(X, y, time=codes)
    fit = model._fits[0]
    assert isinstance(fit, SampledFit)
    assert fit.components.count == 6
    zero = fit.components.is_zero
    pi = start_weights(PRIOR, fit.components, np.zeros(1, bool))
    means, phi = exact(fit, X, y, codes, prior_counts(PRIOR, fit.components, pi)[0])
    draws = fit.path_draws()
    error = draws.std(axis=(0, 1)).T / np.sqrt(np.nanmin(fit.agreement[1]))
    assert (np.abs(fit.beta - means) < 4.5 * error + 1e-12).all()
    assert_allclose(fit.phi, phi, atol=0.02)
    assert_allclose(model.inclusion_probability_, 1 - phi[:, zero].sum(axis=1), atol=0.02)
    # The factorised posterior is not the answer, so that the test can tell.
    mean_field = DriftRegressor(
        prior=PRIOR, noise=NOISE, fit_intercept=False, seasonality=None, extrapolate="forecast"
    ).fit(X, y, time=codes)
    assert np.abs(mean_field._fits[0].phi - phi).max() > 0.03
