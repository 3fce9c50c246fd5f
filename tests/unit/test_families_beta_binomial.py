"""The beta-binomial family: derivatives, trials, messages and forecasts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.metrics import log_loss

from driftglm import DriftGLM, baselines, load
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import DataError, DataWarning
from driftglm.families import BetaBinomial
from driftglm.simulate import simulate_panel

TARGETS = np.array([[0.0, 1.0], [3.0, 4.0], [10.0, 0.0], [40.0, 260.0]])


def value(y, eta, variance, rho):
    row = y[None, :], np.array([eta]), np.array([variance]), np.ones(1)
    return BetaBinomial(rho=rho).log_likelihood(*row, np.ones(1))


@pytest.mark.parametrize("rho", [1e-4, 0.1, 0.7])
@pytest.mark.parametrize("variance", [0.0, 0.019, 0.5, 4.0])
@pytest.mark.parametrize("eta", [-30.0, -3.0, 0.1, 2.0])
def test_score_and_curvature_are_derivatives(eta, variance, rho):
    for y in TARGETS:
        row = y[None, :], np.array([eta]), np.array([variance]), np.ones(1)
        step = 1e-5 * max(1.0, abs(eta))
        slope = (value(y, eta + step, variance, rho) - value(y, eta - step, variance, rho)) / step
        size = abs(value(y, eta, variance, rho))
        found = BetaBinomial(rho=rho).score(*row)[0]
        assert_allclose(found, 0.5 * slope, rtol=1e-5, atol=1e-7 * (1 + size))
        found = BetaBinomial(rho=rho).curvature(*row)[0]
        assert found > 0
        if variance:
            step = 1e-4 * variance
            ends = (value(y, eta, variance + sign * step, rho) for sign in (1, -1))
            assert_allclose(
                found, -(next(ends) - next(ends)) / step, rtol=1e-3, atol=1e-6 * (1 + size)
            )


def test_uncertainty_is_never_a_gain():
    for y in TARGETS:
        for eta in np.linspace(-6, 6, 13):
            found = [value(y, eta, variance, 0.2) for variance in (0.0, 0.1, 1.0)]
            assert (np.diff(found) <= 0).all()


@pytest.mark.parametrize(
    ("y", "trials", "message"),
    [
        ([0.0, 5.0], None, "5.0 at row 1; without trials= a row is one trial.*'poisson'"),
        ([0.0, 5.0], [1.0, 4.0], "more successes than trials"),
        ([0.5, 1.0], [1.0, 4.0], "whole numbers.*'gaussian' of their logits"),
        ([-1.0, 1.0], [1.0, 4.0], "from 0 to 1e6"),
        ([[1.0, 2.0], [3.0, 4.0]], [1.0, 4.0], "trials are given; pass two columns"),
        ([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], None, "pass two columns"),
        (["a", "b"], None, "labels are for family='binomial' or 'multinomial'"),
    ],
)
def test_wrong_targets_are_told_what_to_do(y, trials, message):
    with pytest.raises(DataError, match=message):
        DriftGLM(family="beta-binomial").fit(np.arange(2.0)[:, None], y, trials=trials)


def test_other_families_take_no_trials():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    with pytest.raises(DataError, match=r"takes no trials.*'beta-binomial'"):
        DriftGLM(family="poisson").fit(X, y, trials=6)
    model = DriftGLM(family="poisson").fit(X, y)
    with pytest.raises(DataError, match="takes no trials"):
        model.predict_distribution(X, trials=6)
    with pytest.raises(DataError, match=r"noise=1.5.*between"):
        DriftGLM(family="beta-binomial", noise=1.5).fit(X, y, trials=6)


@pytest.fixture(scope="module")
def panel():
    return simulate_panel(
        family="beta-binomial", n_features=4, n_active=3, rows_per_step=150, scale=0.6
    )


@pytest.fixture(scope="module")
def model(panel):
    return DriftGLM(family="beta-binomial", keep_data=True).fit(panel.X, panel.y, time=panel.time)


def test_the_simulated_truth_is_found(panel, model):
    # The correlation of 0.25 has a standard error of about 0.02 here.
    assert abs(model.noise_ - panel.noise_variance) < 0.06
    correlation = np.corrcoef(model.coef_path_.ravel(), panel.coef_path[:-1].ravel())[0, 1]
    assert correlation > 0.9
    share = model.predict(panel.X_next)
    assert ((share > 0) & (share < 1)).all()
    assert_allclose(share, panel.mean_next, atol=0.35)


def test_successes_and_trials_are_successes_and_failures(panel, model):
    other = DriftGLM(family="beta-binomial").fit(panel.X, panel.y[:, 0], time=panel.time, trials=10)
    assert (other.coef_path_ == model.coef_path_).all()
    new = panel.X_next, panel.y_next[:, 0]
    assert model.log_score(panel.X_next, panel.y_next) == model.log_score(*new, trials=10)


def test_rows_without_a_trial_are_left_out(panel, model):
    X, y = np.vstack([panel.X, 99 * panel.X[:5]]), np.vstack([panel.y, np.zeros((5, 2))])
    with pytest.warns(DataWarning, match="5 rows have no trials"):
        other = DriftGLM(family="beta-binomial").fit(X, y, time=np.r_[panel.time, panel.time[:5]])
    assert (other.coef_path_ == model.coef_path_).all()


def test_single_trials_are_a_logistic_regression(panel):
    y = (panel.y[:, 0] > 5).astype(float)
    plain = DriftGLM(family="binomial", prior="fixed").fit(panel.X, y, time=panel.time)
    single = DriftGLM(family="beta-binomial", prior="fixed").fit(panel.X, y, time=panel.time)
    assert_allclose(
        single.predict(panel.X_next), plain.predict_proba(panel.X_next)[:, 1], atol=0.01
    )


def test_files_and_updates(panel, model, tmp_path):
    model.save(tmp_path / "model.drift")
    loaded = load(tmp_path / "model.drift")
    assert loaded.noise_ == model.noise_
    assert (loaded.predict(panel.X) == model.predict(panel.X)).all()
    later = np.full(len(panel.y_next), panel.time.max() + 1)
    loaded.update(panel.X_next, panel.y_next[:, 0], time=later, trials=10)
    whole = DriftGLM(family="beta-binomial").fit(
        np.vstack([panel.X, panel.X_next]),
        np.vstack([panel.y, panel.y_next]),
        time=np.r_[panel.time, later],
    )
    assert_allclose(loaded.coef_path_, whole.coef_path_, atol=0.01)


@pytest.mark.parametrize("variance", [0.0, 0.3, 2.0])
def test_forecasts_are_those_of_draws(variance, rng):
    eta = -0.7 + np.sqrt(variance) * rng.normal(size=200_000)
    n, s = 12, 1 / 0.15 - 1
    k = rng.binomial(n, rng.beta(s * expit(eta), s * expit(-eta)))
    family = BetaBinomial(rho=0.15).with_trials(np.array([12.0]))
    forecast = family.predictive(np.array([-0.7]), np.array([variance]), np.ones(1))
    assert_allclose(forecast.mean[0], k.mean(), rtol=0.01)
    assert_allclose(forecast.variance[0], k.var(), rtol=0.02)
    cdf = np.array([forecast.cdf(np.array([float(at)]))[0] for at in range(n)])
    assert_allclose(cdf, [(k <= at).mean() for at in range(n)], atol=0.012)


def test_comparisons_score_shares_and_distributions(panel):
    models = {
        "learned": DriftGLM(family="beta-binomial"),
        "ridge": baselines.RidgeAll(1.0, family="beta-binomial"),
    }
    rows = panel.X, panel.y, panel.time, RollingOrigin(n_test=1)
    found = compare(models, *rows)
    assert found.metric == "binomial"
    assert_allclose(found.y, panel.y[found.rows, 0] / 10)
    k, p = panel.y[found.rows, 0], found.prediction["learned"]
    weights = np.r_[k, 10 - k]
    labels = np.r_[np.ones(k.size), np.zeros(k.size)]
    saturated = log_loss(labels, np.clip(np.r_[k, k] / 10, 1e-15, 1), sample_weight=weights)
    expected = 20 * (log_loss(labels, np.r_[p, p], sample_weight=weights) - saturated)
    assert_allclose(found.loss["learned"].mean(), expected, rtol=1e-6)
    scores = compare({"learned": models["learned"]}, *rows, metric="crps")
    assert scores.loss["learned"].mean() < k.std()


def test_classes_take_no_trials(rng):
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    with pytest.raises(DataError, match="use family='beta-binomial'"):
        DriftGLM(family="binomial").fit(X, y, trials=3)


def test_ridge_over_time_is_tuned_for_successes_out_of_trials():
    panel = simulate_panel(family="beta-binomial", n_features=3, rows_per_step=40, n_timesteps=4)
    model = baselines.RidgeTS(family="beta-binomial").fit(panel.X, panel.y, time=panel.time)
    assert np.isfinite(model.predict(panel.X_next)).all()
