"""Student errors: the likelihood, its bound, and what a fit makes of rows far off."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import t as student_t

import driftglm
from driftglm import DriftGLM, DriftRegressor
from driftglm.families import Gaussian, Student
from driftglm.families.base import CERTAIN
from driftglm.priors import Fixed


def panel(degrees, seed=0, n_steps=8, n_rows=80):
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(n_steps), n_rows)
    X = rng.normal(size=(time.size, 3))
    return X, 2.0 + X[:, 0] + 0.5 * rng.standard_t(degrees, size=time.size), time


def test_the_likelihood_is_scipys(rng):
    y, mean, weights = rng.normal(size=7), rng.normal(size=7), rng.uniform(0.5, 2.0, 7)
    noise = np.full(7, 0.7)
    family = Student().at(noise, 3.3)
    exact = np.sum(weights * student_t.logpdf(y, 3.3, mean, np.sqrt(0.7)))
    assert_allclose(family.log_likelihood(y, mean, CERTAIN, weights, noise), exact)


@pytest.mark.parametrize("variance", [0.0, 0.4])
def test_score_and_curvature_are_derivatives_times_the_noise(variance, rng):
    y, mean, noise = rng.normal(size=6), rng.normal(size=6), np.full(6, 0.7)
    v, ones, step = np.full(6, variance), np.ones(6), 1e-6
    family = Student().at(noise, 4.0)

    def value(m, u):
        parts = [
            family.log_likelihood(y[[n]], m[[n]], u[[n]], ones[:1], noise[:1]) for n in range(6)
        ]
        return np.array(parts)

    slope = (value(mean + step, v) - value(mean - step, v)) / (2 * step)
    assert_allclose(family.score(y, mean, v, ones), 0.7 * slope, atol=1e-7)
    bend = -2 * (value(mean, v + step) - value(mean, v)) / step
    assert_allclose(family.curvature(y, mean, v, ones), 0.7 * bend, rtol=1e-4)


def test_the_value_bounds_the_expectation_and_the_model_bounds_the_value(rng):
    y, mean, variance, noise = np.array([1.5]), np.array([-0.4]), np.array([0.6]), np.ones(1)
    family = Student().at(noise, 3.0)
    eta = mean + np.sqrt(variance) * rng.normal(size=200_000)
    expected = student_t.logpdf(y, 3.0, eta).mean()
    start = family.log_likelihood(y, mean, variance, np.ones(1), noise)
    assert start < expected
    score, bend = (f(y, mean, variance, np.ones(1)) for f in (family.score, family.curvature))
    for move, more in [(0.7, 0.0), (-1.3, 0.5), (2.5, -0.5)]:
        promised = start + (score * move - 0.5 * bend * (move**2 + more))[0]
        found = family.log_likelihood(y, mean + move, variance + more, np.ones(1), noise)
        assert found >= promised - 1e-12


def test_one_step_and_a_flat_prior_give_the_maximum_of_scipys_likelihood():
    X, y, _ = panel(3.0, n_steps=1, n_rows=300)
    model = DriftGLM(family="student", prior=Fixed(scale=1e4), tol=1e-10, max_iter=5000).fit(X, y)
    degrees, noise = model._forecaster.shape, model.noise_

    def loss(coef):
        return -student_t.logpdf(y, degrees, coef[0] + X @ coef[1:], np.sqrt(noise)).sum()

    found = minimize(loss, np.r_[model.intercept_, model.coef_] + 0.05, tol=1e-12)
    assert_allclose(np.r_[model.intercept_, model.coef_], found.x, atol=1e-4)


def test_the_degrees_of_freedom_maximise_the_objective():
    X, y, time = panel(4.0)
    model = DriftRegressor(errors="student", noise="constant").fit(X, y, time=time)
    assert 2.5 < model.degrees_of_freedom_ < 8.0
    residual = y - model.predict(X, time=time)
    found = student_t.fit(residual, floc=0.0)
    assert_allclose(model.degrees_of_freedom_, found[0], rtol=0.25)
    assert_allclose(model.noise_variance_, found[2] ** 2 * found[0] / (found[0] - 2), rtol=0.3)


def test_rows_far_off_move_normal_errors_only():
    X, y, time = panel(50.0)
    y[::97] += 40.0
    error = {}
    for errors in ("normal", "student"):
        model = DriftRegressor(errors=errors).fit(X, y, time=time)
        error[errors] = np.abs(model.coef_path_ - np.array([1.0, 0.0, 0.0])).max()
    assert error["student"] < 0.15
    assert error["normal"] > 2 * error["student"]


@pytest.mark.parametrize(("degrees", "expected"), [(2.5, "student"), (1e6, "normal")])
def test_auto_takes_what_suits_the_rows_and_keeps_it(degrees, expected, tmp_path):
    X, y, time = panel(degrees)
    early = time < 7
    model = DriftRegressor(errors="auto", keep_data=True)
    model.fit(X[early], y[early], time=time[early])
    assert model.errors_ == expected
    assert np.isinf(model.degrees_of_freedom_) == (expected == "normal")
    model.update(X[~early], y[~early], time=time[~early])
    assert model.errors_ == expected
    assert model.family_.name == ("gaussian" if expected == "normal" else "student")
    model.save(tmp_path / "model.drift")
    again = driftglm.load(tmp_path / "model.drift")
    assert again.degrees_of_freedom_ == model.degrees_of_freedom_
    assert_allclose(again.predict_interval(X[:5]), model.predict_interval(X[:5]), rtol=0)


def test_forecasts_have_the_tails_of_the_errors():
    X, y, time = panel(3.0)
    past = time < 7
    scores = {}
    for errors in ("normal", "student"):
        model = DriftRegressor(errors=errors).fit(X[past], y[past], time=time[past])
        scores[errors] = model.log_score(X[~past], y[~past])
        assert_allclose(model.predict_distribution(X[:4]).mean, model.predict(X[:4]))
    assert scores["student"] > scores["normal"]


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_one_row_far_off_sets_neither_scale_nor_center(far, rng):
    time = np.repeat(np.arange(10), 20)
    X = rng.normal(size=(200, 1))
    y = X[:, 0] + rng.normal(size=200)
    y[17] = far
    model = DriftRegressor(errors="student").fit(X, y, time=time)
    assert_allclose(model.coef_, 1.0, atol=0.3)
    assert np.ptp(model.predict_interval(X[:5]), axis=1).max() < 8.0


def test_without_far_off_rows_center_and_scale_are_those_of_normal_errors(rng):
    y, ones = rng.normal(size=50) + 3.0, np.ones(50)
    for name in ("center", "reference"):
        found, expected = (getattr(f, name)(y, ones, 0 * ones) for f in (Student(), Gaussian()))
        assert found == expected
