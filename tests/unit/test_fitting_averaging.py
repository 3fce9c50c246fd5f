"""Forecasters fitted as of earlier steps, and averaged: what an estimator makes of them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import driftglm
from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError
from driftglm.fitting import averaging
from driftglm.fitting.coefficients import Step, mixed
from driftglm.fitting.history import NAMES
from driftglm.simulate import simulate_panel

FAMILIES = {
    "gaussian": DriftRegressor(),
    "student": DriftRegressor(errors="student"),
    "binomial": DriftClassifier(),
    "poisson": DriftPoissonRegressor(),
    "negative-binomial": DriftGLM(family="negative-binomial"),
    "beta-binomial": DriftGLM(family="beta-binomial"),
}


def panel(family="gaussian", **options):
    settings = {"n_timesteps": 7, "rows_per_step": 40, "n_features": 4, "n_active": 2, "scale": 0.5}
    family = "gaussian" if family == "student" else family
    return simulate_panel(family=family, random_state=2, **(settings | options))


@pytest.fixture(scope="module")
def averaged():
    data = panel()
    return data, DriftRegressor(keep_data=True).fit(data.X, data.y, time=data.time)


# ------------------------------------------------------------------------------------ mixtures


def test_a_mixture_of_steps_has_its_mean_and_variance(rng):
    """Against the moments of a mixture, row by row."""
    steps, weights = [], np.array([0.5, 0.2, 0.3])
    for width in (0, 2, 3):
        numbers = rng.normal(size=5), float(rng.normal()), rng.uniform(0, 1, 5), rng.uniform()
        steps.append(Step(*numbers, rng.normal(size=5), rng.normal(size=(5, width))))
    X = rng.normal(size=(20, 5))
    means = np.array([step.mean_of(X) for step in steps])
    variances = np.array([step.variance_of(X) for step in steps])
    one = mixed(steps, weights)
    expected = weights @ means
    assert_allclose(one.mean_of(X), expected, rtol=1e-12)
    spread = weights @ (variances + (means - expected) ** 2)
    assert_allclose(one.variance_of(X), spread, rtol=1e-10)
    both = mixed([one, one], np.array([0.4, 0.6]))
    assert_allclose(both.variance_of(X), spread, rtol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_averaged_and_has_one_law(family):
    data = panel(family)
    model = FAMILIES[family].fit(data.X, data.y, time=data.time)
    assert model.extrapolate_ == "average"
    weights = model.extrapolation_weights_
    assert list(weights.columns) == list(NAMES)
    assert [*weights.index] == [4, 5, 6, "next"]
    assert_allclose(weights.sum(axis=1), 1.0)
    assert np.isfinite(model.extrapolation_scores_.to_numpy()).all()
    eta = data.X_next @ np.ravel(model.coef_) + np.ravel(model.intercept_)
    mean, variance = model._eta_moments(data.X_next, None)
    assert_allclose(mean, eta, rtol=1e-10, atol=1e-12)
    law = model.predict_distribution(data.X_next)
    if family == "binomial":
        assert_allclose(law.mean, model.predict_proba(data.X_next)[:, 1], rtol=1e-10)
    else:
        assert_allclose(law.mean, model.predict(data.X_next), rtol=1e-8)
    far = model._eta_moments(data.X_next, np.full(len(data.X_next), 12))[1]
    assert np.isfinite(far).all()
    assert far.mean() >= variance.mean() - 1e-12


def test_coefficients_are_weighted_means_of_those_of_the_forecasters(averaged):
    data, model = averaged
    forecast = DriftRegressor(extrapolate="forecast").fit(data.X, data.y, time=data.time)
    held = DriftRegressor(extrapolate="hold").fit(data.X, data.y, time=data.time)
    by_name = {part.name: part for part in model._forecaster.parts}
    assert_allclose(by_name["drifting"].steps(7)[0].coef, forecast.coef_, rtol=1e-12)
    assert_allclose(by_name["held"].steps(7)[0].coef, held.coef_, rtol=1e-12)
    coefs = [part.weight * part.steps(7)[0].coef for part in by_name.values()]
    assert_allclose(model.coef_, np.sum(coefs, axis=0), rtol=1e-12)
    assert_array_equal(model.coef_path_, forecast.coef_path_)
    pooled = DriftRegressor().fit(data.X, data.y)
    assert_allclose(by_name["pooled"].steps(7)[0].coef, pooled.coef_, atol=5e-3)


def test_several_classes_are_averaged_with_the_same_weights(averaged):
    data, _ = averaged
    X, y = data.X, np.digitize(data.y, np.quantile(data.y, [1 / 3, 2 / 3]))
    model = DriftClassifier(tol=1e-3).fit(X, y, time=data.time)
    assert model.extrapolate_ == "average"
    eta = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), eta, rtol=1e-10, atol=1e-10)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


# ---------------------------------------------------------------------- nothing of later rows


def test_what_comes_after_an_origin_does_not_matter(averaged, rng):
    """Rows of later steps scrambled: what was said of earlier ones stays to the last digits."""
    data, model = averaged
    later = data.time >= 6
    y, X = data.y.copy(), data.X.copy()
    y[later] = 50.0 * rng.normal(size=later.sum())
    X[later] = 10.0 * rng.normal(size=X[later].shape) + 5.0
    other = DriftRegressor().fit(X, y, time=data.time)
    same = model.extrapolation_scores_.loc[[4, 5]]
    assert_allclose(other.extrapolation_scores_.loc[[4, 5]], same, rtol=1e-9)
    moved = model.extrapolation_scores_.loc[6] - other.extrapolation_scores_.loc[6]
    assert (moved.abs() > 1.0).all()
    weights = model.extrapolation_weights_.loc[[4, 5, 6]]
    assert_allclose(other.extrapolation_weights_.loc[[4, 5, 6]], weights, rtol=1e-9)


def test_a_fit_as_of_a_step_is_that_of_the_rows_before_it(averaged):
    """The first origin has no fit to go on from: a fit to its rows alone says the same.

    But for paths that are judged jointly at the end, which a brief fit leaves out.
    """
    data, model = averaged
    early = data.time < 4
    alone = DriftRegressor(extrapolate="forecast", tol=1e-4 * averaging.ROUGH)
    alone.fit(data.X[early], data.y[early], time=data.time[early])
    now = data.time == 4
    expected = alone.log_score(data.X[now], data.y[now], data.time[now])
    assert_allclose(model.extrapolation_scores_.loc[4, "drifting"], expected, rtol=2e-3)


def test_an_update_is_judged_before_it_is_learned_from(averaged):
    data, _ = averaged
    early = data.time < 6
    model = DriftRegressor(keep_data=True)
    model.fit(data.X[early], data.y[early], time=data.time[early])
    said = model.log_score(data.X[~early], data.y[~early], data.time[~early])
    parts = {part.name: part for part in model._forecaster.parts}
    step = parts["static"].steps(6)[0]
    mean = step.mean_of(data.X[~early])
    model.update(data.X[~early], data.y[~early], time=data.time[~early])
    weights = model.extrapolation_weights_
    assert [*weights.index] == [4, 5, 6, "next"]
    scores = model.extrapolation_scores_.loc[6]
    # The forecasters that predicted step 6 are those of the first fit.
    assert scores.min() < said < scores.max() + 0.5
    noise = parts["static"].noise(6)
    assert np.isfinite(mean).all()
    assert noise.weights.sum() == pytest.approx(1.0)
    fresh = DriftRegressor().fit(data.X, data.y, time=data.time)
    assert_allclose(model.extrapolation_scores_, fresh.extrapolation_scores_, atol=0.03)
    assert_allclose(model.coef_, fresh.coef_, atol=0.05)


# ------------------------------------------------------------------------------------- digits


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_digit(n_jobs, averaged):
    data, model = averaged
    other = DriftRegressor(n_jobs=n_jobs).fit(data.X, data.y, time=data.time)
    assert_array_equal(other.coef_, model.coef_)
    assert_array_equal(other.extrapolation_weights_, model.extrapolation_weights_)


def test_killed_while_averaging_it_goes_on_to_the_same_digits(averaged, tmp_path, monkeypatch):
    data, model = averaged
    path = tmp_path / "fit.checkpoint"
    fit, n_fits = averaging.infer_posterior, []

    def dies(*args, **options):
        n_fits.append(options["name"])
        if len(n_fits) == 5:
            raise KeyboardInterrupt
        return fit(*args, **options)

    monkeypatch.setattr(averaging, "infer_posterior", dies)
    with pytest.raises(KeyboardInterrupt):
        DriftRegressor().fit(data.X, data.y, time=data.time, checkpoint=path)
    assert path.exists()
    monkeypatch.setattr(averaging, "infer_posterior", fit)
    other = DriftRegressor().fit(data.X, data.y, time=data.time, checkpoint=path)
    assert_array_equal(other.coef_, model.coef_)
    assert_array_equal(other.extrapolation_weights_, model.extrapolation_weights_)
    assert not path.exists()


def test_files_hold_all_forecasters_and_an_update_goes_on_from_them(averaged, tmp_path):
    data, _ = averaged
    early = data.time < 6
    model = DriftRegressor(keep_data=True)
    model.fit(data.X[early], data.y[early], time=data.time[early])
    model.save(tmp_path / "a.drift")
    loaded = driftglm.load(tmp_path / "a.drift")
    assert_array_equal(loaded.predict_interval(data.X_next), model.predict_interval(data.X_next))
    for each in (model, loaded):
        each.update(data.X[~early], data.y[~early], time=data.time[~early])
    assert_array_equal(loaded.coef_, model.coef_)
    assert_array_equal(loaded.extrapolation_weights_, model.extrapolation_weights_)


# ---------------------------------------------------------------------------------- the corners


def test_weights_exposure_and_empty_steps_are_taken(rng):
    data = panel("poisson")
    time = np.where(data.time >= 4, data.time + 2, data.time)  # two steps without rows
    weights = np.where(time == 1, 0.0, rng.uniform(0.5, 2.0, time.size))
    hours = rng.uniform(0.5, 2.0, time.size)
    model = DriftPoissonRegressor()
    model.fit(data.X, data.y, time=time, sample_weight=weights, exposure=hours)
    assert [*model.extrapolation_weights_.index] == [7, 8, "next"]
    assert np.isfinite(model.predict(data.X_next, exposure=2.0)).all()


def test_rates_among_counts_are_compared_by_their_deviance():
    data = panel("poisson")
    model = DriftPoissonRegressor().fit(data.X, data.y + 0.25, time=data.time)
    assert np.isfinite(model.extrapolation_scores_.to_numpy()).all()


def test_hopeless_fits_are_not_made_again(monkeypatch, rng):
    """A level that walks away: pooled coefficients are given up."""
    time = np.repeat(np.arange(10), 60)
    X = rng.normal(size=(time.size, 3))
    y = X[:, 0] * time + 5.0 * time + 0.1 * rng.normal(size=time.size)
    made, fit = [], averaging.infer_posterior
    monkeypatch.setattr(
        averaging,
        "infer_posterior",
        lambda *args, **options: made.append(options["name"]) or fit(*args, **options),
    )
    model = DriftRegressor().fit(X, y, time=time)
    assert made.count("pooled") < made.count("drifting")
    assert model.extrapolation_weights_.loc["next", "pooled"] == 0.0
    assert np.isnan(model.extrapolation_scores_["pooled"].iloc[-1])
    assert model._forecaster.parts[0].name == "drifting"


def test_with_few_steps_the_prior_decides():
    data = panel(n_timesteps=3)
    model = DriftRegressor().fit(data.X, data.y, time=data.time)
    assert model.extrapolate_ == "forecast"
    assert model.trust_sentence() == ""
    with pytest.raises(AttributeError, match="averages nothing"):
        _ = model.extrapolation_weights_
    model = DriftRegressor(extrapolate="average").fit(data.X, data.y, time=data.time)
    assert [*model.extrapolation_weights_.index] == ["next"]
    assert len(model.extrapolation_scores_) == 0
    assert model.trust_sentence().startswith("Forecasts trust drift 60%, the last step 32%")
    with pytest.raises(DataError, match="use prior='learned'"):
        DriftRegressor(prior="exact", extrapolate="average").fit(data.X, data.y, time=data.time)


def test_weights_can_be_drawn(averaged):
    pytest.importorskip("matplotlib")
    _, model = averaged
    figure = model.plot_weights()
    lines = figure.axes[0].get_lines()
    assert len(lines) == 4
    assert_allclose(lines[0].get_ydata(), model.extrapolation_weights_["drifting"])


# ----------------------------------------------------------------------------------- what it is for


@pytest.mark.parametrize(("world", "rival"), [("luck", "hold"), ("jump", "forecast")])
def test_no_fixed_answer_is_much_better(world, rival):
    """Steps with luck of their own punish holding, jumps that stay punish forecasting."""
    errors = {"average": [], "forecast": [], "hold": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        time = np.repeat(np.arange(13), 60)
        X = rng.normal(size=(time.size, 4))
        if world == "luck":
            paths = 1.0 + 0.7 * rng.normal(size=(13, 4))
        else:
            jumps = 0.5 * rng.normal(size=(13, 4)) * (rng.random((13, 4)) < 0.2)
            paths = np.cumsum(jumps, axis=0)
        y = (X * paths[time]).sum(axis=1) + rng.normal(size=time.size)
        now = time == 12
        for how, found in errors.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = DriftRegressor(extrapolate=how).fit(X[~now], y[~now], time=time[~now])
            found.append(np.mean((model.predict(X[now]) - y[now]) ** 2))
    means = {how: np.mean(found) for how, found in errors.items()}
    assert means["average"] < 1.1 * min(means["forecast"], means["hold"])
    assert means["average"] < 1.02 * means[rival]


# --------------------------------------------------------------------------- numbers beyond measure


@pytest.mark.parametrize("step", [5, 6])
def test_one_row_far_out_in_a_later_step_does_not_end_a_fit(step):
    data = panel("poisson")
    X = data.X.copy()
    X[np.flatnonzero(data.time == step)[0], 0] = 1000.0
    model = DriftPoissonRegressor().fit(X, data.y, time=data.time)
    assert np.isfinite(model.coef_).all()
    assert_allclose(model.extrapolation_weights_.sum(axis=1), 1.0)


def test_the_law_of_a_row_does_not_depend_on_the_rows_beside_it():
    data = panel("negative-binomial")
    model = DriftGLM(family="negative-binomial").fit(data.X, data.y, time=data.time)
    alone = model.predict_distribution(data.X[:1], time=[7]).log_prob(np.array([4.0]))
    beside = model.predict_distribution(data.X[:2], time=[7, 0]).log_prob(np.full(2, 4.0))
    assert_allclose(beside[0], alone[0], rtol=1e-12)


@pytest.mark.parametrize("far", [1e6, 1e9])
def test_columns_far_from_zero_change_no_weight(far, averaged):
    data, model = averaged
    other = DriftRegressor().fit(data.X + far, data.y, time=data.time)
    assert_allclose(other.extrapolation_weights_, model.extrapolation_weights_, atol=1e-3)


def test_an_update_with_other_errors_is_judged_afresh(averaged):
    data, _ = averaged
    early = data.time < 6
    model = DriftRegressor(keep_data=True)
    model.fit(data.X[early], data.y[early], time=data.time[early])
    model.set_params(errors="student")
    model.update(data.X[~early], data.y[~early], time=data.time[~early])
    assert np.isfinite(model.extrapolation_scores_.to_numpy()).all()


def test_weights_of_months_can_be_drawn():
    pytest.importorskip("matplotlib")
    data = panel()
    months = pd.period_range("2001-01", periods=7, freq="M")[data.time]
    figure = DriftRegressor().fit(data.X, data.y, time=months).plot_weights()
    texts = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert texts[-1] == "next"
