"""Families with a dispersion against statsmodels, scipy and a search of our own objective."""

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import betabinom, gamma, nbinom, norm

from driftglm import DriftGLM
from driftglm.families import BetaBinomial, Gamma, NegativeBinomial
from driftglm.priors import Fixed
from driftglm.simulate import simulate_panel

FLAT = Fixed(scale=1e10, boundary="stationary")
TIGHT = {"prior": FLAT, "tol": 1e-8, "max_iter": 20_000}
FAMILIES = ["negative-binomial", "gamma", "beta-binomial"]


def rows(rng, n=300):
    X = rng.normal(size=(n, 4))
    return X, 0.8 + X @ np.array([0.5, -0.3, 0.0, 0.2])


def counts(rng, eta, alpha=0.4):
    return rng.poisson(np.exp(eta) * rng.gamma(1 / alpha, alpha, eta.size)).astype(float)


def assert_same(model, params):
    assert model.converged_
    assert_allclose(np.r_[model.intercept_, model.coef_], params, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.02, 0.4, 3.0])
def test_one_step_is_the_negative_binomial_of_statsmodels(alpha, rng):
    X, eta = rows(rng)
    hours, weights = rng.uniform(0.5, 2.0, eta.size), rng.uniform(0.5, 2.0, eta.size)
    y = counts(rng, eta + np.log(hours))
    model = DriftGLM(family="negative-binomial", noise=alpha, **TIGHT)
    model.fit(X, y, exposure=hours, sample_weight=weights)
    family = sm.families.NegativeBinomial(alpha=alpha)
    peer = sm.GLM(y, sm.add_constant(X), family, exposure=hours, freq_weights=weights)
    assert_same(model, peer.fit(tol=1e-12).params)
    assert model.noise_ == alpha


@pytest.mark.parametrize("dispersion", [0.05, 1.0])
def test_one_step_is_the_gamma_regression_of_statsmodels(dispersion, rng):
    X, eta = rows(rng)
    y = np.exp(eta) * rng.gamma(1 / dispersion, dispersion, eta.size)
    model = DriftGLM(family="gamma", noise=dispersion, **TIGHT).fit(X, y)
    peer = sm.GLM(y, sm.add_constant(X), sm.families.Gamma(sm.families.links.Log()))
    assert_same(model, peer.fit(tol=1e-12).params)


@pytest.mark.parametrize("rho", [0.01, 0.3])
def test_one_step_is_the_beta_binomial_that_scipy_finds(rho, rng):
    X, eta = rows(rng)
    n, s = rng.integers(1, 30, eta.size), 1 / rho - 1
    k = rng.binomial(n, rng.beta(s * expit(eta), s * expit(-eta)))
    model = DriftGLM(family="beta-binomial", noise=rho, **TIGHT).fit(X, k, trials=n)
    columns = sm.add_constant(X)

    def loss(params):
        p = expit(columns @ params)
        return -betabinom.logpmf(k, n, s * p, s * (1 - p)).sum()

    both = np.column_stack([k, n - k])
    start = sm.GLM(both, columns, sm.families.Binomial()).fit().params
    peer = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    assert_same(model, peer.x)


def test_the_log_likelihoods_are_scipys(rng):
    eta, ones = rng.normal(size=50), np.ones(50)
    y, amounts = rng.poisson(3.0, 50).astype(float), rng.gamma(2.0, size=50)
    n = rng.integers(0, 200, 50)
    k = rng.binomial(n, 0.4)
    for shape in (2e-6, 1e-3, 0.2, 0.8):
        found = NegativeBinomial(alpha=shape).log_likelihood(y, eta, 0 * ones, ones, ones)
        expected = nbinom.logpmf(y, 1 / shape, 1 / (1 + shape * np.exp(eta))).sum()
        assert_allclose(found, expected, rtol=1e-7)
        found = Gamma(dispersion=shape).log_likelihood(amounts, eta, 0 * ones, ones, ones)
        expected = gamma.logpdf(amounts, 1 / shape, scale=shape * np.exp(eta)).sum()
        assert_allclose(found, expected, rtol=1e-7)
        both, s = np.column_stack([k, n - k]).astype(float), 1 / shape - 1
        found = BetaBinomial(rho=shape).log_likelihood(both, eta, 0 * ones, ones, ones)
        assert_allclose(found, betabinom.logpmf(k, n, s * expit(eta), s * expit(-eta)).sum(), 1e-7)


@pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_learned_dispersion_is_the_best_of_the_objective(family, prior):
    """Fits with the dispersion given reach no higher objective, on either side."""
    panel = simulate_panel(family=family, n_features=3, n_active=3, rows_per_step=80, scale=0.6)
    settings = {"family": family, "prior": prior, "tol": 1e-6, "max_iter": 5000}
    settings["extrapolate"] = "forecast"  # averaged, the dispersion is that of several fits
    free = DriftGLM(**settings).fit(panel.X, panel.y, time=panel.time)
    described = DriftGLM(family=family)._described()
    start, limits = described.shape_start, described.shape_range
    rows = panel.y, np.ones(len(panel.y)), np.zeros(len(panel.y))
    reference = start(*rows)

    def value(log_shape):
        """The objective of a given dispersion, and the prior that an estimated one has."""
        shape = float(np.exp(log_shape))
        model = DriftGLM(noise=shape, **settings).fit(panel.X, panel.y, time=panel.time)
        ends = norm.cdf(np.log(np.array(limits) / reference) / 3)
        constant = np.log(3 * np.sqrt(2 * np.pi) * (ends[1] - ends[0]))
        return model.objective_history_[-1] - np.log(shape / reference) ** 2 / 18 - constant

    here = np.log(free.noise_)
    assert_allclose(free.objective_history_[-1], value(here), rtol=1e-9, atol=1e-4)
    # A parabola through three fits: its top is where the search ended.
    low, mid, high = (value(here + move) for move in (-0.1, 0.0, 0.1))
    assert low < mid > high
    assert abs(0.05 * (low - high) / (low - 2 * mid + high)) < 5e-3
