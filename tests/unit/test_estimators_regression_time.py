"""DriftRegressor over time: labels, prediction, steps after the last."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score

from driftglm import DriftRegressor
from driftglm.exceptions import TimeError

T = 6


def drift(**params):
    """The paper's prior, whatever the default of the class may be."""
    return DriftRegressor(**{"prior": "exact", **params})


# ----------------------------------------------------------------------------------- time


def test_every_row_is_predicted_with_its_own_step(panel_rows, rng):
    X, y, time = panel_rows
    model = drift().fit(X, y, time=time)
    order = rng.permutation(time.size)
    own = model.coef_path_[time - 2001]
    expected = (X * own).sum(axis=1) + model.intercept_path_[time - 2001]
    assert_allclose(model.predict(X[order], time=time[order]), expected[order], rtol=1e-12)
    assert_allclose(model.score(X, y, time=time), r2_score(y, expected), rtol=1e-12)
    weights = rng.random(y.size)
    found = model.score(X, y, time=time, sample_weight=weights)
    assert_allclose(found, r2_score(y, expected, sample_weight=weights), rtol=1e-12)


def test_without_time_rows_are_predicted_for_the_next_step(panel_rows):
    X, y, time = panel_rows
    for extrapolate in ("hold", "forecast"):
        model = drift(extrapolate=extrapolate).fit(X, y, time=time)
        expected = X @ model.coef_ + model.intercept_
        assert_allclose(model.predict(X), expected, rtol=1e-12)
        following = np.full(time.size, 2001 + T)
        assert_allclose(model.predict(X, time=following), expected, rtol=1e-12)


def test_a_model_without_time_has_one_step(panel_rows):
    X, y, _ = panel_rows
    for extrapolate in ("hold", "forecast"):
        model = drift(extrapolate=extrapolate).fit(X, y)
        assert model.coef_path_.shape == (1, 5)
        assert_array_equal(model.coef_, model.coef_path_[0])
        assert model.intercept_ == model.intercept_path_[0]
        assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-12)


def labelled(time, kind):
    if kind == "datetime":
        days = pd.to_datetime([f"{year}-0{1 + k % 9}-15" for k, year in enumerate(time)])
        return days, {"freq": "Y"}
    if kind == "period":
        return pd.PeriodIndex([f"{year}" for year in time], freq="Y"), {}
    if kind == "category":
        names = [f"year {year}" for year in range(2001, 2001 + T + 2)]
        return pd.Categorical([f"year {year}" for year in time], names, ordered=True), {}
    if kind == "every fifth":
        return 5 * time, {"freq": 5}
    return time.astype(float), {}


@pytest.mark.parametrize("kind", ["datetime", "period", "category", "every fifth", "float"])
@pytest.mark.parametrize("extrapolate", ["hold", "forecast"])
def test_labels_of_any_kind_give_the_same_fit(kind, extrapolate, panel_rows):
    X, y, time = panel_rows
    labels, params = labelled(time, kind)
    model = drift(extrapolate=extrapolate, **params).fit(X, y, time=labels)
    expected = drift(extrapolate=extrapolate).fit(X, y, time=time)
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(model.predict(X, time=labels), expected.predict(X, time=time))
    assert_array_equal(model.coef_, expected.coef_)
    assert len(model.timesteps_) == T


def test_dates_become_the_steps_of_their_freq(panel_rows):
    X, y, time = panel_rows
    labels, _ = labelled(time, "datetime")
    model = drift(freq="Y").fit(X, y, time=labels)
    assert [str(step) for step in model.timesteps_] == [
        "2001",
        "2002",
        "2003",
        "2004",
        "2005",
        "2006",
    ]
    later = pd.to_datetime(["2007-12-31"] * 3)
    assert_allclose(model.predict(X[:3], time=later), model.predict(X[:3]), rtol=1e-12)


def test_a_year_without_rows_is_filled_in(panel_rows):
    X, y, time = panel_rows
    keep = time != 2003
    model = drift().fit(X[keep], y[keep], time=time[keep])
    assert_array_equal(model.timesteps_, np.arange(2001, 2001 + T))
    assert model.coef_path_.shape == (T, 5)
    # Column 0 rises by .6 a year; the empty year is put between its neighbours.
    before, empty, after = model.coef_path_[1:4, 0]
    assert before < empty < after
    assert np.isfinite(model.predict(X, time=time)).all()


@pytest.mark.parametrize("extrapolate", ["hold", "forecast"])
def test_far_steps_are_held_or_fade_to_the_mean(extrapolate, panel_rows):
    X, y, time = panel_rows
    model = drift(extrapolate=extrapolate).fit(X, y, time=time)
    one = np.zeros((1, 5))
    one[0, 0] = 1.0
    ahead = [
        model.predict(one, time=[2000 + T + k])[0] - model.predict(0 * one, time=[2000 + T + k])[0]
        for k in range(5)
    ]
    last, rho = model.coef_path_[-1, 0], model.autocorrelation_[0]
    if extrapolate == "hold":
        assert_allclose(ahead, np.full(5, last), rtol=1e-9)
    else:
        assert 0 < rho < 1
        assert_allclose(ahead, last * rho ** np.arange(5), rtol=1e-9)


def test_a_forecast_intercept_reverts_to_its_flat_part(rng):
    """White noise about 7: the forecast is the mean of the steps, shrunk toward no one step."""
    time = np.repeat(np.arange(12), 20)
    intercept = 7 + rng.normal(size=12)
    y = intercept[time] + 0.1 * rng.normal(size=time.size)
    X = rng.normal(size=(time.size, 1))
    model = drift(extrapolate="forecast").fit(X, y, time=time)
    assert_allclose(model.intercept_, intercept.mean(), atol=0.3)
    held = drift(extrapolate="hold").fit(X, y, time=time)
    assert_allclose(held.intercept_, intercept[-1], atol=0.1)


def test_a_step_before_the_first_is_an_error(panel_rows):
    X, y, time = panel_rows
    model = drift().fit(X, y, time=time)
    with pytest.raises(TimeError, match=r"time is 2000 in row 1, before the first step.*2001"):
        model.predict(X[:2], time=[2002, 2000])


def test_predict_needs_time_of_the_kind_fitted(panel_rows):
    X, y, time = panel_rows
    with pytest.raises(TimeError, match="fitted without time"):
        drift().fit(X, y).predict(X, time=time)
    model = drift().fit(X, y, time=time)
    with pytest.raises(TimeError, match=r"integer labels from 2001 to 2006"):
        model.predict(X[:2], time=pd.to_datetime(["2003-01-01", "2004-01-01"]))


# --------------------------------------------------------------------------- extrapolation


def test_the_papers_priors_hold_by_default(panel_rows):
    X, y, time = panel_rows
    model = drift().fit(X, y, time=time)
    assert model.extrapolate_ == "hold"
    assert_array_equal(model.coef_, model.coef_path_[-1])


def test_dates_need_a_freq_and_freq_needs_time(panel_rows):
    X, y, time = panel_rows
    labels, _ = labelled(time, "datetime")
    with pytest.raises(TimeError, match="freq is None"):
        drift().fit(X, y, time=labels)
    with pytest.raises(TimeError, match="time is None"):
        drift(freq="Y").fit(X, y)
