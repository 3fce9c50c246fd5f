"""`seasonality`: when it is on, what a fitted model says of seasons, and what is refused."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import driftglm
from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError, DataWarning
from driftglm.priors import Learned

CYCLE, N_STEPS, N_ROWS = 4, 24, 25
SEASON = np.array([1.2, -0.8, 0.4, -0.8])
LEVEL = np.array([-1.0, 0.0, 2.0, -1.0])


def rows(n_steps=N_STEPS, n_rows=N_ROWS, seed=0):
    """The first of three columns has a season, the second is constant; so has the intercept one."""
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(n_steps), n_rows)
    X = rng.normal(size=(time.size, 3))
    phase = time % CYCLE
    eta = SEASON[phase] * X[:, 0] + 0.7 * X[:, 1] + LEVEL[phase]
    return X, eta, time, rng


def gaussian(n_steps=N_STEPS, n_rows=N_ROWS, seed=0):
    X, eta, time, rng = rows(n_steps, n_rows, seed)
    return X, eta + 0.5 * rng.normal(size=eta.size), time


@pytest.fixture(scope="module")
def fitted():
    X, y, time = gaussian()
    model = DriftRegressor(seasonality=CYCLE, keep_data=True).fit(X, y, time=time)
    return model, X, y, time


def test_seasons_are_found_and_shown_apart(fitted):
    model, *_ = fitted
    assert model.seasonality_ == CYCLE
    assert model.seasonal_path_.shape == model.coef_path_.shape
    assert model.seasonal_std_path_.shape == model.coef_path_.shape
    assert model.seasonal_probability_[0] > 0.99
    assert (model.seasonal_probability_[1:] < 0.1).all()
    assert model.seasonal_intercept_probability_ > 0.99
    phase = np.arange(N_STEPS) % CYCLE
    apart = model.seasonal_path_[:, 0] - SEASON[phase]
    assert np.std(apart) < 0.15
    assert np.std(model.seasonal_intercept_path_ - LEVEL[phase]) < 0.3
    assert_allclose(model.seasonal_path_[:, 1:], 0.0, atol=0.05)
    assert model.season_sentence() == "Seasons of 4 steps were found in the intercept, x0."


def test_what_drifts_beside_a_season_is_told_from_what_comes_again():
    X, y, time = gaussian()
    y = y + 0.08 * (time - 12) * X[:, 2]
    model = DriftRegressor(seasonality=CYCLE).fit(X, y, time=time)
    kind = model.summary().set_index("feature")["kind"]
    assert kind[["x0", "x1", "x2"]].tolist() == ["seasonal", "static", "sign-flip"]
    table = model.season_summary()
    assert table["kind"].tolist() == ["seasonal", "neither", "drifting"]
    assert_allclose(table["season_range"][0], np.ptp(SEASON), atol=0.3)
    change = table["change"][2]
    assert_allclose(change, 0.08 * (N_STEPS - CYCLE), atol=0.4)
    assert table["change_lower"][2] < change < table["change_upper"][2]
    assert table["change_lower"][0] < 0 < table["change_upper"][0]
    assert_allclose(table["season_probability"], model.seasonal_probability_)
    strict = model.season_summary(["a", "b", "c"], negligible=10.0)
    assert strict["feature"].tolist() == ["a", "b", "c"]
    assert strict["kind"].tolist() == ["seasonal", "neither", "neither"]


def test_seasons_of_rows_that_belong_together_do_not_run_away():
    rng = np.random.default_rng(5)
    group, time = np.tile(np.arange(30), 12), np.repeat(np.arange(12), 30)
    X = np.column_stack([rng.normal(size=30)[group], rng.normal(size=(360, 2))])
    y = 0.7 * X[:, 0] + SEASON[time % CYCLE] * X[:, 1] + rng.normal(size=30)[group]
    y += 0.3 * rng.normal(size=360)
    model = DriftRegressor(seasonality=CYCLE).fit(X, y, time=time, groups=group)
    truth = SEASON[np.arange(12) % CYCLE]
    assert_allclose(model.seasonal_path_[:, 1], truth - truth.mean(), atol=0.5)
    assert np.abs(model.seasonal_path_[:, [0, 2]]).max() < 0.3


def test_a_seasonal_forecaster_is_trusted_and_forecasts_better(fitted):
    model, X, y, time = fitted
    weights = model.extrapolation_weights_
    assert [*weights.columns][-2:] == ["seasonal", "seasonal-static"]
    assert weights.loc["next", "seasonal"] > 0.5
    assert "drift and seasons" in model.trust_sentence()
    without = DriftRegressor(seasonality=None).fit(X, y, time=time)
    X_new, eta, later, _ = rows(N_STEPS + 2 * CYCLE + 1, seed=9)
    for n_ahead in (1, 3, CYCLE + 1, 2 * CYCLE):
        now = later == N_STEPS + n_ahead - 1
        found, other = (
            np.mean((each.predict(X_new[now], time=later[now]) - eta[now]) ** 2)
            for each in (model, without)
        )
        assert found < 0.5 * other
    assert_array_equal(without.predict(X_new), _plain(X, y, time).predict(X_new))


def _plain(X, y, time):
    return DriftRegressor().fit(X, y, time=time)


def test_intervals_know_of_the_season(fitted):
    model, *_ = fitted
    X_new, eta, later, rng = rows(N_STEPS + 4, seed=5)
    now = later >= N_STEPS
    y = eta[now] + 0.5 * rng.normal(size=now.sum())
    low, high = model.predict_interval(X_new[now], time=later[now], level=0.9).T
    assert np.mean((low <= y) & (y <= high)) > 0.8


def test_integer_steps_have_no_season_unless_it_is_said(fitted):
    model, X, y, time = fitted
    auto = _plain(X, y, time)
    assert auto.seasonality_ is None
    assert auto.season_sentence() == ""
    assert not hasattr(auto, "seasonal_path_")
    with pytest.raises(AttributeError, match="seasonality=12"):
        _ = auto.seasonal_path_
    assert_array_equal(model.coef_path_, auto.coef_path_)  # those of the drifting fit


@pytest.mark.parametrize(
    ("freq", "start", "n_steps", "expected"),
    [
        ("Q", "2001Q1", 8, 4),
        ("Q", "2001Q1", 7, None),
        ("Y", "2001", 24, None),
        ("2Q", "2001Q1", 16, None),
    ],
)
def test_auto_reads_the_cycle_off_the_dates(freq, start, n_steps, expected):
    X, y, time = gaussian(n_steps=n_steps)
    steps = pd.period_range(start, periods=n_steps, freq="Q" if "Q" in freq else freq)
    dates = steps.to_timestamp()[time]
    model = DriftRegressor(freq=freq).fit(X, y, time=dates)
    assert model.seasonality_ == expected


def test_auto_knows_months_and_weeks():
    X, y, time = gaussian(n_steps=24, n_rows=6)
    months = pd.period_range("2001-01", periods=24, freq="M")[time]
    assert DriftRegressor().fit(X, y, time=months).seasonality_ == 12
    assert DriftRegressor().fit(X[6:], y[6:], time=months[6:]).seasonality_ is None
    assert DriftRegressor(seasonality=None).fit(X, y, time=months).seasonality_ is None
    for other in ({"prior": "fixed"}, {"extrapolate": "hold"}, {"extrapolate": "forecast"}):
        assert DriftRegressor(**other).fit(X, y, time=months).seasonality_ is None


def test_fewer_than_two_cycles_are_fitted_without_seasons():
    X, y, time = gaussian(n_steps=7)
    model = DriftRegressor(seasonality=CYCLE)
    with pytest.warns(DataWarning, match=r"two full cycles, 8 steps .* there are 7"):
        model.fit(X, y, time=time)
    assert model.seasonality_ is None
    assert_array_equal(model.coef_, _plain(X, y, time).coef_)
    with pytest.warns(DataWarning, match="Pass time="):
        DriftRegressor(seasonality=CYCLE).fit(X, y)


@pytest.mark.parametrize("bad", [1, 0, -4, 2.5, 12.0, True, "monthly"])
def test_a_cycle_is_a_whole_number_of_two_or_more(bad):
    X, y, time = gaussian(n_steps=8)
    with pytest.raises(ValueError, match=r"'seasonality' parameter .* \[2, inf\)"):
        DriftRegressor(seasonality=bad).fit(X, y, time=time)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prior": "fixed"}, "the prior is Fixed; seasons are part of the learned prior"),
        ({"prior": "exact"}, "Use prior='learned'"),
        ({"extrapolate": "hold"}, "Use extrapolate='average' or 'auto'"),
        ({"extrapolate": "forecast"}, "which is what 'average' finds out"),
        ({"prior": Learned(n_scales=1, shares=(1.0,), weights=(0.5, 0.5))}, "weights"),
    ],
)
def test_what_cannot_have_seasons_is_refused(params, message):
    X, y, time = gaussian(n_steps=8)
    with pytest.raises(DataError, match=re.escape(message)):
        DriftRegressor(seasonality=CYCLE, **params).fit(X, y, time=time)


def test_a_single_series_has_a_season_where_it_is_asked_for():
    X, y, time = gaussian(n_steps=40, n_rows=1)
    model = DriftRegressor(seasonality=CYCLE).fit(X, y, time=time)
    assert model.extrapolate_ == "average"
    assert model.seasonal_intercept_probability_ > 0.5


FAMILIES = {
    "student": DriftRegressor(errors="student"),
    "binomial": DriftClassifier(),
    "multinomial": DriftClassifier(),
    "poisson": DriftPoissonRegressor(),
    "negative-binomial": DriftGLM(family="negative-binomial"),
    "gamma": DriftGLM(family="gamma"),
    "beta-binomial": DriftGLM(family="beta-binomial"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_seasons(family):
    X, eta, time, rng = rows(n_steps=12, n_rows=60)
    mean = np.exp(0.5 * eta)
    hits = rng.binomial(8, 1.0 / (1.0 + np.exp(-eta)))
    y = {
        "student": eta + 0.3 * rng.standard_t(4, size=eta.size),
        "binomial": (eta + rng.logistic(size=eta.size) > 0).astype(int),
        "multinomial": np.digitize(eta + rng.logistic(size=eta.size), [-0.7, 0.7]),
        "poisson": rng.poisson(mean),
        "negative-binomial": rng.poisson(mean * rng.gamma(3.0, 1 / 3.0, eta.size)),
        "gamma": rng.gamma(3.0, mean / 3.0),
        "beta-binomial": np.column_stack([hits, 8 - hits]),
    }[family]
    model = clone(FAMILIES[family]).set_params(seasonality=CYCLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, time=time)
    likely = np.atleast_2d(model.seasonal_probability_)
    assert likely[:, 0].max() > 0.9
    assert likely[:, 1:].max() < 0.5
    assert np.max(model.seasonal_intercept_probability_) > 0.9
    assert model.seasonal_path_.shape == model.coef_path_.shape
    assert model.seasonal_intercept_path_.shape == model.intercept_path_.shape
    assert np.isfinite(model.coef_).all()


def test_weights_empty_steps_static_and_always_in_columns():
    X, y, time = gaussian(n_steps=32)
    weight = np.random.default_rng(1).integers(1, 3, y.size)
    keep = ~np.isin(time, [9, 17])
    options = {"seasonality": CYCLE, "always_in": [0], "static": [1]}
    model = DriftRegressor(**options)
    model.fit(X[keep], y[keep], time=time[keep], sample_weight=weight[keep])
    assert model.seasonal_probability_[0] > 0.99
    assert model.seasonal_probability_[1] == 0.0
    again = np.repeat(np.flatnonzero(keep), weight[keep])
    twice = DriftRegressor(**options).fit(X[again], y[again], time=time[again])
    assert_allclose(model.seasonal_path_, twice.seasonal_path_, atol=1e-3)
    flat = DriftRegressor(seasonality=CYCLE, static=[0, 1, 2]).fit(X, y, time=time)
    assert not flat.seasonal_path_.any()
    assert flat.seasonal_intercept_probability_ > 0.99
    bare = DriftRegressor(seasonality=CYCLE, fit_intercept=False).fit(X, y, time=time)
    assert not bare.seasonal_intercept_path_.any()
    assert bare.seasonal_probability_[0] > 0.9


def test_files_keep_seasons(fitted, tmp_path):
    model, X, *_ = fitted
    model.save(tmp_path / "m.drift")
    again = driftglm.load(tmp_path / "m.drift")
    assert again.seasonality_ == CYCLE
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.seasonal_path_, model.seasonal_path_)
    assert clone(model).seasonality == CYCLE


def test_updates_go_on_with_seasons_and_begin_them():
    X, y, time = gaussian(n_steps=18)
    first = time < 16
    model = DriftRegressor(seasonality=CYCLE, keep_data=True)
    model.fit(X[first], y[first], time=time[first])
    model.update(X[~first], y[~first], time=time[~first])
    whole = DriftRegressor(seasonality=CYCLE).fit(X, y, time=time)
    assert len(model.seasonal_path_) == 18
    assert_allclose(model.seasonal_path_[:, 0], whole.seasonal_path_[:, 0], atol=0.1)
    assert model.extrapolation_weights_.loc["next", "seasonal"] > 0.5
    few = time < 6
    late = DriftRegressor(seasonality=CYCLE, keep_data=True)
    with pytest.warns(DataWarning, match="two full cycles"):
        late.fit(X[few], y[few], time=time[few])
    late.update(X[~few], y[~few], time=time[~few])
    assert late.seasonality_ == CYCLE
    assert late.seasonal_probability_[0] > 0.9


def test_summary_contrast_diagnose_and_exports_work(fitted, tmp_path):
    model, *_ = fitted
    assert len(model.summary()) == 3
    assert "season" not in set(model.diagnose()["check"])
    first, last = model.timesteps_[[0, -1]]
    found = model.contrast({(0, last): 1.0, (0, first): -1.0})
    difference = model.coef_path_[-1, 0] - model.coef_path_[0, 0]
    assert_allclose(found.estimate, difference, atol=1e-6)
    from driftglm.report import write_report

    page = write_report(tmp_path / "r.html", model=model).read_text()
    assert "x0 (season)" in page
    assert "intercept (season)" in page
    assert "Seasons of 4 steps" in page
    figure = model.plot_paths()
    dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert any(len(line.get_xdata()) == N_STEPS for line in dotted)


def test_xarray_has_seasons(fitted):
    pytest.importorskip("xarray")
    found = fitted[0].to_xarray()
    assert_array_equal(found["seasonal"].to_numpy(), fitted[0].seasonal_path_)
    assert {"seasonal_std", "seasonal_intercept", "seasonal_probability"} <= set(found)


def test_a_checkpoint_holds_seasonal_fits(tmp_path):
    X, y, time = gaussian(n_steps=9)
    model = DriftRegressor(seasonality=CYCLE)
    model.fit(X, y, time=time, checkpoint=tmp_path / "fit.checkpoint")
    plain = DriftRegressor(seasonality=CYCLE).fit(X, y, time=time)
    assert_array_equal(model.coef_, plain.coef_)


def test_many_features_are_looked_at_where_they_matter():
    """With more than 500 columns a season is found in one that matters, in bounded time."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(12), 60)
    X = rng.normal(size=(time.size, 520))
    y = 2.0 * SEASON[time % CYCLE] * X[:, 7] + 0.3 * rng.normal(size=time.size)
    model = DriftRegressor(seasonality=CYCLE).fit(X, y, time=time)
    assert model.seasonal_probability_[7] > 0.9
    assert (model.seasonal_probability_ > 0.5).sum() == 1
