"""Fits with draws: the same answers from any number of threads, files, tables, refusals."""

import threading

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from driftglm import (
    DriftClassifier,
    DriftGLM,
    DriftPoissonRegressor,
    DriftRegressor,
    Sampling,
    load,
)
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning
from driftglm.priors import Learned
from driftglm.simulate import simulate_panel
from driftglm.solvers import sampling as chains_module

SHORT = Sampling(draws=200, warmup=60, chains=2)
pytestmark = pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")


def beta_binomial(eta, rng):
    """Six trials a row whose probability varies from row to row."""
    p = 1 / (1 + np.exp(-eta))
    hits = rng.binomial(6, rng.beta(4 * p, 4 * (1 - p)))
    return np.column_stack([hits, 6 - hits])


@pytest.fixture(scope="module")
def panel():
    return simulate_panel(n_features=12, n_active=4, rows_per_step=60, random_state=3)


@pytest.fixture(scope="module")
def model(panel):
    return DriftRegressor(inference=SHORT, keep_data=True).fit(panel.X, panel.y, time=panel.time)


def test_draws_are_about_the_truth_and_the_variational_fit(model, panel):
    plain = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
    assert np.abs(model.coef_path_ - plain.coef_path_).max() < 3 * plain.coef_std_path_.max()
    lower, upper = model.coef_interval()
    assert ((lower <= panel.coef_path[:-1]) & (panel.coef_path[:-1] <= upper)).mean() > 0.8
    assert_allclose(model.predict(panel.X_next), plain.predict(panel.X_next), atol=0.3)


def test_no_figure_depends_on_threads_and_all_on_the_seed(model, panel):
    def fitted(**params):
        return DriftRegressor(inference=SHORT, **params).fit(panel.X, panel.y, time=panel.time)

    assert_array_equal(fitted(n_jobs=2).coef_path_, model.coef_path_)
    assert_array_equal(fitted(random_state=0).coef_std_path_, model.coef_std_path_)
    assert np.abs(fitted(random_state=1).coef_path_ - model.coef_path_).max() > 0


def test_bands_hold_whole_paths_and_are_wider_than_intervals(model):
    band, single = model.coef_band(0.9), model.coef_interval(0.9)
    draws = model._sampled()[0].path_draws()
    kept = model._sampled()[0].kept()
    inside = (draws >= band[0][:, kept]) & (draws <= band[1][:, kept])
    shares = inside.all(axis=2).mean(axis=(0, 1))
    moving = model.inclusion_probability_[kept] > 0.5
    assert_allclose(shares[moving], 0.9, atol=0.011)
    assert (np.ptp(band, axis=0) >= np.ptp(single, axis=0) - 1e-12)[:, kept[moving]].all()


def test_a_step_has_the_covariance_of_the_draws(model, panel):
    step = model._fits[0].at(2)
    X = panel.X[:30]
    fit = model._sampled()[0]
    coef = fit.path_draws()[:, :, 2].reshape(fit.draws.count, -1)
    intercept = fit.intercept_draws()[:, :, 2].reshape(-1)
    eta = X[:, fit.kept()] @ coef.T + intercept
    assert fit.kept().size == 12
    assert_allclose(step.mean_of(X), eta.mean(axis=1), rtol=1e-6, atol=1e-8)
    assert_allclose(step.variance_of(X), eta.var(axis=1), rtol=1e-6)


def test_draws_of_rows_share_their_coefficients(model, panel):
    same = np.repeat(panel.X[:1], 40, axis=0)
    drawn = model.predict_draws(same, 400, time=np.full(40, 2), random_state=0)
    forecast = model.predict_distribution(same, time=np.full(40, 2))
    assert_allclose(drawn.mean(), forecast.mean[0], atol=0.1)
    noise = float(model._sampled()[0].draws.noise[..., 2].mean())
    of_coefficients = float(forecast.variance[0]) - noise
    # The mean of 40 rows alike still has all the uncertainty of the coefficients.
    assert_allclose(drawn.mean(axis=1).var(), of_coefficients + noise / 40, rtol=0.35)
    ahead = model.predict_draws(panel.X_next[:3], 50, random_state=0)
    assert ahead.shape == (50, 3)
    assert_array_equal(ahead, model.predict_draws(panel.X_next[:3], 50, random_state=0))


def test_contrasts_are_those_of_the_draws(model):
    draws = model._sampled()[0].path_draws()
    place = int(np.argmax(model.inclusion_probability_))
    j = int(np.flatnonzero(model._sampled()[0].kept() == place)[0])
    difference = draws[:, :, 7, j] - draws[:, :, 0, j]
    found = model.contrast({(place, 7): 1, (place, 0): -1})
    assert found.estimate == pytest.approx(float(difference.mean()))
    assert found.lower == pytest.approx(float(np.quantile(difference, 0.05)))
    assert np.isfinite(model.contrast({(place, "next"): 1, (place, 7): -1}).std)


def test_the_summary_says_whether_chains_agree(model):
    table = model.summary()
    assert {"r_hat", "effective_draws"} <= set(table.columns)
    included = table[table["inclusion_probability"] > 0.5]
    assert (included["r_hat"] < 1.2).all()
    found = model.sampling_summary()
    assert list(found["what"].tail(2)) == ["noise", "features in"]
    assert "r_hat" not in DriftRegressor().fit(np.eye(4), np.arange(4.0)).summary().columns


def test_files_and_updates_keep_draws(model, panel, tmp_path):
    model.save(tmp_path / "model.drift")
    again = load(tmp_path / "model.drift")
    assert_array_equal(again.coef_band(), model.coef_band())
    assert again.get_params()["inference"] == SHORT
    pd.testing.assert_frame_equal(again.summary(), model.summary())
    later = again.update(panel.X_next, panel.y_next, time=np.full(len(panel.y_next), 8))
    assert later._sampled()[0].draws.paths.shape[-1] == 9


def test_other_tools_get_a_tree(model):
    tree = model.to_arviz()
    coef = tree["posterior"]["coef"]
    assert coef.dims == ("chain", "draw", "time", "feature")
    assert coef.shape[:3] == (2, 200, 8)
    assert tree["sample_stats"].attrs["seed"] == 0


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (DriftClassifier(), lambda eta, rng: rng.random(eta.size) < 1 / (1 + np.exp(-eta))),
        (DriftPoissonRegressor(), lambda eta, rng: rng.poisson(np.exp(eta))),
        (DriftGLM(family="negative-binomial"), lambda eta, rng: rng.poisson(np.exp(eta))),
        (DriftGLM(family="beta-binomial"), beta_binomial),
        (DriftGLM(family="student"), lambda eta, rng: eta + rng.standard_t(4, eta.size)),
    ],
)
def test_families_agree_with_their_variational_fit(estimator, y):
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(4), 100)
    X = rng.normal(size=(400, 3))
    target = y(0.3 + 0.8 * X[:, 0], rng)
    plain = estimator.fit(X, target, time=time)
    mean, std = plain.coef_path_.copy(), plain.coef_std_path_.copy()
    sampled = estimator.set_params(inference=SHORT).fit(X, target, time=time)
    assert (np.abs(sampled.coef_path_ - mean)[:, 0] < std[:, 0]).all()
    # With three features their weights are uncertain, which a variational fit does not know.
    ratio = sampled.coef_std_path_[:, 0] / std[:, 0]
    assert ((ratio > 0.7) & (ratio < 2.5)).all()
    assert sampled.predict_draws(X[:2], 5, random_state=0).shape == (5, 2)


@pytest.mark.parametrize(
    ("params", "given", "message"),
    [
        ({"prior": "exact"}, {}, "learned prior"),
        ({"prior": Learned(prior_count=0)}, {}, "prior_count=0"),
        ({"prior": Learned(boundary="pinned")}, {}, "stationary"),
        ({"inference": Sampling(keep=(50,))}, {}, "keep="),
        ({"errors": "student"}, {"sample_weight": np.full(480, 2.0)}, "every row once"),
    ],
)
def test_what_cannot_be_sampled_is_refused(panel, params, given, message):
    model = DriftRegressor(**{"inference": "sampling", **params})
    with pytest.raises(DataError, match=message):
        model.fit(panel.X, panel.y, time=panel.time, **given)


def test_rows_of_a_group_share_an_effect_in_draws_too():
    rng = np.random.default_rng(4)
    group, time = np.tile(np.arange(30), 12), np.repeat(np.arange(4), 90)
    X = np.column_stack([rng.normal(size=30)[group], rng.normal(size=360)])
    effect = rng.normal(size=30)
    y = X[:, 1] + effect[group] + 0.3 * rng.normal(size=360)
    model = DriftRegressor(inference=SHORT).fit(X, y, time=time, groups=group)
    alone = DriftRegressor(inference=SHORT).fit(X, y, time=time)
    # A covariate of groups has 30 values, not 360.
    assert (model.coef_std_path_[:, 0] > 1.5 * alone.coef_std_path_[:, 0]).all()
    found = model.group_effects_
    constant = found[found["step"].isna()]
    assert np.corrcoef(constant["effect"], effect)[0, 1] > 0.9
    assert_allclose(model.group_variance_["constant"], effect.var(), rtol=0.5)
    known = model.predict_draws(X[:2], 400, time=time[:2], groups=group[:2], random_state=0)
    unseen = model.predict_draws(X[:2], 400, time=time[:2], groups=[99, 99], random_state=0)
    assert (known.std(axis=0) < 0.8 * unseen.std(axis=0)).all()
    assert_allclose(known.mean(axis=0), y[:2], atol=1.0)


def test_several_classes_have_draws_each_and_probabilities_together():
    rng = np.random.default_rng(2)
    time = np.repeat(np.arange(4), 150)
    X = rng.normal(size=(600, 3))
    eta = np.column_stack([1.2 * X[:, 0], -0.6 * X[:, 1], np.zeros(600)])
    p = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    labels = np.array(["a", "b", "c"])[(rng.random((600, 1)) > p.cumsum(axis=1)).sum(axis=1)]
    plain = DriftClassifier().fit(X, labels, time=time)
    model = DriftClassifier(inference=SHORT).fit(X, labels, time=time)
    assert_allclose(model.predict_proba(X, time=time), plain.predict_proba(X, time=time), atol=0.08)
    assert_allclose(model.coef_path_, plain.coef_path_, atol=0.35)
    drawn = model.predict_draws(X[:5], 2000, time=time[:5], random_state=0)
    shares = np.stack([(drawn == label).mean(axis=0) for label in model.classes_], axis=1)
    assert_allclose(shares, model.predict_proba(X[:5], time=time[:5]), atol=0.05)
    assert model.coef_band().shape == model.coef_interval().shape
    assert list(model.sampling_summary().columns) == ["class", "what", "r_hat", "effective_draws"]
    assert model.to_arviz()["posterior"]["coef"].dims[:3] == ("chain", "draw", "class")
    # What all classes have in common is in no likelihood and may not wander off.
    levels = np.mean([fit.draws.intercepts[:, :, 0] for fit in model._sampled()], axis=(0, 3))
    assert np.ptp(levels) < 1e-6


def test_families_and_workers_are_refused_too(panel):
    labels = np.arange(480) % 3
    with pytest.raises(DataError, match="effects of groups"):
        DriftPoissonRegressor(inference=SHORT).fit(
            panel.X, labels, time=panel.time, groups=np.arange(480) // 4
        )
    with pytest.raises(DataError, match=r"'gamma'.*'multinomial'"):
        DriftGLM(family="gamma", inference=SHORT).fit(panel.X, labels + 1.0, time=panel.time)
    with pytest.raises(DataError, match="no draws"):
        DriftRegressor().fit(panel.X, panel.y, time=panel.time).coef_band()


@pytest.mark.parametrize(
    "wrong",
    [
        {"draws": 0},
        {"chains": 1.5},
        {"thin": 0},
        {"max_megabytes": 0},
        {"max_megabytes": float("inf")},
        {"max_megabytes": "64"},
        {"keep": 3},
        {"keep": (1.5,)},
        {"keep": ("age",)},
    ],
)
def test_wrong_ways_to_sample_are_named(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        Sampling(**wrong)


def test_draws_need_a_fit_and_a_number():
    for read in (DriftRegressor().coef_band, DriftRegressor().sampling_summary):
        with pytest.raises(NotFittedError):
            read()


@pytest.mark.filterwarnings("default::driftglm.exceptions.ConvergenceWarning")
def test_who_draws_too_few_is_told(panel):
    few = DriftRegressor(inference=Sampling(draws=3, warmup=5))
    with pytest.warns(ConvergenceWarning, match="3 draws a chain"):
        few.fit(panel.X, panel.y, time=panel.time)


def test_who_interrupts_keeps_the_draws_made(panel, monkeypatch):
    made = threading.Event()
    together, calls = chains_module._together, []

    def interrupted(pool, runners, n, advance):
        calls.append(n)
        if len(calls) < 2:
            return together(pool, runners, n, advance)
        together(pool, runners, 30, advance)
        made.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(chains_module, "_together", interrupted)
    with pytest.warns(ConvergenceWarning, match="30 of 200 draws"):
        model = DriftRegressor(inference=SHORT).fit(panel.X, panel.y, time=panel.time)
    assert made.is_set()
    assert model._sampled()[0].draws.paths.shape[:2] == (2, 30)


def test_draws_kept_in_full_are_as_many_as_there_is_room_for(panel):
    small = Sampling(draws=100, warmup=50, chains=1, max_megabytes=0.012, keep=(11,))
    model = DriftRegressor(inference=small)
    with pytest.warns(DataWarning, match="no room for whole draws of 1 features"):
        model.fit(panel.X, panel.y, time=panel.time)
    kept = model._sampled()[0].kept()
    assert kept.size == int(0.012e6 / (4 * 9 + 2) / 100) == 3
    assert 11 in kept
    # Means and deviations are known of all.
    assert np.isfinite(model.coef_interval()).all()
    assert (model.inclusion_probability_ > 0.5).sum() >= 3
    assert model.predict_draws(panel.X[:2], 10, random_state=0).shape == (10, 2)
