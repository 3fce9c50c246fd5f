"""The recipe "Add a family" of CONTRIBUTING.md, followed to the letter with a fifth family.

Gamma with a known shape a and log link, y > 0:

    log p(y | eta) = a log a - log Gamma(a) + (a - 1) log y - a eta - a y exp(-eta).

With eta ~ Normal(mean, variance), E[exp(-eta)] = exp(-mean + variance / 2), so

    F = constant - a mean - a y exp(-mean + variance / 2),

with score a (y E - 1) and curvature a y E, E = exp(-mean + variance / 2).
"""

from dataclasses import dataclass

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import gamma
from sklearn.base import RegressorMixin

from driftglm.estimators.base import DriftEstimator
from driftglm.exceptions import DataError
from driftglm.families import Family
from driftglm.families.base import separately
from driftglm.priors import Fixed

SHAPE = 4.0
CERTAIN = np.zeros(1)


# ------------------------------------------------------------------------- step 1: the family


@dataclass(frozen=True)
class Gamma:
    """Waiting times and amounts: positive numbers whose deviation is proportional to their mean."""

    shape: float = SHAPE
    has_noise: bool = False
    quadratic: bool = False
    bounded: bool = False

    def _inverse(self, mean, variance):
        return np.exp(np.minimum(-mean + 0.5 * variance, 700.0))

    def check_target(self, y):
        if (y <= 0).any():
            row = int(np.argmax(y <= 0))
            raise DataError(f"y is {y[row]} at row {row}; amounts must be positive. Drop zeros.")

    def log_likelihood(self, y, mean, variance, weights, noise):
        del noise
        a = self.shape
        constant = a * np.log(a) - gammaln(a) + (a - 1) * np.log(y)
        rows = constant - a * mean - a * y * self._inverse(mean, variance)
        return float(np.sum(weights * rows))

    def score(self, y, mean, variance, weights):
        return weights * self.shape * (y * self._inverse(mean, variance) - 1.0)

    def curvature(self, y, mean, variance, weights):
        return weights * self.shape * y * self._inverse(mean, variance)

    def evaluate(self, y, mean, variance, weights, noise):
        return separately(self, y, mean, variance, weights, noise)

    def squares(self, y, mean, variance, weights):
        rows = y * self._inverse(mean, variance) - 1.0 - np.log(y) + mean
        return 2.0 * float(np.sum(weights * rows))

    def mean(self, eta, variance):
        return np.exp(np.minimum(eta + 0.5 * variance, 700.0))

    def center(self, y, weights, offset):
        return float(np.log(np.average(y * np.exp(-offset), weights=weights)))

    def reference(self, y, weights, offset):
        rates = y * np.exp(-offset)
        mean = np.average(rates, weights=weights)
        spread = np.average((rates - mean) ** 2, weights=weights)
        return max(float(np.log1p(spread / mean**2)), 1e-12)

    def effective_rows(self, y, weights, offset):
        return self.reference(y, weights, offset) * self.shape * float(weights.sum())


# ---------------------------------------------------------------------- step 2: the estimator


class DriftGammaRegressor(RegressorMixin, DriftEstimator):
    """Nothing but the family, `fit` and `predict`."""

    def _family(self):
        return Gamma()

    def fit(self, X, y, *, time=None, sample_weight=None):
        return self._fit_rows(X, y, time, sample_weight)

    def predict(self, X, *, time=None):
        mean, variance = (part[:, 0] for part in self._eta_moments(X, time))
        return self._family().mean(mean, variance)


# -------------------------------------------------------------------------- step 3: the tests


def value(y, mean, variance):
    row = [np.array([number]) for number in (y, mean, variance)]
    return Gamma().log_likelihood(*row, np.ones(1), 1.0)


def rows(rng, n_steps=1, per_step=150):
    time = np.repeat(np.arange(n_steps), per_step)
    X = rng.normal(size=(time.size, 6))
    slope = np.linspace(-0.6, 0.6, n_steps)[time] if n_steps > 1 else 0.5
    rate = np.exp(1.0 + slope * X[:, 0] - 0.4 * X[:, 1] + 0.2 * time)
    return X, rng.gamma(SHAPE, rate / SHAPE), time


def test_the_family_has_all_a_family_needs():
    wanted = {name for name in vars(Family) if not name.startswith("_")}
    assert wanted <= {name for name in dir(Gamma()) if not name.startswith("_")}


@pytest.mark.parametrize("eta", [-6.0, -0.3, 0.0, 2.0, 8.0])
def test_f_is_the_law_of_y(eta):
    for y in (0.01, 1.0, 40.0):
        expected = gamma.logpdf(y, SHAPE, scale=np.exp(eta) / SHAPE)
        assert_allclose(value(y, eta, 0.0), expected, rtol=1e-10)


@pytest.mark.parametrize("variance", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("eta", [-6.0, -0.3, 0.0, 2.0, 8.0])
def test_score_and_curvature_are_the_derivatives_of_f(eta, variance):
    for y in (0.01, 1.0, 40.0):
        row = np.array([y]), np.array([eta]), np.array([variance]), np.ones(1)
        step = 1e-5
        slope = (value(y, eta + step, variance) - value(y, eta - step, variance)) / (2 * step)
        assert_allclose(Gamma().score(*row)[0], slope, rtol=1e-5, atol=1e-5)
        slope = (value(y, eta, variance + step) - value(y, eta, variance - step)) / (2 * step)
        assert_allclose(Gamma().curvature(*row)[0], -2 * slope, rtol=1e-4, atol=1e-5)


def test_one_step_with_next_to_no_prior_is_statsmodels_glm(rng):
    X, y, _ = rows(rng)
    weak = Fixed(scale=1e8, autocorrelation=0.0, boundary="stationary")
    model = DriftGammaRegressor(prior=weak, tol=1e-7, max_iter=20_000).fit(X, y)
    peer = sm.GLM(y, sm.add_constant(X), family=sm.families.Gamma(sm.families.links.Log())).fit()
    assert model.converged_
    assert_allclose(model.coef_, peer.params[1:], rtol=1e-5, atol=1e-6)
    assert_allclose(model.intercept_, peer.params[0], rtol=1e-5, atol=1e-6)
    assert_allclose(model.predict(X), peer.fittedvalues, rtol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_one_step_with_a_fixed_prior_is_a_penalised_fit(solver, rng):
    X, y, _ = rows(rng)
    strength = 20.0

    def loss(beta):
        eta = X @ beta
        inverse = y * np.exp(-eta)
        value = SHAPE * np.sum(eta + inverse) + 0.5 * strength * beta @ beta
        return value, SHAPE * X.T @ (1 - inverse) + strength * beta

    best = minimize(loss, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    prior = Fixed(scale=1 / strength, autocorrelation=0.0, boundary="stationary")
    settings = {"prior": prior, "fit_intercept": False, "tol": 1e-7, "max_iter": 20_000}
    model = DriftGammaRegressor(solver=solver, **settings).fit(X, y)
    assert_allclose(model.coef_, best, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("prior", ["fixed", "exact", "variational", "learned"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_objective_never_falls_and_the_drift_is_found(prior, intercept, rng):
    X, y, time = rows(rng, n_steps=5)
    model = DriftGammaRegressor(prior=prior, fit_intercept=intercept).fit(X, y, time=time)
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    assert model.converged_
    if intercept:
        assert_allclose(model.coef_path_[:, 0], np.linspace(-0.6, 0.6, 5), atol=0.2)
        assert_allclose(model.coef_path_[:, 1], -0.4, atol=0.2)
        assert np.abs(model.coef_path_[:, 2:]).max() < 0.2
        assert_allclose(model.intercept_path_, 1.0 + 0.2 * np.arange(5), atol=0.2)


def test_the_learned_prior_gives_intervals_and_updates_without_more_code(rng):
    X, y, time = rows(rng, n_steps=5)
    model = DriftGammaRegressor().fit(X, y, time=time)
    lower, upper = model.coef_interval()
    truth = np.linspace(-0.6, 0.6, 5)
    assert ((lower[:, 0] - 0.1 < truth) & (truth < upper[:, 0] + 0.1)).all()
    assert len(model.summary()) == 6
    old = time < 4
    later = DriftGammaRegressor(keep_data=True).fit(X[old], y[old], time=time[old])
    later.update(X[~old], y[~old], time=time[~old])
    assert_allclose(later.predict(X, time=time), model.predict(X, time=time), rtol=0.1)


def test_impossible_targets_are_refused_by_row(rng):
    X, y, _ = rows(rng)
    y[3] = 0.0
    with pytest.raises(DataError, match=r"y is 0\.0 at row 3; amounts must be positive"):
        DriftGammaRegressor(prior="fixed").fit(X, y)
